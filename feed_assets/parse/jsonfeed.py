"""JSON Feed 1.0 and 1.1."""

from __future__ import annotations

import json
import re
from datetime import datetime
from html import escape
from typing import Any

from feed_assets.errors import NotAFeed
from feed_assets.model import Enclosure, Entry, ParsedFeed
from feed_assets.parse.dates import parse_date
from feed_assets.parse.encoding import decode
from feed_assets.parse.limits import newest
from feed_assets.parse.sanitize import looks_like_html
from feed_assets.parse.text import absolute, clean, one_line, or_none, web_address, with_quotes

_VERSION = re.compile(r'"version"\s*:\s*"https?://(?:www\.)?jsonfeed\.org/version')


def parse_json_feed(body: bytes, content_type: str | None, *, url: str, max_entries: int) -> ParsedFeed | None:
    """The feed, or None when the JSON is something else."""
    if b"\x00" not in body[:4] and b"jsonfeed.org" not in body:  # most JSON is something else, and need not be read to know
        return None
    text, encoding = decode(body, content_type)
    try:
        document = json.loads(text, strict=False)  # which lets line breaks stand in strings
    except (ValueError, RecursionError) as error:
        if _VERSION.search(text):
            raise NotAFeed(f"this is a broken JSON Feed: {' '.join(str(error).split())[:200]}") from None
        return None
    if not isinstance(document, dict) or "jsonfeed.org/version" not in str(document.get("version", "")):
        return None
    items = [item for item in _list(document, "items") if isinstance(item, dict)]
    feed_author = _author(document)
    kept = newest([_date(item, "date_published") or _date(item, "date_modified") for item in items], max_entries)
    link = or_none(document.get("home_page_url"))
    return ParsedFeed(
        format=f"JSON Feed {one_line(document['version']).rpartition('/')[2]}",
        title=one_line(document.get("title")),
        link=absolute(url, link) if link else None,
        description=one_line(document.get("description")),
        language=or_none(document.get("language")),
        entries=tuple(_entry(items[place], url, feed_author) for place in kept),  # what is dropped is not even read
        found=len(items),
        reading="as it is",
        encoding=encoding,
    )


def _entry(item: dict[str, Any], base: str, feed_author: str | None) -> Entry:
    link = or_none(item.get("url")) or or_none(item.get("external_url"))
    identifier = item.get("id")
    if link is None and isinstance(identifier, str) and web_address(identifier.strip()):
        link = identifier.strip()
    published, updated = _date(item, "date_published"), _date(item, "date_modified")
    return Entry(
        guid=or_none(str(identifier)) if isinstance(identifier, str | int | float) else None,
        url=absolute(base, link) if link else None,
        title=with_quotes(one_line(item.get("title"))),
        title_is_text=not looks_like_html(str(item.get("title"))),
        author=_author(item) or feed_author,
        published_at=published or updated,
        updated_at=updated,
        content=clean(item.get("content_html")) or _as_html(item.get("content_text")) or _as_html(item.get("summary")),
        categories=tuple(dict.fromkeys(filter(None, (one_line(tag) for tag in _list(item, "tags"))))),
        enclosures=tuple(
            Enclosure(absolute(base, one_line(a["url"])), or_none(a.get("mime_type")), _size(a.get("size_in_bytes")))
            for a in _list(item, "attachments")
            if isinstance(a, dict) and or_none(a.get("url"))
        ),
        base=absolute(base, link) if link else base,
    )


def _as_html(text: object) -> str:
    """Plain text, as the format says it is, with its line breaks."""
    return escape(clean(text), quote=False).replace("\n", "<br>\n")


def _author(item: dict[str, Any]) -> str | None:
    authors = item.get("authors") or [item.get("author")]
    names = [one_line(a.get("name") if isinstance(a, dict) else a) for a in authors] if isinstance(authors, list) else []
    return ", ".join(filter(None, names)) or None


def _date(item: dict[str, Any], name: str) -> datetime | None:
    value = item.get(name)
    return parse_date(one_line(str(value))) if isinstance(value, str | int | float) and value else None


def _list(item: dict[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []


def _size(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else None
