"""Hostile text in every place of a feed, followed to everything that is stored, served and shown: nothing of it runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import lxml.html
import pytest
from httpx import Response
from lxml import etree
from markdown_it import MarkdownIt

from feed_assets.api.app import create_app
from feed_assets.commit import _article, titles
from feed_assets.decide.dedup import place
from feed_assets.decide.identity import compare, draft
from feed_assets.defs.reporting import _preview
from feed_assets.errors import NotAFeed
from feed_assets.model import Article, Feed, FeedReport, Item, Outcome, ParsedFeed, PublishedItem
from feed_assets.parse import parse_document
from feed_assets.publish import is_well_formed, render_rss
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.api.conftest import Client, readers
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look
from feed_assets_tests.support.xss import PAYLOADS, address_fault, elements, faults

FEED = Feed("news", "https://news.example/feed", "News")
NAMESPACES = "xmlns:content='http://purl.org/rss/1.0/modules/content/' xmlns:dc='http://purl.org/dc/elements/1.1/'"
RSS_PLACES = (
    "<title>{}</title>",
    "<description>{}</description>",
    "<content:encoded>{}</content:encoded>",
    "<description xml:base='javascript:alert(1)//'>{}</description>",
    "<author>{}</author>",
    "<dc:creator>{}</dc:creator>",
    "<category>{}</category>",
    "<link>{}</link>",
    "<guid>{}</guid>",
    "<guid isPermaLink='true'>{}</guid>",
)
ATOM_PLACES = (
    "<title>{}</title>",
    "<title type='html'>{}</title>",
    "<summary>{}</summary>",
    "<content>{}</content>",
    "<content type='text'>{}</content>",
    "<content type='html'>{}</content>",
    "<content type='html' xml:base='javascript:alert(1)//'>{}</content>",
    "<author><name>{}</name></author>",
    "<author><uri>{}</uri></author>",
    "<id>{}</id>",
)
OUR_ELEMENTS = {
    *("rss", "channel", "item", "title", "link", "description", "language", "lastBuildDate", "generator", "guid", "pubDate", "category"),
    *("enclosure", "{http://www.w3.org/2005/Atom}link", "{http://search.yahoo.com/mrss/}content"),
    "{http://purl.org/dc/elements/1.1/}creator",
}


def rss(payload: str) -> str:
    return _rss(escape(payload), quoteattr(payload))


def rss_in_cdata(payload: str) -> str:
    """As it stands: what has "]]>" in it ends the section."""
    return _rss(f"<![CDATA[{payload}]]>", quoteattr(payload))


def rss_in_long_cdata(payload: str) -> str:
    """Long sections do not go through the XML parser."""
    return _rss(f"<![CDATA[{payload}{'<p>more</p>' * 40}]]>", quoteattr(payload))


def rss_unescaped(payload: str) -> str:
    """As careless publishers write it."""
    return _rss(payload, quoteattr(payload))


def atom(payload: str) -> str:
    return _atom(escape(payload), quoteattr(payload))


def atom_xhtml(payload: str) -> str:
    div = f"<div xmlns='http://www.w3.org/1999/xhtml' xmlns:xlink='http://www.w3.org/1999/xlink'>{payload}</div>"
    entries = [f"<content type='xhtml'>{div}</content>", f"<summary type='xhtml'>{div}</summary>", f"<title type='xhtml'>{div}</title>"]
    return _atom_of("News", "", entries)


def json_feed(payload: str) -> str:
    texts = ("content_html", "content_text", "summary", "title", "url", "external_url", "id")
    items: list[dict[str, Any]] = [{name: payload} for name in texts]
    items += [{"authors": [{"name": payload}]}, {"tags": [payload]}, {"attachments": [{"url": payload, "mime_type": payload}]}]
    items += [{"url": "javascript:alert(1)//", "content_html": payload}]  # what its relative links are relative to
    items = [{"id": str(number), "content_html": "x"} | item for number, item in enumerate(items)]
    items[1].pop("content_html")
    items[2].pop("content_html")
    head = {"title": payload, "description": payload, "home_page_url": payload, "language": payload}
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", **head, "items": items})


def _rss(text: str, attribute: str) -> str:
    items = [place.format(text) for place in RSS_PLACES]
    items += [
        f"<enclosure url={attribute} type={attribute} length='1'/>",
        f"<description xml:base={attribute}>{text}</description>",
    ]
    body = "".join(
        f"<item>{item}{'' if 'guid' in item else f'<guid>{number}</guid>'}{'' if '<title' in item else '<title>x</title>'}</item>"
        for number, item in enumerate(items)
    )
    head = f"<title>{text}</title><link>{text}</link><description>{text}</description><language>{text}</language>"
    return f"<?xml version='1.0'?><rss version='2.0' {NAMESPACES}><channel>{head}{body}</channel></rss>"


def _atom(text: str, attribute: str) -> str:
    entries = [place.format(text) for place in ATOM_PLACES]
    entries += [f"<link href={attribute}/>", f"<link rel='enclosure' href={attribute}/>", f"<category term={attribute} label={attribute}/>"]
    entries += [f"<content src={attribute}/>", f"<content type='html' xml:base={attribute}>{text}</content>"]
    return _atom_of(text, f"<link href={attribute}/><subtitle>{text}</subtitle>", entries)


def _atom_of(title: str, head: str, entries: Iterable[str]) -> str:
    body = "".join(
        f"<entry>{entry}{'' if '<id' in entry else f'<id>{number}</id>'}{'' if '<title' in entry else '<title>x</title>'}</entry>"
        for number, entry in enumerate(entries)
    )
    return f"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><title>{title}</title>{head}{body}</feed>"


DOCUMENTS = (rss, rss_in_cdata, rss_in_long_cdata, rss_unescaped, atom, atom_xhtml, json_feed)
SOUND = (rss, atom, json_feed)  # these are well-formed, whatever the payload


def read(body: str) -> ParsedFeed | None:
    try:
        return parse_document(body.encode(), url=FEED.url, headers={}, max_entries=1000)
    except NotAFeed:
        return None


def stored(items: Iterable[Item]) -> list[tuple[Item, Article]]:
    return [(item, _article(FEED, Clock()(), place(FEED.feed_id, item, {}, {}))) for item in items]


def served(parsed: ParsedFeed, articles: Iterable[tuple[Item, Article]]) -> str:
    items = [
        PublishedItem(
            *(FEED.feed_id, article.article_id, item.entry.guid, article.url, article.headline, item.entry.author),
            *(article.published_at, article.content),
            {"categories": list(item.entry.categories), "enclosures": [asdict(each) for each in item.entry.enclosures]},
        )
        for item, article in articles
    ]
    return render_rss(
        title=parsed.title or FEED.source_name,
        link=parsed.link or FEED.url,
        description=parsed.description,
        language=parsed.language,
        self_url="http://127.0.0.1/rss/news",
        built_at=Clock()(),
        items=items,
    ).xml


def assert_harmless_article(headline: str, url: str | None, content: str) -> None:
    assert faults(content) == []
    assert url is None or (url.lower().startswith(("http://", "https://")) and address_fault(url) is None)
    assert headline == " ".join(headline.split())


def assert_harmless_rss(xml: str) -> None:
    assert is_well_formed(xml)
    root = etree.fromstring(xml.encode())
    assert {element.tag for element in root.iter()} <= OUR_ELEMENTS
    for element in root.iter():
        text = element.text or ""
        if element.tag == "description" and element.getparent().tag == "item":
            assert faults(text) == []
        elif element.tag == "link":
            assert text.startswith(("http://", "https://"))
            assert elements(text) == []
        elif element.tag == "guid":
            assert element.get("isPermaLink") == "false" or text.startswith(("http://", "https://"))
        else:
            assert elements(text) == []  # to a reader who takes it for HTML
        for name in ("url", "href"):
            assert element.get(name, "https://").startswith(("http://", "https://"))
            assert elements(element.get(name, "")) == []


def assert_harmless_markdown(markdown: str) -> None:
    """To a reader of Markdown who lets HTML and all addresses pass."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    for block in reader.parse(markdown):
        for token in (block, *(block.children or ())):
            assert token.type not in ("html_block", "html_inline", "image"), token
            if token.type == "link_open":
                assert str(token.attrs["href"]).startswith(("http://", "https://"))


def test_there_are_many_payloads_and_each_is_another() -> None:
    assert len(set(PAYLOADS.values())) == len(PAYLOADS) >= 70


@pytest.mark.parametrize("document", SOUND)
def test_every_payload_is_read_in_every_place(document: Any) -> None:
    for payload in PAYLOADS.values():
        parsed = read(document(payload))
        assert parsed is not None
        assert parsed.found >= 10


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_nothing_hostile_is_stored_or_served_or_shown(payload: str, document: Any) -> None:
    parsed = read(document(payload))
    if parsed is None:
        assert document not in SOUND
        return
    items = compare([draft(entry) for entry in parsed.entries], ()).new
    articles = stored(items)
    for _, article in articles:
        assert_harmless_article(article.headline, article.url, article.content)
    assert_harmless_rss(served(parsed, articles))
    for item in items:
        assert_harmless_markdown(_preview(FeedReport("news", FEED.url, Outcome.SUCCESS, titles=titles([item]))))


@pytest.mark.parametrize("document", (rss, rss_in_cdata, atom, json_feed))
def test_payloads_one_after_the_other_are_as_harmless_as_each_alone(document: Any) -> None:
    """An item that leaves something open must not help the next."""
    for first, second in zip(PAYLOADS.values(), list(PAYLOADS.values())[1:], strict=False):
        parsed = read(document(first + second))
        for _, article in stored(compare([draft(entry) for entry in parsed.entries], ()).new) if parsed else ():
            assert_harmless_article(article.headline, article.url, article.content)


@pytest.fixture
def hostile_feeds(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> Iterator[list[str]]:
    """All payloads, each as the title, link, author, category and text of one item, through a whole refresh."""
    names = ["rss", "atom", "json"]
    rss_items = "".join(
        f"<item><title>{t}</title><link>{t}</link><author>{t}</author><category>{t}</category><description>{t}</description>"
        f"<guid>{number}</guid><enclosure url={quoteattr(p)}/></item>"
        for number, p in enumerate(PAYLOADS.values())
        if (t := escape(p))
    )
    entries = [
        f"<title>{t}</title><link href={quoteattr(p)}/><author><name>{t}</name></author><content type='html'>{t}</content>"
        for p in PAYLOADS.values()
        if (t := escape(p))
    ]
    json_items = [{"id": str(n), "title": p, "url": p, "content_html": p} for n, p in enumerate(PAYLOADS.values())]
    script = PAYLOADS["script"]
    server.publish("/rss/feed", f"<rss version='2.0'><channel><title>{escape(script)}</title>{rss_items}</channel></rss>")
    server.publish("/atom/feed", _atom_of(escape(script), "", entries))
    server.publish("/json/feed", json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": script, "items": json_items}))
    for name in names:
        add(store, clock, f"{server.base}/{name}/feed", name)
        report = refresh_one(store, settings, clock, name)
        assert (report.outcome, report.found) == (Outcome.SUCCESS, len(PAYLOADS))
        assert_harmless_markdown(_preview(report))
    yield names


@pytest.fixture
def settings(database_url: str, tmp_path: Any) -> Settings:
    return make_settings(tmp_path, DATABASE_URL=database_url, FEED_XML_ITEMS=1000, MAX_ARTICLES_PER_FEED=1000)


def test_a_refresh_stores_and_the_api_serves_nothing_hostile(store: Store, settings: Settings, hostile_feeds: list[str]) -> None:
    articles = look(store)["deduped_articles"]
    assert len(articles) > len(PAYLOADS)
    for article in articles:
        assert_harmless_article(article["headline"], article["url"], article["content"])
    with Client(create_app(settings, readers(settings))) as client:
        for name in hostile_feeds:
            answer = client.get(f"/rss/{name}")
            assert answer.headers["Content-Type"].startswith("application/rss+xml")
            assert answer.text.count("<item>") > len(PAYLOADS) / 2
            assert_harmless_rss(answer.text)
        known = {"{feed_id}": hostile_feeds, "{article_id}": [article["article_id"] for article in articles]}
        asked = [
            address
            for path, ways in client.get("/openapi.json").json()["paths"].items()
            if "get" in ways
            for address in _filled(path, known)
        ]
        assert "/api/feeds/rss" in asked
        for address in asked:
            answer = client.get(address)
            if answer.headers["Content-Type"].startswith("application/rss+xml"):
                assert_harmless_rss(answer.text)
            elif "json" in answer.headers["Content-Type"]:
                _assert_harmless_json(answer.json())
            else:
                assert answer.headers["Content-Type"].split(";")[0] in ("text/x-opml", "text/plain")
        for address in ("/", *(f"/feeds/{name}" for name in hostile_feeds)):
            assert_harmless_page(client.get(address))


def assert_harmless_page(answer: Response) -> None:
    """No script but ours, no handler, no address that is none, and a browser that is told so."""
    assert answer.status_code == 200 and "script-src 'self'" in answer.headers["Content-Security-Policy"]
    page = lxml.html.document_fromstring(answer.text)
    assert [script.get("src", "").partition("?")[0] for script in page.iter("script")] == ["/static/page.js"]
    assert not any(script.text for script in page.iter("script"))
    for element in page.iter():
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on") and name != "style"
            if name in ("href", "src", "action", "formaction"):
                assert value == "data:," or value.startswith(("/", "#", "http://", "https://"))
    assert not {str(element.tag) for element in page.iter()} & {"iframe", "object", "embed", "base", "img"}


def _filled(path: str, known: dict[str, list[str]]) -> list[str]:
    """The addresses of an endpoint with every feed or article that there is; [] where it wants something else."""
    for name, values in known.items():
        if name in path:
            return [path.replace(name, value) for value in values]
    return [] if "{" in path else [path]


def _assert_harmless_json(value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _assert_harmless_json(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("content", "content_html", "html") and isinstance(each, str):
                assert faults(each) == []
            elif (name == "url" or name.endswith(("_url", "link"))) and each is not None:
                assert str(each).startswith(("http://", "https://"))
            else:
                _assert_harmless_json(each)
