"""What is deleted when it has served its time. Nothing that was pruned comes back as new: `dedup_cache` outlives it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from feed_assets.settings import Settings
from feed_assets.store.articles import Articles, Memory
from feed_assets.store.engine import Connection
from feed_assets.store.totals import Numbers

# (feed_id, item_hash) -> the key under which `dedup_cache` remembers the item; stores do not know how it is made.
ItemKey = Callable[[str, str], str]


class Housekeeping:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def prune(self, settings: Settings, *, now: datetime, item_key: ItemKey) -> dict[str, int]:
        """Delete what is past its retention; rows deleted by table."""

        def before(days: int) -> datetime:
            return now - timedelta(days=days)

        gone = {
            "raw_fetches": self._delete("prune_raw_fetches", before=before(settings.raw_retention_days)),
            "fetch_history": self._delete("prune_history", before=before(settings.history_retention_days)),
        }
        items = self._db.rows("prune_raw_items", before=before(settings.article_retention_days))
        until = now + timedelta(days=settings.dedup_retention_days)
        Articles(self._db).remember(Memory(item_key(row["feed_id"], row["item_hash"]), row["feed_id"], "", now, until) for row in items)
        gone["raw_items"] = len(items)
        gone["article_sources"] = self._delete("prune_sources")
        gone["deduped_articles"] = self._delete("prune_articles", before=before(settings.article_retention_days))
        gone["article_analysis"] = self._delete("prune_analyses")
        self._delete("prune_spending", before=f"{before(settings.history_retention_days):%Y-%m-%d}")
        gone["dedup_cache"] = self._delete("prune_dedup_cache", now=now)
        self._delete("prune_headlines", now=now)
        gone["headline_groups"] = self._delete("prune_groups")
        self._delete("prune_examined", before=before(2) - timedelta(hours=settings.grouping_window_hours))
        self._delete("prune_changes", before=before(2))
        numbers = Numbers(self._db)
        numbers.sum_up(before(1))
        numbers.signal("housekeeping", at=now)
        self._delete("prune_hosts", before=before(1))
        gone["events"] = self._delete("prune_events", before=before(settings.history_retention_days))
        self._delete("prune_deliveries")
        return gone

    def _delete(self, query: str, **parameters: object) -> int:
        return len(self._db.rows(query, **parameters))
