"""Whatever the bytes: a feed that can be stored and published, or NotAFeed, in time. `benchmarks/fuzz_parsing.py` tries far more."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.parse import parse_document
from feed_assets.parse.repair import apart
from feed_assets_tests.support.mutate import SMALL, URL, Document, damaged, hostile, originals, read

FEW = settings(max_examples=150, deadline=None, database=None, derandomize=True)
PATIENCE = 5  # the benchmark is strict; other tests run beside these
SECRET = "what no feed may ever say"


@cache
def bodies() -> list[bytes]:
    return originals()


@pytest.mark.parametrize("start", range(0, 600, 150))
def test_a_damaged_document_is_a_sound_feed_or_none(start: int) -> None:
    kinds = set()
    for number in range(start, start + 150):
        document = damaged(bodies(), 20250603, number)
        reading = read(document, patience=PATIENCE)
        assert not reading.wrong, f"{document.name}: {reading.wrong}"
        kinds.add(reading.kind)
    assert {"not a feed", "as it is", "mended"} <= kinds and kinds & {"recovered", "by feedparser"}


def test_the_same_number_is_the_same_damage() -> None:
    assert damaged(SMALL, 1, 2) == damaged(SMALL, 1, 2) != damaged(SMALL, 1, 3)


def test_a_document_made_to_hurt_is_read_or_refused_in_time_and_gets_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    for document in hostile(0.15, secret=secret):
        reading = read(document, patience=PATIENCE)
        assert not reading.wrong, f"{document.name}: {reading.wrong}"
        assert SECRET not in repr(reading.feed), document.name


PIECES = st.sampled_from(
    [
        *("<item>", "</item>", "<entry>", "</entry>", "<title>", "</title>", "<link>", "<guid>", "</guid>", "<content type='xhtml'>", "x"),
        *("<![CDATA[", "]]>", "<!--", "-->", "&", "&amp;", "&nbsp;", "&#0;", "&#xD800;", "<", ">", "'", '"', "=", "<a href='", "<?", "?>"),
        *(
            "\x00",
            "\ud800",
            "\ufffe",
            "\x85",
            "é",
            "漢",
            "😀",
            "<pubDate>",
            "2025-06-03",
            "9999-12-31T23:59:59-14:00",
            "</channel>",
            "</rss>",
        ),
    ]
)


@FEW
@given(st.lists(PIECES, max_size=40), st.sampled_from(["", "<rss version='2.0'><channel>", "<feed xmlns='http://www.w3.org/2005/Atom'>"]))
def test_pieces_of_feeds_in_any_order_are_a_sound_feed_or_none(pieces: list[str], start: str) -> None:
    body = (start + "".join(pieces)).encode("utf-8", "surrogatepass")
    assert not read(Document("pieces", body), patience=PATIENCE).wrong


@FEW
@given(
    st.text(max_size=80), st.sampled_from(["utf-8", "utf-16", "utf-32", "gb18030", "shift_jis", "latin-1", "utf-7"]), st.text(max_size=20)
)
def test_text_in_any_encoding_under_any_name_is_a_sound_feed_or_none(text: str, encoding: str, charset: str) -> None:
    body = f"<?xml version='1.0' encoding='{charset}'?><rss><channel><item><title>{text}</title></item></channel></rss>"
    document = Document("text", body.encode(encoding, "replace"), {"Content-Type": f"text/xml; charset={charset}"})
    assert not read(document, patience=PATIENCE).wrong


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "url", "size_in_bytes", "mime_type"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "id",
        "url",
        "title",
        "content_html",
        "content_text",
        "summary",
        "date_published",
        "date_modified",
        "tags",
        "authors",
        "author",
        "attachments",
    ]
)


@FEW
@given(
    st.lists(st.dictionaries(KEYS, VALUES, max_size=6) | VALUES, max_size=4), st.dictionaries(st.sampled_from(["title", "authors"]), VALUES)
)
def test_json_of_any_types_is_a_sound_feed(items: list[Any], head: dict[str, Any]) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", **head, "items": items}
    reading = read(Document("JSON", json.dumps(feed).encode()), patience=PATIENCE)
    assert not reading.wrong and reading.feed is not None


@FEW
@given(st.lists(st.sampled_from(["<![CDATA[", "]]>", "<!--", "-->", "a", "<!-->", "]]"]), max_size=20))
def test_setting_sections_apart_loses_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    parts = apart(text)
    assert "".join(parts) == text and len(parts) % 2 == 1
    assert all(part.startswith(("<![CDATA[", "<!--")) and part.endswith(("]]>", "-->")) for part in parts[1::2])


def test_an_entry_of_json_that_is_dropped_still_counts_as_found() -> None:
    items = [{"id": str(day), "date_modified": f"2025-06-{day:02}"} for day in range(1, 31)]
    feed = json.dumps({"version": "https://jsonfeed.org/version/1", "items": items}).encode()
    parsed = parse_document(feed, url=URL, headers={}, max_entries=2)
    assert ([entry.guid for entry in parsed.entries], parsed.found) == (["29", "30"], 30)


def test_a_feed_in_an_unknown_namespace_with_names_that_no_xml_has_is_read_all_the_same() -> None:
    body = b"""<feed xmlns="http:broken"><entry><tit://e type="html">One</title><id>1</id><updated>2022-04-21</updated></entry></feed>"""
    reading = read(Document("names", body), patience=PATIENCE)
    assert not reading.wrong and reading.feed is not None
    assert [entry.guid for entry in reading.feed.entries] == ["1"]
