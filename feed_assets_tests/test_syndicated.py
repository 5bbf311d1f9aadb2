"""One story in several feeds is one article: by canonical URL, then by headline and source within two days."""

from __future__ import annotations

import pytest

from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look

HEADLINE = "Central bank raises interest rates to highest level since 2008"


def item(title: str, link: str, when: str = "Mon, 02 Mar 2026 09:00:00 GMT") -> str:
    feed = f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid><pubDate>{when}</pubDate></item>"
    return f"<rss version='2.0'><channel><title>T</title>{feed}</channel></rss>"


def carry(store: Store, settings: Settings, clock: Clock, server: FeedServer, *documents: str) -> int:
    """Fetch these documents as feeds of their own, one after the other; gives the number of articles."""
    for number, document in enumerate(documents):
        url = server.publish(f"/{number}", document)
        add(store, clock, url, f"feed-{number}", source_name=f"Paper number {number}")
        assert refresh_one(store, settings, clock, f"feed-{number}").stored
        clock.advance(minutes=5)
    rows = look(store)
    assert len(rows["article_sources"]) == len(documents)  # every carrier is kept
    return len(rows["deduped_articles"])


@pytest.mark.parametrize(
    ("title", "link", "when", "articles"),
    [
        (HEADLINE, "http://www.one.example/story/?utm_source=rss", "Mon, 02 Mar 2026 09:00:00 GMT", 1),
        (HEADLINE, "https://two.example/other", "Mon, 02 Mar 2026 11:00:00 GMT", 1),
        (f"{HEADLINE} - Paper number 1", "https://two.example/other", "Mon, 02 Mar 2026 11:00:00 GMT", 1),
        (HEADLINE.upper() + "!", "https://two.example/other", "Mon, 02 Mar 2026 11:00:00 GMT", 1),
        (HEADLINE, "https://two.example/other", "Fri, 27 Feb 2026 09:00:00 GMT", 2),
        (HEADLINE.replace("2008", "2007"), "https://two.example/other", "Mon, 02 Mar 2026 11:00:00 GMT", 2),
        ("Something else happened in another town today", "https://two.example/other", "Mon, 02 Mar 2026 11:00:00 GMT", 2),
    ],
    ids=["same page", "same headline", "with the source's name", "shouted", "three days apart", "another number", "another story"],
)
def test_copies_of_a_story(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, title: str, link: str, when: str, articles: int
) -> None:
    first = item(HEADLINE, "https://one.example/story")
    assert carry(store, settings, clock, server, first, item(title, link, when)) == articles


def test_a_headline_that_stands_over_anything_joins_nothing(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    assert (
        carry(store, settings, clock, server, item("Weekly links", "https://one.example/a"), item("Weekly links", "https://two.example/b"))
        == 2
    )


def test_an_article_without_a_date_is_dated_by_its_first_fetch_and_says_so(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", "<rss version='2.0'><channel><item><title>One</title></item></channel></rss>"))
    refresh_one(store, settings, clock)
    [article] = look(store)["deduped_articles"]
    assert (article["published_at"], article["published_at_estimated"]) == (clock(), True)
