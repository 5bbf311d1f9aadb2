"""Content made safe to show: nothing in it runs, and harmless markup stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.parse import sanitize_html

HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT src=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<p onclick='alert(1)'>x</p>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' JaVaScRiPt:alert(1)'>x</a>",
    "<a href='java&#x0A;script:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<object data='x.swf'></object>",
    "<form action='https://evil.example'><input name=a></form>",
    "<style>body{background:url(javascript:alert(1))}</style>",
    "<div style='background:url(javascript:alert(1))'>x</div>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
]


@pytest.mark.parametrize("content", HOSTILE)
def test_nothing_that_runs_is_left(content: str) -> None:
    left = sanitize_html(content).lower()
    for forbidden in (
        "<script",
        "<iframe",
        "<object",
        "<form",
        "<style",
        "<meta",
        "<svg",
        "javascript:",
        "onerror",
        "onclick",
        "onload",
        "data:",
    ):
        assert forbidden not in left


def test_what_a_script_says_is_not_shown_as_text() -> None:
    assert sanitize_html("<p>before</p><script>alert(1)</script>") == "<p>before</p>"


def test_harmless_markup_stays() -> None:
    content = (
        '<p>A <strong>bold</strong> <em>word</em></p><ul><li>one</li></ul><blockquote>said</blockquote><img src="https://e.example/a.png">'
    )
    assert sanitize_html(content) == content


def test_a_link_stays_and_gives_nothing_away() -> None:
    left = sanitize_html("<a href='https://news.example/one'>one</a>")
    assert 'href="https://news.example/one"' in left
    assert 'rel="noopener noreferrer"' in left


def test_plain_text_stays_as_it_is() -> None:
    assert sanitize_html("Just words, 5 > 3.") == "Just words, 5 > 3."


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from([*HOSTILE, "<", ">", "'", '"', "<a href=", "<!--", "-->", "<![CDATA[", "&lt;script&gt;", "x"]), max_size=6
    ).map("".join)
)
def test_sanitized_content_is_safe_and_stays_the_same_when_sanitized_again(content: str) -> None:
    once = sanitize_html(content)
    assert "<script" not in once.lower()
    assert sanitize_html(once) == once
