"""What a test looks up in the tables: all of them at one moment, in one transaction (opening DuckDB costs more than reading it)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from feed_assets.store import Store
from feed_assets_tests.support.refreshing import TABLES

# For behaviour that no engine has a part in: the quicker one is enough.
one_engine = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)

# What a feed brought; the other tables hold what is wanted, and how and when it was fetched.
DATA = ("raw_fetches", "raw_items", "deduped_articles", "article_sources", "dedup_cache", "cached_feeds")

Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Every row of every table, in a fixed order."""

    tables: dict[str, list[Row]]

    def __getitem__(self, table: str) -> list[Row]:
        return self.tables[table]

    def of(self, table: str, feed_id: str = "news") -> Row:
        """The one row that this table has of a feed."""
        rows = [row for row in self[table] if row["feed_id"] == feed_id]
        assert len(rows) == 1
        return rows[0]

    def schedule(self, feed_id: str = "news") -> Row:
        return self.of("feed_schedules", feed_id)

    def column(self, table: str, column: str) -> list[Any]:
        """The values of one column, sorted."""
        return sorted(row[column] for row in self[table])

    def events(self, kind: str) -> list[Row]:
        """The payloads of the outbox's events of a kind."""
        payloads = [event["payload"] for event in self["events"] if event["event_type"] == kind]
        return [json.loads(payload) if isinstance(payload, str) else payload for payload in payloads]

    def counts(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self.tables.items()}

    def only(self, *names: str) -> dict[str, list[Row]]:
        return {name: self[name] for name in names}


def look(store: Store) -> Rows:
    with store.engine.begin() as connection:
        raw = connection._raw  # type: ignore[attr-defined]
        tables = {}
        for name in TABLES:
            cursor = raw.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in cursor.description]
            rows = [tuple(row.values()) if isinstance(row, dict) else row for row in cursor.fetchall()]
            tables[name] = sorted((dict(zip(columns, row, strict=True)) for row in rows), key=str)
    return Rows(tables)
