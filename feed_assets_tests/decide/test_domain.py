"""Feeds that may only bring links to their own site."""

from __future__ import annotations

import pytest

from feed_assets.decide.domain import allowed_entries
from feed_assets.model import Entry, Feed

STRICT = Feed("a", "https://news.example/feed", "News", root_domain="news.example", enforce_feed_domain=True)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://news.example/one", True),
        ("https://www.news.example/one", True),
        ("https://NEWS.example/one", True),
        ("https://user@news.example:8443/one", True),
        ("https://badnews.example/one", False),
        ("https://news.example.evil.example/one", False),
        ("https://evil.example/?news.example", False),
        ("https://news.example@evil.example/", False),
        ("http://[bad", False),
        (None, False),
    ],
)
def test_only_links_to_the_own_site_are_allowed(url: str | None, allowed: bool) -> None:
    assert bool(allowed_entries(STRICT, [Entry(url=url)])) is allowed


@pytest.mark.parametrize(
    "feed",
    [Feed("a", "https://e.example/", "E", root_domain="news.example"), Feed("a", "https://e.example/", "E", enforce_feed_domain=True)],
    ids=["not enforced", "no root domain"],
)
def test_a_feed_that_does_not_ask_for_it_keeps_all_entries(feed: Feed) -> None:
    assert len(allowed_entries(feed, [Entry(url="https://elsewhere.example/"), Entry()])) == 2
