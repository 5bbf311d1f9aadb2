"""Rule 13: one request at a time per host, with rests, whoever asks; nobody waits for the host of another."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import feed_assets.refresh
from feed_assets import catalog
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.refreshing import table
from feed_assets_tests.support.rows import look, one_engine
from feed_assets_tests.support.timing import Span, shortest_rest, timed

pytestmark = one_engine
DELAY = 0.15


def publish(server: FeedServer, store: Store, clock: Clock, *feed_ids: str, **headers: str) -> list[str]:
    rows = [{"id": name, "url": server.publish(f"/{name}", rss(name), **headers)} for name in feed_ids]
    catalog.import_feeds(store, rows, now=clock())
    return list(feed_ids)


def test_rule_13_a_host_is_asked_one_at_a_time_with_rests(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": DELAY})
    spans: list[Span] = []
    names = publish(server, store, clock, *"abcde")
    timed(server, *server.answers, spans=spans)
    assert all(report.new for report in refresh_feeds(store, settings, names, clock=clock))
    assert len(spans) == 5
    assert shortest_rest(spans) >= DELAY


def test_rule_13_a_redirect_on_the_same_host_rests_too(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": DELAY})
    spans: list[Span] = []
    publish(server, store, clock, "a")
    server.answers["/new"] = server.answers["/a"]
    server.answers["/a"] = Answer(302, b"", {"Location": "/new"})
    timed(server, "/a", "/new", spans=spans)
    list(refresh_feeds(store, settings, ["a"], clock=clock))
    assert len(spans) == 2
    assert shortest_rest(spans) >= DELAY


def test_rule_13_the_rest_holds_from_one_batch_to_the_next(store: Store, settings: Settings, server: FeedServer) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": 0.6})
    spans: list[Span] = []
    names = publish(server, store, feed_assets.refresh.utc_now, "a", "b")  # type: ignore[arg-type]
    timed(server, *server.answers, spans=spans)
    for name in names:
        list(refresh_feeds(store, settings, [name]))
    assert len(spans) == 2
    assert shortest_rest(spans) >= 0.6


def test_rule_13_another_host_is_served_meanwhile(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, second_server: FeedServer
) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": 0.4, "fetch_workers": 1})
    spans: list[Span] = []
    publish(server, store, clock, "a", "b")
    publish(second_server, store, clock, "c", "d")
    timed(server, *server.answers, spans=spans)
    timed(second_server, *second_server.answers, spans=spans)
    list(refresh_feeds(store, settings, list("abcd"), clock=clock))
    (first, second, third, _) = sorted(spans)
    assert second[0] - first[1] < 0.4 < third[0] - first[1]
    assert max(spans)[1] - min(spans)[0] < 0.8


@pytest.mark.parametrize("kind", ["fixed", "hint"])
def test_rule_13_due_times_of_feeds_on_one_host_are_spread(store: Store, settings: Settings, server: FeedServer, kind: str) -> None:
    settings = settings.model_copy(update={"domain_delay_seconds": DELAY})
    now = feed_assets.refresh.utc_now
    names = publish(server, store, now, *"abcd", **({"Cache_Control": "max-age=36000"} if kind == "hint" else {}))  # type: ignore[arg-type]
    if kind == "fixed":
        for name in names:
            catalog.edit_feed(store, settings, name, now=now(), refresh_interval_minutes=30)
    list(refresh_feeds(store, settings, names))
    due = sorted(row["next_run_at"] for row in look(store)["feed_schedules"])
    assert len(set(due)) == 4
    assert due[-1] - due[0] >= 3 * timedelta(seconds=DELAY)


def test_rule_13_a_host_stays_taken_after_a_failure_while_feeds_wait_for_it(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_assets.refresh, "_GROUP_SECONDS", 0.05)
    settings = settings.model_copy(update={"domain_delay_seconds": 0.3})
    names = publish(server, store, clock, "a", "b", "c")
    server.answers["/a"] = Answer(raw=b"")
    holders: list[object] = []

    def note_holder() -> None:
        time.sleep(0.2)
        holders.extend(row["busy_token"] for row in table(store, "host_states"))

    for path in ("/b", "/c"):
        server.answers[path].then = note_holder
    list(refresh_feeds(store, settings, names, clock=clock))
    assert len(holders) == 2
    assert None not in holders


def test_rule_13_a_second_batch_waits_for_the_host_of_the_first(
    store: Store, settings: Settings, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_assets.refresh, "_GROUP_SECONDS", 0.05)
    monkeypatch.setattr(feed_assets.refresh, "_HOST_RETRY_SECONDS", 0.05)
    settings = settings.model_copy(update={"domain_delay_seconds": DELAY})
    spans: list[Span] = []
    names = publish(server, store, feed_assets.refresh.utc_now, *"abcdef")  # type: ignore[arg-type]
    timed(server, *server.answers, spans=spans)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda part: [report.new for report in refresh_feeds(store, settings, part)], (names[:3], names[3:])))
    assert done == [[1, 1, 1], [1, 1, 1]]
    assert len(spans) == 6
    assert shortest_rest(spans) >= DELAY


def test_rule_13_a_host_is_free_when_the_batch_is_done_with_it(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    list(refresh_feeds(store, settings, publish(server, store, clock, "a", "b"), clock=clock))
    [state] = table(store, "host_states")
    assert (state["busy_token"], state["free_at"]) == (None, None)
    assert abs(state["last_request_at"] - clock()) < timedelta(seconds=5)
