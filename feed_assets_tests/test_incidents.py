"""Others are told of a feed's trouble once per incident, and once when it is over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from feed_assets import catalog
from feed_assets.fetch import Fetcher
from feed_assets.model import EventType, FetchRequest
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

Live = Callable[[str], list[str]]
ALERTS = ("feed.failing", "feed.dead", "feed.recovered")


@pytest.fixture
def live(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> Live:
    """A feed whose fetches succeed (+), fail for a time (-) or for good (x), or that somebody revives (s). What was told meanwhile."""
    add(store, clock, server.publish("/feed", rss("one")))
    settings = settings.model_copy(update={"max_consecutive_errors": 5})

    def run(life: str) -> list[str]:
        for step in life:
            clock.advance(hours=2)
            if step == "s":
                catalog.sync_feed(store, "news", now=clock())
                continue
            if step == "+":
                server.publish("/feed", rss("one"))
            else:
                server.fail("/feed", 500 if step == "-" else 404)
            refresh_one(store, settings, clock)
        events = sorted(look(store)["events"], key=lambda event: event["created_at"])
        return [event["event_type"] for event in events if event["event_type"] in ALERTS]

    return run


@one_engine
@pytest.mark.parametrize(
    ("life", "told"),
    [
        ("+--+", []),
        ("+--+--+", []),
        ("+---+", ["feed.failing", "feed.recovered"]),
        ("+----+", ["feed.failing", "feed.recovered"]),
        ("---", ["feed.failing"]),
        ("+-----", ["feed.failing", "feed.dead"]),
        ("+-----s+", ["feed.failing", "feed.dead", "feed.recovered"]),
        ("+x", ["feed.dead"]),
        ("+xx", ["feed.dead"]),
        ("+xsx", ["feed.dead"]),
        ("+xs-----", ["feed.dead"]),
        ("+xs---s+", ["feed.dead", "feed.recovered"]),
        ("+---s+", ["feed.failing", "feed.recovered"]),
        ("+---+++---+", ["feed.failing", "feed.recovered"] * 2),
    ],
)
def test_an_incident_is_told_once_and_so_is_its_end(live: Live, life: str, told: list[str]) -> None:
    assert live(life) == told


def test_what_was_told_is_remembered_and_says_why(live: Live, store: Store) -> None:
    live("+---")
    rows = look(store)
    assert rows.schedule()["incident"] == "feed.failing"
    [event] = rows.events("feed.failing")
    assert (event["feed_id"], event["errors"], event["reason"]) == ("news", 3, "HTTP 500 Internal Server Error")
    assert event["last_success_at"] == "2026-03-02T14:00:00+00:00"
    live("+")
    assert look(store).schedule()["incident"] is None


@one_engine
def test_no_event_carries_the_password_of_a_feed(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    server.publish("/feed", rss("one"))
    add(store, clock, server.base.replace("://", "://ann:hunter2@") + "/feed")
    refresh_one(store, settings, clock)
    events = look(store)["events"]
    assert len(events) == 2 and "hunter2" not in str(events)


def down_and_up(store: Store, settings: Settings, clock: Clock, server: FeedServer, *, healthy: bool) -> list[str]:
    """Six feeds that fail four times and come back; with a seventh that never fails. What was told."""
    names = [f"feed-{number}" for number in range(6)]
    for name in names:
        add(store, clock, server.fail(f"/{name}", 503), name)
    if healthy:
        add(store, clock, server.publish("/healthy", rss("one")), "healthy")
    for _ in range(4):
        clock.advance(minutes=8)
        list(refresh_feeds(store, settings, [*names, *["healthy"] * healthy], clock=clock, patience=0))
    for name in names:
        server.publish(f"/{name}", rss("one"))
    clock.advance(minutes=8)
    list(refresh_feeds(store, settings, names, clock=clock, patience=0))
    return [event["event_type"] for event in look(store)["events"] if EventType(event["event_type"]).is_alert]


def test_when_nothing_can_be_fetched_one_word_about_the_network_is_enough(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    assert down_and_up(store, settings, clock, server, healthy=False) == ["network.trouble"]


@one_engine
def test_while_others_work_each_feed_in_trouble_is_told(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    told = down_and_up(store, settings, clock, server, healthy=True)
    assert sorted(told) == ["feed.failing"] * 6 + ["feed.recovered"] * 6


@one_engine
def test_a_feed_is_added_before_it_brings_articles(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    """Though the answer that it is added with is older than the feed."""
    url = server.publish("/feed", rss("one"))
    with Fetcher(settings, clock) as fetcher:
        response = fetcher.fetch(FetchRequest("news", url))
    clock.advance(seconds=1)
    add(store, clock, url, first=response)
    clock.advance(seconds=1)
    refresh_one(store, settings, clock)
    events = sorted(look(store)["events"], key=lambda event: event["created_at"])
    assert [event["event_type"] for event in events] == ["feed.added", "articles.new"]
    assert len(server.asked) == 1
