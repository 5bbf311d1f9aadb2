"""Documents that are not feeds: each is refused with what it seems to be, and nothing else is ever raised."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feed_assets.errors import NotAFeed
from feed_assets.parse import parse_document


def refusal(body: bytes) -> str:
    with pytest.raises(NotAFeed) as refused:
        parse_document(body, url="https://news.example/feed", headers={}, max_entries=100)
    return str(refused.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the document is empty"),
        (b" \r\n\t ", "the document is empty"),
        (b"<!DOCTYPE html><html><body>Hello</body></html>", "an HTML page"),
        (b"<html><head><title>Hello</title></head></html>", "an HTML page"),
        (b"<?xml version='1.0'?><!-- hi --><html xmlns='http://www.w3.org/1999/xhtml'/>", "an HTML page"),
        (b"<opml version='2.0'><body/></opml>", "an OPML list of feeds"),
        (b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>", "a sitemap"),
        (b"<sitemapindex/>", "a sitemap index"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG picture"),
        (b"<kml/>", "a KML map"),
        (b"<?xml version='1.0'?><catalog><book/></catalog>", "XML with the root element <catalog>"),
        (b'{"hello": "world"}', "JSON of another kind"),
        (b"[1, 2]", "JSON of another kind"),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": [', "a broken JSON Feed"),
        (b"%PDF-1.7 ...", "a PDF file"),
        (b"\x89PNG\x00\x00", "a PNG picture"),
        (b"\x01\x00\x02", "binary data"),
        (b"Just some words.", "plain text"),
    ],
)
def test_what_is_no_feed_is_refused_with_what_it_seems_to_be(body: bytes, reason: str) -> None:
    assert reason in refusal(body)


def test_json_with_markup_inside_is_called_json() -> None:
    assert "JSON of another kind" in refusal(b'{"text": "<p>Hello</p>"}')


def test_broken_xml_without_a_readable_entry_is_refused_with_the_trouble() -> None:
    assert refusal(b"<rss version='2.0'><channel><title>Half a fee").startswith("this is broken XML with no readable entry:")


def test_deeply_nested_json_is_refused_and_does_not_crash() -> None:
    assert refusal(b"[" * 200_000)


def test_a_refusal_is_one_line() -> None:
    assert "\n" not in refusal(b"<rss version='2.0'><channel>\n\n<title>")


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"{", b"<rss version='2.0'><channel><item>", b"<feed xmlns='http://www.w3.org/2005/Atom'>"]),
)
@example(b"\x00", b"<rss version='2.0'><channel><item>")
def test_no_bytes_raise_anything_but_not_a_feed(tail: bytes, start: bytes) -> None:
    try:
        feed = parse_document(start + tail, url="https://news.example/feed", headers={}, max_entries=5)
    except NotAFeed as refused:
        assert str(refused)
    else:
        assert len(feed.entries) <= 5


def test_entities_made_of_entities_are_refused_at_once() -> None:
    bomb = b"<!DOCTYPE r [<!ENTITY a 'xxxxxxxxxx'>" + b"".join(
        b"<!ENTITY %c '%s'>" % (letter + 1, b"&%c;" % letter * 20) for letter in range(ord("a"), ord("j"))
    )
    began = time.process_time()
    with pytest.raises(NotAFeed, match="entities out of entities"):
        parse_document(bomb + b"]><rss version='2.0'><channel><title>&j;</title></channel></rss>", url="", headers={}, max_entries=9)
    assert time.process_time() - began < 1
