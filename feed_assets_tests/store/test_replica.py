"""The copy of the DuckDB file that readers read from: after each look it says what the file says, whatever was written meanwhile."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from feed_assets import catalog
from feed_assets.analysis import analyze_articles, analyzer_of
from feed_assets.errors import StoreError
from feed_assets.housekeeping import prune, summed
from feed_assets.settings import Settings
from feed_assets.store import Store, open_store
from feed_assets.store.replica import Replica
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.store.builders import DAY, NOW, put, store_story
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one

# Table -> the columns that are compared, or all of them.
COPIED = {
    "feeds": "*",
    "feed_schedules": "*",
    "feed_stats": "*",
    "batches": "*",
    "signals": "*",
    "fetch_totals": "*",
    "cached_feeds": "*",
    "deduped_articles": "*",
    "article_sources": "*",
    "raw_items": "* EXCLUDE (content)",  # large, and nobody reads it
    "fetch_history": "*",
    "headline_groups": "*",
    "article_analysis WHERE status = 'done'": "*",
}
PROMPTS = ("noise", "relevance")
HOLD = "import sys, duckdb; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feeds.duckdb"


@pytest.fixture
def store(path: Path) -> Store:
    return open_store(f"duckdb:///{path}")


@pytest.fixture
def settings(tmp_path: Path, path: Path) -> Settings:
    return make_settings(tmp_path, DATABASE_URL=f"duckdb:///{path}")


def ask(replica: Replica, sql: str) -> list[tuple[Any, ...]]:
    with replica.begin(read_only=True) as connection:
        return connection._raw.execute(sql).fetchall()


def plain(row: tuple[Any, ...]) -> str:
    return repr([value.astimezone(UTC) if isinstance(value, datetime) else value for value in row])


def differences(replica: Replica, path: Path) -> dict[str, tuple[int, int]]:
    """Table -> rows that only the file has, rows that only the copy has; after the copy was brought up to date."""
    assert replica.refresh(wait=5)
    found = {}
    with duckdb.connect(path) as file:
        for table, columns in COPIED.items():
            theirs = {plain(row) for row in file.execute(f"SELECT {columns} FROM {table}").fetchall()}
            mine = {plain(row) for row in ask(replica, f"SELECT {columns} FROM {table}")}
            if theirs != mine:
                found[table] = len(theirs - mine), len(mine - theirs)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_written_the_copy_says_the_same(
    seed: int, store: Store, settings: Settings, path: Path, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feed_assets.store.replica._SHARE", 0)  # no rest between two looks: there is no other writer here
    dice = random.Random(seed)
    replica = Replica(path, memory_mb=64)
    names = ["news", "other", "third"]
    for name in names:
        add(store, clock, server.publish(f"/{name}", rss("one", "two")), name)
    for step in range(14):
        name = dice.choice(names)
        what = dice.choice(["refresh", "refresh", "refresh", "edit", "fail", "prune", "delete", "add", "analyze"])
        clock.advance(days=dice.choice([0.01, 0.2, 40]))
        if what == "edit":
            catalog.edit_feed(store, settings, name, now=clock(), source_name=f"Named in step {step}")
        elif what == "fail":
            server.fail(f"/{name}", 500)
            refresh_one(store, settings, clock, name)
        elif what == "prune":
            clock.advance(days=settings.article_retention_days)
            summed(prune(store, settings, now=clock(), pause=lambda _: None))
        elif what == "analyze":
            mock = settings.model_copy(
                update={"analyzer": "mock", "analysis_in_xml": step % 2 == 0, "analysis_prompt": dice.choice(PROMPTS)}
            )
            list(analyze_articles(store, mock, analyzer_of(mock), clock=clock, limit=3, patience=0))
        elif what == "delete" and len(names) > 1:
            catalog.delete_feed(store, name, now=clock())
            names.remove(name)
        elif what == "add":
            names.append(f"added-{step}")
            add(store, clock, server.publish(f"/{names[-1]}", rss("one")), names[-1])
        else:
            server.publish(f"/{name}", rss(*(f"story {dice.randrange(9)} as of step {step}" for _ in range(dice.randrange(1, 4)))))
            refresh_one(store, settings, clock, name)
        assert differences(replica, path) == {}, f"after step {step}: {what} {name}"


def test_the_copy_stays_as_it_was_until_the_next_look(store: Store, path: Path) -> None:
    with store.begin() as tx:
        put(tx, "news")
    replica = Replica(path)
    replica.refresh(wait=5)
    with store.begin() as tx:
        put(tx, "later")
    assert not replica.is_current
    assert ask(replica, "SELECT count(*) FROM feeds") == [(1,)]
    assert replica.refresh(wait=5) and replica.is_current
    assert ask(replica, "SELECT count(*) FROM feeds") == [(2,)]


def test_a_copy_from_scratch_takes_no_more_than_the_newest_articles(store: Store, path: Path) -> None:
    with store.begin() as tx:
        put(tx, "news")
        for number in range(20):
            store_story(tx, f"story-{number:02}", at=NOW - number * DAY)
    replica = Replica(path, most_articles=5)
    replica.refresh(wait=5)
    kept = ask(replica, "SELECT article_id FROM deduped_articles ORDER BY article_id")
    assert [name for (name,) in kept] == [f"story-{number:02}" for number in range(5)]


def test_a_file_in_use_is_no_reason_to_wait_once_there_is_a_copy(store: Store, path: Path) -> None:
    with store.begin() as tx:
        put(tx, "news")
    store.close()
    replica, late = Replica(path), Replica(path)
    replica.refresh(wait=5)
    with store.begin() as tx:
        put(tx, "later")
    store.close()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        assert not replica.refresh(wait=0.1)
        assert ask(replica, "SELECT count(*) FROM feeds") == [(1,)]
        with pytest.raises(StoreError, match="in use by another process"):
            late.refresh(wait=0.1)
        holder.communicate("done")
    assert replica.refresh(wait=5)
    assert replica.age < timedelta(seconds=5).total_seconds()


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"These are not the rows you are looking for. " * 500)
    with pytest.raises(StoreError, match=f"cannot use {path} as a database"):
        Replica(path).refresh(wait=1)


def test_groups_and_what_belongs_to_them_reach_the_copy(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feed_assets.store.replica._SHARE", 0)
    replica = Replica(path)
    with store.begin() as tx:
        put(tx, "news")
        for name in ("a", "b", "c"):
            store_story(tx, name)
    assert differences(replica, path) == {}
    for now, groups in ((NOW, {"a": "g1", "b": "g1"}), (NOW + DAY, {"c": "g2"}), (NOW + 2 * DAY, {"c": "g1"})):
        with store.begin() as tx:
            tx.articles.set_groups(groups)
            tx.groups.save(dict.fromkeys(groups.values(), NOW), now=now)
            tx.groups.drop(["g2"] if now == NOW + 2 * DAY else [])
        assert differences(replica, path) == {}
    assert ask(replica, "SELECT group_id, articles FROM headline_groups") == [("g1", 3)]
