"""Text from publishers: what no database or XML document can hold is gone, and lines are lines. Dates that nobody can tell are None."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.parse import parse_document, plain_text
from feed_assets.parse.dates import from_struct
from feed_assets.parse.text import clean, one_line, or_none


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b", "ab"),
        ("a\x08\x1fb", "ab"),
        ("a\ud800b", "ab"),
        ("a\ufffeb", "ab"),
        ("a\tb\nc", "a\tb\nc"),
        ("😀 é", "😀 é"),
        (None, ""),
        (5, ""),
    ],
)
def test_clean_text_has_only_what_can_be_stored(text: object, expected: str) -> None:
    assert clean(text) == expected


def test_one_line_has_no_breaks_and_no_double_blanks() -> None:
    assert one_line("  a\r\n\tb\u00a0 c ") == "a b c"


@pytest.mark.parametrize(("text", "expected"), [("  ", None), ("\x00", None), (None, None), (" a ", "a")])
def test_text_that_is_only_blanks_is_none(text: object, expected: str | None) -> None:
    assert or_none(text) == expected


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.text(st.characters()))
def test_clean_text_can_be_encoded_and_has_no_control_characters(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert not any(ord(character) < 32 and character not in "\t\n\r" for character in cleaned)
    assert clean(cleaned) == cleaned


def test_a_title_over_several_lines_becomes_one_line() -> None:
    body = b"<rss version='2.0'><channel><title>\n The\n News </title><item><title>\n One\n   two </title></item></channel></rss>"
    feed = parse_document(body, url="https://news.example/feed", headers={}, max_entries=10)
    assert (feed.title, feed.entries[0].title) == ("The News", "One two")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("A <b>bold</b> title", "A bold title"),
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("  two\n lines ", "two lines"),
        ("5 > 3", "5 > 3"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("caf&eacute; &lt;3", "café <3"),
    ],
)
def test_a_headline_is_plain_text(markup: str, expected: str) -> None:
    assert plain_text(markup) == expected


@pytest.mark.parametrize("title", ["1 < 2 and 3 > 2", "I <3 this -> that"])
def test_a_headline_keeps_signs_that_are_no_markup(title: str) -> None:
    assert plain_text(title) == title


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (time.struct_time((2026, 3, 2, 10, 0, 0, 0, 61, 0)), datetime(2026, 3, 2, 10, tzinfo=UTC)),
        (time.struct_time((99999, 1, 1, 0, 0, 0, 0, 1, 0)), None),
        (None, None),
    ],
)
def test_parsed_dates_are_utc_or_none(value: time.struct_time | None, expected: datetime | None) -> None:
    assert from_struct(value) == expected
