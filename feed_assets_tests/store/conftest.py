"""Databases of this suite: migrated once, then handed to each test empty. Making a schema for every test would take minutes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from feed_assets.store import Store, Transaction, connect
from feed_assets_tests.conftest import ENGINES
from feed_assets_tests.store.contract import TABLES
from feed_assets_tests.support import databases
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database


@pytest.fixture(scope="session")
def migrated_duckdb() -> Path:
    return databases.migrated_duckdb()


@pytest.fixture(scope="session")
def migrated_postgres() -> Iterator[str]:
    url = new_postgres_database(databases.migrated_postgres())
    yield url
    drop_postgres_database(url)


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database on each engine with all tables and no rows."""
    if request.param == "duckdb":
        shutil.copy(request.getfixturevalue("migrated_duckdb"), tmp_path / "feeds.duckdb")
        yield f"duckdb:///{tmp_path / 'feeds.duckdb'}"
        return
    url: str = request.getfixturevalue("migrated_postgres")
    yield url
    with psycopg.connect(url) as connection:
        connection.execute(";".join(f"DELETE FROM {name}" for name in TABLES).encode())


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """An empty Postgres database."""
    url = new_postgres_database()
    yield url
    drop_postgres_database(url)


@pytest.fixture(params=ENGINES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database on each engine without any table."""
    if request.param == "duckdb":
        return f"duckdb:///{tmp_path / 'empty.duckdb'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = connect(database_url)
    yield opened
    opened.close()


@pytest.fixture
def tx(store: Store) -> Iterator[Transaction]:
    """One transaction that lasts as long as the test: enough for what is not about commits, and opened once."""
    with store.begin() as transaction:
        yield transaction
