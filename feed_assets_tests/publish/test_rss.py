"""The served RSS: valid for strict readers, stable guids, exact dates, and nothing a publisher writes can break it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.model import PublishedItem
from feed_assets.publish import Rendered, is_well_formed, render_rss

BUILT = datetime(2026, 3, 2, 12, 30, 15, tzinfo=UTC)
ITEM = PublishedItem(
    feed_id="news",
    article_id="a1",
    guid="id-1",
    url="https://news.example/one?a=1&b=2",
    headline="One <& two>",
    author="Ann & Bob",
    published_at=datetime(2026, 3, 1, 9, 5, 7, tzinfo=UTC),
    content="<p>Hello &amp; <b>welcome</b> ]]></p>",
    extra={"categories": ["a", "b & c"], "enclosures": [{"url": "https://news.example/1.mp3?x=1&y=2", "type": "audio/mpeg", "length": 99}]},
)
HOSTILE = st.text(st.characters(), max_size=60) | st.sampled_from(
    ["]]>", "<!--", "&#0;", "</item></channel></rss>", "\x00", "\ud800", "a\r\nb", "'\""]
)


def rendered(items: Sequence[PublishedItem] = (ITEM,), **values: Any) -> Rendered:
    channel = {
        "title": "The News",
        "link": "https://news.example/",
        "description": "All of it",
        "language": "en",
        "self_url": "http://127.0.0.1:8080/rss/news",
        "built_at": BUILT,
    }
    return render_rss(**channel | values, items=items)


def test_feedparser_reads_it_without_complaint() -> None:
    document = feedparser.parse(rendered().xml.encode())
    assert not document.bozo
    assert document.version == "rss20"
    assert (document.feed.title, document.feed.link, document.feed.subtitle, document.feed.language) == (
        "The News", "https://news.example/", "All of it", "en",
    )  # fmt: skip


def test_an_item_comes_back_as_it_went_in() -> None:
    item = ElementTree.fromstring(rendered().xml).find("channel/item")
    assert item is not None
    assert item.findtext("title") == ITEM.headline
    assert item.findtext("link") == ITEM.url
    assert item.findtext("guid") == "id-1"
    assert item.findtext("description") == ITEM.content
    assert item.findtext("{http://purl.org/dc/elements/1.1/}creator") == "Ann & Bob"
    assert [category.text for category in item.findall("category")] == ["a", "b & c"]


def test_the_document_names_its_own_address() -> None:
    link = ElementTree.fromstring(rendered(self_url="http://e.example/?a=1&b='\"<").xml).find("channel/{http://www.w3.org/2005/Atom}link")
    assert link is not None
    assert (link.get("href"), link.get("rel")) == ("http://e.example/?a=1&b='%22%3C", "self")


def test_dates_are_rfc_822_in_gmt_to_the_second() -> None:
    channel = ElementTree.fromstring(rendered().xml).find("channel")
    assert channel is not None
    assert channel.findtext("lastBuildDate") == "Mon, 02 Mar 2026 12:30:15 GMT"
    assert channel.findtext("item/pubDate") == "Sun, 01 Mar 2026 09:05:07 GMT"


@pytest.mark.parametrize(
    ("guid", "url", "expected"),
    [
        ("id-1", "https://news.example/one", ("id-1", "false")),
        ("https://news.example/one", "https://news.example/one", ("https://news.example/one", "true")),
        (" https://news.example/a b ", "https://news.example/a b", ("https://news.example/a%20b", "true")),
        ("https://news.example/two", "https://news.example/one", ("https://news.example/two", "false")),
        ("tag:news.example,2026:1", "tag:news.example,2026:1", ("tag:news.example,2026:1", "false")),
        (" \n ", "https://news.example/one", ("a1", "false")),
        (None, "https://news.example/one", ("a1", "false")),
        (None, None, ("a1", "false")),
    ],
)
def test_the_guid_is_the_publishers_or_the_article_id(guid: str | None, url: str | None, expected: tuple[str, str]) -> None:
    element = ElementTree.fromstring(rendered([replace(ITEM, guid=guid, url=url)]).xml).find("channel/item/guid")
    assert element is not None
    assert (element.text, element.get("isPermaLink")) == expected


def test_the_guid_stays_when_the_rest_of_the_item_changes() -> None:
    edited = replace(ITEM, headline="Edited", content="new", published_at=ITEM.published_at + timedelta(hours=1))
    guids = [ElementTree.fromstring(rendered([item]).xml).findtext("channel/item/guid") for item in (ITEM, edited)]
    assert guids[0] == guids[1] == "id-1"


def test_an_enclosure_has_its_three_attributes() -> None:
    enclosure = ElementTree.fromstring(rendered().xml).find("channel/item/enclosure")
    assert enclosure is not None
    assert enclosure.attrib == {"url": "https://news.example/1.mp3?x=1&y=2", "type": "audio/mpeg", "length": "99"}


def test_an_enclosure_of_unknown_kind_and_size_still_has_its_three_attributes() -> None:
    enclosures = [{"url": "https://news.example/1", "type": None, "length": None}, {"url": "https://news.example/2"}]
    found = ElementTree.fromstring(rendered([replace(ITEM, extra={"enclosures": enclosures})]).xml).findall("channel/item/enclosure")
    assert [enclosure.attrib for enclosure in found] == [
        {"url": "https://news.example/1", "type": "application/octet-stream", "length": "0"}
    ]


def test_an_item_with_next_to_nothing_is_still_an_item() -> None:
    bare = PublishedItem("news", "a2", None, None, "", None, BUILT, "", {})
    document = feedparser.parse(rendered([bare], description="", language=None).xml.encode())
    assert not document.bozo
    assert (document.entries[0].title, document.entries[0].id) == ("Untitled", "a2")
    assert document.feed.subtitle == "The News"


def test_items_keep_their_order() -> None:
    items = [replace(ITEM, guid=f"id-{number}") for number in (3, 1, 2)]
    assert [entry.id for entry in feedparser.parse(rendered(items).xml.encode()).entries] == ["id-3", "id-1", "id-2"]


def test_the_etag_is_quoted_and_changes_with_the_document_only() -> None:
    one, same, other = rendered(), rendered(), rendered([replace(ITEM, headline="Edited")])
    assert one.etag == same.etag != other.etag
    assert one.etag.startswith('"') and one.etag.endswith('"')


def test_the_document_starts_with_its_header() -> None:
    document = rendered()
    assert document.xml.startswith(document.header)
    assert "<item>" not in document.header


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(st.lists(HOSTILE, min_size=9, max_size=9))
def test_whatever_text_comes_the_document_is_well_formed_and_has_its_item(texts: list[str]) -> None:
    title, link, description, language, guid, url, headline, content, other = texts
    extra = {"categories": [other, title], "enclosures": [{"url": url, "type": other, "length": 1}]}
    item = replace(ITEM, guid=guid, url=url, headline=headline, author=other, content=content, extra=extra)
    document = rendered([item], title=title, link=link, description=description, language=language, self_url=link)
    assert is_well_formed(document.xml)
    root = ElementTree.fromstring(document.xml.encode())
    assert len(root.findall("channel/item")) == 1
    assert len(root) == 1


@pytest.mark.parametrize("xml", ["", "<rss>", "<rss>&nbsp;</rss>", "<a/><b/>", "<a>\x00</a>"])
def test_a_broken_document_is_told_from_a_well_formed_one(xml: str) -> None:
    assert not is_well_formed(xml)
