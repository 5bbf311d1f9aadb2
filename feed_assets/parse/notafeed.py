"""What a document that is no feed seems to be, in words for the person who gave its URL."""

from __future__ import annotations

import re

_ROOT = re.compile(rb"<\s*([A-Za-z][\w:.-]*)")
_NAMES = {
    b"html": "an HTML page",
    b"opml": "an OPML list of feeds (`feed-assets feed import` takes those)",
    b"kml": "a KML map",
    b"urlset": "a sitemap",
    b"sitemapindex": "a sitemap index",
    b"svg": "an SVG picture",
}


def seems_to_be(body: bytes) -> str:
    head = body[:4096]
    if head.lstrip()[:1] in (b"{", b"["):
        return "JSON of another kind"
    if b"<!doctype html" in head.lower():
        return "an HTML page"
    text = re.sub(rb"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>", b"", head, flags=re.DOTALL | re.IGNORECASE)
    if found := _ROOT.search(text):
        name = found[1].lower().rpartition(b":")[2]
        return _NAMES.get(name, f"XML with the root element <{found[1].decode('ascii', 'replace')}>")
    if head.startswith(b"%PDF"):
        return "a PDF file"
    return "plain text" if b"\x00" not in head else "binary data"
