"""Is there a feed at this URL, or does the page there name some? One request, whose answer is the first fetch of a feed that is added."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urljoin

from feed_assets.errors import NotAFeed
from feed_assets.fetch import Fetcher
from feed_assets.model import FetchRequest, FetchResult, Outcome, ParsedFeed
from feed_assets.parse import FeedLink, feed_links, parse_document
from feed_assets.settings import Settings

WELL_KNOWN_PATHS = ("/feed", "/rss", "/feed.xml", "/rss.xml", "/atom.xml", "/index.xml", "/feed.json", "/feeds/posts/default")


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a URL: a feed (`parsed`), or a page with links to feeds, or neither, with the reason."""

    result: FetchResult
    parsed: ParsedFeed | None = None
    links: tuple[FeedLink, ...] = ()
    reason: str | None = None


def look_at(url: str, settings: Settings, clock: Callable[[], datetime]) -> Found:
    """Fetch the URL once and say what is there."""
    with Fetcher(settings, clock) as fetcher:
        return _judge(fetcher.fetch(FetchRequest("", url)), settings)


def try_well_known_paths(url: str, settings: Settings, clock: Callable[[], datetime]) -> list[FeedLink]:
    """Feeds at the places where many sites have them. One request each, as slowly as the host is always asked."""
    links = []
    with Fetcher(settings, clock) as fetcher:
        for path in WELL_KNOWN_PATHS:
            time.sleep(settings.domain_delay_seconds)
            found = _judge(fetcher.fetch(FetchRequest("", urljoin(url, path))), settings)
            if found.parsed is not None:
                links.append(FeedLink(found.result.url, found.parsed.title, found.parsed.format))
    return list({link.url: link for link in links}.values())


def _judge(result: FetchResult, settings: Settings) -> Found:
    if result.outcome is not Outcome.SUCCESS or result.body is None:
        return Found(result, reason=result.reason)
    try:
        parsed = parse_document(result.body, url=result.url, headers=result.headers, max_entries=settings.max_articles_per_feed)
    except NotAFeed as error:
        return Found(result, links=tuple(feed_links(result.body, url=result.url)), reason=str(error))
    return Found(result, parsed=parsed)
