"""What a document that is no feed seems to be, in words for the person who gave its URL."""

from __future__ import annotations

import re

from feed_assets.parse.encoding import decode

_ROOT = re.compile(r"<\s*([A-Za-z][\w:.-]{0,80})")
_NOISE = re.compile(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>", re.DOTALL | re.IGNORECASE)
_NAMES = {
    "html": "an HTML page",
    "head": "an HTML page",
    "body": "an HTML page",
    "opml": "an OPML list of feeds (`feed-assets feed import` takes those)",
    "kml": "a KML map",
    "gpx": "a GPX track",
    "urlset": "a sitemap",
    "sitemapindex": "a sitemap index",
    "svg": "an SVG picture",
    "plist": "a property list",
    "component": "an IDE's settings",
    "project": "an IDE's settings or a build file",
    "error": "an error message in XML",
    "opensearchdescription": "a description of a search engine",
    "rdf": "RDF without a feed in it",
    "wsdl": "a web service's description",
    "envelope": "a SOAP message",
}
_MAGIC = (
    (b"%PDF", "a PDF file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "gzip data"),
    (b"ID3", "an MP3 file"),
)


def seems_to_be(body: bytes, content_type: str | None = None) -> str:
    for start, what in _MAGIC:
        if body.startswith(start):
            return what
    head = decode(body[:4096], content_type)[0].lstrip()
    if head[:1] in ("{", "["):
        return "JSON of another kind"
    if "<!doctype html" in head.lower():
        return "an HTML page"
    if found := _ROOT.search(_NOISE.sub("", head)):
        name = found[1].lower().rpartition(":")[2]
        return _NAMES.get(name, f"XML with the root element <{found[1]}>")
    return "plain text" if b"\x00" not in body[:4096] else "binary data"
