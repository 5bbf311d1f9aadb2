"""Migrations: applied once, by whoever comes first; a database of the future is left alone."""

from __future__ import annotations

import time
from itertools import chain

import pytest

from feed_assets.errors import StoreError
from feed_assets.store import Store, connect, migrations, open_store
from feed_assets.store.engine import Connection
from feed_assets.store.queries import load_migrations
from feed_assets_tests.store.builders import put, run_python, together
from feed_assets_tests.store.contract import TABLES
from feed_assets_tests.store.reading import change, row_counts, rows_of

MIGRATIONS_TABLE = "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL)"
MIGRATE = """
import sys
from feed_assets.store import connect

print(*connect(sys.argv[1]).migrate(), sep="\\n")
"""


def expected(store: Store) -> list[str]:
    return [f"{number:03d}_{name}" for number, name, _ in load_migrations(store.engine.name)]


def test_an_empty_database_gets_every_migration_in_order(empty_database_url: str) -> None:
    store = connect(empty_database_url)
    assert store.migrate() == expected(store)
    assert row_counts(store) == dict.fromkeys(TABLES, 0)
    assert sorted(row["version"] for row in rows_of(store, "schema_migrations")) == [n for n, _, _ in load_migrations(store.engine.name)]
    store.close()


def test_migrating_again_applies_nothing_and_keeps_the_data(store: Store) -> None:
    with store.begin() as tx:
        put(tx, "news")
    before = rows_of(store, "schema_migrations")
    assert store.migrate() == []
    assert rows_of(store, "schema_migrations") == before
    assert row_counts(store)["feeds"] == 1


def test_a_migration_that_was_interrupted_before_its_record_is_applied_later(empty_database_url: str) -> None:
    store = connect(empty_database_url)
    change(store, MIGRATIONS_TABLE)
    assert store.migrate() == expected(store)
    store.close()


def test_a_newer_schema_is_refused_in_one_clear_line(empty_database_url: str) -> None:
    store = open_store(empty_database_url)
    change(store, "INSERT INTO schema_migrations VALUES (999, 'of_the_future', '2030-01-01')")
    with pytest.raises(StoreError, match=r"version 999.*newer feed_assets") as refused:
        store.migrate()
    assert len(str(refused.value).splitlines()) == 1
    assert refused.value.exit_code == 1
    store.close()


def test_threads_that_migrate_at_once_apply_every_migration_once(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = [connect(empty_database_url) for _ in range(2)]
    with stores[0].engine.begin() as connection:
        kind = type(connection)
    run_script = kind.script

    def run_slowly(self: Connection, text: str) -> None:
        run_script(self, text)
        time.sleep(0.3)

    monkeypatch.setattr(kind, "script", run_slowly)
    applied = together(*(store.migrate for store in stores))
    assert sorted(chain(*applied)) == expected(stores[0])  # the two may take turns
    assert row_counts(stores[0]) == dict.fromkeys(TABLES, 0)
    for store in stores:
        store.close()


def test_processes_that_migrate_at_once_apply_every_migration_once(empty_database_url: str) -> None:
    store = connect(empty_database_url)
    printed = run_python(*[(MIGRATE, empty_database_url)] * 2)
    assert sorted("".join(printed).split()) == expected(store)
    assert row_counts(store) == dict.fromkeys(TABLES, 0)
    store.close()


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_migrations_are_numbered_without_gaps_or_repeats(engine: str) -> None:
    assert [number for number, _, _ in load_migrations(engine)] == list(range(1, len(load_migrations(engine)) + 1))


def test_both_engines_have_the_same_migrations() -> None:
    duckdb, postgres = ([(number, name) for number, name, _ in load_migrations(engine)] for engine in ("duckdb", "postgres"))
    assert duckdb == postgres


def test_feeds_that_were_dead_before_incidents_were_kept_count_as_told(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = connect(empty_database_url)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "load_migrations", lambda engine: [each for each in load_migrations(engine) if each[0] < 8])
        store.migrate()
    change(
        store,
        "INSERT INTO feed_schedules (feed_id, next_run_at, last_status) VALUES ('dead', NULL, 'permanent_error'), "
        "('paused', NULL, 'success'), ('failing', '2026-03-02 12:00:00+00', 'temporary_error')",
    )
    store.migrate()
    assert {row["feed_id"]: row["incident"] for row in rows_of(store, "feed_schedules")} == {
        "dead": "feed.dead",
        "paused": None,
        "failing": None,
    }
    store.close()
