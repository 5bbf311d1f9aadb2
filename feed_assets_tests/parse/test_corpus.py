"""Feeds from other projects' test suites, when they lie beside the repository (`shared/corpus`): read as those projects say.

What differs on purpose is in docs/parsing.md, under the same headings as here.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import feedparser
import pytest

from feed_assets.errors import NotAFeed
from feed_assets.model import Entry, ParsedFeed
from feed_assets.parse import parse_document

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
URL = "https://news.example/feed"

pytestmark = pytest.mark.skipif(not (CORPUS / "expectations.jsonl").is_file(), reason="there is no shared/corpus beside the repository")


@cache
def read(path: Path) -> ParsedFeed | None:
    try:
        return parse_document(path.read_bytes(), url=URL, headers={}, max_entries=100_000)
    except NotAFeed as refused:
        assert str(refused)
        return None


def expectations() -> Iterator[tuple[str, dict[str, Any], ParsedFeed]]:
    for line in (CORPUS / "expectations.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        feed = read(CORPUS / row["path"])
        assert feed is not None, row["path"]
        yield row["path"], row, feed


def items() -> Iterator[tuple[str, dict[str, Any], Entry]]:
    for path, row, feed in expectations():
        yield from ((path, *pair) for pair in zip(row["items"], feed.entries, strict=True))


def line(text: str) -> str:
    return " ".join(text.split())


def test_no_document_raises_anything_but_not_a_feed() -> None:
    feeds = [feed for path in sorted(CORPUS.rglob("*")) if path.is_file() and (feed := read(path))]
    assert len(feeds) > 100


def test_every_document_gives_the_stated_number_of_entries() -> None:
    assert [path for path, row, feed in expectations() if feed.found != row["entries"]] == []


def test_every_feed_has_the_stated_title() -> None:
    assert [path for path, row, feed in expectations() if row["feed_title"] and line(row["feed_title"]) != feed.title] == []


def test_every_item_has_the_stated_title() -> None:
    broken = "\ufffd"  # where the other project could not read the letters, and we can
    wrong = [
        path for path, item, entry in items() if item.get("title") and broken not in item["title"] and line(item["title"]) != entry.title
    ]
    assert wrong == []


def test_every_item_has_the_stated_link() -> None:
    def differs(stated: str, found: str | None) -> bool:
        if not re.match("https?://", stated):  # we make relative links absolute
            return not (found or "").endswith(stated)
        return stated.rstrip("/").lower() != (found or "").rstrip("/").lower()  # some projects respell hosts

    assert [
        (path, item["link"], entry.url) for path, item, entry in items() if item.get("link") and differs(item["link"].strip(), entry.url)
    ] == []


def test_every_item_has_the_stated_id() -> None:
    def made_up(stated: str, path: str) -> bool:  # feed-rs invents ids for items without one, and for RSS 1.0
        return bool(re.fullmatch("[0-9a-f]{30,32}|[0-9a-f-]{36}", stated)) and stated not in (CORPUS / path).read_text("utf-8", "replace")

    wrong = [(path, item["id"], entry.guid) for path, item, entry in items() if item.get("id") and line(item["id"]) != entry.guid]
    assert [each for each in wrong if not made_up(each[1], each[0])] == []


def test_every_item_has_the_stated_date() -> None:
    wrong = [
        (path, item["published"], entry.published_at)
        for path, item, entry in items()
        if item.get("published")
        and (entry.published_at is None or entry.published_at.replace(microsecond=0) != datetime.fromisoformat(item["published"]))
    ]
    assert wrong == []


def test_entries_are_never_fewer_than_feedparser_finds() -> None:
    fewer = []
    for path in sorted(CORPUS.rglob("*")):
        if path.suffix in (".xml", ".rss", ".atom"):
            there = feedparser.parse(io.BytesIO(path.read_bytes()), sanitize_html=False, resolve_relative_uris=False)
            feed = read(path)
            if there.version and len(there.entries) > (feed.found if feed else 0):
                fewer.append((path.name, len(there.entries), feed and feed.found))
    assert fewer == []
