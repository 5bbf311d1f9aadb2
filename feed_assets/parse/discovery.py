"""The feeds that an HTML page names in its head. Knows neither HTTP nor which of them one wants."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from html.parser import HTMLParser

from feed_assets.parse.text import absolute, one_line, without_endless_references

_TYPES = {
    "application/rss+xml": "RSS",
    "application/atom+xml": "Atom",
    "application/feed+json": "JSON Feed",
    "application/rdf+xml": "RDF",
    "application/json": "JSON Feed",
    "text/xml": "XML",
    "application/xml": "XML",
}
_MOST_LINKS = 50


@dataclass(frozen=True, slots=True)
class FeedLink:
    url: str
    title: str
    format: str


def feed_links(body: bytes, *, url: str) -> list[FeedLink]:
    """`<link rel="alternate">` to feeds, in the page's order, each once."""
    reader = _LinkReader(url)
    with contextlib.suppress(AssertionError, ValueError):  # html.parser gives up on some nonsense; what it found so far counts
        reader.feed(without_endless_references(body.decode("utf-8", "replace")))
    once: dict[str, FeedLink] = {}
    for link in reader.links:
        once.setdefault(link.url, link)
    return list(once.values())


class _LinkReader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = url
        self.links: list[FeedLink] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: one_line(value) for name, value in attributes if value is not None}
        if tag == "base" and values.get("href"):
            self._base = absolute(self._base, values["href"])
        if tag != "link" or "alternate" not in values.get("rel", "").lower().split() or len(self.links) >= _MOST_LINKS:
            return
        media_type = values.get("type", "").lower().partition(";")[0].strip()
        kind = _TYPES.get(media_type)
        if media_type == "application/json" and "feed" not in f"{values.get('href', '')} {values.get('title', '')}".lower():
            kind = None  # most of them are doors to some API
        if kind and values.get("href"):
            self.links.append(FeedLink(absolute(self._base, values["href"]), values.get("title", ""), kind))
