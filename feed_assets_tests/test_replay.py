"""Replay: articles and XML again from the stored responses, without any request."""

from __future__ import annotations

from datetime import timedelta

import pytest

from feed_assets import catalog
from feed_assets.errors import FeedNotReady, UnknownFeed
from feed_assets.model import FeedReport
from feed_assets.replay import replay_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import TABLES, add, refresh_one
from feed_assets_tests.support.rows import Row, Rows, look, one_engine

MADE = ("deduped_articles", "article_sources", "cached_feeds")  # what a replay makes again
REST = tuple(name for name in TABLES if name not in (*MADE, "feed_schedules"))
LEASE = {"queued_at", "fetch_started_at"}  # a replay takes the lease, too


def replay(store: Store, settings: Settings, clock: Clock, *feed_ids: str) -> list[FeedReport]:
    return list(replay_feeds(store, settings, feed_ids or ("news",), clock=clock, patience=0))


def delete(store: Store, *names: str) -> None:
    with store.engine.begin() as connection:
        for name in names:
            connection.script(f"DELETE FROM {name}")


def schedules(rows: Rows) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in LEASE} for row in rows["feed_schedules"]]


def publish_in_turns(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    """Three documents: two items, one more and one changed, one that left."""
    first = rss("two", "one")
    changed = rss("three", "two", "one").replace("<title>one", "<title>One, corrected")
    for document in (first, changed, rss("four", "three")):
        server.publish("/feed", document)
        refresh_one(store, settings, clock)
        clock.advance(minutes=20)
    clock.advance(minutes=-20)


def test_a_replay_makes_the_same_rows_again_without_a_request(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.base + "/feed")
    publish_in_turns(store, settings, clock, server)
    before, asked = look(store), len(server.asked)
    delete(store, *MADE)
    [report] = replay(store, settings, clock)
    assert (report.replayed, report.stored, report.found, report.new) == (True, True, 4, 0)
    assert len(server.asked) == asked
    after = look(store)
    assert after["deduped_articles"] == before["deduped_articles"]
    assert after["article_sources"] == before["article_sources"]
    assert after.of("cached_feeds") | {"created_at": None} == before.of("cached_feeds") | {"created_at": None}
    assert schedules(after) == schedules(before)
    untouched = ("feeds", "feed_stats", "raw_fetches", "fetch_history", "events")
    assert after.only(*untouched) == before.only(*untouched)


@one_engine
def test_a_replay_leaves_raw_items_and_memory_alone(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.base + "/feed")
    publish_in_turns(store, settings, clock, server)
    before = look(store)
    replay(store, settings, clock)
    assert look(store).only("raw_items", "dedup_cache") == before.only("raw_items", "dedup_cache")


def test_a_replay_of_what_is_there_changes_nothing(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("two", "one")))
    refresh_one(store, settings, clock)
    before = look(store)
    clock.advance(hours=1)
    for _ in range(2):
        replay(store, settings, clock)
    after = look(store)
    assert after.only(*MADE, *REST) == before.only(*MADE, *REST)
    assert schedules(after) == schedules(before)


@one_engine
def test_a_shared_story_stays_the_article_of_the_feed_that_brought_it(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    for feed_id, interval in (("second", 1440), ("first", 10)):
        add(store, clock, server.publish(f"/{feed_id}", rss("shared", feed_id)), feed_id, refresh_interval_minutes=interval)
        refresh_one(store, settings, clock, feed_id)
        clock.advance(minutes=20)
    before = look(store)
    delete(store, "deduped_articles", "article_sources")
    replay(store, settings, clock, "first", "second")
    assert look(store).only("deduped_articles", "article_sources") == before.only("deduped_articles", "article_sources")


def test_nothing_stored_is_said_plainly(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    before = look(store)
    [report] = replay(store, settings, clock)
    assert (report.stored, report.replayed) == (False, False)
    assert report.reason == "nothing stored: no response of this feed is stored yet, so there is nothing to replay"
    after = look(store)
    assert after.counts() == before.counts()
    assert schedules(after) == schedules(before)
    assert server.asked == []


@one_engine
def test_a_feed_whose_responses_were_pruned_keeps_its_xml(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one", extra="<description>All of it</description><language>en</language>")))
    refresh_one(store, settings, clock)
    delete(store, "raw_fetches")
    before = look(store)
    clock.advance(days=8)
    replay(store, settings, clock)
    assert look(store).only(*MADE) == before.only(*MADE)


@one_engine
def test_a_disabled_feed_can_be_replayed(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    catalog.edit_feed(store, settings, "news", now=clock(), enabled=False)
    delete(store, *MADE)
    assert [report.stored for report in replay(store, settings, clock)] == [True]
    assert look(store).column("deduped_articles", "headline") == ["one"]


@one_engine
def test_a_feed_that_is_being_fetched_is_not_replayed(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    with store.begin() as tx:
        tx.schedules.claim("other", ["news"], now=clock(), lease=timedelta(minutes=1))
    with pytest.raises(FeedNotReady, match="being fetched by another run"):
        replay(store, settings, clock)
    with pytest.raises(UnknownFeed):
        replay(store, settings, clock, "nobody")


@one_engine
def test_one_feed_with_nothing_stored_does_not_keep_others_from_being_replayed(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/a", rss("one")), "empty")
    add(store, clock, server.publish("/b", rss("two")), "full")
    refresh_one(store, settings, clock, "full")
    assert {report.feed_id: report.stored for report in replay(store, settings, clock, "empty", "full")} == {"empty": False, "full": True}
    assert all(row["lease_token"] is None for row in look(store)["feed_schedules"])


@one_engine
def test_after_a_replay_the_next_refresh_is_conditional_and_finds_nothing_new(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    refresh_one(store, settings, clock)
    delete(store, *MADE)
    replay(store, settings, clock)
    report = refresh_one(store, settings, clock)
    assert (report.status_code, report.news) == (304, False)
    assert len(look(store).events("articles.new")) == 1
