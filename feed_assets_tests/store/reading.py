"""Rows read straight from the tables, past the store."""

from __future__ import annotations

import json
from typing import Any

from feed_assets.store import Store
from feed_assets_tests.store.contract import TABLES
from feed_assets_tests.support.refreshing import table


def rows_of(store: Store, name: str) -> list[dict[str, Any]]:
    return table(store, name)


def only_row(store: Store, name: str) -> dict[str, Any]:
    (row,) = table(store, name)
    return row


def row_counts(store: Store) -> dict[str, int]:
    """Rows of every table, in one transaction."""
    with store.engine.begin() as connection:
        raw = connection._raw  # type: ignore[attr-defined]
        found = [raw.execute(f"SELECT count(*) AS rows FROM {name}").fetchone() for name in TABLES]
    return {name: row["rows"] if isinstance(row, dict) else row[0] for name, row in zip(TABLES, found, strict=True)}


def decoded(value: Any) -> Any:
    """A JSON column: DuckDB's driver gives the text, Postgres' the value."""
    return json.loads(value) if isinstance(value, str) else value


def change(store: Store, statement: str) -> None:
    """A change that the store has no function for."""
    with store.engine.begin() as connection:
        connection.script(statement)
