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
from feed_assets.parse.text import absolute, clean, one_line, or_none, person, web_address, whole_number, with_quotes


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
    link = or_none(feed.get("link"))
    atom = document.version.startswith("atom")
    base = url if atom or not link or not web_address(link) else link  # as for feeds that are not broken
    entries = [_entry(entry, base) for entry in document.entries]
    kept = newest([entry.published_at for entry in entries], max_entries)
    return ParsedFeed(
        format=document.version,
        title=one_line(feed.get("title")),
        link=absolute(url, link) if link else None,
        description=one_line(feed.get("subtitle")),
        language=or_none(feed.get("language")),
        entries=tuple(entries[place] for place in kept),
        hints=Hints(ttl_minutes=whole_number(feed.get("ttl"), most=10**6)),
        found=len(entries),
    )


def _entry(entry: Any, feed_base: str) -> Entry:
    published = from_struct(entry.get("published_parsed")) or parse_date(entry.get("published"))
    # entry.get would pass `published` off as `updated`
    updated = from_struct(dict.get(entry, "updated_parsed")) or parse_date(dict.get(entry, "updated"))
    guid, link = or_none(entry.get("id")), or_none(entry.get("link"))
    if link == guid and link and not web_address(link):
        link = None  # feedparser takes any id for a link
    content, stated = _content(entry)
    base = absolute(feed_base, stated) if stated else feed_base
    enclosures = [
        *((e.get("href"), e.get("type"), e.get("length")) for e in entry.get("enclosures") or ()),
        *((m.get("url"), m.get("type") or m.get("medium"), m.get("filesize")) for m in entry.get("media_content") or ()),
    ]
    files = {absolute(base, one_line(file)): (kind, length) for file, kind, length in reversed(enclosures) if one_line(file)}
    return Entry(
        guid=guid,
        url=absolute(base, link).replace("&amp;", "&") if link else None,
        title=with_quotes(one_line(entry.get("title"))),
        author=person(entry.get("author")),
        published_at=published or updated,
        updated_at=updated,
        content=content,
        categories=tuple(dict.fromkeys(filter(None, (one_line(tag.get("term")) for tag in entry.get("tags") or ())))),
        enclosures=tuple(
            Enclosure(file, or_none(kind), whole_number(length, most=2**53)) for file, (kind, length) in reversed(list(files.items()))
        ),
        base=base,
    )


def _content(entry: Any) -> tuple[str, str]:
    """The fullest text there is (HTML content before plain content before the summary), and the xml:base that it is under."""
    contents = entry.get("content") or []
    for wanted in ("text/html", "application/xhtml+xml", "text/plain"):
        for content in contents:
            if content.get("type") == wanted and content.get("value"):
                return clean(content["value"]), one_line(content.get("base"))
    return clean(entry.get("summary")), one_line((entry.get("summary_detail") or {}).get("base"))
