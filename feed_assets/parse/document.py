"""Which parser a document gets, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from feed_assets.errors import NotAFeed
from feed_assets.model import Entry, ParsedFeed
from feed_assets.parse.jsonfeed import parse_json_feed
from feed_assets.parse.notafeed import seems_to_be
from feed_assets.parse.xml import parse_xml_feed

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def parse_document(body: bytes, *, url: str, headers: Mapping[str, str], max_entries: int) -> ParsedFeed:
    """Read a feed of any kind, newest entries first come first kept."""
    if not body.strip():
        raise NotAFeed("the document is empty")
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    try:
        parsed = parse_json_feed(body, url=url) if start in (b"{", b"[") else parse_xml_feed(body, url=url, headers=headers)
    except NotAFeed:
        raise
    except Exception as error:  # a parser that stumbles must not take the batch with it
        raise NotAFeed(f"the document cannot be read: {type(error).__name__}: {error}") from error
    if parsed is None:
        raise NotAFeed(f"this is not a feed but {seems_to_be(body)}")
    return replace(parsed, entries=_newest(parsed.entries, max_entries), found=len(parsed.entries))


def _newest(entries: tuple[Entry, ...], limit: int) -> tuple[Entry, ...]:
    """At most `limit` entries in the document's order; when there are more, the newest ones stay."""
    if len(entries) <= limit:
        return entries
    by_date = sorted(range(len(entries)), key=lambda n: (entries[n].published_at or _BEGINNING, -n), reverse=True)
    return tuple(entries[n] for n in sorted(by_date[:limit]))
