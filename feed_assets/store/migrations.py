"""Numbered migrations: applied in order, once, each in its own transaction; a newer database is refused."""

from __future__ import annotations

from datetime import UTC, datetime

from feed_assets.errors import StoreError
from feed_assets.store.engine import Engine
from feed_assets.store.queries import load_migrations

_ENSURE = "CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL)"


def migrate(engine: Engine) -> list[str]:
    """Bring the schema up to date and name what was applied. Safe to call from many processes at once."""
    migrations = load_migrations(engine.name)
    current = _current_version(engine)
    if current is not None and current > migrations[-1][0]:
        raise StoreError(
            f"the database is at schema version {current}, this feed_assets knows {migrations[-1][0]}; use a newer feed_assets"
        )
    if current == migrations[-1][0]:
        return []
    with engine.begin() as connection:
        connection.rows("first_migration_turn")
        connection.script(_ENSURE)
    applied = []
    for number, name, text in migrations:
        with engine.begin() as connection:
            connection.run("lock_migrations")
            if connection.rows("migration_applied", version=number):
                continue
            connection.script(text)
            connection.run("record_migration", version=number, name=name, now=datetime.now(UTC))
            applied.append(f"{number:03d}_{name}")
    return applied


def _current_version(engine: Engine) -> int | None:
    """The newest applied migration, or None for a database without any. Read-only, so that a start-up costs no write."""
    with engine.begin() as connection:
        if not connection.rows("has_migrations"):
            return None
        version: int | None = connection.rows("schema_version")[0]["version"]
        return version
