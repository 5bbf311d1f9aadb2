"""The served RSS is valid as the W3C feed validator judges, whatever a publisher wrote."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.model import PublishedItem
from feed_assets_tests.publish.test_rss import BUILT, ITEM, rendered
from feed_assets_tests.publish.validator import problems

SELF = "http://127.0.0.1:8080/rss/news"
MEDIA = "{http://search.yahoo.com/mrss/}content"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"

NASTY = st.sampled_from(
    ["", " ", "]]>", "<!--", "&#0;", "&lt;b&gt;", "</item></channel></rss>", "<script>alert(1)</script>", "\x00", "<\x00b>", "\ud800",
     "\ufffe", "\uffff", "a\r\nb", "a\nb", "<b>", "'\"", "\x85", "\u2028", "id-1", "a1"]
)  # fmt: skip
TEXTS = st.text(st.characters(), max_size=30) | NASTY
HOSTS = st.sampled_from(
    ["news.example", "bücher.example", "ﬀ.example", "i❤.example", "localhost", "a_b.example", "[::1]", "[::z]", "[", "a..b", "xn--",
     "x" * 70, "é" * 70]
) | st.text(st.characters(), max_size=8)  # fmt: skip
URLS = (
    st.builds(
        "{}://{}{}{}{}".format,
        st.sampled_from(["http", "https", "HTTP", "httpſ", "ftp", ""]),
        st.sampled_from(["", "", "", "user:p w@", "a@b@", "\\@"]),
        HOSTS,
        st.sampled_from(["", "", ":80", ":", ":99999", ":x"]),
        st.builds("{}{}".format, st.sampled_from(["", "/", "/%41%zz?", "?", "#a#", "/[ä b]"]), TEXTS),
    )
    | st.sampled_from(["javascript:alert(1)", "//news.example/x", "/x", "mailto:a@b.example", "http:///x", "http://", "tag:a,2026:b"])
    | TEXTS
)
DATES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(lambda moment: moment.replace(tzinfo=UTC))
ENCLOSURES = st.fixed_dictionaries(
    {},
    optional={
        "url": URLS | st.none(),
        "type": st.none() | st.sampled_from(["audio/mpeg", "audio", "audio/mpeg; a=b", "a&b/c", "/"]) | TEXTS,
        "length": st.none() | st.integers() | TEXTS | st.just(10**30),
    },
)
ITEMS = st.builds(
    PublishedItem,
    feed_id=st.just("news"),
    article_id=TEXTS,
    guid=st.none() | URLS,
    url=st.none() | URLS,
    headline=TEXTS,
    author=st.none() | TEXTS,
    published_at=DATES,
    content=TEXTS,
    extra=st.fixed_dictionaries({}, optional={"categories": st.lists(TEXTS, max_size=4), "enclosures": st.lists(ENCLOSURES, max_size=3)}),
)


def item_of(item: PublishedItem, **values: Any) -> ElementTree.Element:
    """The item as written, in a document that is valid."""
    return items_of(item, **values)[0]


def items_of(*items: PublishedItem, **values: Any) -> list[ElementTree.Element]:
    xml = rendered(items, **values).xml
    assert problems(xml) == []
    return ElementTree.fromstring(xml).findall("channel/item")


def channel_of(**values: Any) -> ElementTree.Element:
    xml = rendered(**values).xml
    assert problems(xml) == []
    channel = ElementTree.fromstring(xml).find("channel")
    assert channel is not None
    return channel


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(
    TEXTS,
    URLS,
    TEXTS,
    TEXTS | st.sampled_from(["de-AT", "en_US"]),
    URLS,
    DATES.filter(lambda day: day.year >= 1000),
    st.lists(ITEMS, max_size=4),
)
def test_whatever_is_published_is_valid_and_reads_without_complaint(
    title: str, link: str, description: str, language: str, self_url: str, built_at: datetime, items: list[PublishedItem]
) -> None:
    xml = rendered(items, title=title, link=link, description=description, language=language, self_url=self_url, built_at=built_at).xml
    assert problems(xml) == []
    document = feedparser.parse(io.BytesIO(xml.encode()))
    assert not document.bozo, document.bozo_exception
    assert len(document.entries) == len(items)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<guid isPermaLink=\"false\">id-1", "<guid isPermaLink=\"true\">id-1"),
        ("Sun, 01 Mar", "Mon, 01 Mar"),
        ("<link>https://news.example/one", "<link>/one"),
        ("https://news.example/1.mp3", "https://localhost/1.mp3"),
        ("<title>One ", "<title>&lt;b&gt;"),
        ("</item>", "</item><title>late</title>"),
    ],
)  # fmt: skip
def test_the_validator_of_these_tests_finds_faults(right: str, wrong: str) -> None:
    xml = rendered().xml
    assert right in xml
    assert problems(xml) == []
    assert problems(xml.replace(right, wrong))


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://news.example/a b\"<>{}|\\^`", "https://news.example/a%20b%22%3C%3E%7B%7D%7C%5C%5E%60"),
        ("https://news.example/ä?q=ü#ö", "https://news.example/%C3%A4?q=%C3%BC#%C3%B6"),
        ("https://news.example/%C3%A4%20b", "https://news.example/%C3%A4%20b"),
        ("https://news.example/100%", "https://news.example/100%25"),
        ("https://news.example/a[1]#b#c", "https://news.example/a%5B1%5D#b%23c"),
        ("  https://news.example/one\n", "https://news.example/one"),
        ("HTTPS://News.example/One", "https://News.example/One"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://user:p w@news.example/", "http://user:p%20w@news.example/"),
    ],
)  # fmt: skip
def test_a_link_has_only_characters_that_uris_have_and_is_encoded_once(url: str, link: str) -> None:
    assert item_of(replace(ITEM, url=url)).findtext("link") == link
    assert channel_of(link=url).findtext("link") == link


@pytest.mark.parametrize(
    "url",
    [None, "", "/one", "//news.example/one", "one.html", "javascript:alert(1)", "mailto:a@news.example", "ftp://news.example/", "http://", "http:///x",
     "http://a b/", "http://i❤.example/", "http://news.example:99999/", "http://[::z]/", "http://good.example\\@bad.example/", "httpſ://news.example/"],
)  # fmt: skip
def test_what_is_no_absolute_web_address_is_no_link(url: str | None) -> None:
    item = item_of(replace(ITEM, url=url, guid=url))
    assert item.find("link") is None
    assert item.find("guid").get("isPermaLink") == "false"  # type: ignore[union-attr]


@pytest.mark.parametrize("link", ["", "/", "javascript:alert(1)"])
def test_a_channel_without_a_usable_link_has_its_own_address_as_link(link: str) -> None:
    assert channel_of(link=link).findtext("link") == SELF


def test_a_channel_that_has_no_address_at_all_is_valid_still() -> None:
    channel = channel_of(link="", self_url="")
    assert channel.findtext("link") == "http://unknown.invalid/"
    assert channel.find("{http://www.w3.org/2005/Atom}link") is None


def test_items_with_the_same_guid_get_their_article_ids_from_the_second_on() -> None:
    items = [replace(ITEM, article_id=f"a{number}", guid="same") for number in range(3)]
    assert [item.findtext("guid") for item in items_of(*items)] == ["same", "a1", "a2"]


def test_guids_that_differ_only_in_blanks_are_the_same_to_readers() -> None:
    items = [replace(ITEM, article_id="a1", guid="a b"), replace(ITEM, article_id="a2", guid=" a\n b ")]
    assert [item.findtext("guid") for item in items_of(*items)] == ["a b", "a2"]


def test_a_permalink_that_is_there_twice_is_one_once() -> None:
    items = [replace(ITEM, article_id=f"a{number}", guid=ITEM.url) for number in range(2)]
    guids = [item.find("guid") for item in items_of(*items)]
    assert [(guid.text, guid.get("isPermaLink")) for guid in guids if guid is not None] == [(ITEM.url, "true"), ("a1", "false")]


def test_a_publishers_guid_that_looks_like_an_article_id_takes_nothing_away() -> None:
    items = [
        replace(ITEM, article_id="a1", guid="a2"),
        replace(ITEM, article_id="a2", guid=None),
        replace(ITEM, article_id="a2", guid=None),
    ]
    assert [item.findtext("guid") for item in items_of(*items)] == ["a2", "a2#2", "a2#3"]


@pytest.mark.parametrize("text", ["<b>bold</b>", "a </script> b", "<!-- x", "<?php x", "1 <a & b", "<\x00script>"])
def test_plain_text_that_looks_like_a_tag_is_escaped_twice_wherever_it_stands(text: str) -> None:
    written = text.replace("\x00", "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    channel = channel_of(title=text, description=text, items=[replace(ITEM, headline=text, author=text, extra={"categories": [text]})])
    paths = ("title", "description", "item/title", f"item/{CREATOR}", "item/category")
    assert [channel.findtext(path) for path in paths] == [written] * 5


@pytest.mark.parametrize("text", ["AT&T", "1 < 2 > 0", "<3", "a &amp; b", "x <", "&lt;b&gt;", "]]>"])
def test_other_plain_text_is_escaped_once_wherever_it_stands(text: str) -> None:
    channel = channel_of(title=text, description=text, items=[replace(ITEM, headline=text, author=text, extra={"categories": [text]})])
    paths = ("title", "description", "item/title", f"item/{CREATOR}", "item/category")
    assert [channel.findtext(path) for path in paths] == [text] * 5


@pytest.mark.parametrize("headline", ["", " \n", "\x00\ud800"])
def test_an_item_without_headline_is_named_after_its_link_or_untitled(headline: str) -> None:
    assert item_of(replace(ITEM, headline=headline)).findtext("title") == ITEM.url
    assert item_of(replace(ITEM, headline=headline, url=None, content="")).findtext("title") == "Untitled"


def test_a_channel_without_title_is_untitled() -> None:
    channel = channel_of(title=" ", description="\x00")
    assert (channel.findtext("title"), channel.findtext("description")) == ("Untitled", "Untitled")


def test_characters_that_xml_forbids_are_left_out_and_all_others_stay() -> None:
    text = "a\x00b\x0b\x1fc\ud800d\ufffe\uffffe"
    item = item_of(replace(ITEM, headline=text, content=f"<p>{text}\té😀\u2028]]></p>"))
    assert (item.findtext("title"), item.findtext("description")) == ("abcde", "<p>abcde\té😀\u2028]]></p>")


def test_categories_are_kept_each_once_and_none_empty() -> None:
    item = item_of(replace(ITEM, extra={"categories": ["b", "a", " b ", "", " ", "\x00", "a & c"]}))
    assert [category.text for category in item.findall("category")] == ["b", "a", "a & c"]


@pytest.mark.parametrize(
    ("categories", "written"),
    [(["a\rb", "a\nb", "a b"], ["a b"]), (["<b>", "&lt;b&gt;"], ["&lt;b&gt;"])],
)
def test_categories_that_readers_cannot_tell_apart_are_written_once(categories: list[str], written: list[str]) -> None:
    item = item_of(replace(ITEM, extra={"categories": categories}))
    assert [category.text for category in item.findall("category")] == written


def test_article_ids_that_readers_cannot_tell_apart_are_told_apart() -> None:
    items = [replace(ITEM, article_id=each, guid=None) for each in ("a\rb", "a\nb")]
    assert [item.findtext("guid") for item in items_of(*items)] == ["a b", "a b#2"]


def test_further_enclosures_are_media_contents() -> None:
    enclosures = [{"url": f"https://news.example/{number}.mp3", "type": "audio/mpeg", "length": number} for number in (3, 2, 0)]
    item = item_of(replace(ITEM, extra={"enclosures": enclosures}))
    assert [each.attrib for each in item.findall("enclosure")] == [
        {"url": "https://news.example/3.mp3", "type": "audio/mpeg", "length": "3"}
    ]
    assert [each.attrib for each in item.findall(MEDIA)] == [
        {"url": "https://news.example/2.mp3", "type": "audio/mpeg", "fileSize": "2"},
        {"url": "https://news.example/0.mp3", "type": "audio/mpeg"},
    ]


def test_an_enclosure_is_at_a_web_address_and_left_out_elsewhere() -> None:
    urls = [None, "", "/1.mp3", "data:audio/mpeg;base64,AA", "https://news.example/a b.mp3"]
    item = item_of(replace(ITEM, extra={"enclosures": [{"url": url} for url in urls]}))
    assert [each.get("url") for each in item if each.tag in ("enclosure", MEDIA)] == ["https://news.example/a%20b.mp3"]


def test_an_enclosure_at_a_host_that_the_validator_refuses_is_a_media_content() -> None:
    urls = ["http://nas/1.mp3", "https://user@news.example/2.mp3", "https://news.example/3.mp3"]
    item = item_of(replace(ITEM, extra={"enclosures": [{"url": url} for url in urls]}))
    assert [each.get("url") for each in item.findall("enclosure")] == urls[2:]
    assert [each.get("url") for each in item.findall(MEDIA)] == urls[:2]


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("audio/mpeg; codecs=x", "audio/mpeg"),
        ("image/svg+xml", "image/svg+xml"),
        ("audio", None),
        ("a/b/c", None),
        ("é/x", None),
        (7, None),
    ],
)
def test_an_enclosure_has_a_media_type_always(kind: Any, written: str | None) -> None:
    item = item_of(replace(ITEM, extra={"enclosures": [{"url": "https://news.example/1", "type": kind}]}))
    assert item.find("enclosure").get("type") == (written or "application/octet-stream")  # type: ignore[union-attr]


@pytest.mark.parametrize("length", [None, -1, 0, "many", 1.5, pytest.param(10**5000, id="endless")])
def test_an_enclosure_whose_length_nobody_knows_has_length_zero(length: Any) -> None:
    item = item_of(replace(ITEM, extra={"enclosures": [{"url": "https://news.example/1", "length": length}]}))
    assert item.find("enclosure").get("length") == "0"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), None),
        (datetime(999, 12, 31, tzinfo=UTC), None),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), None),
        (datetime(1660, 1, 1, tzinfo=UTC), "Thu, 01 Jan 1660 00:00:00 GMT"),
        (datetime(2026, 3, 1, 1, 2, 3), "Sun, 01 Mar 2026 01:02:03 GMT"),
        (datetime(2026, 3, 1, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "Sat, 28 Feb 2026 23:02:03 GMT"),
        (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "Fri, 31 Dec 9999 23:59:59 GMT"),
    ],
)
def test_a_date_is_in_gmt_with_a_year_of_four_digits_or_left_out(moment: datetime, written: str | None) -> None:
    assert item_of(replace(ITEM, published_at=moment)).findtext("pubDate") == written


@pytest.mark.parametrize("language", ["en", "de-AT", "zh-Hant-TW", "es-419", "sl-rozaj-biske", "de-DE-u-co-phonebk", "x-klingon", "gsw"])
def test_a_language_tag_is_written_as_it_is(language: str) -> None:
    assert channel_of(language=language).findtext("language") == language


@pytest.mark.parametrize("language", [None, "", "english", "en_US", "e", "en-", "en us", "de-DE-", "én", "en\n", "<b>"])
def test_what_is_no_language_tag_is_left_out(language: str | None) -> None:
    assert channel_of(language=language).find("language") is None


def test_a_document_of_fifty_items_is_rendered_alike_each_time() -> None:
    items = [replace(ITEM, article_id=f"a{number}", guid="same") for number in range(50)]
    assert rendered(items).xml == rendered(items).xml
    assert f"<lastBuildDate>{BUILT:%a, %d %b %Y %H:%M:%S} GMT</lastBuildDate>" in rendered(items).header
