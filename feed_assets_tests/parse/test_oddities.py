"""What publishers do that no specification foresees, and what their readers expect all the same. Each case was a bug once."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from feed_assets.errors import NotAFeed
from feed_assets.model import Entry, ParsedFeed
from feed_assets.parse import feed_links, headline, parse_document, plain_text, sanitize_html

URL = "https://host.example/dir/feed.xml"
XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'


def read(body: str | bytes, charset: str = "", **options: Any) -> ParsedFeed:
    headers = {"Content-Type": f"text/xml; charset={charset}"} if charset else {}
    return parse_document(body.encode() if isinstance(body, str) else body, url=URL, headers=headers, max_entries=options.get("limit", 100))


def rss(item: str, head: str = "", attributes: str = "") -> Entry:
    return read(f"<rss version='2.0' {attributes}><channel><title>T</title>{head}<item>{item}</item></channel></rss>").entries[0]


def atom(entry: str, head: str = "", attributes: str = "xmlns='http://www.w3.org/2005/Atom'") -> Entry:
    return read(f"<feed {attributes}><title>T</title>{head}<entry>{entry}</entry></feed>").entries[0]


# What would hurt everybody


def test_a_number_without_end_is_no_character_and_no_error() -> None:
    title = "x &#" + "9" * 5000 + ";"
    assert plain_text(title) == "x"
    assert sanitize_html(f"<p>{title}</p>")
    page = f'<a title="&#{"9" * 5000};"><link rel="alternate" type="application/rss+xml" href="/feed">'
    assert [link.url for link in feed_links(page.encode(), url="https://host.example/")] == ["https://host.example/feed"]


@pytest.mark.parametrize(
    "content",
    [
        "<div>" * 40_000,
        "<ul><li>" * 25_000,
        "".join(f"<b id={number}>" for number in range(5000)) + "<p>x" * 20_000,
        "<a " + " ".join(f"a{number}=1" for number in range(20_000)) + ">",
        "<![CDATA[" * 20_000,
        "<!--" * 40_000,
        '<a title="' * 20_000,
    ],
    ids=["elements in elements", "lists in lists", "open formats", "attributes", "sections", "comments", "quotes"],
)
def test_no_content_takes_long_to_sanitize(content: str) -> None:
    began = time.perf_counter()
    sanitize_html(content)
    plain_text(content)
    assert time.perf_counter() - began < 1


def test_a_long_base_does_not_swell_relative_links() -> None:
    base, files = "http://x/" + "a/" * 100_000, "<enclosure url='b'/>" * 1000
    began = time.perf_counter()
    entry = rss(f"<title>A</title>{files}", head=f"<link>{base}</link>")
    assert entry.enclosures[0].url == "b"
    assert time.perf_counter() - began < 1


# Markup


@pytest.mark.parametrize(
    ("markup", "content"),
    [
        ("a<br/>b<img src='c'/>", 'a<br>b<img src="c">'),
        ('<pre>&lt;feed xmlns="http://www.w3.org/2005/Atom"&gt;</pre>', '<pre>&lt;feed xmlns="http://www.w3.org/2005/Atom"&gt;</pre>'),
        ("<a title=' xmlns:q=\"u\"'>b</a>", '<a title=" xmlns:q=&quot;u&quot;">b</a>'),
        ("<p xml:base='http://base.example/c/'><a href='x'>y</a></p>", '<p><a href="http://base.example/c/x">y</a></p>'),
    ],
)
def test_xhtml_is_html_afterwards(markup: str, content: str) -> None:
    assert atom(f"<id>1</id><content type='xhtml'><div {XHTML}>{markup}</div></content>").content == content


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<title type='text'>How to use the &lt;title&gt; element</title>", "How to use the <title> element"),
        ("<title type='text'>vector&lt;int&gt;</title>", "vector<int>"),
        ("<title type='text'>&lt;b&gt;Bold&lt;/b&gt; words</title>", "Bold words"),
        ("<title type='html'>One&lt;br/&gt;Two</title>", "One Two"),
        ("<title>Tom &amp;amp; Jerry</title>", "Tom & Jerry"),
        ("<title type='html'>&lt;![CDATA[Hello]]&gt;</title>", "Hello"),
        ("<title>it&#146;s</title>", "it’s"),
        ("<title>&#xD83D;&#xDE00;</title>", "😀"),
        ('<title type="html">&lt;a title="x &gt; y"&gt;One&lt;/a&gt; &lt;!-- x &gt; y --&gt;</title>', "One"),
    ],
)
def test_a_headline_is_what_a_person_would_read(title: str, expected: str) -> None:
    assert headline(atom(f"<id>1</id>{title}")) == expected


def test_plain_text_stays_plain_and_keeps_its_lines() -> None:
    assert atom("<id>1</id><content type='text'>use &lt;p&gt;\nline 2</content>").content == "use &lt;p&gt;<br>\nline 2"
    media = "xmlns:media='http://search.yahoo.com/mrss/'"
    assert rss("<media:description>one\ntwo</media:description>", attributes=media).content == "one<br>\ntwo"
    assert rss("<description>&lt;![CDATA[Hello]]&gt;</description>").content == "<![CDATA[Hello]]>"
    assert sanitize_html("<![CDATA[Hello <b>you</b>]]>") == "Hello <b>you</b>"


def test_base64_of_old_atom_is_decoded() -> None:
    coded = base64.b64encode(b"Example <b>Atom</b>").decode()
    entry = atom(
        f"<id>1</id><title mode='base64' type='text/html'>{coded}</title>", attributes="version='0.3' xmlns='http://purl.org/atom/ns#'"
    )
    assert entry.title == "Example <b>Atom</b>"


# Links


@pytest.mark.parametrize(
    ("entry", "head", "expected"),
    [
        ("<id>1</id><link href='y'/><content xml:base='http://b.example/' type='html'>x</content>", "", "https://host.example/dir/y"),
        ("<id>1</id><link href='y' xml:base='http://b.example/'/>", "", "http://b.example/y"),
        ("<id>1</id><link href='y' rel='http://www.iana.org/assignments/relation/alternate'/>", "", "https://host.example/dir/y"),
        ("<id>1</id><link href='z' rel='shortlink'/><link href='y'/>", "", "https://host.example/dir/y"),
        ("<id>1</id><link href='/y?a=1&amp;amp;b=2'/>", "", "https://host.example/y?a=1&b=2"),
        ("<id>1</id><Link HREF='/y'/>", "", "https://host.example/y"),
    ],
)
def test_a_link_is_seen_from_where_it_stands(entry: str, head: str, expected: str) -> None:
    assert atom(entry, head).url == expected


def test_a_relative_base_is_relative_to_the_document() -> None:
    entry = atom("<id>1</id><link href='y'/>", attributes="xmlns='http://www.w3.org/2005/Atom' xml:base='/blog/'")
    assert entry.url == "https://host.example/blog/y"


def test_the_base_of_content_is_that_of_its_images_only() -> None:
    entry = atom("<id>1</id><link href='y'/><summary xml:base='http://s.example/'>s</summary><content type='html'>x</content>")
    assert entry.base == URL


def test_a_guid_that_is_a_path_and_permanent_is_a_link() -> None:
    assert rss("<guid isPermaLink='true'>/a/b</guid>").url == "https://host.example/a/b"
    assert rss("<guid>abc</guid>").url is None


# People and dates


def test_an_entry_has_the_author_of_its_source_or_of_the_feed() -> None:
    assert atom("<id>1</id>", head="<author><name>Ann</name></author>").author == "Ann"
    assert atom("<id>1</id><source><author><name>Bob</name></author></source>", head="<author><name>Ann</name></author>").author == "Bob"


def test_of_two_dates_the_one_that_can_be_read_counts() -> None:
    entry = rss("<pubDate>soon</pubDate><pubDate>Tue, 03 Jun 2025 10:00:00 GMT</pubDate>")
    assert entry.published_at == datetime(2025, 6, 3, 10, tzinfo=UTC)


# Names


@pytest.mark.parametrize(
    "document",
    [
        "<rss version='2.0' xmlns='http://purl.org/dc/elements/1.1/'><channel><item><title>A</title></item></channel></rss>",
        "<rss version='2.0'><channel xmlns='http://somebody.example/'><item><title>A</title></item></channel></rss>",
        "<rss version='2.0'><channel><item xmlns='http://somebody.example/'><title>A</title></item></channel></rss>",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://example.org/rss'><item><title>A</title></item></rdf:RDF>",
        "<response><rss version='2.0'><channel><item><title>A</title></item></channel></rss></response>",
        "[02-Jan-2024] PHP Notice: x\n<rss version='2.0'><channel><item><title>A</title></item></channel></rss>",
        '{"error": 1}\n<rss version="2.0"><channel><item><title>A</title></item></channel></rss>',
        "<!DOCTYPE html>\n<rss version='2.0'><channel><item><title>A</title></item></channel></rss>",
        "<!DOCTYPE rss [<!ENTITY foo 'Foo &amp; Bar'>]><rss version='2.0'><channel><item><title>A</title></item></channel></rss>",
        "<rss version='2.0'><channel><item><title>A</title></item></channel></rss>\n<script>track()</script>",
    ],
)
def test_a_feed_in_odd_clothes_is_a_feed(document: str) -> None:
    assert [entry.title for entry in read(document).entries] == ["A"]


def test_a_well_known_prefix_means_what_it_always_means() -> None:
    entry = rss(
        "<dc:creator>Ann</dc:creator><content:encoded>text</content:encoded>",
        attributes="xmlns:dc='http://wrong.example/dc' xmlns:content='http://wrong.example/content'",
    )
    assert (entry.author, entry.content) == ("Ann", "text")


def test_the_channel_definition_format_is_read() -> None:
    item = "<ITEM HREF='http://e.example/1' LASTMOD='2025-06-03'><TITLE>A</TITLE></ITEM>"
    feed = read(f"<CHANNEL HREF='http://e.example/'><TITLE>T</TITLE>{item}</CHANNEL>")
    (entry,) = feed.entries
    assert (feed.format, feed.link) == ("cdf", "http://e.example/")
    assert (entry.url, entry.published_at) == ("http://e.example/1", datetime(2025, 6, 3, tzinfo=UTC))


# Letters


@pytest.mark.parametrize(
    ("declared", "codec", "text", "wrong"),
    [
        ("shift_jis", "cp932", "日本語のニュース", b"\x81\xfd"),
        ("gb2312", "gbk", "中文新闻测试", b"\xff"),
        ("euc-kr", "cp949", "한국어 뉴스", b"\xff"),
        ("windows-1251", "cp1251", "Привет мир", b"\x98"),
    ],
)
def test_one_wrong_byte_spoils_one_letter(declared: str, codec: str, text: str, wrong: bytes) -> None:
    body = f"<?xml version='1.0' encoding='{declared}'?><rss><channel><item><title>{text}</title><description>".encode(codec)
    assert read(body + wrong + b"</description></item></channel></rss>").entries[0].title == text


def test_text_that_is_valid_utf8_by_chance_is_what_the_rest_of_it_is() -> None:
    body = b"<rss><channel><item><title>\xab\xa0dou\xe9\xa0\xbb</title></item></channel></rss>"
    assert read(body).entries[0].title == "« doué »"


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        ("gb2312", "utf-8", "中文新闻测试"),
        ("windows-949", "cp949", "한국어 뉴스"),
        ("x-cp1251", "cp1251", "Привет"),
        ("win-1251", "cp1251", "Привет"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("x-x-big5", "big5", "中文新聞測試"),
        ("x-mac-cyrillic", "mac-cyrillic", "Привет"),
        ("latin-1", "cp1252", "“Köln”"),
    ],
)
def test_encodings_are_known_by_the_names_that_browsers_know(declared: str, codec: str, text: str) -> None:
    body = f"<?XML version='1.0' encoding='{declared}'?><rss><channel><item><title>{text}</title></item></channel></rss>"
    assert read(body.encode(codec)).entries[0].title == text


# JSON


def test_json_feeds_are_read_though_not_quite_json() -> None:
    body = """{"version": "https://jsonfeed.org/version/1.1", "items": [
        {"id": "http://e.example/1", "title": "a\tb", "author": "Joe", "date_published": 1748944800}]}"""
    (entry,) = read(body).entries
    assert (entry.url, entry.title, entry.author) == ("http://e.example/1", "a b", "Joe")
    assert entry.published_at == datetime(2025, 6, 3, 10, tzinfo=UTC)


def test_a_broken_json_feed_is_called_so() -> None:
    with pytest.raises(NotAFeed, match="broken JSON Feed"):
        read('{"version": "https://jsonfeed.org/version/1.1", "items": [{},]}')


# Broken documents, which feedparser reads, are read like those that are not broken


def test_a_broken_feed_has_the_links_and_files_of_its_well_formed_twin() -> None:
    item = "<item><guid>abc</guid><title>x</title><description>&lt;img src='i'&gt;</description><media:content url='http://m.example/1'/></item>"
    other = "<item><guid isPermaLink='false'>d</guid><link>/rel</link></item>"
    start = "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><link>http://ex.example/</link>"
    broken, whole = read(f"{start}{item}{other}<b></channel></rss>"), read(f"{start}{item}{other}</channel></rss>")
    assert broken.reading == "by feedparser"
    assert [(e.guid, e.url, e.enclosures, e.base) for e in broken.entries] == [(e.guid, e.url, e.enclosures, e.base) for e in whole.entries]
