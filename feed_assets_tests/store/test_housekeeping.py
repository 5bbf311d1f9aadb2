"""Each retention, and that nothing pruned comes back as new."""

from __future__ import annotations

from datetime import datetime

import pytest

from feed_assets.decide.dedup import item_key
from feed_assets.settings import Settings
from feed_assets.store import PRUNED, Memory, Store, Transaction
from feed_assets_tests.store.builders import (
    DAY,
    MINUTE,
    NOW,
    known,
    make_article,
    make_history,
    make_item,
    make_result,
    put,
    save_items,
    store_story,
)
from feed_assets_tests.store.reading import row_counts
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one


def prune(tx: Transaction, settings: Settings, now: datetime = NOW) -> dict[str, int]:
    """What was pruned, without the tables of which nothing was; a dry run foretells it."""
    foretold = {each.table: each.rows for each in tx.housekeeping.outdated(settings, now=now) if each.rows}
    gone = {rule.table: tx.housekeeping.prune(rule, settings, now=now, item_key=item_key, most=1000) for rule in PRUNED}
    tx.housekeeping.finish(now=now)
    assert foretold == {name: rows for name, rows in gone.items() if rows}
    return foretold


def test_an_empty_database_has_nothing_to_prune(tx: Transaction, settings: Settings) -> None:
    assert prune(tx, settings) == {}


def test_raw_responses_are_kept_for_their_retention(tx: Transaction, settings: Settings) -> None:
    limit = NOW - settings.raw_retention_days * DAY
    for name, at in (("over", limit - MINUTE), ("just", limit), ("latest", NOW)):
        tx.items.save_bodies([(name, "sha", make_result(at=at))])
    assert prune(tx, settings) == {"raw_fetches": 1}
    assert tx.items.responses(["news"]) == ["just", "latest"]


def test_the_latest_response_of_a_feed_is_kept_for_replay_however_old(tx: Transaction, settings: Settings) -> None:
    put(tx, "news", "deleted")
    for feed_id in ("news", "deleted"):
        for days in (998, 999):
            tx.items.save_bodies([(f"{feed_id}-{days}", "sha", make_result(feed_id, at=NOW - days * DAY))])
    tx.feeds.delete("deleted", now=NOW - 100 * DAY)
    assert prune(tx, settings) == {"raw_fetches": 3}
    assert tx.items.responses(["news", "deleted"]) == ["news-998"]


def test_attempts_are_kept_for_their_retention(tx: Transaction, settings: Settings) -> None:
    limit = NOW - settings.history_retention_days * DAY
    tx.items.save_history([make_history("over", at=limit - MINUTE), make_history("just", at=limit)])
    assert prune(tx, settings) == {"fetch_history": 1}
    assert [row["fetch_id"] for row in tx.items.history("news", rows=9)] == ["just"]


def test_events_are_kept_for_their_retention_delivered_or_not(tx: Transaction, settings: Settings) -> None:
    limit = NOW - settings.event_retention_days * DAY
    tx.articles.save_events([("over", "feed.dead", {}, limit - MINUTE), ("just", "feed.dead", {}, limit)])
    assert prune(tx, settings) == {"events": 1}


def test_deliveries_go_with_their_events(tx: Transaction, settings: Settings) -> None:
    limit = NOW - settings.history_retention_days * DAY
    tx.articles.save_events([("over", "feed.dead", {}, limit - MINUTE)])
    tx.deliveries.plan({"everybody": None}, now=limit)
    tx.articles.save_events([("just", "feed.dead", {}, limit)])
    tx.deliveries.plan({"everybody": None}, now=limit)
    prune(tx, settings)
    assert tx.deliveries.of_events(["over"]) == []
    assert [row["status"] for row in tx.deliveries.of_events(["just"])] == ["pending"]


def test_a_story_that_no_feed_showed_for_its_retention_goes_with_everything_about_it(tx: Transaction, settings: Settings) -> None:
    limit = NOW - settings.article_retention_days * DAY
    store_story(tx, "over", at=limit - MINUTE)
    store_story(tx, "just", at=limit)
    store_story(tx, "current")
    assert prune(tx, settings) == {"raw_items": 1, "article_sources": 1, "deduped_articles": 1}
    assert set(known(tx, "news")["news"]) == {"hash-just", "hash-current"}
    assert [item.article_id for item in tx.articles.latest(["news"], items=9)["news"]] == ["current", "just"]


def test_an_item_that_is_old_but_was_seen_lately_stays(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "a", at=NOW - 999 * DAY)
    tx.items.touch([("news", "hash-a", NOW - DAY)])
    store_story(tx, "current")
    assert prune(tx, settings) == {}


def test_the_items_of_the_current_document_are_kept_however_old(tx: Transaction, settings: Settings) -> None:
    for name in ("a", "b"):
        store_story(tx, name, "sleepy", at=NOW - 999 * DAY)
    store_story(tx, "gone", "sleepy", at=NOW - 1000 * DAY)
    store_story(tx, "c", "lively")
    assert prune(tx, settings) == {"raw_items": 1, "article_sources": 1, "deduped_articles": 1}
    assert set(known(tx, "sleepy")["sleepy"]) == {"hash-a", "hash-b"}


@pytest.mark.parametrize(("deleted_days_ago", "kept"), [(999, set()), (1, {"hash-a"})])
def test_a_deleted_feed_has_no_current_document_once_its_retention_is_over(
    tx: Transaction, settings: Settings, deleted_days_ago: int, kept: set[str]
) -> None:
    put(tx, "news")
    store_story(tx, "a", at=NOW - 999 * DAY)
    tx.feeds.delete("news", now=NOW - deleted_days_ago * DAY)
    prune(tx, settings)
    assert set(known(tx, "news").get("news", {})) == kept


def test_a_story_that_another_feed_still_shows_is_kept(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "a", "first", at=NOW - 999 * DAY, article_id="story")
    store_story(tx, "current", "first")
    store_story(tx, "b", "second", article_id="story")
    assert prune(tx, settings) == {"raw_items": 1, "article_sources": 1}
    assert [item.article_id for item in tx.articles.latest(["second"], items=9)["second"]] == ["story"]


def test_a_pruned_item_is_remembered_for_its_retention_and_then_forgotten(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "a", at=NOW - 999 * DAY)
    store_story(tx, "current")
    prune(tx, settings)
    key = item_key("news", "hash-a")
    until = NOW + settings.dedup_retention_days * DAY
    assert prune(tx, settings, until) == {}
    assert key in tx.articles.remembered([key])
    assert prune(tx, settings, until + MINUTE) == {"dedup_cache": 1}
    assert tx.articles.remembered([key]) == {}


def test_a_pruned_item_whose_article_is_still_remembered_keeps_leading_to_it(tx: Transaction, settings: Settings) -> None:
    key = item_key("news", "hash-a")
    tx.articles.remember([Memory(key, "news", "a", NOW - 999 * DAY, NOW - DAY)])
    store_story(tx, "a", at=NOW - 999 * DAY)
    store_story(tx, "current")
    assert prune(tx, settings) == {"raw_items": 1, "article_sources": 1, "deduped_articles": 1}
    assert tx.articles.remembered([key]) == {key: "a"}


def test_expired_memories_go(tx: Transaction, settings: Settings) -> None:
    tx.articles.remember([Memory("over", "news", "a", NOW - DAY, NOW - MINUTE), Memory("just", "news", "b", NOW - DAY, NOW)])
    assert prune(tx, settings) == {"dedup_cache": 1}
    assert tx.articles.remembered(["over", "just"]) == {"just": "b"}


def test_a_story_that_is_still_stored_is_still_recognised(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "sleepy", at=NOW - 999 * DAY)
    tx.articles.remember([Memory("its url", "news", "sleepy", NOW - 999 * DAY, NOW - DAY)])
    prune(tx, settings)
    assert [item.article_id for item in tx.articles.latest(["news"], items=9)["news"]] == ["sleepy"]
    assert tx.articles.remembered(["its url"]) == {"its url": "sleepy"}


def test_an_item_may_be_pruned_and_stored_again_in_one_transaction(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "a", at=NOW - 999 * DAY)
    store_story(tx, "current")
    prune(tx, settings)
    save_items(tx, ("news", "f9", NOW, make_item("a", says="again")))
    tx.articles.save([make_article("a", headline="again")])
    assert known(tx, "news")["news"]["hash-a"] == "content-a-again"


def test_pruning_twice_prunes_nothing_more(tx: Transaction, settings: Settings) -> None:
    store_story(tx, "a", at=NOW - 999 * DAY)
    store_story(tx, "current")
    tx.items.save_bodies([("f1", "sha", make_result(at=NOW - 999 * DAY)), ("f2", "sha", make_result())])
    tx.items.save_history([make_history(at=NOW - 999 * DAY)])
    assert len(prune(tx, settings)) == 5
    assert prune(tx, settings) == {}


def test_a_pruned_item_that_its_feed_shows_again_is_no_news(store: Store, settings: Settings, server: FeedServer, clock: Clock) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two")))
    assert refresh_one(store, settings, clock).new == 2
    clock.advance(days=1)
    server.publish("/feed", rss("three"))
    assert refresh_one(store, settings, clock).new == 1
    clock.advance(days=settings.article_retention_days)
    with store.begin() as tx:
        assert prune(tx, settings, clock())["raw_items"] == 2
    server.publish("/feed", rss("three", "two", "four"))
    assert refresh_one(store, settings, clock).new == 1
    assert row_counts(store)["deduped_articles"] == 2
