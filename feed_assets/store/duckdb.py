"""DuckDB: one file, one process at a time. So: attach, work, detach, and wait politely while another process has it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from feed_assets.errors import StoreError, Unstorable, UsageError
from feed_assets.store.columns import kind
from feed_assets.store.compacting import is_wasteful, rewrite
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

_log = logging.getLogger(__name__)
_REFUSED = (duckdb.DataError, duckdb.ConstraintException)
_CONFIG: dict[str, Any] = {"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False}


class _File:
    """A database file as this process sees it: one thread at a time, attached to a DuckDB that lives as long as the process.

    Starting a DuckDB costs forty milliseconds, attaching a file to one costs four. Only an attached file is locked.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path).replace("'", "''")
        self._raw: duckdb.DuckDBPyConnection | None = None
        self._process = 0
        self.turn = threading.Lock()

    def attach(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        if self._raw is None or self._process != os.getpid():
            self._raw, self._process = duckdb.connect(config=_CONFIG), os.getpid()
            self._raw.execute("SET TimeZone = 'UTC'")
        self._raw.execute(f"ATTACH '{self._path}' AS feed_store (TYPE duckdb{', READ_ONLY' if read_only else ''})")
        self._raw.execute("USE feed_store")
        return self._raw

    def detach(self) -> None:
        """Let go of the file; what was not committed is rolled back. A DuckDB that does not obey is given up."""
        raw = self._raw
        try:
            if raw is not None:
                raw.execute("USE memory")
                raw.execute("DETACH feed_store")
        except duckdb.Error:
            self.end()

    def end(self) -> None:
        """Give the DuckDB back, with its threads and its memory; the next one who needs it starts another."""
        raw, self._raw = self._raw, None
        if raw is not None and self._process == os.getpid():
            raw.close()


_files: dict[Path, _File] = {}


class DuckDBEngine:
    """Holds the file for each transaction only; `patience` is how long to wait for another process to let go."""

    name = "duckdb"

    def __init__(self, path: Path, *, patience: float = 60.0) -> None:
        self.path = path
        self.patience = patience
        self._file = _files.setdefault(path.absolute(), _File(path.absolute()))

    @contextmanager
    def begin(self, *, read_only: bool = False) -> Iterator[DuckDBConnection]:
        with self._file.turn:
            raw = self._open(read_only=read_only and self.path.exists())
            committed = False
            try:
                raw.execute("BEGIN")
                yield DuckDBConnection(raw)
                raw.execute("COMMIT")
                committed = True
            except _REFUSED as error:
                raise Unstorable(f"{self.path}: {_first_line(error)}") from error
            except duckdb.Error as error:
                raise StoreError(f"{self.path}: {_first_line(error)}") from error
            finally:
                if not committed:
                    with contextlib.suppress(duckdb.Error):
                        raw.execute("ROLLBACK")
                self._file.detach()

    def vacuum(self, *, thorough: bool = False) -> None:
        with self._file.turn:
            raw = self._open(read_only=False)
            try:
                raw.execute("CHECKPOINT")
                wanted = thorough or is_wasteful(raw)
            finally:
                self._file.detach()
            if wanted and not rewrite(self.path, _CONFIG):
                _log.warning("%s is in use just now; it was not compacted", self.path)

    def size(self) -> int:
        return sum(path.stat().st_size for path in (self.path, self.path.with_name(f"{self.path.name}.wal")) if path.exists())

    def backup(self, target: Path) -> int:
        """A copy of the file while we hold it for reading: nobody writes, and all that was committed is in it.

        For reading only, since closing the copied file lets go of the lock (so POSIX has it), and then others may write.
        """
        if target.exists():
            raise UsageError(f"{target} exists already; choose another name for the backup")
        if not self.path.exists():
            raise StoreError(f"there is no database at {self.path} yet, and so nothing to back up")
        beginning = target.with_name(f"{target.name}.part")
        while True:
            self.vacuum()  # what a killed process left in the log beside the file goes into the file
            with self._file.turn:
                self._open(read_only=True)
                try:
                    if self._log().exists():
                        continue
                    shutil.copyfile(self.path, beginning)
                finally:
                    self._file.detach()
            return beginning.replace(target).stat().st_size

    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}.wal")

    def close(self) -> None:
        """The file is not held between transactions anyway."""
        with self._file.turn:
            self._file.end()

    def _open(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + self.patience
        pause = 0.005
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create {self.path.parent}: {error.strerror}") from None
        while True:
            try:
                return self._file.attach(read_only=read_only)
            except duckdb.Error as error:
                # A file of another process, or one that is being created at this very moment.
                if not is_locked(error):
                    raise StoreError(f"cannot use {self.path} as a database: {_first_line(error)}") from None
                if time.monotonic() > deadline:
                    raise StoreError(f"{self.path} has been in use by another process for {self.patience:.0f} s") from None
                time.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(pause * 1.5, 0.1)


def is_locked(error: Exception) -> bool:
    """Whether another process has the file."""
    return "Could not set lock on file" in str(error)


class DuckDBConnection:
    is_copied = True

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

    def measure(self, query: str, /, **parameters: Any) -> tuple[int, int | None]:
        counted = f"SELECT count(*), CAST(sum(bytes) AS BIGINT) FROM ({self._queries[query]}) AS found"  # noqa: S608
        rows, size = self._raw.execute(counted, parameters or None).fetchall()[0]
        return rows, size

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
