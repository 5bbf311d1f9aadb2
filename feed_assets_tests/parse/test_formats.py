"""Documents that are feeds: RSS 2.0, Atom, RDF and JSON Feed, and what is read from each."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from feed_assets.model import Enclosure, Entry, ParsedFeed
from feed_assets.parse import parse_document

URL = "https://news.example/feed"

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<title>The News</title><link>https://news.example/</link><description>All of it</description><language>en</language>
<item><title>One</title><link>https://news.example/one</link><guid isPermaLink="false">id-1</guid><dc:creator>Ann</dc:creator>
<pubDate>Mon, 02 Mar 2026 10:00:00 +0100</pubDate><description>short</description><content:encoded>&lt;p&gt;long&lt;/p&gt;</content:encoded>
<category>a</category><category>b</category><enclosure url="https://news.example/one.mp3" type="audio/mpeg" length="123"/></item>
<item><title>Two</title><link>/two</link><description>second</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>The News</title><subtitle>All of it</subtitle>
<link href="https://news.example/"/><id>urn:feed</id><updated>2026-03-02T09:00:00Z</updated>
<entry><title>One</title><link href="https://news.example/one"/><id>urn:1</id><author><name>Ann</name></author>
<published>2026-03-02T10:00:00+01:00</published><updated>2026-03-02T09:30:00Z</updated><summary>short</summary>
<content type="html">&lt;p&gt;long&lt;/p&gt;</content></entry>
<entry><title>Two</title><id>urn:2</id><updated>2026-03-01T00:00:00Z</updated></entry></feed>"""

RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://news.example/"><title>The News</title><link>https://news.example/</link></channel>
<item rdf:about="urn:1"><title>One</title><link>https://news.example/one</link><description>text</description><dc:date>2026-03-02T09:00:00Z</dc:date></item>
</rdf:RDF>"""

NETSCAPE_RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://channel.netscape.com/rdf/simple/0.9/">
<channel><title>The News</title><link>https://news.example/</link></channel>
<item><title>One</title><link>https://news.example/one</link></item></rdf:RDF>"""


def read(body: str | bytes, **headers: str) -> ParsedFeed:
    data = body.encode() if isinstance(body, str) else body
    return parse_document(data, url=URL, headers={name.replace("_", "-"): value for name, value in headers.items()}, max_entries=100)


def json_feed(version: str = "1.1", **item: Any) -> str:
    items = [{"id": "1", "url": "https://news.example/one"} | item, {"id": "2", "url": "https://news.example/two"}]
    return json.dumps({"version": f"https://jsonfeed.org/version/{version}", "title": "The News", "items": items})


def test_rss_gives_the_feed_and_everything_an_item_says() -> None:
    feed = read(RSS)
    assert (feed.format, feed.title, feed.link, feed.description, feed.language, feed.found) == (
        "rss20", "The News", "https://news.example/", "All of it", "en", 2,
    )  # fmt: skip
    assert feed.entries[0] == Entry(
        guid="id-1",
        url="https://news.example/one",
        title="One",
        author="Ann",
        published_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
        content="<p>long</p>",
        categories=("a", "b"),
        enclosures=(Enclosure("https://news.example/one.mp3", "audio/mpeg", 123),),
    )


def test_a_relative_link_is_resolved_against_the_feed_url() -> None:
    assert read(RSS).entries[1].url == "https://news.example/two"


def test_an_item_without_a_date_has_none() -> None:
    assert read(RSS).entries[1].published_at is None


def test_atom_gives_the_feed_and_everything_an_entry_says() -> None:
    feed = read(ATOM)
    assert (feed.format, feed.title, feed.link, feed.description, feed.language) == (
        "atom10", "The News", "https://news.example/", "All of it", "de",
    )  # fmt: skip
    first = feed.entries[0]
    assert (first.guid, first.url, first.author, first.content) == ("urn:1", "https://news.example/one", "Ann", "<p>long</p>")
    assert first.published_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert first.updated_at == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def test_an_atom_entry_with_only_updated_is_dated_by_it() -> None:
    assert read(ATOM).entries[1].published_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_rdf_gives_its_items() -> None:
    feed = read(RDF)
    assert (feed.format, feed.title, len(feed.entries)) == ("rss10", "The News", 1)
    assert (feed.entries[0].guid, feed.entries[0].title) == ("urn:1", "One")
    assert feed.entries[0].published_at == datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_rdf_in_netscapes_channel_namespace_is_a_feed() -> None:
    assert [entry.title for entry in read(NETSCAPE_RDF).entries] == ["One"]


@pytest.mark.parametrize("version", ["1", "1.1"])
def test_json_feed_is_read_in_both_versions(version: str) -> None:
    feed = read(json_feed(version, title="One", content_html="<p>long</p>", date_published="2026-03-02T10:00:00+01:00", tags=["a"]))
    assert (feed.format, feed.title, feed.found) == (f"JSON Feed {version}", "The News", 2)
    assert feed.entries[0] == Entry(
        guid="1",
        url="https://news.example/one",
        title="One",
        published_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
        content="<p>long</p>",
        categories=("a",),
    )


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"author": {"name": "Ann"}}, "Ann"),
        ({"authors": [{"name": "Ann"}, {"name": "Bob"}]}, "Ann, Bob"),
        ({"authors": 5}, None),
        ({}, None),
    ],
)
def test_json_feed_names_its_authors_the_old_and_the_new_way(field: dict[str, Any], expected: str | None) -> None:
    assert read(json_feed(**field)).entries[0].author == expected


def test_json_feed_takes_text_for_html_and_an_external_url_for_a_url() -> None:
    entry = read(json_feed(url=None, external_url="/elsewhere", content_text="plain")).entries[0]
    assert (entry.url, entry.content) == ("https://news.example/elsewhere", "plain")


def test_json_feed_attachments_are_enclosures() -> None:
    attachments = [{"url": "one.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 9}, {"mime_type": "no/url"}, "nonsense"]
    assert read(json_feed(attachments=attachments)).entries[0].enclosures == (Enclosure("https://news.example/one.mp3", "audio/mpeg", 9),)


def test_a_numeric_json_id_is_an_identity() -> None:
    assert read(json_feed(id=42)).entries[0].guid == "42"


@pytest.mark.parametrize("oddity", [{"title": 5}, {"author": [1]}, {"date_published": "2026-13-45"}, {"attachments": [{"url": 5}]}])
def test_an_odd_json_item_does_not_cost_the_rest_of_the_feed(oddity: dict[str, Any]) -> None:
    assert [entry.guid for entry in read(json_feed(**oddity)).entries] == ["1", "2"]


@pytest.mark.parametrize("oddity", [{"url": "http://[bad"}, {"tags": 5}, {"attachments": True}, {"attachments": [{"url": "http://[bad"}]}])
def test_a_broken_json_item_does_not_cost_the_rest_of_the_feed(oddity: dict[str, Any]) -> None:
    assert "2" in [entry.guid for entry in read(json_feed(**oddity)).entries]


def test_a_broken_link_in_rss_does_not_cost_the_rest_of_the_feed() -> None:
    assert len(read(RSS.replace("https://news.example/one<", "http://[bad<")).entries) == 2


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (RSS.replace("One", "Füße").encode("iso-8859-1"), {"Content_Type": "application/rss+xml; charset=iso-8859-1"}),
        (RSS.replace("One", "Füße").replace('version="1.0"', 'version="1.0" encoding="iso-8859-1"', 1).encode("iso-8859-1"), {}),
        (RSS.replace("One", "Füße").replace('version="1.0"', 'version="1.0" encoding="utf-16"', 1).encode("utf-16"), {}),
        (b"\xef\xbb\xbf" + RSS.replace("One", "Füße").encode(), {}),
        (b"\xef\xbb\xbf" + json_feed(title="Füße").encode(), {}),
    ],
    ids=["charset in the header", "charset in the document", "utf-16", "byte order mark", "byte order mark before JSON"],
)
def test_text_is_decoded_as_the_publisher_says(body: bytes, headers: dict[str, str]) -> None:
    assert read(body, **headers).entries[0].title == "Füße"


def test_a_feed_without_items_is_a_feed() -> None:
    feed = read("<rss version='2.0'><channel><title>Quiet</title></channel></rss>")
    assert (feed.title, feed.entries, feed.found) == ("Quiet", (), 0)


def test_blanks_before_the_xml_declaration_are_forgiven_in_an_empty_feed() -> None:
    assert read("\n<?xml version='1.0'?><rss version='2.0'><channel><title>Quiet</title></channel></rss>").title == "Quiet"


def test_blanks_before_the_xml_declaration_are_forgiven() -> None:
    assert len(read("\n\n" + RSS).entries) == 2


def test_broken_xml_gives_the_entries_that_can_be_read() -> None:
    broken = "<rss version='2.0'><channel><item><title>one</title></item><item><title>two & three</title></item>"
    assert [entry.title for entry in read(broken).entries] == ["one", "two & three"]
