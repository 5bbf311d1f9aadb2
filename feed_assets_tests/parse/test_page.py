"""The text of an article's page: the story, and not what stands around it."""

from __future__ import annotations

import time

import pytest

from feed_assets.parse import main_text

STORY = "The council voted for the bridge after a long night. " * 6


def text(html: str | bytes, kind: str = "text/html; charset=utf-8") -> str:
    return main_text(html if isinstance(html, bytes) else html.encode(), kind)


@pytest.mark.parametrize("tag", ["article", "main", "div role='main'"])
def test_the_main_part_is_taken_where_the_page_marks_one(tag: str) -> None:
    page = f"<body><p>Subscribe now</p><{tag}><h1>A bridge</h1><p>{STORY}</p></{tag.split()[0]}><p>More stories</p></body>"
    assert text(page) == f"A bridge\n{STORY.strip()}"


def test_without_a_main_part_everything_but_the_noise_is_taken() -> None:
    page = (
        "<html><head><title>No</title><script>no()</script><style>no</style></head><body><nav><ul><li>No</li></ul></nav>"
        "<div>Loose <b>words</b><p>One <i>two</i><script>no()</script> three</p><aside><p>No</p></aside>tail</div><!-- no -->"
        "<form>No</form><footer>No</footer></body></html>"
    )
    assert text(page) == "Loose words\nOne two three\ntail"


def test_an_article_of_a_line_is_a_teaser_and_not_the_main_part() -> None:
    assert STORY.strip() in text(f"<article><p>Read this next</p></article><div><p>{STORY}</p></div>")


def test_the_encoding_that_the_server_names_is_used() -> None:
    assert text("<p>Brücke über den Fluß</p>".encode("iso-8859-1"), "text/html; charset=iso-8859-1") == "Brücke über den Fluß"


@pytest.mark.parametrize("page", [b"", b" \n", b"\x00\x01\x02", b"\xff\xfe", b"<", b"<!--", b"<html></html>"])
def test_what_says_nothing_has_no_text_and_does_no_harm(page: bytes) -> None:
    assert len(text(page)) <= 4


@pytest.mark.parametrize(
    "page",
    ["<div>" * 300_000, "<article>" * 100_000 + "<p>x" * 100_000, "<p>x</p>" * 200_000, "<" * 2_000_000, "<p " + "a=1 " * 300_000],
    ids=["deep", "articles", "paragraphs", "brackets", "attributes"],
)
def test_hostile_pages_take_no_time_and_no_end_of_text(page: str) -> None:
    began = time.monotonic()
    assert len(text(page)) <= 50_000
    assert time.monotonic() - began < 5
