"""Content made safe to show: nothing in it runs, and harmless markup stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.parse import plain_text, sanitize_html
from feed_assets_tests.support.xss import PAYLOADS, faults

BASE = "https://news.example/2026/story"


@pytest.mark.parametrize("base", [None, BASE, "javascript:alert(1)//", "tag:news.example,2026:1"])
@pytest.mark.parametrize("content", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_nothing_that_runs_is_left(content: str, base: str | None) -> None:
    assert faults(sanitize_html(content, base)) == []


@pytest.mark.parametrize("base", [None, BASE, "javascript:alert(1)//"])
@pytest.mark.parametrize(
    "hidden", ["&#1;", "\x01", "&#12;", "\x0c", "&#xFFFF;", "\uffff", "&#0;", "\x00", "\ud800", "&#xD800;", " ", "&Tab;"]
)
@pytest.mark.parametrize("place", ["<a href='{}'>x</a>", "<img src='{}'>", "<q cite='{}'>x</q>", "<blockquote cite='{}'>x</blockquote>"])
def test_a_scheme_with_something_unstorable_in_it_is_seen_through(place: str, hidden: str, base: str | None) -> None:
    """What is taken out after sanitizing must not leave a scheme that nobody looked at."""
    assert faults(sanitize_html(place.format(f"java{hidden}script:alert(1)"), base)) == []


def test_half_a_character_hurts_nobody() -> None:
    assert sanitize_html("<b>a\ud800b</b>") == "<b>ab</b>"


def test_what_a_script_says_is_not_shown_as_text() -> None:
    assert sanitize_html("<p>before</p><script>alert(1)</script>") == "<p>before</p>"


def test_harmless_markup_stays() -> None:
    content = (
        '<p>A <strong>bold</strong> <em>word</em></p><ul><li>one</li></ul><blockquote>said</blockquote><img src="https://e.example/a.png">'
    )
    assert sanitize_html(content) == content


@pytest.mark.parametrize(
    "content",
    [
        "<h2>Head</h2><h3>Line</h3><p>First<br>second</p><hr>",
        '<img src="https://e.example/a.png" alt="A cat" title="The cat" width="640" height="480">',
        '<ol start="3"><li>three</li></ol><dl><dt>word</dt><dd>meaning</dd></dl>',
        '<table><caption>Sums</caption><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td colspan="2">1</td></tr></tbody>'
        "<tfoot><tr><td>1</td></tr></tfoot></table>",
        "<pre><code>if a &lt; b &amp;&amp; c:\n    pass</code></pre><kbd>Enter</kbd>",
        '<figure><img src="https://e.example/a.png"><figcaption>A <a href="https://e.example/" '
        'rel="noopener noreferrer">cat</a></figcaption></figure>',
        "<details><summary>More</summary><p>Text</p></details>",
        "<blockquote><p>said</p><cite>she</cite></blockquote><q>so</q>",
        '<p>H<sub>2</sub>O, x<sup>2</sup>, <del>old</del> <ins>new</ins> <mark>this</mark> <abbr title="for example">e.g.</abbr></p>',
        '<p lang="de">Grüße, 你好, 🙂</p>',
    ],
)
def test_what_honest_publishers_write_stays_as_it_is(content: str) -> None:
    assert sanitize_html(content, BASE) == content


@pytest.mark.parametrize(
    "address", ["mailto:a@news.example", "tel:+491234", "magnet:?xt=urn:btih:1", "xmpp:a@news.example", "irc://i.example/x"]
)
def test_a_link_that_is_not_to_a_page_stays(address: str) -> None:
    assert f'href="{address}"' in sanitize_html(f"<a href='{address}'>x</a>", BASE)


@pytest.mark.parametrize(
    ("link", "seen"),
    [
        ("other", "https://news.example/2026/other"),
        ("/top?a=1#b", "https://news.example/top?a=1#b"),
        ("../up.png", "https://news.example/up.png"),
        ("//cdn.example/a.png", "https://cdn.example/a.png"),
        ("?page=2", "https://news.example/2026/story?page=2"),
        ("#note", "https://news.example/2026/story#note"),
        ("/wiki/Talk:Main", "https://news.example/wiki/Talk:Main"),
        ("https://e.example/a:b", "https://e.example/a:b"),
    ],
)
def test_relative_links_and_images_become_absolute(link: str, seen: str) -> None:
    assert sanitize_html(f'<a href="{link}">x</a>', BASE) == f'<a href="{seen}" rel="noopener noreferrer">x</a>'
    assert sanitize_html(f'<img src="{link}">', BASE) == f'<img src="{seen}">'


@pytest.mark.parametrize("link", ["other", "/wiki/Talk:Main", "?at=10:30", "#a:b", "//cdn.example:8080/a.png"])
def test_without_a_base_relative_links_stay_relative(link: str) -> None:
    assert sanitize_html(f'<img src="{link}">') == f'<img src="{link}">'


def test_a_link_stays_and_gives_nothing_away() -> None:
    left = sanitize_html("<a href='https://news.example/one'>one</a>")
    assert 'href="https://news.example/one"' in left
    assert 'rel="noopener noreferrer"' in left


def test_plain_text_stays_as_it_is() -> None:
    assert sanitize_html("Just words, 5 > 3.") == "Just words, 5 > 3."


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from([*PAYLOADS.values(), "<", ">", "'", '"', "<a href=", "<!--", "-->", "<![CDATA[", "&lt;script&gt;", "x"]), max_size=6
    ).map("".join)
)
def test_sanitized_content_is_safe_and_stays_the_same_when_sanitized_again(content: str) -> None:
    once = sanitize_html(content)
    assert faults(once) == []
    assert sanitize_html(once) == once


@pytest.mark.parametrize("title", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_headline_is_one_line_of_text_that_any_store_takes(title: str) -> None:
    headline = plain_text(title)
    assert headline == " ".join(headline.split())
    assert all(character.isprintable() or character > "\x9f" for character in headline)


@pytest.mark.parametrize(
    ("title", "headline"), [("A <b>bold</b> word", "A bold word"), ("1 &lt; 2 &amp; 3", "1 < 2 & 3"), ("a < b", "a < b")]
)
def test_a_headline_has_no_markup_and_keeps_its_signs(title: str, headline: str) -> None:
    assert plain_text(title) == headline
