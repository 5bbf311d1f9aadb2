"""Who an entry is inside its feed, and what a document brings compared with what is stored."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from feed_assets.decide.identity import BY_ID, BY_LINK
from feed_assets.model import Changes, Enclosure, Entry
from feed_assets_tests.decide.entries import compared, identified, stored

ENTRY = Entry(guid="1", url="https://news.example/one", title="One", author="Ann", content="text", categories=("a",))


def test_an_item_hash_is_a_sha256_in_hex() -> None:
    assert re.fullmatch("[0-9a-f]{64}", identified(ENTRY).item_hash)


def test_an_entry_with_a_guid_stays_itself_whatever_else_changes() -> None:
    other = Entry(guid="1", url="https://news.example/moved", title="New title", content="new text")
    assert identified(other).item_hash == identified(ENTRY).item_hash


def test_an_entry_without_a_guid_is_known_by_its_link() -> None:
    entry = replace(ENTRY, guid=None)
    assert identified(replace(entry, title="New title")).item_hash == identified(entry).item_hash
    assert identified(replace(entry, url="https://news.example/two")).item_hash != identified(entry).item_hash


def test_an_entry_with_neither_guid_nor_link_is_known_by_what_it_says() -> None:
    entry = Entry(title="One", content="text")
    assert identified(entry).item_hash == identified(Entry(title="One", content="text", author="Ann")).item_hash
    assert identified(entry).item_hash != identified(Entry(title="One", content="other")).item_hash


def test_a_guid_that_is_the_link_may_come_and_go() -> None:
    assert identified(Entry(guid="https://e.example/a")).item_hash == identified(Entry(url="https://e.example/a")).item_hash


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
    changes = compared([replace(ENTRY, **change)], [ENTRY])
    assert (len(changes.new), len(changes.changed), len(changes.known), changes.any) == (0, 1, 0, True)


def test_a_new_date_alone_is_no_change() -> None:
    redated = replace(ENTRY, published_at=datetime(2026, 3, 2, tzinfo=UTC), updated_at=datetime(2026, 3, 3, tzinfo=UTC))
    changes = compared([redated], [ENTRY])
    assert (len(changes.known), changes.any) == (1, False)


def test_entries_are_sorted_into_new_changed_and_known() -> None:
    fresh, edited, same = Entry(guid="fresh"), Entry(guid="edited", title="now"), Entry(guid="same")
    changes = compared([fresh, edited, same], [stored(edited, content_hash="what it said before"), same])
    assert [item.entry.guid for item in (*changes.new, *changes.changed, *changes.known)] == ["fresh", "edited", "same"]
    assert changes.repeated_ids == 0


def test_an_empty_document_brings_nothing() -> None:
    assert not compared([], [ENTRY]).any


def stories(count: int, **changes: object) -> list[Entry]:
    """Items with an id, a link, a title and a text of their own; `{n}` in a change is the item's number."""
    made = []
    for n in range(count):
        usual = {
            "guid": f"id-{n}",
            "url": f"https://news.example/story-{n}",
            "title": f"Story number {n}",
            "content": f"{n} " + "words " * 20,
        }
        made.append(Entry(**usual | {name: value.format(n=n) if isinstance(value, str) else value for name, value in changes.items()}))
    return made


def tally(changes: Changes) -> tuple[int, int, int]:
    return len(changes.new), len(changes.changed), len(changes.known)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("http://news.example/a", "https://news.example/a"),
        ("https://news.example/a", "https://www.news.example/a"),
        ("https://news.example/a", "https://news.example/a?utm_source=rss&utm_medium=feed"),
    ],
)
@pytest.mark.parametrize("field", ["guid", "url"])
def test_scheme_www_and_tracking_make_no_new_item(field: str, before: str, after: str) -> None:
    assert tally(compared([Entry(**{field: after})], [Entry(**{field: before})])) == (0, 0, 1)


def test_fragments_tell_the_items_of_a_changelog_apart() -> None:
    changes = compared([Entry(guid=f"https://news.example/changes#v{n}", title=f"Version {n}") for n in range(3)])
    assert len({item.item_hash for item in changes.new}) == 3


def test_entries_that_share_an_id_are_told_apart_by_link_and_title() -> None:
    first = compared(stories(3, guid="same"))
    assert (tally(first), first.repeated_ids) == ((3, 0, 0), 2)
    assert len({item.item_hash for item in first.new}) == 3


def test_told_apart_they_are_known_again_in_any_order_and_alone() -> None:
    entries = stories(4, guid="same")
    known = [stored(item.entry, item_hash=item.item_hash) for item in compared(entries[:3]).new]
    again = compared([entries[3], *reversed(entries[:3])], known)
    assert [item.entry for item in again.new] == [entries[3]]
    alone = compared([entries[1]], known)
    assert (tally(alone), alone.known[0].item_hash) == ((0, 0, 1), known[1].item_hash)


def test_an_entry_that_says_the_very_same_twice_is_one_item() -> None:
    changes = compared([ENTRY, ENTRY])
    assert (len(changes.new), changes.copies, changes.repeated_ids) == (1, 1, 1)


def test_ids_that_change_on_each_fetch_bring_nothing_new_and_are_distrusted() -> None:
    changes = compared(stories(10, guid="session-7-{n}"), stories(10))
    assert (tally(changes), changes.mode, changes.renamed) == ((0, 0, 10), "link", 10)
    assert changes.mode_reason == "10 of 10 items came back with other ids at the same links"


def test_a_feed_whose_ids_are_distrusted_still_brings_news() -> None:
    changes = compared(stories(11, guid="session-8-{n}"), stories(10, guid="session-7-{n}"), mode="link")
    assert [item.entry.title for item in changes.new] == ["Story number 10"]


def test_an_edited_headline_is_an_update_where_links_are_trusted() -> None:
    changes = compared(stories(5, guid="session-8-{n}", title="Edited {n}"), stories(5, guid="session-7-{n}"), mode="link")
    assert tally(changes) == (0, 5, 0)


def test_ids_and_links_that_both_change_are_seen_through_by_title() -> None:
    changes = compared(
        stories(6, guid="s8-{n}", url="https://news.example/s8/{n}-x"), stories(6, guid="s7-{n}", url="https://news.example/s7/{n}-y")
    )
    assert (tally(changes), changes.mode) == ((0, 6, 0), "title")


def test_a_feed_that_moves_to_another_host_brings_nothing_new() -> None:
    here = stories(5, guid="https://old.example/story-{n}", url="https://old.example/story-{n}")
    there = stories(5, guid="https://new.example/story-{n}", url="https://new.example/story-{n}")
    assert compared(there, here).new == ()


def test_re_dated_items_with_other_ids_are_the_items_they_were() -> None:
    later = datetime(2026, 3, 9, tzinfo=UTC)
    changes = compared(stories(2, guid="again-{n}", published_at=later), stories(2, published_at=datetime(2026, 3, 2, tzinfo=UTC)))
    assert (changes.new, changes.mode) == ((), "id")  # two are no proof against the ids


def test_one_page_that_every_day_says_something_else_is_an_item_a_day() -> None:
    monday = replace(ENTRY, guid="mon", content="Rain. " * 20, published_at=datetime(2026, 3, 2, tzinfo=UTC))
    tuesday = replace(monday, guid="tue", content="Sun. " * 20, published_at=datetime(2026, 3, 3, tzinfo=UTC))
    assert tally(compared([tuesday], [monday])) == (1, 0, 0)


def test_a_real_batch_of_news_is_no_reason_to_distrust_ids() -> None:
    changes = compared(stories(20)[10:], stories(20)[:10])
    assert (tally(changes), changes.mode) == ((10, 0, 0), "id")


def numbered(*names: str) -> list[Entry]:
    """Entries whose ids say their place in the document."""
    return [
        Entry(guid=f"item-{place}", url=f"https://news.example/{name}", title=f"The story of {name}", content=f"All about {name}. " * 5)
        for place, name in enumerate(names)
    ]


def test_ids_that_say_a_place_in_the_document_are_not_trusted() -> None:
    first = numbered("a", "b", "c", "d", "e")
    changes = compared(numbered("new", "a", "b", "c", "d"), first)
    assert [item.entry.url for item in changes.new] == ["https://news.example/new"]
    assert (changes.changed, len(changes.known), changes.mode) == ((), 4, BY_LINK)
    assert "went to other items" in (changes.mode_reason or "")
    later = compared(numbered("newer", "new", "a", "b", "c"), [*first, *numbered("new")], BY_LINK)
    assert [item.entry.url for item in later.new] == ["https://news.example/newer"]


def test_daily_items_with_the_same_titles_are_new_ones_each_day() -> None:
    def day(number: int) -> list[Entry]:
        titles = ("Weather forecast today", "Market report of the day", "Traffic in the morning", "What is on television")
        return [
            Entry(
                guid=f"{number}-{title}",
                url=f"https://news.example/{number}/{place}",
                title=title,
                content=f"On day {number} everything is otherwise than it was on the day before. " * 2,
                published_at=datetime(2026, 3, number, tzinfo=UTC),
            )
            for place, title in enumerate(titles)
        ]

    changes = compared(day(2), day(1))
    assert (len(changes.new), changes.mode) == (4, BY_ID)


def test_one_item_whose_id_text_and_time_change_is_one_item() -> None:
    def fetched(minute: int) -> Entry:
        return Entry(
            guid=f"id-{minute}",
            url="https://news.example/live",
            title="The live page",
            content=f"It is {minute} past, and nothing happened that anybody would want to know of.",
            published_at=datetime(2026, 3, 2, 10, minute, tzinfo=UTC),
        )

    changes = compared([fetched(30)], [fetched(10)])
    assert (changes.new, len(changes.changed), changes.renamed) == ((), 1, 1)


def test_a_page_with_an_edition_a_day_has_an_item_a_day() -> None:
    def edition(day: int) -> Entry:
        return Entry(guid=f"{day}", url="https://news.example/today", title="The paper", published_at=datetime(2026, 3, day, tzinfo=UTC))

    assert len(compared([edition(3)], [edition(2)]).new) == 1
