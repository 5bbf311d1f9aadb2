"""RSS, Atom and RDF by feedparser: the careful reader, for documents so broken that no XML parser gets through them.

It costs up to a hundred times what the tree costs, so only such documents see it; without its sanitizing and resolving,
which only items that are stored need.
"""

from __future__ import annotations

import io
from typing import Any

import feedparser

from feed_assets.model import Enclosure, Entry, Hints, ParsedFeed
from feed_assets.parse.dates import from_struct, parse_date
from feed_assets.parse.limits import newest
from feed_assets.parse.text import absolute, clean, one_line, or_none, person, whole_number


def read_with_feedparser(text: str, *, url: str, max_entries: int) -> ParsedFeed | None:
    """The feed, or None when feedparser sees none."""
    told = {"content-type": "application/xml; charset=utf-8"}  # not where it is from: feedparser would make ids absolute
    try:
        document = feedparser.parse(
            io.BytesIO(text.encode("utf-8", "ignore")), response_headers=told, sanitize_html=False, resolve_relative_uris=False
        )
    except Exception:  # it stumbles over some broken documents; what the tree gave is good enough then
        return None
    if not document.version:
        return None
    feed = document.feed
    entries = [_entry(entry, url) for entry in document.entries]
    kept = newest([entry.published_at for entry in entries], max_entries)
    return ParsedFeed(
        format=document.version,
        title=one_line(feed.get("title")),
        link=or_none(feed.get("link")),
        description=one_line(feed.get("subtitle")),
        language=or_none(feed.get("language")),
        entries=tuple(entries[place] for place in kept),
        hints=Hints(ttl_minutes=whole_number(feed.get("ttl"), most=10**6)),
        found=len(entries),
    )


def _entry(entry: Any, url: str) -> Entry:
    published = from_struct(entry.get("published_parsed")) or parse_date(entry.get("published"))
    # entry.get would pass `published` off as `updated`
    updated = from_struct(dict.get(entry, "updated_parsed")) or parse_date(dict.get(entry, "updated"))
    link = or_none(entry.get("link"))
    return Entry(
        guid=or_none(entry.get("id")),
        url=absolute(url, link) if link else None,
        title=one_line(entry.get("title")),
        author=person(entry.get("author")),
        published_at=published or updated,
        updated_at=updated,
        content=_content(entry),
        categories=tuple(dict.fromkeys(filter(None, (one_line(tag.get("term")) for tag in entry.get("tags") or ())))),
        enclosures=tuple(
            Enclosure(absolute(url, one_line(e["href"])), or_none(e.get("type")), whole_number(e.get("length"), most=2**53))
            for e in entry.get("enclosures") or ()
            if one_line(e.get("href"))
        ),
        base=url,
    )


def _content(entry: Any) -> str:
    """The fullest text there is: HTML content before plain content before the summary."""
    contents = entry.get("content") or []
    for wanted in ("text/html", "application/xhtml+xml", "text/plain"):
        for content in contents:
            if content.get("type") == wanted and content.get("value"):
                return clean(content["value"])
    return clean(entry.get("summary"))
