"""A DuckDB file written anew, when a good part of it is empty: DuckDB gives blocks back to itself, and only those at the end to the disk.

The new file is made beside the old one and takes its place by a rename: a crash leaves one of the two, whole. The old one stays locked
until then, so that nobody writes to what is about to go.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb

from feed_assets.errors import StoreError

_log = logging.getLogger(__name__)
_WASTE = 0.3  # of the blocks
_SMALL = 64 * 1024 * 1024  # bytes that are not worth the trouble
_LATECOMERS = 0.2  # seconds for whoever had opened the old file just before the rename to find that it is locked


def is_wasteful(raw: duckdb.DuckDBPyConnection) -> bool:
    """Whether the attached file is large and a good part of it empty."""
    found = raw.execute(
        "SELECT block_size * total_blocks, block_size * free_blocks FROM pragma_database_size() WHERE database_name = 'feed_store'"
    ).fetchone()
    size, free = found or (0, 0)
    return bool(size > _SMALL and free > _WASTE * size)


def rewrite(path: Path, config: dict[str, Any]) -> bool:
    """Write the file anew. False when that has to wait: somebody has it, or there is something in its log that no checkpoint has seen."""
    fresh = path.with_name(f"{path.name}.compacted")
    _remove(fresh)
    _refuse_without_space(path)
    with duckdb.connect(config=config) as raw:
        try:
            raw.execute(f"ATTACH '{_quoted(path)}' AS old (TYPE duckdb, READ_ONLY)")
        except duckdb.Error:
            return False
        try:
            if path.with_name(f"{path.name}.wal").exists():
                return False
            raw.execute(f"ATTACH '{_quoted(fresh)}' AS fresh (TYPE duckdb)")
            raw.execute("COPY FROM DATABASE old TO fresh")
            raw.execute("CHECKPOINT fresh")
            lost = [table for table, rows in _counts(raw, "old").items() if _counts(raw, "fresh").get(table) != rows]
            raw.execute("DETACH fresh")
            if lost:
                raise StoreError(f"{path} was not compacted: {', '.join(lost)} could not be copied whole")
            _sync(fresh)
            fresh.replace(path)
            _sync(path.parent)
            time.sleep(_LATECOMERS)
        finally:
            _remove(fresh)
    return True


def _counts(raw: duckdb.DuckDBPyConnection, database: str) -> dict[str, int]:
    names = raw.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = ?", [database]).fetchall()
    return {name: raw.execute(f'SELECT count(*) FROM {database}."{name}"').fetchall()[0][0] for (name,) in names}  # noqa: S608


def _refuse_without_space(path: Path) -> None:
    needed, free = path.stat().st_size, shutil.disk_usage(path.parent).free
    if free < 1.2 * needed:
        raise StoreError(f"{path} cannot be compacted: that needs {needed:,} bytes beside it, and {free:,} are free")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    for each in (path, path.with_name(f"{path.name}.wal")):
        each.unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
