"""RSS, Atom and RDF, by feedparser: without its sanitizing, which only items that are stored need."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any
from xml.sax import SAXParseException

import feedparser

from feed_assets.errors import NotAFeed
from feed_assets.model import Enclosure, Entry, Hints, ParsedFeed
from feed_assets.parse.dates import from_struct
from feed_assets.parse.text import clean, one_line, or_none, whole_number

_PERIODS = {"hourly": 3600, "daily": 86_400, "weekly": 7 * 86_400, "monthly": 30 * 86_400, "yearly": 365 * 86_400}

_ENTITY = re.compile(rb"""<!ENTITY\s+(?:%\s+)?[\w.:-]+\s+("[^"]*"|'[^']*')""")
_MOST_ENTITIES = 500
_OLD_RDF = b"channel.netscape.com/rdf/simple/0.9"  # RSS 0.90, whose namespace feedparser does not know


def parse_xml_feed(body: bytes, *, url: str, headers: Mapping[str, str]) -> ParsedFeed | None:
    """The feed, or None when the document is something else."""
    _refuse_entity_bombs(body)
    told = {"content-location": url}
    if content_type := headers.get("Content-Type") or headers.get("content-type"):
        told["content-type"] = content_type
    document = feedparser.parse(io.BytesIO(_trimmed(body)), response_headers=told, sanitize_html=False)
    if not document.version and not (document.entries and _OLD_RDF in body[:1000]):
        return None
    if not document.entries and isinstance(document.get("bozo_exception"), SAXParseException):
        raise NotAFeed(f"this is broken XML with no readable entry: {document.bozo_exception.getMessage()}")
    feed = document.feed
    return ParsedFeed(
        format=document.version or "rss090",
        title=one_line(feed.get("title")),
        link=or_none(feed.get("link")),
        description=one_line(feed.get("subtitle")),
        language=or_none(feed.get("language")),
        entries=tuple(map(_entry, document.entries)),
        hints=_hints(feed, body),
    )


def _refuse_entity_bombs(body: bytes) -> None:
    """Entities made of entities: no feed needs them, and expat notices late what they grow to."""
    plain = body.replace(b"\x00", b"")  # UTF-16 has the same letters
    if b"<!ENTITY" not in plain:
        return
    values = _ENTITY.findall(plain)
    if len(values) > _MOST_ENTITIES or any(re.search(rb"[&%][\w.-]+;", value) for value in values):
        raise NotAFeed("this document defines entities out of entities; such documents are not read")


def _trimmed(body: bytes) -> bytes:
    """Without blanks before the XML declaration, which XML forbids and publishers write."""
    return body.lstrip() if body[:1] in b" \t\r\n" else body


def _entry(entry: Any) -> Entry:
    published = from_struct(entry.get("published_parsed"))
    updated = from_struct(dict.get(entry, "updated_parsed"))  # entry.get would pass `published` off as `updated`
    return Entry(
        guid=or_none(entry.get("id")),
        url=or_none(entry.get("link")),
        title=one_line(entry.get("title")),
        author=or_none(entry.get("author")),
        published_at=published or updated,
        updated_at=updated,
        content=_content(entry),
        categories=tuple(filter(None, (one_line(tag.get("term")) for tag in entry.get("tags") or ()))),
        enclosures=tuple(
            Enclosure(one_line(e["href"]), or_none(e.get("type")), whole_number(e.get("length"), most=2**53))
            for e in entry.get("enclosures") or ()
            if one_line(e.get("href"))
        ),
    )


def _content(entry: Any) -> str:
    """The fullest text there is: HTML content before plain content before the summary."""
    contents = entry.get("content") or []
    for wanted in ("text/html", "application/xhtml+xml", "text/plain"):
        for content in contents:
            if content.get("type") == wanted and content.get("value"):
                return clean(content["value"])
    return clean(entry.get("summary"))


def _hints(feed: Any, body: bytes) -> Hints:
    period = _PERIODS.get(one_line(feed.get("sy_updateperiod")).lower())
    times = whole_number(feed.get("sy_updatefrequency")) or 1
    return Hints(
        ttl_minutes=whole_number(feed.get("ttl"), most=10**6),
        update_period_seconds=period // times if period else None,
        skip_hours=tuple(sorted({hour % 24 for text in _skipped(body, b"Hour") if (hour := whole_number(text)) is not None})),
        skip_days=tuple(sorted({day.lower() for day in _skipped(body, b"Day")})),
    )


def _skipped(body: bytes, what: bytes) -> list[str]:
    """The values of <skipHours> or <skipDays>, which feedparser leaves out."""
    block = re.search(rb"<skip%ss>(.{0,2000}?)</skip%ss>" % (what, what), body, re.DOTALL)
    values = re.findall(rb"<%s>\s*(\w{1,10})\s*</" % what.lower(), block[1], re.IGNORECASE) if block else []
    return [value.decode("ascii", "replace") for value in values]
