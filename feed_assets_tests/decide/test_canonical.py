"""One spelling for all URLs of a page, and different ones for different pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.canonical import canonical_url

PAGE = "https://news.example/a"


@pytest.mark.parametrize(
    "spelling",
    [
        "http://news.example/a",
        "https://www.news.example/a",
        "https://NEWS.example/a",
        "HTTPS://news.example/a",
        "https://news.example./a",
        "https://news.example:443/a",
        "http://news.example:80/a",
        "https://news.example/a/",
        "https://news.example/a#comments",
        "https://news.example/a?",
        "https://news.example/a?utm_source=rss&utm_medium=feed",
        "https://news.example/a?UTM_Source=rss",
        "https://news.example/a?fbclid=x&gclid=y&mc_cid=z",
        "https://user:password@news.example/a",
        "  https://news.example/a  ",
    ],
)
def test_spellings_of_one_page(spelling: str) -> None:
    assert canonical_url(spelling) == PAGE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://news.example/a", "https://news.example/b"),
        ("https://news.example/a", "https://news.example/A"),
        ("https://news.example/a", "https://blog.news.example/a"),
        ("https://news.example/a", "https://news.example:8443/a"),
        ("https://news.example/a?id=1", "https://news.example/a?id=2"),
        ("https://news.example/a?id=1", "https://news.example/a"),
        ("https://news.example/a?id", "https://news.example/a"),
        ("https://news.example/a?q=a%26b=c", "https://news.example/a?q=a&b=c"),
        ("https://news.example/", "https://www.example/"),
    ],
)
def test_different_pages_stay_different(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://news.example/a?b=2&a=1", "https://news.example/a?a=1&b=2"),
        ("https://news.example/a?id=1&utm_campaign=x", "http://www.news.example/a/?id=1"),
        ("https://news.example", "https://news.example/"),
        ("https://news.example/?q=a+b", "https://news.example/?q=a%20b"),
    ],
)
def test_pairs_that_are_one_page(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other)


@pytest.mark.parametrize(
    "url", [None, "", " ", "mailto:a@b.example", "urn:1", "/relative", "https://", "http://[bad", "https://e.example:99999/"]
)
def test_what_is_no_web_address_has_no_canonical_url(url: str | None) -> None:
    assert canonical_url(url) is None


def test_an_ipv6_host_keeps_its_brackets() -> None:
    assert canonical_url("http://[2001:db8::1]:8080/a") == "https://[2001:db8::1]:8080/a"


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_no_text_makes_it_fail(text: str) -> None:
    assert canonical_url(text) is None or "://" in text
    canonical_url(f"https://{text}")
    canonical_url(f"https://news.example/{text}")


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_a_canonical_url_stays_as_it_is(text: str) -> None:
    once = canonical_url(f"https://news.example/{text}")
    assert once is not None
    assert canonical_url(once) == once
