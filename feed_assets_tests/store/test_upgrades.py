"""Upgrades: what an earlier version has stored is all there afterwards, and work that was under way during the upgrade is finished."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from feed_assets import catalog
from feed_assets.model import Outcome
from feed_assets.refresh import claim_due, refresh
from feed_assets.settings import Settings
from feed_assets.store import Store, connect, open_store
from feed_assets.store.queries import load_migrations
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.earlier import columns_of, database_of_version, select, that_knows
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look

EARLIER = range(1, len(load_migrations("duckdb")))
TOMORROW = """
ALTER TABLE feeds ADD COLUMN tomorrow TEXT;
ALTER TABLE feed_schedules ADD COLUMN tomorrow TEXT;
ALTER TABLE raw_items ADD COLUMN tomorrow INTEGER DEFAULT 1;
ALTER TABLE deduped_articles ADD COLUMN tomorrow TEXT;
CREATE TABLE tomorrow (id TEXT PRIMARY KEY);
"""
CHECKED = {  # columns that take a few words only
    "feeds.error_policy": "backoff",
    "feed_schedules.fetch_status": "queued",
    "feed_schedules.last_status": "success",
    "deliveries.status": "pending",
    "article_analysis.status": "waiting",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path)


def insert(store: Store, table: str, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    places = ", ".join(["%s" if store.engine.name == "postgres" else "?"] * len(columns))
    with store.engine.begin() as connection:
        for row in rows:
            values = [Jsonb(value) if isinstance(value, dict | list) else value for value in row]
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
            connection._raw.execute(statement, values)  # type: ignore[attr-defined]


def some_value(column: str, kind: str, number: int) -> Any:
    """Something that this column takes, different for each row where that can be."""
    if column in CHECKED:
        return CHECKED[column]
    if kind.startswith("TIMESTAMP"):
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    if kind.startswith("JSON"):
        return json.dumps({"row": number})
    if kind in ("BLOB", "BYTEA"):
        return b"row %d" % number
    if kind == "BOOLEAN":
        return bool(number % 2)
    if kind in ("DOUBLE", "DOUBLE PRECISION", "FLOAT", "REAL"):
        return number + 0.5
    return number if "INT" in kind else f"row {number}"


@pytest.mark.parametrize("version", EARLIER)
def test_every_row_of_every_earlier_schema_survives(empty_database_url: str, version: int) -> None:
    store = database_of_version(empty_database_url, version)
    tables = columns_of(store)
    assert len(tables) >= 11
    for table, columns in tables.items():
        insert(
            store,
            table,
            list(columns),
            [tuple(some_value(f"{table}.{column}", kind, number) for column, kind in columns.items()) for number in (1, 2, 3)],
        )
    reading = {table: f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1" for table, columns in tables.items()}
    before = {table: select(store, statement) for table, statement in reading.items()}
    store.close()

    newer = open_store(empty_database_url)

    assert {table: select(newer, statement) for table, statement in reading.items()} == before
    newer.close()


def test_what_was_stored_before_an_upgrade_is_known_after_it(
    empty_database_url: str, settings: Settings, clock: Clock, server: FeedServer, tmp_path: Path
) -> None:
    store = open_store(f"duckdb:///{tmp_path / 'as-now.duckdb'}")
    add(store, clock, server.publish("/news", rss("One", "Two")))
    assert refresh_one(store, settings, clock).new == 2
    old = database_of_version(empty_database_url, 1)
    for table, columns in columns_of(old).items():
        insert(old, table, list(columns), select(store, f"SELECT {', '.join(columns)} FROM {table}"))
    old.migrate()
    server.publish("/news", rss("Three", "One", "Two"))

    assert refresh_one(old, settings, clock).new == 1

    assert look(old).column("raw_items", "guid") == ["id-One", "id-Three", "id-Two"]
    assert len(look(old)["deduped_articles"]) == 3
    for each in (store, old):
        each.close()


def test_a_batch_that_was_claimed_before_an_upgrade_is_nobody_elses_after_it(
    empty_database_url: str, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    old = database_of_version(empty_database_url, len(EARLIER))
    add(old, clock, server.publish("/news", rss("One")))
    with old.begin() as tx:
        tx.schedules.claim_due("mine", now=clock(), lease=timedelta(minutes=10), limit=10)
    old.close()

    newer = open_store(empty_database_url)

    assert claim_due(newer, settings, now=clock())[0] == []
    assert [report.outcome for report in refresh(newer, settings, "mine", clock=clock)] == [Outcome.SUCCESS]
    assert look(newer).column("raw_items", "guid") == ["id-One"]
    newer.close()


def test_a_refresh_that_is_under_way_during_an_upgrade_stores_what_it_brings(
    empty_database_url: str, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    store = open_store(empty_database_url)
    add(store, clock, server.publish("/news", rss("Story 0")))
    for number in range(1, 8):  # so often that a driver keeps plans of what it is asked
        assert refresh_one(store, settings, clock).new == 1
        server.publish("/news", rss(*(f"Story {each}" for each in range(number + 1))))

    def upgrade() -> None:
        newer = connect(empty_database_url)
        with that_knows(lambda known: [*known, (len(known) + 1, "of_tomorrow", TOMORROW)]):
            assert len(newer.migrate()) == 1
        newer.close()

    server.answers["/news"].then = upgrade  # while we wait for the publisher's answer
    assert refresh_one(store, settings, clock).new == 1
    server.publish("/news", rss("A later story"))
    assert refresh_one(store, settings, clock).new == 1

    rows = look(store)
    assert len(rows["raw_items"]) == len(rows["deduped_articles"]) == 9
    assert {row["tomorrow"] for row in rows["raw_items"]} == {1}
    catalog.add_feed(store, "https://other.example/feed", now=clock(), feed_id="other")
    store.close()
