"""All or nothing: what a block wrote is there after it, or none of it is."""

from __future__ import annotations

import pytest

from feed_assets.errors import StoreError
from feed_assets.model import Stats
from feed_assets.store import AnalyzerVersion, CachedFeed, Memory, RecentHeadline, Store, Totals, Transaction, connect
from feed_assets_tests.store.builders import DAY, NOW, claim_due, get_schedule, make_feed, make_history, make_result, put, store_story
from feed_assets_tests.store.contract import TABLES
from feed_assets_tests.store.reading import row_counts


def write_everywhere(tx: Transaction) -> None:
    put(tx, "news")
    store_story(tx, "a")
    tx.items.save_bodies([("f1", "sha", make_result())])
    tx.items.save_history([make_history("f1")])
    tx.articles.save_stats([Stats("news", updated_at=NOW)])
    tx.articles.remember([Memory("h", "news", "a", NOW, NOW + DAY)])
    tx.articles.save_cached([CachedFeed("news", "<channel>", ["a"], "<rss/>", '"e"', NOW, NOW)])
    tx.articles.save_headlines([RecentHeadline("k", "a", "One", "News", None, NOW)], lifetime=DAY)
    tx.articles.save_events([("e1", "articles.new", {}, NOW)])
    tx.items.save_first(make_result())
    tx.numbers.add("total", Totals(success=1), at=NOW)
    tx.numbers.signal("sensor", at=NOW)
    tx.batches.open("token", run_id="run", now=NOW)
    tx.deliveries.plan({"dagster": None}, now=NOW)
    tx.analyses.spend(NOW, budget=1)
    tx.analyses.claim(AnalyzerVersion("mock", "1"), "token", now=NOW, since=NOW - DAY, lease=DAY, limit=1, budget=None)
    tx.articles.set_groups({"a": "a"})
    tx.groups.save({"a": NOW}, now=NOW)
    tx.groups.examined(["a"], now=NOW)
    tx.hosts.reserve("token", {"news.example": NOW}, now=NOW, lease=DAY)


def test_what_a_block_wrote_is_there_for_the_next_store(store: Store, database_url: str) -> None:
    with store.begin() as tx:
        write_everywhere(tx)
    another = connect(database_url)
    assert row_counts(another) == dict.fromkeys(TABLES, 1) | {"article_changes": 1 if store.engine.name == "duckdb" else 0}
    another.close()


def test_an_exception_undoes_everything_and_passes_through(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.begin() as tx:
        write_everywhere(tx)
        _ = 1 / 0
    assert row_counts(store) == dict.fromkeys(TABLES, 0)


def test_a_refused_write_undoes_the_writes_before_it(store: Store) -> None:
    with pytest.raises(StoreError), store.begin() as tx:
        write_everywhere(tx)
        put(tx, make_feed("bad", error_policy="never"))
    assert row_counts(store) == dict.fromkeys(TABLES, 0)


def test_the_store_works_on_after_a_refused_write(store: Store) -> None:
    with pytest.raises(StoreError), store.begin() as tx:
        put(tx, make_feed("bad", error_policy="never"))
    with store.begin() as tx:
        put(tx, "news")
    with store.read() as tx:
        assert tx.feeds.live_ids() == ["news"]


def test_a_claim_that_fails_before_its_commit_claims_nothing(store: Store) -> None:
    with store.begin() as tx:
        put(tx, "news")
    with pytest.raises(ZeroDivisionError), store.begin() as tx:
        assert claim_due(tx) == ["news"]
        _ = 1 / 0
    with store.read() as tx:
        schedule = get_schedule(tx)
    assert (schedule.fetch_status, schedule.lease_token) == ("idle", None)


def test_a_transaction_sees_its_own_writes(tx: Transaction) -> None:
    write_everywhere(tx)
    assert tx.feeds.live_ids() == ["news"]
    assert [item.article_id for item in tx.articles.latest(["news"], items=9)["news"]] == ["a"]


def test_a_refused_write_says_what_is_wrong(store: Store) -> None:
    with pytest.raises(StoreError, match=r"(?i)constraint"), store.begin() as tx:
        put(tx, make_feed("bad", error_policy="never"))


def test_a_reader_cannot_write(store: Store) -> None:
    with store.begin() as tx:
        put(tx, "news")
    with pytest.raises(StoreError, match=r"(?i)read.only"), store.read() as tx:
        tx.feeds.delete("news", now=NOW)
    with store.begin() as tx:
        assert tx.feeds.live_ids() == ["news"]
        tx.feeds.delete("news", now=NOW)
        assert tx.feeds.live_ids() == []


def test_a_store_can_be_used_again_after_it_was_closed(store: Store) -> None:
    store.close()
    with store.begin() as tx:
        put(tx, "news")
    store.close()
    store.close()
    with store.read() as tx:
        assert tx.feeds.live_ids() == ["news"]


def test_vacuum_leaves_the_data_as_it_was(store: Store) -> None:
    with store.begin() as tx:
        write_everywhere(tx)
    before = row_counts(store)
    store.vacuum()
    assert row_counts(store) == before
