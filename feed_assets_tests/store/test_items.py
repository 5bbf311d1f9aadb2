"""Raw responses, raw items and the history of attempts."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime

import pytest

from feed_assets.model import Enclosure, Entry, FetchResult, Item
from feed_assets.store import Store, Transaction
from feed_assets_tests.store.builders import DAY, MINUTE, NOW, known, make_history, make_item, make_result, save_items, stored_responses
from feed_assets_tests.store.reading import decoded, only_row, rows_of

BODIES = {
    "empty": b"",
    "every byte": bytes(range(256)),
    "not UTF-8": "<rss>café</rss>".encode("latin-1"),
    "compressed already": zlib.compress(b"abc" * 1000),
    "2 MB": b"<item>\x00</item>" * 150_000,
}


def test_known_items_are_listed_by_feed_with_what_they_said(tx: Transaction) -> None:
    save_items(tx, ("a", "f1", NOW, make_item("x")), ("a", "f1", NOW, make_item("y")), ("b", "f2", NOW, make_item("x", says="else")))
    assert known(tx, "a", "b", "nobody") == {
        "a": {"hash-x": "content-x-first", "hash-y": "content-y-first"},
        "b": {"hash-x": "content-x-else"},
    }
    assert set(known(tx, "b")) == {"b"}


def test_an_item_is_stored_as_it_came(store: Store) -> None:
    entry = Entry(
        guid="g",
        url="https://news.example/1",
        title="<b>Title</b>",
        author="Ann",
        published_at=NOW - DAY,
        updated_at=NOW,
        content="<p>Text</p>",
        categories=("one", "two"),
        enclosures=(Enclosure("https://news.example/1.mp3", "audio/mpeg", 5_000_000_000),),
    )
    with store.begin() as tx:
        save_items(tx, ("news", "f1", NOW, Item("hash", "content", entry)))
    row = only_row(store, "raw_items")
    assert (row["feed_id"], row["item_hash"], row["guid"], row["url"]) == ("news", "hash", "g", "https://news.example/1")
    assert (row["title"], row["author"], row["content"]) == ("<b>Title</b>", "Ann", "<p>Text</p>")
    assert (row["published_at"], row["fetch_id"], row["first_seen_at"], row["last_seen_at"]) == (NOW - DAY, "f1", NOW, NOW)
    assert decoded(row["raw"]) == {
        "updated_at": NOW.isoformat(),
        "categories": ["one", "two"],
        "enclosures": [{"url": "https://news.example/1.mp3", "type": "audio/mpeg", "length": 5_000_000_000}],
    }


def test_a_changed_item_replaces_what_it_said_but_not_when_it_was_first_seen(store: Store) -> None:
    with store.begin() as tx:
        save_items(tx, ("news", "f1", NOW, make_item("x")))
    with store.begin() as tx:
        save_items(tx, ("news", "f2", NOW + DAY, make_item("x", says="second", author="Ben")))
    row = only_row(store, "raw_items")
    assert (row["content"], row["content_hash"], row["author"], row["fetch_id"]) == ("second", "content-x-second", "Ben", "f2")
    assert (row["first_seen_at"], row["last_seen_at"]) == (NOW, NOW + DAY)


def test_the_same_item_hash_in_two_feeds_is_two_items(store: Store) -> None:
    with store.begin() as tx:
        save_items(tx, ("a", "f1", NOW, make_item("x")), ("b", "f2", NOW, make_item("x")))
        save_items(tx, ("b", "f3", NOW + DAY, make_item("x", says="second")))
    assert [(row["feed_id"], row["content"]) for row in rows_of(store, "raw_items")] == [("a", "first"), ("b", "second")]


def test_touch_moves_when_items_were_last_seen_and_nothing_else(store: Store) -> None:
    with store.begin() as tx:
        save_items(tx, ("a", "f1", NOW, make_item("x")), ("a", "f1", NOW, make_item("y")), ("b", "f1", NOW, make_item("x")))
        tx.items.touch([("a", "hash-x", NOW + DAY), ("a", "hash-unknown", NOW + DAY)])
    seen = {(row["feed_id"], row["item_hash"]): (row["first_seen_at"], row["last_seen_at"]) for row in rows_of(store, "raw_items")}
    assert seen == {("a", "hash-x"): (NOW, NOW + DAY), ("a", "hash-y"): (NOW, NOW), ("b", "hash-x"): (NOW, NOW)}


def test_bodies_come_back_byte_for_byte(tx: Transaction) -> None:
    results = [(name, make_result(at=NOW + n * MINUTE, body=body)) for n, (name, body) in enumerate(BODIES.items())]
    tx.items.save_bodies((name, "sha", result) for name, result in results)
    assert {name: result.body for name, result in stored_responses(tx, "news")} == BODIES


def test_a_stored_response_comes_back_with_its_url_status_headers_and_time(tx: Transaction) -> None:
    result = make_result(at=datetime(2026, 3, 2, 12, 0, 0, 123456, UTC), status_code=203, headers={"etag": '"é"', "x-empty": ""})
    tx.items.save_bodies([("f1", "sha", result)])
    assert stored_responses(tx, "news") == [("f1", result)]


def test_bodies_are_stored_compressed_with_their_hash(store: Store) -> None:
    body = b"<item>the same again</item>" * 10_000
    with store.begin() as tx:
        tx.items.save_bodies([("f1", "f00d", make_result(body=body))])
    row = only_row(store, "raw_fetches")
    assert row["body_sha256"] == "f00d"
    assert len(row["body"]) < len(body) / 50


def test_responses_are_given_oldest_first(tx: Transaction) -> None:
    made: list[tuple[str, FetchResult]] = [
        ("a-new", make_result("a", at=NOW + DAY)),
        ("b-only", make_result("b", at=NOW + MINUTE)),
        ("a-old", make_result("a", at=NOW)),
        ("c-only", make_result("c", at=NOW)),
    ]
    tx.items.save_bodies((fetch_id, "sha", result) for fetch_id, result in made)
    assert tx.items.responses(["b", "a", "nobody"]) == ["a-old", "b-only", "a-new"]
    assert [fetch_id for fetch_id, _ in tx.items.bodies(["a-new", "unknown", "c-only"])] == ["c-only", "a-new"]


def test_a_response_that_is_stored_twice_stays_the_first(tx: Transaction) -> None:
    tx.items.save_bodies([("f1", "sha", make_result(body=b"first"))])
    tx.items.save_bodies([("f1", "sha", make_result(body=b"second"))])
    assert [result.body for _, result in stored_responses(tx, "news")] == [b"first"]


def test_history_is_given_newest_first_and_no_longer_than_asked(tx: Transaction) -> None:
    tx.items.save_history(make_history(f"f{n}", at=NOW + n * MINUTE) for n in range(5))
    tx.items.save_history([make_history("other", "other", at=NOW + DAY)])
    assert [row["fetch_id"] for row in tx.items.history("news", rows=3)] == ["f4", "f3", "f2"]


def test_an_attempt_comes_back_as_it_was_recorded(tx: Transaction) -> None:
    success = make_history("f1", run_id="run", bytes=5_000_000_000, articles_found=100, articles_new=3)
    failure = make_history("f2", at=NOW - DAY, status_code=None, outcome="temporary_error", articles_found=0, error_message="refused")
    tx.items.save_history([failure, success])
    assert tx.items.history("news", rows=10) == [success, failure]


def test_an_attempt_is_recorded_once(tx: Transaction) -> None:
    tx.items.save_history([make_history("f1", outcome="success")])
    tx.items.save_history([make_history("f1", outcome="temporary_error")])
    assert [row["outcome"] for row in tx.items.history("news", rows=10)] == ["success"]


@pytest.mark.parametrize("body", [None, b""])
def test_a_response_without_a_body_comes_back_empty(tx: Transaction, body: bytes | None) -> None:
    tx.items.save_bodies([("f1", "sha", make_result(body=body))])
    assert [result.body for _, result in stored_responses(tx, "news")] == [b""]
