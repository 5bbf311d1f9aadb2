"""Refreshes as a run does them, for tests that need no Dagster."""

from __future__ import annotations

from typing import Any

from feed_assets import catalog
from feed_assets.model import FeedReport
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock

TABLES = (
    "feeds",
    "feed_schedules",
    "feed_stats",
    "raw_fetches",
    "raw_items",
    "deduped_articles",
    "article_sources",
    "dedup_cache",
    "cached_feeds",
    "fetch_history",
    "events",
)


def add(store: Store, clock: Clock, url: str, feed_id: str = "news", **options: Any) -> str:
    return catalog.add_feed(store, url, now=clock(), feed_id=feed_id, **options).feed_id


def refresh_one(store: Store, settings: Settings, clock: Clock, feed_id: str = "news") -> FeedReport:
    reports = list(refresh_feeds(store, settings, [feed_id], clock=clock, patience=0))
    assert len(reports) == 1
    return reports[0]


def table(store: Store, name: str) -> list[dict[str, Any]]:
    """All rows of a table, in a fixed order."""
    with store.engine.begin() as connection:
        raw = connection._raw  # type: ignore[attr-defined]
        cursor = raw.execute(f"SELECT * FROM {name}")
        columns = [column[0] for column in cursor.description]
        rows = [tuple(row.values()) if isinstance(row, dict) else row for row in cursor.fetchall()]
    return sorted((dict(zip(columns, row, strict=True)) for row in rows), key=str)


def counts(store: Store) -> dict[str, int]:
    return {name: len(table(store, name)) for name in TABLES}
