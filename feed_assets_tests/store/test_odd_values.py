"""Values that break careless drivers: NULLs by the thousand, quotes, COPY's own escapes, long texts, odd times, empty lists."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from feed_assets.model import Entry, Item
from feed_assets.store import Store, Transaction
from feed_assets_tests.store.builders import (
    LEASE,
    NOW,
    get_feed,
    get_schedule,
    known,
    make_article,
    make_feed,
    make_history,
    make_result,
    put,
    save_items,
    save_schedule,
    stored_responses,
)
from feed_assets_tests.store.contract import TABLES
from feed_assets_tests.store.reading import decoded, only_row, row_counts

TEXTS = {
    "emoji": "🗞️ Ärger – 日本語 – عربى – 👩‍👩‍👧",
    "quotes": """it's "quoted" -- and; `more` \\ $$""",
    "copy escapes": "\\N",
    "copy end": "\\.",
    "lines and tabs": "one\r\ntwo\tthree\n",
    "placeholders": "%s %(name)s :name $1 {} ?",
    "null word": "NULL",
    "nan word": "nan",
    "empty": "",
    "blanks": "  ",
    "long": "long é " * 150_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_comes_back_unchanged(tx: Transaction, name: str) -> None:
    text = TEXTS[name]
    feed = make_feed(url=f"https://news.example/{text[:50]}", source_name=text, feed_group=text)
    put(tx, feed)
    tx.feeds.update([replace(feed, root_domain=text)], now=NOW)
    save_schedule(tx, last_error=text, etag=text, check_states={text[:50]: True})
    save_items(tx, ("news", "f1", NOW, Item("h", "c", Entry(guid=text, url=text, title=text, author=text, categories=(text,)))))
    tx.items.save_bodies([("f1", "sha", make_result(headers={"x": text}))])
    tx.items.save_history([make_history(error_message=text)])
    tx.articles.save([make_article("a", headline=text, content=text)])
    tx.articles.save_sources([("a", "news", "h")])
    assert get_feed(tx) == replace(feed, root_domain=text)
    schedule = get_schedule(tx)
    assert (schedule.last_error, schedule.etag, schedule.check_states) == (text, text, {text[:50]: True})
    (item,) = tx.articles.latest(["news"], items=1)["news"]
    assert (item.guid, item.url, item.author, item.extra.get("categories")) == (text or "h", text, text, [text])
    assert (item.headline, item.content) == (text, text)
    assert stored_responses(tx, "news")[0][1].headers == {"x": text}
    assert tx.items.history("news", rows=1)[0]["error_message"] == text


def test_an_empty_text_is_not_null(store: Store) -> None:
    with store.begin() as tx:
        save_items(tx, ("news", "f1", NOW, Item("h", "c", Entry(guid="", url=None, title=""))))
    row = only_row(store, "raw_items")
    assert (row["guid"], row["url"], row["title"], row["author"], row["published_at"]) == ("", None, "", None, None)
    assert decoded(row["raw"]) == {}


def test_columns_that_are_null_but_for_the_last_of_many_rows_keep_their_type(tx: Transaction) -> None:
    empty = {"status_code": None, "error_message": None, "run_id": None}
    tx.items.save_history(make_history(f"f{n:05}", at=NOW + timedelta(seconds=n), **empty) for n in range(3000))
    last = make_history("last", at=NOW + timedelta(days=1), status_code=503, error_message="down", run_id="r")
    tx.items.save_history([*(make_history(f"g{n:05}", at=NOW, **empty) for n in range(3000)), last])
    assert tx.items.history("news", rows=1) == [last]
    assert len(tx.items.history("news", rows=9999)) == 6001


def test_feeds_and_schedules_with_nothing_but_nulls_in_optional_columns_come_back(tx: Transaction) -> None:
    feeds = [make_feed(f"feed-{n}") for n in range(50)] + [make_feed("full", root_domain="x.example", refresh_interval_minutes=5)]
    put(tx, *feeds)
    assert sorted(tx.feeds.live(), key=lambda feed: feed.feed_id) == sorted(feeds, key=lambda feed: feed.feed_id)


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 3, 2, 12, 0, 0, 123456, UTC),
        datetime(2026, 3, 29, 1, 30, tzinfo=timezone(timedelta(hours=5, minutes=45))),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1601, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
    ids=str,
)
def test_a_time_comes_back_as_the_same_moment_in_utc(tx: Transaction, at: datetime) -> None:
    put(tx, "news", due=at)
    save_items(tx, ("news", "f1", NOW, Item("h", "c", Entry(published_at=at))))
    tx.items.save_history([make_history(at=at)])
    for found in (get_schedule(tx).next_run_at, tx.items.history("news", rows=1)[0]["fetch_time"]):
        assert found == at
        assert found.utcoffset() == timedelta(0)


def test_times_of_different_zones_may_come_in_one_batch(tx: Transaction) -> None:
    zones = (UTC, timezone(timedelta(hours=-8)), timezone(timedelta(hours=2)))
    tx.items.save_history(make_history(f"f{n}", at=NOW.astimezone(zone)) for n, zone in enumerate(zones))
    assert {row["fetch_time"] for row in tx.items.history("news", rows=9)} == {NOW}


def test_questions_about_no_feeds_have_no_answers(tx: Transaction) -> None:
    put(tx, "news")
    assert tx.feeds.many([]) == {}
    assert tx.schedules.claim("batch", [], now=NOW, lease=LEASE) == []
    assert tx.schedules.fence("batch", []) == set()
    assert tx.schedules.leases([], now=NOW) == {}
    assert known(tx) == {}
    assert tx.items.responses([]) == []
    assert tx.items.bodies([]) == []
    assert tx.articles.remembered([]) == {}
    assert tx.articles.latest([], items=9) == {}
    assert tx.articles.editions([]) == {}
    assert tx.schedules.start("nobody", now=NOW, lease=LEASE) == []


def test_writing_nothing_writes_nothing(store: Store) -> None:
    with store.begin() as tx:
        put(tx)
        tx.schedules.save([])
        tx.schedules.renew("nobody", now=NOW, lease=LEASE)
        tx.schedules.release("nobody")
        tx.items.save([])
        tx.items.touch([])
        tx.items.save_bodies([])
        tx.items.save_history([])
        tx.articles.save([])
        tx.articles.save_sources([])
        tx.articles.remember([])
        tx.articles.save_stats([])
        tx.articles.save_cached([])
        tx.articles.save_events([])
    assert row_counts(store) == dict.fromkeys(TABLES, 0)


def test_a_list_of_thousands_of_ids_is_no_trouble(tx: Transaction) -> None:
    put(tx, "news")
    assert set(tx.feeds.many(["news", *(f"feed-{n}" for n in range(10_000))])) == {"news"}
