"""At most MAX_ARTICLES_PER_FEED entries are kept: the newest, in the document's order."""

from __future__ import annotations

from collections.abc import Sequence

from feed_assets.model import ParsedFeed
from feed_assets.parse import parse_document


def read(days: Sequence[int | None], *, limit: int) -> ParsedFeed:
    """A feed with one item per day of March, None for an undated one; the title is the place in the document."""
    items = "".join(
        f"<item><title>{place}</title>{f'<pubDate>{day:02d} Mar 2026 00:00:00 GMT</pubDate>' if day else ''}</item>"
        for place, day in enumerate(days)
    )
    body = f"<rss version='2.0'><channel><title>T</title>{items}</channel></rss>".encode()
    return parse_document(body, url="https://news.example/feed", headers={}, max_entries=limit)


def kept(days: Sequence[int | None], limit: int) -> list[int]:
    return [int(entry.title) for entry in read(days, limit=limit).entries]


def test_a_document_at_the_limit_is_kept_whole() -> None:
    assert kept([3, 2, 1], 3) == [0, 1, 2]


def test_the_newest_entries_are_kept_in_the_order_of_the_document() -> None:
    assert kept([1, 5, 2, 4, 3], 3) == [1, 3, 4]


def test_the_newest_are_kept_when_the_oldest_come_first() -> None:
    assert kept([1, 2, 3, 4], 2) == [2, 3]


def test_undated_entries_give_way_to_dated_ones() -> None:
    assert kept([None, 1, None, 2], 2) == [1, 3]


def test_without_dates_the_first_entries_are_kept() -> None:
    assert kept([None] * 4, 2) == [0, 1]


def test_what_was_found_counts_what_was_not_kept() -> None:
    feed = read([1, 2, 3], limit=1)
    assert (feed.found, len(feed.entries)) == (3, 1)
