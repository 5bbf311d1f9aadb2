"""A month of a feed that does everything wrong stores each story once, and a replay of it changes nothing."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape

from feed_assets.model import Outcome
from feed_assets.refresh import refresh_feeds
from feed_assets.replay import replay_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer
from feed_assets_tests.support.refreshing import add
from feed_assets_tests.support.rows import DATA, look

DAYS = 30
WINDOW = 8  # items in a document
FORBIDDEN = "<html><head><title>403</title></head><body>Are you a robot?</body></html>"


def document(stories: list[int], day: datetime, rng: random.Random) -> str:
    """The stories as this publisher shows them today: other ids, other dates, another scheme, other tracking, some twice."""
    session, scheme = rng.randrange(10**9), rng.choice(["http", "https"])
    host = rng.choice(["news.example", "www.news.example"])
    items = []
    for n in stories:
        redated = day - timedelta(minutes=rng.randrange(600))
        link = f"{scheme}://{host}/story-{n}?utm_source=rss&utm_campaign={session}"
        items.append(
            f"<item><title>Story {n} about things that happened</title><link>{escape(link)}</link>"
            f"<guid isPermaLink='false'>{session}-{n}</guid><pubDate>{format_datetime(redated)}</pubDate>"
            f"<description>{f'What happened in story {n}. ' * 5}</description></item>"
        )
    items.append(rng.choice(items))
    return f"<rss version='2.0'><channel><title>Churn</title><link>https://news.example/</link>{''.join(items)}</channel></rss>"


def test_a_month_of_a_churning_feed_stores_each_story_once(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    rng = random.Random(4)
    published = list(range(WINDOW - 1))
    add(store, clock, server.publish("/feed", document(published, clock(), rng)))
    for day in range(DAYS):
        for part in range(2):
            if part == 1 and day % 7 == 3:  # a wall for robots, with status 200 or 403, which may not cost anything
                server.answers["/feed"] = Answer(403 if day % 2 else 200, FORBIDDEN.encode())
            else:
                published.append(len(published))
                shown = published[-WINDOW:]
                if day > 10 and part == 0:
                    shown = [*shown, rng.randrange(len(published) - WINDOW)]  # an old story comes back
                rng.shuffle(shown)
                server.publish("/feed", document(shown, clock(), rng))
            [report] = refresh_feeds(store, settings, ["news"], clock=clock)
            assert report.stored
            if report.outcome is not Outcome.SUCCESS:
                with store.begin() as tx:
                    tx.schedules.revive("news", at=clock(), reason="a person asked for it")
            clock.advance(hours=12)
    rows = look(store)
    assert len(rows["raw_items"]) == len(rows["deduped_articles"]) == len(rows["article_sources"]) == len(published)
    assert sorted(rows.column("deduped_articles", "headline")) == sorted(f"Story {n} about things that happened" for n in published)
    schedule = rows.schedule()
    assert schedule["identity_mode"] == "link"
    assert "items came back with other ids at the same links" in schedule["identity_reason"]

    tables = [table for table in DATA if table != "cached_feeds"]
    before = rows.only(*tables)
    [report] = replay_feeds(store, settings, ["news"], clock=clock)
    assert report.stored
    assert look(store).only(*tables) == before

    # And from nothing but the responses: the same rows again.
    with store.engine.begin() as connection:
        for table in ("deduped_articles", "article_sources", "dedup_cache", "recent_headlines"):
            connection.script(f"DELETE FROM {table}")
    [report] = replay_feeds(store, settings, ["news"], clock=clock)
    assert look(store).only(*tables) == before
