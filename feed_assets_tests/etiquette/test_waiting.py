"""Rules 4, 5, 6 and 8: we wait as long as publishers ask, back off from errors, and remember both over a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from feed_assets import catalog
from feed_assets.model import FeedReport
from feed_assets.refresh import claim_due, refresh, refresh_feeds, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store, connect
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.command_line import Run
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.names import at
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
IN_TWO_HOURS = "Mon, 02 Mar 2026 14:00:00 GMT"


def wait_of(report: FeedReport, clock: Clock) -> timedelta:
    assert report.next_run_at is not None
    return report.next_run_at - clock()


def paths(server: FeedServer) -> list[str]:
    return [asked.path for asked in server.asked]


@one_engine
@pytest.mark.parametrize("status", [200, 304])
@pytest.mark.parametrize(
    ("headers", "minutes"),
    [
        ({"Cache-Control": "public, max-age=7200"}, 120),
        ({"Cache-Control": "max-age=7200", "Age": "1200"}, 100),
        ({"Cache-Control": "max-age=31536000"}, 300),
    ],
    ids=["max-age", "minus Age", "a year"],
)
def test_rule_04_max_age_is_waited_out_up_to_the_bound(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, status: int, headers: dict[str, str], minutes: int
) -> None:
    settings = settings.model_copy(update={"hint_max_minutes": 300})
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    server.answers["/feed"] = Answer(status, rss("one").encode() if status == 200 else b"", headers)
    assert minutes * MINUTE <= wait_of(refresh_one(store, settings, clock), clock) <= min(minutes + 2, 300) * MINUTE


@one_engine
@pytest.mark.parametrize("status", [200, 304])
def test_rule_04_expires_is_waited_out(store: Store, settings: Settings, clock: Clock, server: FeedServer, status: int) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    expires = f"{datetime.now(UTC) + 2 * HOUR:%a, %d %b %Y %H:%M:%S} GMT"  # the server dates its answers by the real time
    server.answers["/feed"] = Answer(status, rss("one").encode() if status == 200 else b"", {"Expires": expires})
    assert 2 * HOUR - MINUTE < wait_of(refresh_one(store, settings, clock), clock) <= 2 * HOUR + 2 * MINUTE


@one_engine
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("value", ["7200", IN_TWO_HOURS], ids=["seconds", "date"])
def test_rule_05_retry_after_is_obeyed_and_nothing_is_tried_at_once(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, status: int, value: str
) -> None:
    add(store, clock, server.fail("/feed", status, Retry_After=value))
    assert wait_of(refresh_one(store, settings, clock), clock) == 2 * HOUR
    assert len(server.asked) == 1
    clock.advance(minutes=119)
    assert claim_due(store, settings, now=clock())[0] == []
    refresh_one(store, settings, clock)
    assert len(server.asked) == 1


@one_engine
def test_rule_05_a_wait_in_seconds_begins_when_the_publisher_says_so(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/first", rss("one")), "first", priority=1)
    add(store, clock, server.fail("/limited", 503, Retry_After="300"), "limited")
    server.answers["/first"].then = lambda: clock.advance(minutes=4) and None
    list(refresh_feeds(store, settings.model_copy(update={"retry_after_scope": "feed"}), ["first", "limited"], clock=clock))
    assert paths(server) == ["/first", "/limited"]
    assert look(store).schedule("limited")["next_run_at"] >= clock() + 5 * MINUTE


@one_engine
@pytest.mark.parametrize("scope", ["feed", "host"])
def test_rule_05_a_429_without_retry_after_waits_an_hour_at_least(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, scope: str
) -> None:
    add(store, clock, server.fail("/feed", 429))
    settings = settings.model_copy(update={"retry_after_scope": scope, "backoff_max_minutes": 5, "hint_max_minutes": 10})
    assert wait_of(refresh_one(store, settings, clock), clock) >= HOUR


SCOPES = {"feed": {"/other", "/cousin", "/stranger"}, "host": {"/cousin", "/stranger"}, "domain": {"/stranger"}}


@one_engine
@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("scope", SCOPES)
def test_rule_05_retry_after_holds_for_the_feed_the_host_or_the_domain(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, scope: str
) -> None:
    settings = settings.model_copy(update={"retry_after_scope": scope})
    add(store, clock, at("a.example.com", server.fail("/limited", 429, Retry_After="7200")), "limited")
    others = {"other": "a.example.com", "cousin": "b.example.com", "stranger": "a.example.org"}
    for name, host in others.items():
        add(store, clock, at(host, server.publish(f"/{name}", rss(name))), name)
    refresh_one(store, settings, clock, "limited")
    list(refresh_feeds(store, settings, list(others), clock=clock))
    assert set(paths(server)) == SCOPES[scope] | {"/limited"}
    rows = look(store)
    for name in {"other", "cousin", "stranger"} - {path[1:] for path in SCOPES[scope]}:
        assert rows.schedule(name)["next_run_at"] == clock() + 2 * HOUR
        assert "asked us to wait" in rows.schedule(name)["next_run_reason"]
    clock.advance(hours=2)
    list(refresh_feeds(store, settings, list(others), clock=clock))
    assert set(paths(server)) == {"/limited", "/other", "/cousin", "/stranger"}


@one_engine
@pytest.mark.usefixtures("names")
def test_rule_05_the_scope_holds_for_what_waits_in_the_same_batch(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": 0.1, "retry_after_scope": "domain"})
    hosts = {"limited": "a.example.com", "other": "a.example.com", "quick": "b.example.com", "cousin": "b.example.com"}
    for place, (name, host) in enumerate(hosts.items()):
        add(store, clock, at(host, server.publish(f"/{name}", rss(name))), name, priority=-place)
    server.fail("/limited", 429, Retry_After="7200")
    reports = {report.feed_id: report for report in refresh_feeds(store, settings, list(hosts), clock=clock)}
    assert "/other" not in paths(server)
    assert "/cousin" not in paths(server)
    assert (reports["other"].stored, reports["cousin"].stored) == (False, False)
    assert "a.example.com" in str(reports["cousin"].reason)


def test_rule_05_feed_sync_overrides_the_wait(store: Store, settings: Settings, server: FeedServer, run: Run) -> None:
    catalog.add_feed(store, server.fail("/feed", 429, Retry_After="7200"), now=utc_now(), feed_id="news")
    list(refresh_feeds(store, settings, ["news"]))
    [refused] = refresh_feeds(store, settings, ["news"])
    assert (refused.stored, len(server.asked)) == (False, 1)
    assert run("feed", "sync", "news").code == 0
    server.publish("/feed", rss("one"))
    [batch], _ = claim_due(store, settings, now=utc_now())
    [report] = refresh(store, settings, batch.token)
    assert (report.new, len(server.asked)) == (1, 2)


@one_engine
@pytest.mark.usefixtures("names")
def test_rule_05_feed_sync_overrides_the_wait_of_a_domain(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    settings = settings.model_copy(update={"retry_after_scope": "domain"})
    add(store, clock, at("a.example.com", server.fail("/limited", 429)), "limited")
    add(store, clock, at("b.example.com", server.publish("/cousin", rss("one"))), "cousin")
    refresh_one(store, settings, clock, "limited")
    assert not refresh_one(store, settings, clock, "cousin").stored
    catalog.sync_feed(store, "cousin", now=clock())
    assert refresh_one(store, settings, clock, "cousin").new == 1


@one_engine
def test_rule_05_a_dead_feed_of_a_host_that_waits_keeps_its_reason(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.fail("/gone", 410), "gone")
    add(store, clock, server.fail("/limited", 429), "limited")
    refresh_one(store, settings, clock, "gone")
    refresh_one(store, settings, clock, "limited")
    assert not refresh_one(store, settings, clock, "gone").stored
    schedule = look(store).schedule("gone")
    assert (schedule["next_run_at"], paths(server)) == (None, ["/gone", "/limited"])
    assert "HTTP 410" in schedule["next_run_reason"]


@one_engine
def test_rule_06_every_error_backs_off_with_jitter(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    for name in "abcd":
        add(store, clock, server.fail(f"/{name}", 500), name)
    waits: list[list[timedelta]] = []
    for _ in range(3):
        reports = list(refresh_feeds(store, settings, list("abcd"), clock=clock))
        waits.append([wait_of(report, clock) for report in reports])
        assert len(set(waits[-1])) == 4
        clock.advance(hours=1)
    assert max(waits[0]) < min(waits[1]) < max(waits[1]) < min(waits[2])
    assert min(waits[0]) >= MINUTE


@one_engine
def test_rule_06_a_feed_that_is_gone_stops_at_once(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.fail("/feed", 410))
    assert refresh_one(store, settings, clock).next_run_at is None
    clock.advance(days=30)
    assert claim_due(store, settings, now=clock())[0] == []


@one_engine
def test_rule_06_a_feed_is_not_killed_by_three_bad_minutes(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.answers.setdefault("/feed", Answer(raw=b"")) and server.base + "/feed")
    for _ in range(3):
        refresh_one(store, settings, clock)
        clock.advance(minutes=1)
    assert look(store).schedule()["next_run_at"] is not None
    server.publish("/feed", rss("one"))
    clock.advance(hours=1)
    assert refresh_one(store, settings, clock).new == 1
    assert look(store).schedule()["consecutive_errors"] == 0


@one_engine
def test_rule_06_temporary_trouble_needs_max_consecutive_errors_in_a_row(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    settings = settings.model_copy(update={"max_consecutive_errors": 3})
    add(store, clock, server.base + "/feed")
    alive = []
    for status in (500, 500, 304, 500, 500, 500):
        server.answers["/feed"] = Answer(status)
        alive.append(refresh_one(store, settings, clock).next_run_at is not None)
    assert alive == [True, True, True, True, True, False]


def test_rule_08_a_restart_polls_nothing_that_is_not_due(
    store: Store, database_url: str, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/a", rss("one")), "a", refresh_interval_minutes=30)
    add(store, clock, server.fail("/b", 429, Retry_After="7200"), "b")
    list(refresh_feeds(store, settings, ["a"], clock=clock))
    list(refresh_feeds(store, settings, ["b"], clock=clock))
    add(store, clock, server.publish("/new", rss("one")), "new")
    restarted = connect(database_url)
    clock.advance(minutes=29)
    [batch], _ = claim_due(restarted, settings, now=clock())
    assert batch.feed_ids == ("new",)
    assert [report.stored for report in refresh(restarted, settings, batch.token, clock=clock)] == [False]  # its host is to be left alone
    assert paths(server) == ["/a", "/b"]
    clock.advance(minutes=1)
    [batch], _ = claim_due(restarted, settings, now=clock())
    assert batch.feed_ids == ("a",)
    restarted.close()
