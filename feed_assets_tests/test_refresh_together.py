"""Refreshes beside each other: claims, batches, turns of hosts, and stories that two of them bring at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

import feed_assets.refresh
from feed_assets import catalog
from feed_assets.model import FeedReport
from feed_assets.refresh import claim_due, refresh, refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add
from feed_assets_tests.support.rows import look, one_engine

SLOW_INSERTS = """
CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$;
CREATE TRIGGER slowly BEFORE INSERT ON deduped_articles FOR EACH ROW EXECUTE FUNCTION slowly();
"""


@pytest.fixture
def second_server() -> Iterator[FeedServer]:
    running = FeedServer()
    yield running
    running.close()


def in_thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@one_engine
def test_a_second_refresh_waits_for_the_first(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    reports: list[FeedReport] = []
    asked, answer = threading.Event(), threading.Event()

    def hold() -> None:
        asked.set()
        answer.wait(2)

    server.answers["/feed"].then = hold
    first = in_thread(lambda: reports.extend(refresh_feeds(store, settings, ["news"], clock=clock)))
    assert asked.wait(2)
    second = in_thread(lambda: reports.extend(refresh_feeds(store, settings, ["news"], clock=clock, patience=5)))
    time.sleep(0.2)
    answer.set()
    first.join(3)
    second.join(3)
    assert [(report.status_code, report.new) for report in reports] == [(200, 1), (304, 0)]
    assert len(server.asked) == 2


@one_engine
def test_whoever_stops_early_gives_back_what_is_not_done(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, second_server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_assets.refresh, "_GROUP_SECONDS", 0.1)
    answer = threading.Event()
    add(store, clock, server.publish("/feed", rss("one")), "quick")
    add(store, clock, second_server.publish("/feed", rss("two")), "slow")
    second_server.answers["/feed"].then = lambda: answer.wait(2) and None
    reports = refresh_feeds(store, settings, ["quick", "slow"], clock=clock)
    assert next(reports).feed_id == "quick"
    reports.close()  # type: ignore[attr-defined]
    answer.set()
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == ["one"]
    assert (rows.schedule("slow")["lease_token"], rows.schedule("slow")["next_run_at"]) == (None, clock())


@one_engine
def test_one_host_is_asked_one_request_at_a_time_with_rests(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    spans: list[tuple[float, float]] = []

    def note() -> None:
        started = time.monotonic()
        time.sleep(0.02)
        spans.append((started, time.monotonic()))

    names = ["a", "b", "c", "d"]
    for name in names:
        add(store, clock, server.publish(f"/{name}", rss(name)), name)
        server.answers[f"/{name}"].then = note
    list(refresh_feeds(store, settings.model_copy(update={"domain_delay_seconds": 0.1}), names, clock=clock))
    assert len(spans) == 4
    assert all(later[0] - earlier[1] >= 0.1 for earlier, later in pairwise(spans))


@one_engine
def test_hosts_do_not_wait_for_each_other(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, second_server: FeedServer
) -> None:
    met = threading.Barrier(2)
    for name, host in (("a", server), ("b", second_server)):
        add(store, clock, host.publish("/feed", rss(name)), name)
        host.answers["/feed"].then = lambda: met.wait(1) and None
    assert [report.new for report in refresh_feeds(store, settings, ["a", "b"], clock=clock)] == [1, 1]


def test_due_feeds_are_claimed_in_batches_as_long_as_few_are_in_flight(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    settings = settings.model_copy(update={"batch_size": 2, "max_batches_in_flight": 2})
    rows = [{"id": f"feed-{n}", "url": server.publish(f"/{n}", rss(f"story {n}")), "priority": n} for n in range(5)]
    catalog.import_feeds(store, rows, now=clock())
    first, before = claim_due(store, settings, now=clock())
    assert [sorted(batch.feed_ids) for batch in first] == [["feed-3", "feed-4"], ["feed-1", "feed-2"]]
    assert (before.due, before.batches) == (5, 0)
    assert claim_due(store, settings, now=clock())[0] == []
    reports = list(refresh(store, settings, first[0].token, clock=clock))
    assert sorted(report.feed_id for report in reports) == ["feed-3", "feed-4"]
    [last], before = claim_due(store, settings, now=clock())
    assert (last.feed_ids, before.in_flight, before.batches) == (("feed-0",), 2, 1)
    assert len(server.asked) == 2


def test_two_that_claim_at_once_never_get_the_same_feed(store: Store, settings: Settings, clock: Clock) -> None:
    settings = settings.model_copy(update={"batch_size": 5, "max_batches_in_flight": 10})
    catalog.import_feeds(store, [{"id": f"feed-{n}", "url": f"http://127.0.0.1/{n}"} for n in range(40)], now=clock())
    claimed: list[str] = []
    start = threading.Barrier(4)

    def claim() -> None:
        start.wait(2)
        claimed.extend(feed_id for batch in claim_due(store, settings, now=clock())[0] for feed_id in batch.feed_ids)

    threads = [in_thread(claim) for _ in range(4)]
    for thread in threads:
        thread.join(5)
    assert len(claimed) == len(set(claimed)) == 40


@one_engine
def test_two_that_bring_the_same_stories_at_once_both_finish(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, second_server: FeedServer
) -> None:
    with store.engine.begin() as connection:
        connection.script(SLOW_INSERTS)
    met = threading.Barrier(2)
    for name, host, titles in (("a", server, ("one", "two")), ("b", second_server, ("two", "one"))):
        add(store, clock, host.publish(f"/{name}", rss(*titles)), name)
        host.answers[f"/{name}"].then = lambda: met.wait(1) and None
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda name: [report.new for report in refresh_feeds(store, settings, [name], clock=clock)], "ab"))
    assert done == [[2], [2]]
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == ["one", "two"]
    assert rows.column("article_sources", "feed_id") == ["a", "a", "b", "b"]
