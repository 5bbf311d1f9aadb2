"""A copy of the DuckDB file for readers: they never wait for a writer, and no writer waits for them.

The file is opened for the moments in which what has changed is copied, and only as often as leaves writers nearly all of the time.
The copy lives in memory up to a limit, and in temporary files beyond.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from feed_assets.errors import StoreError
from feed_assets.store.duckdb import DuckDBConnection, DuckDBEngine, is_locked
from feed_assets.store.queries import sql_folder

_SHARE = 20  # the file is left alone for this many times as long as it was held
_RETRY_SECONDS = 0.02
_RELOAD_SECONDS = 6 * 3600.0  # what was deleted goes from the copy with the next reload

_File = tuple[tuple[int, int] | None, ...]


class Replica(DuckDBEngine):
    """Reads from the copy; writes, if any, to the file. `refresh` brings the copy up to date."""

    def __init__(self, path: Path, *, memory_mb: int = 256, most_articles: int = 100_000, patience: float = 60.0) -> None:
        super().__init__(path, patience=patience)
        self._most = most_articles
        self._memory = memory_mb
        self._copy: duckdb.DuckDBPyConnection | None = None
        self._copied: _File | None = None  # the file as it was when it was copied last
        self._loaded_at = 0.0
        self._free_at = 0.0  # when the file may be opened again
        self._current_at: float | None = None  # when the copy was last known to be what the file is
        self._refreshing = threading.Lock()
        self.generation = 0  # counts the copies

    @contextmanager
    def begin(self, *, read_only: bool = False) -> Iterator[DuckDBConnection]:
        if not read_only:
            with super().begin() as connection:
                yield connection
            return
        if self._copied is None:
            self.refresh(wait=self.patience)
        assert self._copy is not None
        cursor = self._copy.cursor()
        try:
            cursor.execute("BEGIN")
            yield DuckDBConnection(cursor)
        except duckdb.Error as error:
            raise StoreError(f"{self.path}: {str(error).strip().splitlines()[0]}") from error
        finally:
            with contextlib.suppress(duckdb.Error):
                cursor.execute("ROLLBACK")
            cursor.close()

    @property
    def age(self) -> float:
        """For how many seconds the copy may have been out of date."""
        return time.monotonic() - self._current_at if self._current_at is not None else float("inf")

    @property
    def is_current(self) -> bool:
        """Whether nothing was written since the copy was made."""
        current = self._copied is not None and self._copied == self._look()
        if current:
            self._current_at = time.monotonic()
        return current

    def refresh(self, *, wait: float = 0.0) -> bool:
        """Copy what has changed, if it is time; whether the copy is current then.

        A writer that has the file is waited for so long at most.
        """
        with self._refreshing:
            deadline = time.monotonic() + wait
            while not self.is_current:
                now = time.monotonic()
                if now >= self._free_at and self._try():
                    break
                if now >= deadline:
                    if self._copied is None:
                        raise StoreError(f"{self.path} has been in use by another process for {wait:.0f} s")
                    return False
                time.sleep(min(_RETRY_SECONDS, max(deadline - now, 0.001)))
            self._current_at = time.monotonic()
            return True

    def close(self) -> None:
        with self._refreshing:
            if self._copy is not None:
                self._copy.close()
                self._copy, self._copied = None, None

    def _look(self) -> _File:
        """What tells one state of the file from another, without opening it."""
        found: list[tuple[int, int] | None] = []
        for path in (self.path, self.path.with_name(self.path.name + ".wal")):
            try:
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size))
            except OSError:
                found.append(None)
        return tuple(found)

    def _try(self) -> bool:
        """Open the file, copy, close it. False when a writer has it."""
        if self._copy is None:
            self._copy = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
            self._copy.execute("SET TimeZone = 'UTC'")
            self._copy.execute(f"SET memory_limit = '{self._memory}MB'")
        raw = self._copy.cursor()
        if not self._file.turn.acquire(timeout=0.0):
            return False
        began, first = time.monotonic(), self._copied is None
        try:
            try:
                raw.execute(f"ATTACH '{str(self.path).replace(chr(39), chr(39) * 2)}' AS source (TYPE duckdb, READ_ONLY)")
            except duckdb.Error as error:
                if is_locked(error):
                    return False
                raise StoreError(f"cannot use {self.path} as a database: {str(error).strip().splitlines()[0]}") from None
            try:
                state = self._look()
                self._bring_up_to_date(raw)
                self._copied = state
                self.generation += 1
            finally:
                raw.execute("DETACH source")
                held = time.monotonic() - began
                self._free_at = began + held + (0 if first else _SHARE * held)
        except duckdb.Error as error:
            raise StoreError(f"{self.path} cannot be read: {str(error).strip().splitlines()[0]}") from error
        finally:
            self._file.turn.release()
            raw.close()
        return True

    def _bring_up_to_date(self, raw: duckdb.DuckDBPyConnection) -> None:
        raw.execute("BEGIN")
        try:
            if self._is_old(raw):
                self._reload(raw)
            else:
                for name in ("copy_small", "copy_editions", "changed_articles", "copy_articles", "copy_groups", "add_history"):
                    _run(raw, name)
            raw.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                raw.execute("ROLLBACK")
            raise

    def _is_old(self, raw: duckdb.DuckDBPyConnection) -> bool:
        """Whether to begin anew: at first, after a migration, after rows were pruned, and now and then."""
        if self._copied is None or time.monotonic() - self._loaded_at > _RELOAD_SECONDS:
            return True
        same = raw.execute(_statements()["is_as_it_was"][0]).fetchone()
        return not (same and same[0])

    def _reload(self, raw: duckdb.DuckDBPyConnection) -> None:
        for name in ("begin_anew", "copy_small", "copy_editions"):
            _run(raw, name)
        _run(raw, "newest_articles", most=self._most)
        for name in ("copy_articles", "copy_groups", "copy_history"):
            _run(raw, name)
        self._loaded_at = time.monotonic()


def _run(raw: duckdb.DuckDBPyConnection, name: str, **parameters: Any) -> None:
    for statement in _statements()[name]:
        raw.execute(statement, parameters or None)


@cache
def _statements() -> dict[str, list[str]]:
    text = (sql_folder() / "duckdb" / "replica.sql").read_text("utf-8")
    pieces = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)
    return {
        name: [part.strip() for part in re.sub(r"(?m)^--.*$", "", body).split(";") if part.strip()]
        for name, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }
