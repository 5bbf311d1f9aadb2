"""DuckDB: one file, one process at a time. So: open, work, close, and wait politely while another process has it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from feed_assets.errors import StoreError
from feed_assets.store.columns import kind
from feed_assets.store.engine import Row
from feed_assets.store.queries import load_queries

_FRAME_TYPES = {
    "text": "string",
    "json": "string",
    "integer": "Int64",
    "float": "Float64",
    "boolean": "boolean",
    "time": "datetime64[us, UTC]",
    "blob": "object",
}

_NO_DOWNLOADS: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
_turns: dict[Path, threading.RLock] = {}


def _turn(path: Path) -> threading.RLock:
    """Threads of this process take turns with a file: two open connections would share one lock on it and keep other
    processes out for longer."""
    return _turns.setdefault(path.absolute(), threading.RLock())


class DuckDBEngine:
    """Opens the file for each transaction; `patience` is how long to wait for another process to let go."""

    name = "duckdb"

    def __init__(self, path: Path, *, patience: float = 60.0) -> None:
        self.path = path
        self.patience = patience
        self._turn = _turn(path)

    @contextmanager
    def begin(self, *, read_only: bool = False) -> Iterator[DuckDBConnection]:
        with self._turn:
            raw = self._open(read_only=read_only and self.path.exists())
            try:
                raw.execute("BEGIN")
                yield DuckDBConnection(raw)
                raw.execute("COMMIT")
            except duckdb.Error as error:
                raise StoreError(f"{self.path}: {_first_line(error)}") from error
            finally:
                raw.close()  # rolls back whatever was not committed

    def vacuum(self) -> None:
        with self._turn:
            raw = self._open(read_only=False)
            try:
                raw.execute("CHECKPOINT")
            finally:
                raw.close()

    def close(self) -> None:
        """Nothing is held between transactions."""

    def _open(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + self.patience
        pause = 0.005
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create {self.path.parent}: {error.strerror}") from None
        while True:
            try:
                connection = duckdb.connect(str(self.path), read_only=read_only, config=_NO_DOWNLOADS)
            except duckdb.Error as error:
                # A file of another process, or one that is being created at this very moment.
                waits = "Could not set lock on file" in str(error) or "Can't open a connection to same database" in str(error)
                if not waits:
                    raise StoreError(f"cannot use {self.path} as a database: {_first_line(error)}") from None
                if time.monotonic() > deadline:
                    raise StoreError(f"{self.path} has been in use by another process for {self.patience:.0f} s") from None
                time.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(pause * 1.5, 0.1)
                continue
            connection.execute("SET TimeZone = 'UTC'")
            return connection


class DuckDBConnection:
    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self._raw = raw
        self._queries = load_queries("duckdb", "${}")

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        cursor = self._raw.execute(self._queries[query], parameters or None)
        names = [column[0] for column in cursor.description or ()]
        decoders = [_DECODERS.get(kind(name)) for name in names]
        return [
            {
                name: value if value is None or decode is None else decode(value)
                for name, value, decode in zip(names, row, decoders, strict=True)
            }
            for row in cursor.fetchall()
        ]

    def run(self, query: str, /, **parameters: Any) -> None:
        self._raw.execute(self._queries[query], parameters or None)

    def write(self, query: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        import pandas as pd  # a slow import that a sensor tick with nothing to write does without

        values = list(rows)
        if not values:
            return 0
        frame = pd.DataFrame(
            {column: pd.Series([row[place] for row in values], dtype=_FRAME_TYPES[kind(column)]) for place, column in enumerate(columns)}
        )
        self._raw.register("incoming", frame)
        self._raw.execute(self._queries[query])
        self._raw.unregister("incoming")
        return len(values)

    def script(self, text: str) -> None:
        self._raw.execute(text)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


_DECODERS: dict[str, Callable[[Any], Any]] = {"json": json.loads, "time": _utc}
