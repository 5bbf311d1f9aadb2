"""Who an entry is inside its feed, and what a document brings compared with what is stored."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from feed_assets.decide.identity import compare, identify
from feed_assets.model import Enclosure, Entry

ENTRY = Entry(guid="1", url="https://news.example/one", title="One", author="Ann", content="text", categories=("a",))


def test_an_item_hash_is_a_sha256_in_hex() -> None:
    assert re.fullmatch("[0-9a-f]{64}", identify(ENTRY).item_hash)


def test_an_entry_with_a_guid_stays_itself_whatever_else_changes() -> None:
    other = Entry(guid="1", url="https://news.example/moved", title="New title", content="new text")
    assert identify(other).item_hash == identify(ENTRY).item_hash


def test_an_entry_without_a_guid_is_known_by_its_link() -> None:
    entry = replace(ENTRY, guid=None)
    assert identify(replace(entry, title="New title")).item_hash == identify(entry).item_hash
    assert identify(replace(entry, url="https://news.example/two")).item_hash != identify(entry).item_hash


def test_an_entry_with_neither_guid_nor_link_is_known_by_what_it_says() -> None:
    entry = Entry(title="One", content="text")
    assert identify(entry).item_hash == identify(Entry(title="One", content="text", author="Ann")).item_hash
    assert identify(entry).item_hash != identify(Entry(title="One", content="other")).item_hash


def test_a_guid_that_looks_like_a_link_is_not_the_link() -> None:
    assert identify(Entry(guid="https://e.example/")).item_hash != identify(Entry(url="https://e.example/")).item_hash


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Other"},
        {"url": "https://news.example/other"},
        {"author": "Bob"},
        {"content": "other"},
        {"categories": ("b",)},
        {"enclosures": (Enclosure("https://news.example/a.mp3"),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_entry_that_says_something_else_has_changed(change: dict[str, object]) -> None:
    changes = compare([replace(ENTRY, **change)], {identify(ENTRY).item_hash: identify(ENTRY).content_hash})
    assert (len(changes.new), len(changes.changed), len(changes.known), changes.any) == (0, 1, 0, True)


def test_a_new_date_alone_is_no_change() -> None:
    redated = replace(ENTRY, published_at=datetime(2026, 3, 2, tzinfo=UTC), updated_at=datetime(2026, 3, 3, tzinfo=UTC))
    changes = compare([redated], {identify(ENTRY).item_hash: identify(ENTRY).content_hash})
    assert (len(changes.known), changes.any) == (1, False)


def test_entries_are_sorted_into_new_changed_and_known() -> None:
    fresh, edited, same = Entry(guid="fresh"), Entry(guid="edited", title="now"), Entry(guid="same")
    known = {identify(edited).item_hash: "what it said before", identify(same).item_hash: identify(same).content_hash}
    changes = compare([fresh, edited, same], known)
    assert [item.entry.guid for item in (*changes.new, *changes.changed, *changes.known)] == ["fresh", "edited", "same"]
    assert changes.repeated_ids == 0


def test_an_id_that_repeats_counts_once_and_the_first_one_wins() -> None:
    changes = compare([Entry(guid="1", title="first"), Entry(guid="1", title="second"), Entry(guid="1", title="third")], {})
    assert [item.entry.title for item in changes.new] == ["first"]
    assert changes.repeated_ids == 2


def test_an_empty_document_brings_nothing() -> None:
    assert not compare([], {"stored": "hash"}).any
