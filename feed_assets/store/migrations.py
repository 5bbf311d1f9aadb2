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
    current, latest = schema_versions(engine)
    if current is not None and current > latest:
        raise StoreError(f"the database is at schema version {current}, this feed_assets knows {latest}; use a newer feed_assets")
    if current == latest:
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


def schema_versions(engine: Engine) -> tuple[int | None, int]:
    """What the database is at (None: it has no tables of ours) and what this code knows."""
    return _current_version(engine), load_migrations(engine.name)[-1][0]


def may_write(engine: Engine) -> bool:
    """Whether tables may be made and changed here. Raises what opening the database raises."""
    with engine.begin() as connection:
        return bool(connection.rows("may_write")[0]["may_write"])


def _current_version(engine: Engine) -> int | None:
    """The newest applied migration, or None for a database without any. Read-only, so that a start-up costs no write."""
    with engine.begin() as connection:
        if not connection.rows("has_migrations"):
            return None
        version: int | None = connection.rows("schema_version")[0]["version"]
        return version
