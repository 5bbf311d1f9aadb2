"""Pruning while others work, statistics that are put right, and stories that never come back, whatever feeds and retentions do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from feed_assets import catalog, housekeeping
from feed_assets.decide import velocity
from feed_assets.housekeeping import outdated, prune, recalculate, summed
from feed_assets.model import Stats
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.store.builders import DAY, MINUTE, NOW, make_history, make_item, put, save_items, store_story
from feed_assets_tests.store.reading import row_counts
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.year import Year


def keep_house(store: Store, settings: Settings, clock: Clock, *, days: int = 0) -> None:
    """So many nights."""
    for _ in range(max(days, 1)):
        clock.advance(days=min(days, 1))
        summed(prune(store, settings, now=clock(), pause=lambda _: None))


@pytest.fixture
def brief(tmp_path: Path, database_url: str) -> Settings:
    """Articles are kept for a day, and remembered for one more."""
    return make_settings(tmp_path, DATABASE_URL=database_url, ARTICLE_RETENTION_DAYS=1, DEDUP_RETENTION_DAYS=1, RAW_RETENTION_DAYS=1)


def test_many_rows_go_in_portions_and_others_have_their_turn_in_between(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_PORTION", 10)
    monkeypatch.setattr(housekeeping, "_LARGEST", 10)
    monkeypatch.setattr(housekeeping, "_SMALLEST", 10)
    left = []

    def others(seconds: float) -> None:
        left.append(row_counts(store)["fetch_history"])

    with store.begin() as tx:
        tx.items.save_history([make_history(f"f{n}", at=NOW - 99 * DAY) for n in range(35)])
    assert summed(prune(store, settings, now=NOW, pause=others))["fetch_history"] == 35
    assert left == [25, 15, 5]


def test_pruning_that_was_cut_short_is_continued_by_the_next(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "_PORTION", 3)
    with store.begin() as tx:
        for name in range(5):
            store_story(tx, f"old-{name}", at=NOW - 999 * DAY)
        store_story(tx, "current")
    foretold = {each.table: each.rows for each in outdated(store, settings, now=NOW)}
    cut = prune(store, settings, now=NOW, pause=lambda _: None)
    next(table for table, rows in cut if rows)
    cut.close()
    rest = summed(prune(store, settings, now=NOW, pause=lambda _: None))
    assert (foretold["raw_items"], foretold["deduped_articles"]) == (5, 5)
    assert (rest["raw_items"], rest["deduped_articles"]) == (2, 5)
    assert all(row_counts(store)[table] == 1 for table in ("raw_items", "article_sources", "deduped_articles"))


def test_items_of_a_long_document_are_new_once_though_articles_are_kept_for_a_day(
    store: Store, brief: Settings, server: FeedServer, clock: Clock
) -> None:
    titles = [f"story {n}" for n in range(12)]
    add(store, clock, server.publish("/feed", rss(*titles)))
    assert refresh_one(store, brief, clock).new == 12
    for day in range(6):
        keep_house(store, brief, clock, days=1)
        titles = [f"today {day}", *titles]
        server.publish("/feed", rss(*titles))
        assert refresh_one(store, brief, clock).new == 1


def test_an_item_that_stays_in_the_document_for_years_is_no_news(store: Store, brief: Settings, server: FeedServer, clock: Clock) -> None:
    add(store, clock, server.publish("/feed", rss("about us", "first")))
    refresh_one(store, brief, clock)
    for year in range(3):
        clock.advance(days=365)
        keep_house(store, brief, clock)
        server.publish("/feed", rss("about us", f"news of {year}"))
        assert refresh_one(store, brief, clock).new == 1


def test_an_item_that_came_back_is_remembered_as_long_as_it_is_shown(
    store: Store, brief: Settings, server: FeedServer, clock: Clock
) -> None:
    """It is stored no more, so only memory knows it; and that must outlast a document that nobody changes for months."""
    add(store, clock, server.publish("/feed", rss("old", "one")))
    refresh_one(store, brief, clock)
    server.publish("/feed", rss("one"))
    clock.advance(hours=1)
    refresh_one(store, brief, clock)
    keep_house(store, brief, clock, days=1)
    keep_house(store, brief, clock, days=1)
    server.publish("/feed", rss("old", "one"))
    assert refresh_one(store, brief, clock).new == 0, "it came back"
    keep_house(store, brief, clock, days=5)
    clock.advance(days=200)
    keep_house(store, brief, clock)
    server.publish("/feed", rss("old", "one", "two"))
    assert refresh_one(store, brief, clock).new == 1


@pytest.mark.parametrize("meanwhile", ["disabled", "failing"])
def test_a_feed_that_returns_after_months_brings_only_what_is_new(
    store: Store, brief: Settings, server: FeedServer, clock: Clock, meanwhile: str
) -> None:
    url = server.publish("/feed", rss("one", "two"))
    add(store, clock, url)
    refresh_one(store, brief, clock)
    if meanwhile == "disabled":
        catalog.edit_feed(store, brief, "news", enabled=False, now=clock())
    else:
        server.fail("/feed", 404)
        refresh_one(store, brief, clock)
    clock.advance(days=200)
    keep_house(store, brief, clock)
    if meanwhile == "disabled":
        catalog.edit_feed(store, brief, "news", enabled=True, now=clock())
    server.publish("/feed", rss("three", "one", "two"))
    assert refresh_one(store, brief, clock).new == 1


def test_a_deleted_feed_that_is_restored_in_time_brings_no_old_news(
    store: Store, brief: Settings, server: FeedServer, clock: Clock
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two")))
    refresh_one(store, brief, clock)
    catalog.delete_feed(store, "news", now=clock())
    keep_house(store, brief, clock, days=1)
    clock.advance(minutes=1)
    keep_house(store, brief, clock)
    assert row_counts(store)["raw_items"] == 0
    catalog.restore_feed(store, "news", now=clock())
    server.publish("/feed", rss("three", "one", "two"))
    assert refresh_one(store, brief, clock).new == 1


@pytest.fixture
def drifted(store: Store) -> Stats:
    """Wrong statistics of a feed that has published every four hours for two months."""
    wrong = Stats("news", articles_per_hour=9.0, last_successful_fetch=NOW, learned_until=NOW, updated_at=NOW)
    moments = [NOW - timedelta(hours=hours) for hours in range(0, 60 * 24, 4)]
    items = [("news", "f", at, make_item(f"{at:%m%d%H}", published_at=at)) for at in moments]
    with store.begin() as tx:
        put(tx, "news")
        save_items(tx, *items)
        tx.articles.save_stats([wrong])
    return wrong


def stats(store: Store) -> Stats:
    with store.read() as tx:
        return tx.articles.stats_of(["news"])["news"]


def test_statistics_that_drifted_are_put_right_from_stored_items(store: Store, settings: Settings, drifted: Stats) -> None:
    assert sum(recalculate(store, settings, now=NOW)) == 1
    right = stats(store)
    assert right.articles_per_hour == pytest.approx(0.25, rel=0.1)
    assert (right.total_articles_fetched, right.newest_item_at, right.learned_until) == (360, NOW, NOW)
    assert [hour for hour, items in enumerate(right.hourly_distribution) if items] == [0, 4, 8, 12, 16, 20]
    with store.begin() as tx:
        tx.articles.save_stats([replace(right, articles_per_hour=9.0, observed_hours=1.0, pace=())])
    sum(recalculate(store, settings, now=NOW))
    assert stats(store) == right


def test_statistics_of_a_feed_that_is_being_fetched_are_left_alone(store: Store, settings: Settings, drifted: Stats) -> None:
    with store.begin() as tx:
        tx.schedules.claim("batch", ["news"], now=NOW, lease=10 * MINUTE)
    assert sum(recalculate(store, settings, now=NOW)) == 0
    assert stats(store) == drifted
    assert sum(recalculate(store, settings, now=NOW)) == 0
    assert sum(recalculate(store, settings, now=NOW + 11 * MINUTE)) == 1


def test_a_fetch_that_ends_while_statistics_are_recalculated_wins(
    store: Store, settings: Settings, drifted: Stats, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = replace(drifted, articles_per_hour=1.0, updated_at=NOW + MINUTE)
    relearn = velocity.relearn

    def slowly(*arguments: Any, **options: Any) -> Stats:
        with store.begin() as tx:
            tx.articles.save_stats([fetched])
        return relearn(*arguments, **options)

    monkeypatch.setattr(velocity, "relearn", slowly)
    assert sum(recalculate(store, settings, now=NOW)) == 0
    assert stats(store) == fetched


def test_items_that_are_kept_for_days_only_teach_nothing(store: Store, brief: Settings, drifted: Stats) -> None:
    assert sum(recalculate(store, brief, now=NOW)) == 0
    assert stats(store) == drifted


def test_of_very_many_feeds_others_have_their_turn_each_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "_FEEDS_A_NIGHT", 4)
    monkeypatch.setattr(housekeeping, "_FEEDS", 3)
    feeds = [f"{n}" for n in range(10)]
    nights = [[name for portion in housekeeping._tonight(feeds, NOW + n * DAY) for name in portion] for n in range(3)]
    assert sorted(map(len, nights)) == [2, 4, 4]
    assert sorted(name for night in nights for name in night) == feeds
    assert list(housekeeping._tonight([], NOW)) == []


def test_months_of_operation_lose_nothing_repeat_nothing_and_stay_bounded(store: Store, tmp_path: Path, database_url: str) -> None:
    """`benchmarks/year.py` does it for a year, with Dagster."""
    retention = {"ARTICLE_RETENTION_DAYS": 10, "DEDUP_RETENTION_DAYS": 12, "RAW_RETENTION_DAYS": 5, "HISTORY_RETENTION_DAYS": 10}
    year = Year(store, make_settings(tmp_path, DATABASE_URL=database_url, **retention), feeds=11, every=5)
    months = list(year.live(60))
    assert (len(months), year.fetches) == (2, 11 * 12)
    assert year.pruned["raw_items"] > 0 and year.pruned["dedup_cache"] > 0
    assert months[-1].database <= months[0].database * 1.3
    assert months[-1].rows["raw_items"] <= months[0].rows["raw_items"] * 1.1
    assert months[-1].rows["dedup_cache"] <= months[0].rows["dedup_cache"] * 1.2
