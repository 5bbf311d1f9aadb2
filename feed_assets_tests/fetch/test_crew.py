"""The crew: turns over real HTTP, extra workers beside slow hosts, dead hosts left alone, and what comes too late."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import feed_assets.fetch.crew as crew_module
from feed_assets.fetch import Crew, Fetcher, Postponed
from feed_assets.model import FetchRequest, FetchResult, HostState, Outcome
from feed_assets.urls import host_of
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer
from feed_assets_tests.support.names import at, resolve_examples
from feed_assets_tests.support.raw_server import raw_server
from feed_assets_tests.support.timing import Span, shortest_rest, timed

Done = FetchResult | Postponed
NewCrew = Callable[..., Crew[FetchResult]]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def new_crew(clock: Clock, tmp_path: Path) -> Iterator[NewCrew]:
    """Crews with settings of their own; `lease_seconds` may be shorter than a user may set it."""
    made: list[tuple[Fetcher, Crew[FetchResult]]] = []

    def make(*urls: str, lease_seconds: float = 600, **settings: Any) -> Crew[FetchResult]:
        chosen = make_settings(tmp_path, **settings).model_copy(update={"lease_seconds": lease_seconds})
        fetcher = Fetcher(chosen, clock)
        crew = Crew(fetcher, chosen, clock, lambda result: result)
        made.append((fetcher, crew))
        for url in urls:
            crew.add(FetchRequest(url.rpartition("/")[2], url))
        return crew

    yield make
    for fetcher, crew in made:
        crew.stop()
        fetcher.close()


@pytest.fixture
def second_server() -> Iterator[FeedServer]:
    running = FeedServer()
    yield running
    running.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_examples(monkeypatch)


def open_wanted(crew: Crew[FetchResult], **known: Any) -> None:
    for host in crew.hosts_wanted():
        crew.open_host(HostState(host, **known), ours=True)


def finish(crew: Crew[FetchResult], *, count: int | None = None, seconds: float = 8, **known: Any) -> dict[str, Done]:
    """Let the crew work, with every host it wants, until all (or so many) are done; feed -> what became of it."""
    done: dict[str, Done] = {}
    deadline = time.monotonic() + seconds
    while crew.pending and (count is None or len(done) < count):
        assert time.monotonic() < deadline, f"still waiting; done so far: {sorted(done)}"
        open_wanted(crew, **known)
        done |= {each.feed_id: each for each in crew.collect(most=1 if count else 100, seconds=0.2)}
    return done


def publish(server: FeedServer, *names: str) -> list[str]:
    return [server.publish(f"/{name}", "<rss/>") for name in names]


def postponed(done: dict[str, Done]) -> dict[str, Postponed]:
    return {name: each for name, each in done.items() if isinstance(each, Postponed)}


def test_one_host_gets_one_request_at_a_time_with_rests(new_crew: NewCrew, server: FeedServer) -> None:
    spans: list[Span] = []
    crew = new_crew(*publish(server, *"abcd"), DOMAIN_DELAY_SECONDS=0.1)
    timed(server, *server.answers, spans=spans)
    assert all(isinstance(each, FetchResult) and each.outcome.ok for each in finish(crew).values())
    assert len(spans) == 4
    assert shortest_rest(spans) >= 0.1


def test_the_rest_after_the_last_batch_is_kept(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, "a"), DOMAIN_DELAY_SECONDS=0.5)
    started = time.monotonic()
    finish(crew, last_request_at=clock() - timedelta(seconds=0.2))
    assert time.monotonic() - started >= 0.3


def test_a_host_of_another_batch_is_not_asked_until_it_is_ours(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, "a", "b"))
    [host] = crew.hosts_wanted()
    crew.open_host(HostState(host, busy_token="another", free_at=clock() + MINUTE), ours=False)
    assert crew.collect(most=10, seconds=0.2) == []
    assert (crew.hosts_wanted(), crew.pending, server.asked) == ({host: 2}, 2, [])
    assert len(finish(crew)) == len(server.asked) == 2


@pytest.mark.usefixtures("names")
def test_hanging_hosts_do_not_hold_up_others_even_with_few_workers(new_crew: NewCrew, server: FeedServer) -> None:
    release = threading.Event()
    hanging = [at(f"{name}.example.com", url) for name, url in zip("xyz", publish(server, *"xyz"), strict=True)]
    for path in list(server.answers):
        server.answers[path].then = lambda: release.wait(5) and None
    crew = new_crew(*hanging, *publish(server, *"abcde"), FETCH_WORKERS=2, REQUEST_TIMEOUT_SECONDS=6, JOB_TIMEOUT_SECONDS=6)
    try:
        quick = finish(crew, count=5, seconds=4)
    finally:
        release.set()
    assert sorted(quick) == list("abcde")
    assert sorted(finish(crew)) == list("xyz")


@pytest.mark.usefixtures("names")
def test_extra_workers_are_at_most_five_times_as_many_and_go_home(
    new_crew: NewCrew, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew_module, "_STALLED_SECONDS", 0.05)
    release = threading.Event()
    hanging = [at(f"{name}.example.com", url) for name, url in zip("tuvwxyz", publish(server, *"tuvwxyz"), strict=True)]
    for path in list(server.answers):
        server.answers[path].then = lambda: release.wait(5) and None
    crew = new_crew(*hanging, FETCH_WORKERS=1, REQUEST_TIMEOUT_SECONDS=6, JOB_TIMEOUT_SECONDS=6)
    open_wanted(crew)
    deadline = time.monotonic() + 5
    while len(server.asked) < 5 and time.monotonic() < deadline:
        crew.collect(most=10, seconds=0.1)
    crew.collect(most=10, seconds=0.3)
    assert len(server.asked) == 5
    workers = [thread for thread in threading.enumerate() if thread.name == "fetch"]
    release.set()
    assert len(finish(crew)) == 7
    for worker in workers:
        worker.join(2)
    assert not any(worker.is_alive() for worker in workers)


def test_a_redirect_to_another_host_waits_for_that_hosts_turn(new_crew: NewCrew, server: FeedServer, second_server: FeedServer) -> None:
    spans: list[Span] = []
    publish(second_server, "b", "c")
    server.answers["/a"] = Answer(302, b"", {"Location": second_server.base + "/c"})
    timed(second_server, "/b", "/c", spans=spans, seconds=0.3)
    done = finish(new_crew(second_server.base + "/b", server.base + "/a", DOMAIN_DELAY_SECONDS=0.2))
    assert isinstance(done["a"], FetchResult)
    assert (done["a"].outcome.ok, done["a"].url) == (True, second_server.base + "/c")
    assert len(spans) == 2
    assert shortest_rest(spans) >= 0.2


def test_a_redirect_to_a_host_that_is_not_ours_waits_for_it(new_crew: NewCrew, server: FeedServer, second_server: FeedServer) -> None:
    server.answers["/a"] = Answer(301, b"", {"Location": publish(second_server, "b")[0]})
    crew = new_crew(server.base + "/a")
    open_wanted(crew)
    deadline = time.monotonic() + 3
    while not crew.hosts_wanted() and time.monotonic() < deadline:
        assert crew.collect(most=10, seconds=0.1) == []
    assert crew.hosts_wanted() == {host_of(second_server.base): 1}
    assert (len(server.asked), second_server.asked) == (1, [])
    done = finish(crew)
    assert isinstance(done["a"], FetchResult)
    assert done["a"].moved_to == second_server.base + "/b"


def test_waiting_for_turns_does_not_count_against_a_feeds_deadline(new_crew: NewCrew, server: FeedServer) -> None:
    publish(server, "new")
    server.answers["/a"] = Answer(302, b"", {"Location": "/new"})
    done = finish(new_crew(server.base + "/a", DOMAIN_DELAY_SECONDS=0.6, REQUEST_TIMEOUT_SECONDS=0.4, JOB_TIMEOUT_SECONDS=0.4))
    assert isinstance(done["a"], FetchResult)
    assert (done["a"].outcome.ok, done["a"].duration_ms < 400) == (True, True)


def test_a_dead_host_with_many_feeds_costs_three_tries(new_crew: NewCrew, clock: Clock) -> None:
    tries: list[socket.socket] = []
    with raw_server(tries.append) as base:
        crew = new_crew(*(f"{base}/{number:02}" for number in range(30)), DOMAIN_DELAY_SECONDS=0.05)
        done = finish(crew)
    assert (len(tries), len(done)) == (3, 30)
    left = postponed(done)
    assert sorted(left) == [f"{number:02}" for number in range(3, 30)]
    assert {each.reason for each in left.values()} == {next(iter(left.values())).reason}
    assert "failed 3 times in a row (the server broke off the connection)" in left["29"].reason
    due = [left[name].until for name in sorted(left)]
    assert due[0] == clock() + 5 * MINUTE
    assert all(later - earlier >= timedelta(seconds=0.05) for earlier, later in pairwise(due))
    [state] = crew.host_news()
    assert (state.host, state.consecutive_failures, state.blocked_until) == (host_of(base), 3, clock() + 5 * MINUTE)


@pytest.mark.usefixtures("names")
def test_a_dead_host_leaves_the_others_alone(new_crew: NewCrew, server: FeedServer) -> None:
    for name in "uvwxy":
        server.answers[f"/{name}"] = Answer(raw=b"")
    dead = [at("dead.example.com", f"{server.base}/{name}") for name in "uvwxy"]
    done = finish(new_crew(*dead, *publish(server, *"abc"), DOMAIN_DELAY_SECONDS=0.02))
    assert sorted(postponed(done)) == ["x", "y"]
    assert all(isinstance(done[name], FetchResult) and done[name].outcome.ok for name in "abc")  # type: ignore[union-attr]


def test_an_answer_starts_the_count_of_failures_again(new_crew: NewCrew, server: FeedServer) -> None:
    urls = publish(server, *"abcde")
    for name in "abde":
        server.answers[f"/{name}"] = Answer(raw=b"")
    server.fail("/c", 500)  # an answer, if no good one
    crew = new_crew(*urls)
    assert postponed(finish(crew)) == {}
    [state] = crew.host_news()
    assert (state.consecutive_failures, state.blocked_until) == (2, None)


def test_a_redirect_is_an_answer_too(new_crew: NewCrew, server: FeedServer, second_server: FeedServer) -> None:
    urls = publish(server, *"abcde")
    for name in "abd":
        server.answers[f"/{name}"] = Answer(raw=b"")
    server.answers["/c"] = Answer(302, b"", {"Location": publish(second_server, "new")[0]})
    assert postponed(finish(new_crew(*urls))) == {}
    assert [asked.path for asked in server.asked if asked.path == "/e"] == ["/e"]


def test_failures_of_earlier_batches_count(new_crew: NewCrew, server: FeedServer) -> None:
    urls = publish(server, *"abc")
    server.answers["/a"] = Answer(raw=b"")
    assert sorted(postponed(finish(new_crew(*urls), consecutive_failures=2))) == ["b", "c"]
    assert len(server.asked) == 1


def test_after_its_rest_a_dead_host_is_tried_once_and_left_alone_for_longer(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    urls = publish(server, *"abcd")
    server.answers["/a"] = Answer(raw=b"")
    crew = new_crew(*urls)
    done = finish(crew, consecutive_failures=3, blocked_until=clock() - MINUTE, blocked_reason="it was dead")
    assert (len(server.asked), sorted(postponed(done))) == (1, ["b", "c", "d"])
    [state] = crew.host_news()
    assert (state.consecutive_failures, state.blocked_until) == (4, clock() + 10 * MINUTE)


def test_after_its_rest_a_host_that_answers_is_as_good_as_new(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, *"abcd"))
    done = finish(crew, consecutive_failures=7, blocked_until=clock() - MINUTE, blocked_reason="it was dead")
    assert (len(server.asked), postponed(done)) == (4, {})
    [state] = crew.host_news()
    assert (state.consecutive_failures, state.blocked_until, state.blocked_reason) == (0, None, None)


@pytest.mark.parametrize(("failures", "minutes"), [(2, 5), (3, 10), (5, 40), (6, 60), (500, 60)])
def test_a_dead_host_is_left_alone_for_no_longer_than_the_bound(
    new_crew: NewCrew, server: FeedServer, clock: Clock, failures: int, minutes: int
) -> None:
    server.answers["/a"] = Answer(raw=b"")
    crew = new_crew(server.base + "/a", BACKOFF_MAX_MINUTES=60)
    finish(crew, consecutive_failures=failures)
    assert [state.blocked_until for state in crew.host_news()] == [clock() + minutes * MINUTE]


def test_a_host_that_is_left_alone_is_not_asked(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, *"abc"), DOMAIN_DELAY_SECONDS=3)
    done = finish(crew, blocked_until=clock() + MINUTE, blocked_reason="it asked us to wait")
    assert server.asked == []
    left = postponed(done)
    assert {each.reason for each in left.values()} == {"it asked us to wait"}
    assert left["a"].until == clock() + MINUTE
    assert all(left[later].until - left[earlier].until >= timedelta(seconds=3) for earlier, later in pairwise("abc"))


def test_a_redirect_to_a_host_that_asked_us_to_wait_is_postponed(
    new_crew: NewCrew, server: FeedServer, second_server: FeedServer, clock: Clock
) -> None:
    limited = threading.Event()
    second_server.fail("/b", 429, Retry_After="600")
    second_server.answers["/b"].then = limited.set
    server.answers["/a"] = Answer(302, b"", {"Location": second_server.base + "/c"}, then=lambda: limited.wait(2) and time.sleep(0.1))
    publish(second_server, "c")
    done = finish(new_crew(server.base + "/a", second_server.base + "/b"))
    assert [asked.path for asked in second_server.asked] == ["/b"]
    assert postponed(done)["a"].until == clock() + 10 * MINUTE


def test_what_would_come_too_late_for_the_lease_is_postponed(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, *"abcdefgh"), DOMAIN_DELAY_SECONDS=0.4, lease_seconds=1)
    done = finish(crew)
    left = postponed(done)
    assert sorted(asked.path for asked in server.asked) == [f"/{name}" for name in done if name not in left]
    assert 1 <= len(server.asked) <= 3
    assert all("too late for this batch" in each.reason and host_of(server.base) in each.reason for each in left.values())
    due = [left[name].until for name in sorted(left)]
    assert due == sorted(due)
    assert due[0] > clock()
    assert due[-1] - due[-2] == pytest.approx(timedelta(seconds=0.4), abs=timedelta(seconds=0.1))


def test_a_host_that_another_has_for_longer_than_our_lease_is_given_up(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, "a"), lease_seconds=10)
    crew.open_host(HostState(host_of(server.base), busy_token="another", free_at=clock() + 5 * MINUTE), ours=False)
    [left] = crew.collect(most=10, seconds=0.3)
    assert isinstance(left, Postponed)
    assert left.until == pytest.approx(clock() + 5 * MINUTE, abs=timedelta(seconds=1))
    assert (server.asked, crew.pending) == ([], 0)


def test_stop_ends_the_asking(new_crew: NewCrew, server: FeedServer) -> None:
    crew = new_crew(*publish(server, *"abcdef"), DOMAIN_DELAY_SECONDS=0.2)
    assert len(finish(crew, count=1)) == 1
    crew.stop()
    asked = len(server.asked)
    time.sleep(0.5)
    assert len(server.asked) <= asked + 1 < 6
    assert not [thread for thread in threading.enumerate() if thread.name == "fetch" and thread.is_alive()]


def test_a_host_is_told_as_free_only_when_no_feed_waits_for_it(new_crew: NewCrew, server: FeedServer) -> None:
    server.answers["/a"] = Answer(raw=b"")
    crew = new_crew(server.base + "/a", *publish(server, "b"), DOMAIN_DELAY_SECONDS=0.3)
    assert list(finish(crew, count=1)) == ["a"]
    assert crew.host_news() == []
    assert list(finish(crew)) == ["b"]
    assert [state.host for state in crew.host_news()] == [host_of(server.base)]


def test_a_free_host_is_told_once_with_its_last_request(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, "a"))
    finish(crew)
    [state] = crew.host_news()
    assert state.last_request_at
    assert timedelta() <= clock() - state.last_request_at < timedelta(seconds=2)
    assert crew.host_news() == []


def test_a_result_that_needs_no_fetching_comes_with_the_others(new_crew: NewCrew, server: FeedServer, clock: Clock) -> None:
    crew = new_crew(*publish(server, "a"))
    crew.add_done(FetchResult("b", "http://news.example/b", clock(), Outcome.SUCCESS))
    assert sorted(finish(crew)) == ["a", "b"]
    assert [asked.path for asked in server.asked] == ["/a"]
