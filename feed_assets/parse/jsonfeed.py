"""JSON Feed 1.0 and 1.1."""

from __future__ import annotations

import json
from typing import Any

from feed_assets.model import Enclosure, Entry, ParsedFeed
from feed_assets.parse.dates import from_iso
from feed_assets.parse.text import absolute, clean, one_line, or_none


def parse_json_feed(body: bytes, *, url: str) -> ParsedFeed | None:
    """The feed, or None when the JSON is something else."""
    try:
        document = json.loads(body.decode("utf-8-sig", "replace"))
    except ValueError:
        return None
    if not isinstance(document, dict) or "jsonfeed.org/version" not in str(document.get("version", "")):
        return None
    items = document.get("items")
    entries = tuple(_entry(item, url) for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
    return ParsedFeed(
        format=f"JSON Feed {str(document['version']).rpartition('/')[2]}",
        title=one_line(document.get("title")),
        link=or_none(document.get("home_page_url")),
        description=one_line(document.get("description")),
        language=or_none(document.get("language")),
        entries=entries,
    )


def _entry(item: dict[str, Any], base: str) -> Entry:
    link = or_none(item.get("url")) or or_none(item.get("external_url"))
    identifier = item.get("id")
    return Entry(
        guid=or_none(str(identifier)) if isinstance(identifier, str | int | float) else None,
        url=absolute(base, link) if link else None,
        title=one_line(item.get("title")),
        author=_author(item),
        published_at=from_iso(item.get("date_published")),
        updated_at=from_iso(item.get("date_modified")),
        content=clean(item.get("content_html")) or clean(item.get("content_text")) or clean(item.get("summary")),
        categories=tuple(one_line(tag) for tag in _list(item, "tags") if isinstance(tag, str)),
        enclosures=tuple(
            Enclosure(absolute(base, one_line(a["url"])), or_none(a.get("mime_type")), _size(a.get("size_in_bytes")))
            for a in _list(item, "attachments")
            if isinstance(a, dict) and or_none(a.get("url"))
        ),
    )


def _author(item: dict[str, Any]) -> str | None:
    authors = item.get("authors") or [item.get("author")]
    names = [one_line(a.get("name")) for a in authors if isinstance(a, dict)] if isinstance(authors, list) else []
    return ", ".join(filter(None, names)) or None


def _list(item: dict[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []


def _size(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else None
