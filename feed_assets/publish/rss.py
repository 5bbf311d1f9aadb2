"""RSS 2.0 with stable guids, escaped content and RFC 822 dates."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from feed_assets.model import PublishedItem

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMESPACES = 'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"'


@dataclass(frozen=True, slots=True)
class Rendered:
    """A finished document and its parts."""

    header: str
    xml: str
    etag: str


def render_rss(
    *, title: str, link: str, description: str, language: str | None, self_url: str, built_at: datetime, items: Sequence[PublishedItem]
) -> Rendered:
    """The document. `built_at` becomes lastBuildDate; whole seconds."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<rss version="2.0" {_NAMESPACES}>',
        "<channel>",
        _element("title", title),
        _element("link", link),
        _element("description", description or title),
        f'<atom:link href={_attribute(self_url)} rel="self" type="application/rss+xml"/>',
    ]
    if language:
        lines.append(_element("language", language))
    lines.append(f"<lastBuildDate>{format_datetime(built_at, usegmt=True)}</lastBuildDate>")
    lines.append("<generator>feed_assets</generator>")
    header = "\n".join(lines)
    xml = "\n".join((header, *map(_item, items), "</channel>", "</rss>", ""))
    return Rendered(header, xml, f'"{hashlib.sha256(xml.encode()).hexdigest()[:32]}"')


def is_well_formed(xml: str) -> bool:
    try:
        expat.ParserCreate().Parse(xml.encode(), True)
    except expat.ExpatError:
        return False
    return True


def _item(item: PublishedItem) -> str:
    lines = ["<item>", _element("title", item.headline or item.url or "Untitled")]
    if item.url:
        lines.append(_element("link", item.url))
    guid = item.guid or item.article_id
    lines.append(f'<guid isPermaLink="{"true" if guid == item.url else "false"}">{_text(guid)}</guid>')
    lines.append(f"<pubDate>{format_datetime(item.published_at, usegmt=True)}</pubDate>")
    if item.author:
        lines.append(_element("dc:creator", item.author))
    lines.extend(_element("category", str(category)) for category in item.extra.get("categories", ()))
    lines.extend(_enclosure(enclosure) for enclosure in item.extra.get("enclosures", ())[:1])  # RSS allows one
    if item.content:
        lines.append(_element("description", item.content))
    lines.append("</item>")
    return "\n".join(lines)


def _enclosure(enclosure: dict[str, Any]) -> str:
    kind = enclosure.get("type") or "application/octet-stream"
    return f'<enclosure url={_attribute(enclosure["url"])} length="{enclosure.get("length") or 0}" type={_attribute(kind)}/>'


def _element(name: str, text: str) -> str:
    return f"<{name}>{_text(text)}</{name}>"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("", text))
