"""DuckDB: one file that processes share by turns."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from feed_assets.errors import StoreError
from feed_assets.store import Store, open_store
from feed_assets.store.duckdb import DuckDBEngine
from feed_assets_tests.store.builders import put, run_python, start_python, together

HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
sys.stdin.read()
connection.close()
"""
COUNT_FEEDS = "import sys, duckdb; print(duckdb.connect(sys.argv[1]).execute('SELECT count(*) FROM feeds').fetchone()[0])"
CRASH_AFTER_COMMIT = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("UPDATE feeds SET source_name = 'changed'")
os._exit(0)
"""
CRASH_IN_TRANSACTION = """
import os, sys
from datetime import UTC, datetime
from feed_assets.store import connect
with connect(sys.argv[1]).begin() as tx:
    tx.feeds.delete("news", now=datetime.now(UTC))
    os._exit(0)
"""


@pytest.fixture
def path(tmp_path: Path, migrated_duckdb: Path) -> Path:
    copy = tmp_path / "feeds.duckdb"
    copy.write_bytes(migrated_duckdb.read_bytes())
    return copy


@pytest.fixture
def duckdb_store(path: Path) -> Store:
    store = Store(DuckDBEngine(path, patience=0.3))
    with store.begin() as tx:
        put(tx, "news")
    return store


@contextmanager
def held_by_another_process(path: Path, mode: str = "write") -> Iterator[None]:
    process = start_python(HOLD, str(path), mode)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield
    finally:
        process.communicate(timeout=10)


def names(store: Store) -> list[str]:
    with store.read() as tx:
        return [feed.source_name for feed in tx.feeds.live()]


def one_line(error: pytest.ExceptionInfo[StoreError]) -> str:
    (line,) = str(error.value).splitlines()
    return line


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "feeds.duckdb"
    content = b"this is no database\n" * 500
    path.write_bytes(content)
    with pytest.raises(StoreError) as refused:
        open_store(f"duckdb:///{path}")
    assert str(path) in one_line(refused)
    assert path.read_bytes() == content


def test_the_driver_never_downloads_anything(duckdb_store: Store) -> None:
    with duckdb_store.engine.begin() as connection:
        raw = connection._raw  # type: ignore[attr-defined]
        settings = raw.execute("SELECT current_setting('autoinstall_known_extensions'), current_setting('autoload_known_extensions')")
        assert settings.fetchone() == (False, False)


def test_a_file_that_is_no_database_is_no_locked_file_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "clock.duckdb"
    path.write_bytes(b"this is no database\n" * 500)
    with pytest.raises(StoreError) as refused:
        Store(DuckDBEngine(path, patience=0.1)).migrate()
    assert "another process" not in one_line(refused)


def test_a_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refused:
        Store(DuckDBEngine(tmp_path, patience=0.1)).migrate()
    assert str(tmp_path) in one_line(refused)


def test_a_path_under_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError) as refused:
        open_store(f"duckdb:///{tmp_path / 'file' / 'feeds.duckdb'}")
    assert "cannot create" in one_line(refused)


def test_the_folders_of_a_new_database_are_made(tmp_path: Path) -> None:
    open_store(f"duckdb:///{tmp_path / 'a' / 'b' / 'feeds.duckdb'}")
    assert (tmp_path / "a" / "b" / "feeds.duckdb").is_file()


def test_the_file_is_not_held_between_transactions(duckdb_store: Store, path: Path) -> None:
    with held_by_another_process(path):
        pass
    assert run_python((COUNT_FEEDS, str(path))) == ["1\n"]
    assert names(duckdb_store) == ["News"]


@pytest.mark.parametrize("reading", [True, False])
def test_a_file_that_another_process_keeps_is_waited_for_and_then_given_up(duckdb_store: Store, path: Path, reading: bool) -> None:
    with held_by_another_process(path):
        started = time.monotonic()
        with pytest.raises(StoreError, match="in use by another process") as refused, duckdb_store.engine.begin(read_only=reading):
            pass
        waited = time.monotonic() - started
    assert str(path) in one_line(refused)
    assert 0.3 <= waited < 5
    assert names(duckdb_store) == ["News"]


def test_a_file_that_another_process_lets_go_of_in_time_is_used(path: Path) -> None:
    patient = Store(DuckDBEngine(path, patience=20))
    process = start_python(HOLD, str(path), "write")
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"

    def let_go() -> list[str]:
        time.sleep(0.2)
        process.communicate(timeout=10)
        return ["let go"]

    assert together(lambda: names(patient), let_go) == [[], ["let go"]]


def test_readers_of_other_processes_do_not_keep_a_reader_out(duckdb_store: Store, path: Path) -> None:
    with held_by_another_process(path, "read"):
        assert names(duckdb_store) == ["News"]


def test_what_a_process_committed_before_it_crashed_is_there(duckdb_store: Store, path: Path) -> None:
    run_python((CRASH_AFTER_COMMIT, str(path)))
    assert names(duckdb_store) == ["changed"]


def test_what_a_process_did_not_commit_before_it_crashed_is_not_there(duckdb_store: Store, path: Path) -> None:
    run_python((CRASH_IN_TRANSACTION, f"duckdb:///{path}"))
    assert names(duckdb_store) == ["News"]


def test_a_thread_that_reads_while_another_writes_waits_its_turn(duckdb_store: Store, path: Path) -> None:
    reader = Store(DuckDBEngine(path, patience=20))

    def write() -> list[str]:
        with duckdb_store.begin() as tx:
            put(tx, "other")
            time.sleep(0.2)
        return ["wrote"]

    found, _ = together(lambda: names(reader), write)
    assert found in (["News"], ["News", "Other"])


def test_vacuum_of_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "feeds.duckdb").write_bytes(b"this is no database\n" * 500)
    with pytest.raises(StoreError) as refused:
        Store(DuckDBEngine(tmp_path / "feeds.duckdb")).vacuum()
    assert os.fspath(tmp_path) in one_line(refused)
