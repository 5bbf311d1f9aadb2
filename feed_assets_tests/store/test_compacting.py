"""A DuckDB file that is written anew holds what it held, and stays what it was when that fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from feed_assets.errors import StoreError
from feed_assets.store import Store, compacting, connect
from feed_assets.store.compacting import rewrite
from feed_assets_tests.store.builders import DAY, NOW, make_history, make_result, put, start_python, store_story
from feed_assets_tests.store.reading import change, row_counts


@pytest.fixture
def path(tmp_path: Path, migrated_duckdb: Path) -> Path:
    return Path(shutil.copy(migrated_duckdb, tmp_path / "feeds.duckdb"))


@pytest.fixture
def holey(path: Path) -> Store:
    """A file with a few rows, and the holes that larger ones have left."""
    store = connect(f"duckdb:///{path}")
    with store.begin() as tx:
        put(tx, "news")
        store_story(tx, "a")
        tx.items.save_bodies([(f"f{n}", "sha", make_result(at=NOW - 99 * DAY, body=os.urandom(2_000_000))) for n in range(4)])
    with store.begin() as tx:
        tx.items.save_history([make_history()])
    change(store, "DELETE FROM raw_fetches")
    store.vacuum()
    return store


def schema(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as raw:
        columns = raw.execute(
            "SELECT table_name, column_name, data_type, is_nullable, column_default FROM duckdb_columns() WHERE NOT internal ORDER BY 1, 2"
        ).fetchall()
        return columns + raw.execute("SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY 1, 2").fetchall()


def test_a_file_that_is_written_anew_is_smaller_and_has_the_same_tables_and_rows(holey: Store, path: Path) -> None:
    rows, tables, size = row_counts(holey), schema(path), holey.size()
    holey.vacuum(thorough=True)
    assert (row_counts(holey), schema(path)) == (rows, tables)
    assert holey.size() < size / 2
    with holey.begin() as tx:
        put(tx, "later")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_only_a_large_file_that_is_empty_for_a_good_part_is_worth_it(holey: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = holey.size()
    holey.vacuum()
    assert holey.size() == size, "it is small"
    monkeypatch.setattr(compacting, "_SMALL", 0)
    holey.vacuum()
    compact = holey.size()
    assert compact < size
    before = path.stat().st_ino
    holey.vacuum()
    assert path.stat().st_ino == before, "nothing is to be gained"


def test_a_full_disk_leaves_the_file_as_it_was(holey: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, inode = row_counts(holey), path.stat().st_ino
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StoreError, match="1,000 are free"):
        holey.vacuum(thorough=True)
    assert (row_counts(holey), path.stat().st_ino) == (rows, inode)


def test_a_crash_in_the_middle_leaves_the_old_file_and_the_next_time_tidies_up(holey: Store, path: Path) -> None:
    rows = row_counts(holey)
    script = """
import os, sys
from pathlib import Path
from feed_assets.store import compacting
compacting._sync = lambda path: os._exit(9)
compacting.rewrite(Path(sys.argv[1]), {})
"""
    assert start_python(script, str(path)).wait(timeout=30) == 9
    fresh = path.with_name(f"{path.name}.compacted")
    assert fresh.exists()
    assert row_counts(holey) == rows
    holey.vacuum(thorough=True)
    assert row_counts(holey) == rows
    assert not fresh.exists()


def test_a_file_that_another_process_has_is_left_for_another_time(holey: Store, path: Path) -> None:
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    holder = start_python(script, str(path))
    assert holder.stdout and holder.stdout.readline() == "open\n"
    inode = path.stat().st_ino
    assert rewrite(path, {}) is False
    holder.communicate()
    assert path.stat().st_ino == inode


def test_writers_that_wait_meanwhile_lose_nothing(holey: Store, path: Path) -> None:
    script = """
import sys
from feed_assets.store import connect
from feed_assets_tests.store.builders import make_history
store = connect(f"duckdb:///{sys.argv[1]}")
print("ready", flush=True)
for n in range(40):
    with store.begin() as tx:
        tx.items.save_history([make_history(f"w{n}")])
"""
    writer = start_python(script, str(path))
    assert writer.stdout and writer.stdout.readline() == "ready\n"
    rewritten = 0
    while writer.poll() is None:
        before = path.stat().st_ino
        holey.vacuum(thorough=True)
        rewritten += path.stat().st_ino != before
    assert writer.returncode == 0, writer.communicate()
    assert rewritten
    assert row_counts(holey)["fetch_history"] == 41
