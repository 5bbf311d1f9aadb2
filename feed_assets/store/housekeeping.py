"""What is deleted when it has served its time, a portion per transaction. Nothing that was pruned comes back as new: `dedup_cache`
outlives it.

A table that is to be pruned is a line in RULES and two queries: which rows are outdated, and how such rows are dropped. A dry run counts
what the first of them gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from feed_assets.settings import Settings
from feed_assets.store.articles import Articles, Memory
from feed_assets.store.engine import Connection, Row
from feed_assets.store.totals import Numbers

# (feed_id, item_hash) -> the key under which `dedup_cache` remembers the item; stores do not know how it is made.
ItemKey = Callable[[str, str], str]

_ALL = 2**62
_BEYOND_ANY_WINDOW = 17  # days: stories are looked for within fourteen at most


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes outdated in a table: rows, told by `key` and by what else must not have changed meanwhile."""

    table: str
    outdated: str
    drop: str
    key: Sequence[str]
    days: str | int  # a setting, or so many days

    def before(self, settings: Settings, now: datetime) -> datetime:
        return now - timedelta(days=self.days if isinstance(self.days, int) else getattr(settings, self.days))


@dataclass(frozen=True, slots=True)
class Outdated:
    """Rows of a table that pruning would delete, and their size as far as it is known."""

    table: str
    rows: int
    bytes: int | None


# In this order: what others refer to goes before them. What is remembered comes first, so that a dry run need not guess what pruning
# itself will remember.
RULES = (
    Rule("dedup_cache", "outdated_dedup_cache", "drop_dedup_cache", ("content_hash", "expires_at"), 0),
    Rule("raw_fetches", "outdated_raw_fetches", "drop_raw_fetches", ("fetch_id",), "raw_retention_days"),
    Rule("fetch_history", "outdated_fetch_history", "drop_fetch_history", ("fetch_id",), "history_retention_days"),
    Rule("raw_items", "outdated_raw_items", "drop_raw_items", ("feed_id", "item_hash", "last_seen_at"), "article_retention_days"),
    Rule("article_sources", "outdated_article_sources", "drop_article_sources", ("feed_id", "item_hash"), "article_retention_days"),
    Rule("deduped_articles", "outdated_deduped_articles", "drop_deduped_articles", ("article_id",), "article_retention_days"),
    Rule("headline_groups", "outdated_headline_groups", "drop_headline_groups", ("group_id",), "article_retention_days"),
    Rule("examined_articles", "outdated_examined_articles", "drop_examined_articles", ("article_id", "examined_at"), _BEYOND_ANY_WINDOW),
    Rule(
        "article_analysis",
        "outdated_article_analysis",
        "drop_article_analysis",
        ("article_id", "analyzer", "prompt_version"),
        "article_retention_days",
    ),
    Rule("analysis_spending", "outdated_analysis_spending", "drop_analysis_spending", ("day",), "history_retention_days"),
    Rule("events", "outdated_events", "drop_events", ("event_id",), "event_retention_days"),
    Rule("deliveries", "outdated_deliveries", "drop_deliveries", ("event_id", "receiver"), "event_retention_days"),
    Rule("cached_feeds", "outdated_cached_feeds", "drop_cached_feeds", ("feed_id",), "article_retention_days"),
    Rule("recent_headlines", "outdated_recent_headlines", "drop_recent_headlines", ("headline_key", "expires_at"), 0),
    Rule("first_responses", "outdated_first_responses", "drop_unused_first_responses", ("feed_id", "fetched_at"), 1),
    Rule("host_states", "outdated_host_states", "drop_host_states", ("host",), 1),
    Rule("article_changes", "outdated_article_changes", "drop_article_changes", ("article_id", "changed_at"), 2),
)


class Housekeeping:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def outdated(self, settings: Settings, *, now: datetime) -> list[Outdated]:
        """What pruning would delete now, table by table."""
        return [Outdated(rule.table, *self._db.measure(rule.outdated, before=rule.before(settings, now), most=_ALL)) for rule in RULES]

    def prune(self, rule: Rule, settings: Settings, *, now: datetime, item_key: ItemKey, most: int) -> int:
        """Delete outdated rows of a table, at most so many; how many those were."""
        # DuckDB 2.0 forgets a LIMIT over a join of which it expects nothing.
        rows = self._db.rows(rule.outdated, before=rule.before(settings, now), most=most)[:most]
        if rule.table == "raw_items":
            self._remember(rows, settings, now, item_key)
        return self._db.write(rule.drop, rule.key, ([row[name] for name in rule.key] for row in rows))

    def finish(self, *, now: datetime) -> None:
        """After everything was pruned: the counters become one row, and readers with a copy of their own hear that rows are gone."""
        numbers = Numbers(self._db)
        numbers.sum_up(now - timedelta(days=1))
        numbers.signal("housekeeping", at=now)

    def _remember(self, rows: Sequence[Row], settings: Settings, now: datetime, item_key: ItemKey) -> None:
        until = now + timedelta(days=settings.dedup_retention_days)
        Articles(self._db).remember(Memory(item_key(row["feed_id"], row["item_hash"]), row["feed_id"], "", now, until) for row in rows)
