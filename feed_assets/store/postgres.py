"""Postgres: a small pool, COPY for bulk, and row locks where claims meet."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from feed_assets.errors import DuplicateFeed, FeedAssetsError, StoreError, Unstorable, UsageError
from feed_assets.store.columns import kind
from feed_assets.store.engine import Row
from feed_assets.store.queries import load_queries
from feed_assets.urls import mask_password

_STAGE_TYPES = {
    "text": "TEXT",
    "json": "JSONB",
    "integer": "BIGINT",
    "float": "DOUBLE PRECISION",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "blob": "BYTEA",
}

logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # it reports every try; we say once what is wrong


class PostgresEngine:
    name = "postgres"

    def __init__(self, url: str, *, patience: float = 30.0) -> None:
        self.url = url
        self.patience = patience
        self.longest_query: float | None = None  # seconds; for those who have others waiting behind them
        self._pool: ConnectionPool[psycopg.Connection[dict[str, Any]]] | None = None
        self._opening = threading.Lock()

    @contextmanager
    def begin(self, *, read_only: bool = False) -> Iterator[PostgresConnection]:
        try:
            with self._open_pool().connection() as raw:
                if read_only:
                    raw.execute("SET TRANSACTION READ ONLY")
                yield PostgresConnection(raw)
        except PoolTimeout:
            raise StoreError(f"cannot reach {mask_password(self.url)}: {self._diagnosis()}") from None
        except psycopg.Error as error:
            raise self._translated(error) from error

    def vacuum(self, *, thorough: bool = False) -> None:
        """Thorough or not: VACUUM FULL would lock everybody out, and what is free here is used again."""
        try:
            with psycopg.connect(self.url, autocommit=True) as raw:
                raw.execute("VACUUM ANALYZE")
        except psycopg.Error as error:
            raise self._translated(error) from error

    def backup(self, target: Path) -> int:
        """Postgres has a tool for that, which knows more than we could."""
        raise UsageError(
            f"this database is on Postgres; back it up with: pg_dump --format=custom --file={target} '{mask_password(self.url)}'"
        )

    def size(self) -> int:
        with self._open_pool().connection() as raw:
            (found,) = raw.execute("SELECT pg_database_size(current_database()) AS bytes").fetchall()
        size: int = found["bytes"]
        return size

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _open_pool(self) -> ConnectionPool[psycopg.Connection[dict[str, Any]]]:
        with self._opening:
            if self._pool is None:
                # A wrong URL or a server that is down is told at once; a pool would go on trying.
                psycopg.connect(self.url, connect_timeout=max(2, min(10, round(self.patience)))).close()
                self._pool = ConnectionPool(
                    self.url,
                    min_size=0,
                    max_size=8,
                    timeout=self.patience,
                    kwargs={
                        "row_factory": dict_row,
                        "options": self._options(),
                        "connect_timeout": 10,
                        "prepare_threshold": None,  # a plan of before a migration fails after it
                    },
                    check=ConnectionPool.check_connection,
                    open=True,
                )
            return self._pool

    def _options(self) -> str:
        limit = f" -c statement_timeout={round(self.longest_query * 1000)}" if self.longest_query else ""
        return f"-c TimeZone=UTC{limit}"

    def _translated(self, error: psycopg.Error) -> FeedAssetsError:
        if isinstance(error, psycopg.errors.UniqueViolation) and error.diag.constraint_name == "feeds_url":
            return DuplicateFeed("a feed with this URL was added at the same moment")
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            return Unstorable(f"{mask_password(self.url)}: {self._first_line(error)}")
        what = "cannot reach " if isinstance(error, psycopg.OperationalError) and self._pool is None else ""
        return StoreError(f"{what}{mask_password(self.url)}: {self._first_line(error)}")

    def _first_line(self, error: psycopg.Error) -> str:
        """What the driver says, without the password that it may repeat."""
        text = str(error).strip().splitlines()[0]
        secret = self.url.partition("//")[2].rpartition("@")[0].partition(":")[2]
        for word in {secret, unquote(secret)} - {""}:
            text = text.replace(word, "***")
        return text

    def _diagnosis(self) -> str:
        """The pool only says that it waited; one direct try says why."""
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.Error as error:
            return self._first_line(error)
        return f"no connection became free in {self.patience:.0f} s"


class PostgresConnection:
    is_copied = False

    def __init__(self, raw: psycopg.Connection[dict[str, Any]]) -> None:
        self._raw = raw
        self._queries = load_queries("postgres", "%({})s")

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        found = self._raw.execute(self._queries[query], parameters or None).fetchall()
        return [{name: _utc(value) for name, value in row.items()} for row in found]

    def measure(self, query: str, /, **parameters: Any) -> tuple[int, int | None]:
        counted = f"SELECT count(*) AS rows, CAST(sum(bytes) AS BIGINT) AS bytes FROM ({self._queries[query]}) AS found"  # noqa: S608
        (found,) = self._raw.execute(counted, parameters or None).fetchall()
        return found["rows"], found["bytes"]

    def run(self, query: str, /, **parameters: Any) -> None:
        self._raw.execute(self._queries[query], parameters or None)

    def write(self, query: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        values = list(rows)
        if not values:
            return 0
        shape = ", ".join(f"{column} {_STAGE_TYPES[kind(column)]}" for column in columns)
        with self._raw.cursor() as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE incoming ({shape}) ON COMMIT DROP")
            with cursor.copy(f"COPY incoming ({', '.join(columns)}) FROM STDIN") as copy:
                for row in values:
                    copy.write_row(row)
            cursor.execute(self._queries[query])
            cursor.execute("DROP TABLE incoming")
        return len(values)

    def script(self, text: str) -> None:
        # psycopg sends a text without parameters as one simple query, so several statements may stand in it.
        self._raw.execute(re.sub(r"(?m)^--.*$", "", text).encode())


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
