"""The `feeds` table: adding, bringing back, changing and deleting feeds, and the overview of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from feed_assets.errors import StoreError
from feed_assets.model import Stats
from feed_assets.store import Store, Transaction
from feed_assets_tests.store.builders import DAY, MINUTE, NOW, claim_due, get_feed, get_schedule, make_feed, put, save_schedule
from feed_assets_tests.store.contract import TABLES


def test_a_feed_comes_back_as_it_was_put(tx: Transaction) -> None:
    feed = make_feed(
        root_domain="news.example",
        enabled=False,
        polling=False,
        refresh_interval_minutes=10080,
        priority=-3,
        feed_group="papers",
        enforce_feed_domain=True,
        error_policy="one_strike",
    )
    put(tx, feed)
    assert get_feed(tx) == feed


def test_a_new_feed_is_idle_and_due_at_the_given_time(tx: Transaction) -> None:
    put(tx, "news", due=NOW + MINUTE)
    schedule = get_schedule(tx)
    assert (schedule.fetch_status, schedule.next_run_at, schedule.next_run_reason) == ("idle", NOW + MINUTE, "new feed")
    assert (schedule.consecutive_errors, schedule.last_status, schedule.lease_token, schedule.check_states) == (0, None, None, {})


def test_an_unknown_feed_is_none(tx: Transaction) -> None:
    assert tx.feeds.get("nobody") is None
    assert tx.schedules.get("nobody") is None
    assert tx.feeds.overview("nobody") == []


def test_many_gives_those_of_the_ids_that_exist(tx: Transaction) -> None:
    put(tx, "a", "b", "c")
    assert tx.feeds.many(["c", "a", "nobody"]) == {"a": make_feed("a"), "c": make_feed("c")}


def test_live_ids_are_in_the_order_the_feeds_were_added(tx: Transaction) -> None:
    put(tx, make_feed("z"), make_feed("m", created_at=NOW + DAY), make_feed("a", created_at=NOW + DAY), make_feed("k", created_at=NOW))
    assert tx.feeds.live_ids() == ["k", "z", "a", "m"]
    assert [feed.feed_id for feed in tx.feeds.live()] == ["a", "k", "m", "z"]


def test_a_deleted_feed_keeps_its_row_and_its_id(tx: Transaction) -> None:
    put(tx, "news", "other")
    tx.feeds.delete("news", now=NOW + DAY)
    assert get_feed(tx) == replace(make_feed(), deleted_at=NOW + DAY, updated_at=NOW + DAY)
    assert tx.feeds.live_ids() == ["other"]
    assert [feed.feed_id for feed in tx.feeds.live()] == ["other"]
    assert [row["feed_id"] for row in tx.feeds.overview()] == ["other"]
    assert tx.feeds.overview("news") == []
    assert tx.feeds.all_ids() == {"news", "other"}
    assert [feed.feed_id for feed in tx.feeds.everything()] == ["news", "other"]


def test_a_deleted_feed_is_not_scheduled_and_says_why(tx: Transaction) -> None:
    put(tx, "news")
    tx.feeds.delete("news", now=NOW)
    schedule = get_schedule(tx)
    assert (schedule.next_run_at, schedule.next_run_reason) == (None, "deleted")


def test_a_deleted_feed_that_is_put_again_comes_back_due_with_a_clean_slate(tx: Transaction) -> None:
    put(tx, "news")
    save_schedule(tx, last_fetched_at=NOW, last_error="gone", consecutive_errors=3, etag='"e"', last_modified="Mon", body_sha256="f00")
    tx.feeds.delete("news", now=NOW)
    tx.feeds.put([make_feed(priority=7, created_at=NOW + DAY, updated_at=NOW + DAY)], next_run_at=NOW + DAY, reason="added again")
    assert get_feed(tx) == make_feed(priority=7, created_at=NOW, updated_at=NOW + DAY)
    schedule = get_schedule(tx)
    assert (schedule.next_run_at, schedule.next_run_reason, schedule.last_fetched_at) == (NOW + DAY, "added again", NOW)
    assert (schedule.consecutive_errors, schedule.last_error) == (0, None)
    assert (schedule.etag, schedule.last_modified, schedule.body_sha256) == (None, None, None)


def test_a_feed_that_comes_back_while_it_is_fetched_keeps_its_lease(tx: Transaction) -> None:
    put(tx, "news")
    assert claim_due(tx, "first") == ["news"]
    tx.feeds.delete("news", now=NOW)
    put(tx, "news")
    assert get_schedule(tx).lease_token == "first"
    assert claim_due(tx, "second", now=NOW + MINUTE) == []


def test_update_changes_the_columns_but_not_when_the_feed_was_created(tx: Transaction) -> None:
    put(tx, "news", "other")
    changed = make_feed(url="https://moved.example/", source_name="Moved", enabled=False, refresh_interval_minutes=5, created_at=NOW + DAY)
    tx.feeds.update([changed], now=NOW + MINUTE)
    assert get_feed(tx) == replace(changed, created_at=NOW, updated_at=NOW + MINUTE)
    assert get_feed(tx, "other") == make_feed("other")


def test_feeds_at_a_url_come_live_first_then_the_last_deleted(tx: Transaction) -> None:
    url = "https://same.example/feed"
    for day, feed_id in enumerate(("oldest", "newer")):
        put(tx, make_feed(feed_id, url=url))
        tx.feeds.delete(feed_id, now=NOW + day * DAY)
    put(tx, make_feed("live", url=url), "elsewhere")
    assert [feed.feed_id for feed in tx.feeds.at_url(url)] == ["live", "newer", "oldest"]


@pytest.mark.parametrize("column", [{"refresh_interval_minutes": 0}, {"refresh_interval_minutes": 10081}, {"error_policy": "never"}])
def test_values_outside_the_contract_are_refused(store: Store, column: dict[str, Any]) -> None:
    with pytest.raises(StoreError) as refused, store.begin() as tx:
        put(tx, make_feed(**column))
    assert len(str(refused.value).splitlines()) == 1


def test_the_overview_has_the_columns_of_feeds_schedules_and_statistics(tx: Transaction) -> None:
    put(tx, "news")
    (row,) = tx.feeds.overview()
    missing = {column for table in ("feeds", "feed_schedules", "feed_stats") for column in TABLES[table]} - set(row)
    assert not missing


def test_the_overview_shows_configuration_schedule_and_statistics_of_every_live_feed(tx: Transaction) -> None:
    put(tx, make_feed("b", priority=2), "a")
    tx.articles.save_stats([Stats("b", articles_per_hour=1.5, hourly_distribution=(1.0,) * 24, updated_at=NOW + DAY)])
    a, b = tx.feeds.overview()
    assert tx.feeds.overview("b") == [b]
    assert (a["feed_id"], a["next_run_at"], a["fetch_status"], a["articles_per_hour"]) == ("a", NOW, "idle", None)
    assert (b["feed_id"], b["priority"], b["articles_per_hour"], b["hourly_distribution"]) == ("b", 2, 1.5, [1.0] * 24)
    assert (b["created_at"], b["updated_at"]) == (NOW, NOW)
