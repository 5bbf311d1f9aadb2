"""Databases as an earlier feed_assets left them, and a feed_assets of another time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from feed_assets.store import Store, connect, migrations
from feed_assets.store.queries import load_migrations

Migration = tuple[int, str, str]


@contextmanager
def that_knows(change: Callable[[list[Migration]], list[Migration]]) -> Iterator[None]:
    """As a feed_assets of another time, with other migrations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "load_migrations", lambda engine: change(load_migrations(engine)))
        yield


def database_of_version(url: str, version: int) -> Store:
    store = connect(url)
    with that_knows(lambda known: known[:version]):
        store.migrate()
    return store


def columns_of(store: Store) -> dict[str, dict[str, str]]:
    """table -> column -> type"""
    found: dict[str, dict[str, str]] = {}
    statement = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema IN ('main', 'public')"
    for table, column, kind in select(store, f"{statement} ORDER BY table_name, ordinal_position"):
        if table != "schema_migrations":
            found.setdefault(table, {})[column] = kind.upper()
    return found


def select(store: Store, statement: str) -> list[tuple[Any, ...]]:
    with store.engine.begin() as connection:
        rows = connection._raw.execute(statement).fetchall()  # type: ignore[attr-defined]
    return [tuple(row.values()) if isinstance(row, dict) else row for row in rows]
