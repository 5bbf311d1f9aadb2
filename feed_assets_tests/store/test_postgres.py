"""Postgres: servers that are away, connections that die, and writers that meet."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from feed_assets.errors import StoreError
from feed_assets.store import Memory, Store, Transaction, connect, open_store
from feed_assets.store.postgres import PostgresEngine
from feed_assets_tests.store.builders import DAY, LEASE, MINUTE, NOW, claim_due, make_article, put, together
from feed_assets_tests.store.contract import TABLES

OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def url(migrated_postgres: str) -> Iterator[str]:
    yield migrated_postgres
    with psycopg.connect(migrated_postgres) as connection:
        connection.execute(";".join(f"DELETE FROM {name}" for name in TABLES).encode())


@pytest.fixture
def pg(url: str) -> Iterator[Store]:
    store = connect(url)
    yield store
    store.close()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def kill_connections(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as admin:
        return len(admin.execute(f"SELECT pg_terminate_backend(pid) {OTHERS} AND backend_type = 'client backend'").fetchall())


def count_others(url: str, condition: str) -> int:
    with psycopg.connect(url, autocommit=True) as admin:
        row = admin.execute(f"SELECT count(*) {OTHERS} AND {condition}").fetchone()
        assert row is not None
        return int(row[0])


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def failure_to_reach(address: str) -> str:
    store = Store(PostgresEngine(address.format(unused_port()), patience=0.5))
    with pytest.raises(StoreError) as refused:
        store.migrate()
    store.close()
    return str(refused.value)


@pytest.mark.parametrize("address", ["postgresql://ann:se%40cret@127.0.0.1:{}/feeds", "postgres://:se%40cret@127.0.0.1:{}/"])
def test_an_unreachable_server_is_one_line_without_the_password(address: str) -> None:
    (line,) = failure_to_reach(address).splitlines()
    assert "127.0.0.1" in line
    assert "cret" not in line


def test_a_password_given_as_an_option_of_the_url_is_not_shown() -> None:
    assert "cret" not in failure_to_reach("postgresql://ann@127.0.0.1:{}/feeds?password=se%40cret")


def test_an_unreachable_server_is_told_with_the_reason() -> None:
    assert "Connection refused" in failure_to_reach("postgresql://ann@127.0.0.1:{}/feeds")


def test_a_database_that_does_not_exist_is_named(url: str) -> None:
    parameters = psycopg.conninfo.conninfo_to_dict(url)
    store = Store(
        PostgresEngine(f"postgresql://{parameters['user']}@/nowhere?host={parameters['host']}&port={parameters['port']}", patience=0.5)
    )
    with pytest.raises(StoreError, match='database "nowhere" does not exist') as refused:
        store.migrate()
    store.close()
    assert len(str(refused.value).splitlines()) == 1


def test_vacuum_of_an_unreachable_server_is_one_line_without_the_password() -> None:
    store = Store(PostgresEngine(f"postgresql://ann:secret@127.0.0.1:{unused_port()}/feeds", patience=0.5))
    with pytest.raises(StoreError) as refused:
        store.vacuum()
    assert len(str(refused.value).splitlines()) == 1
    assert "secret" not in str(refused.value)


def test_a_connection_that_died_between_transactions_is_replaced_unnoticed(pg: Store, url: str) -> None:
    with pg.begin() as tx:
        put(tx, "news")
    assert kill_connections(url) >= 1
    with pg.read() as tx:
        assert tx.feeds.live_ids() == ["news"]
    assert kill_connections(url) >= 1
    with pg.begin() as tx:
        assert claim_due(tx) == ["news"]


def test_a_connection_that_dies_in_a_transaction_undoes_it_and_the_next_one_works(pg: Store, url: str) -> None:
    with pytest.raises(StoreError) as refused, pg.begin() as tx:
        put(tx, "news")
        kill_connections(url)
        put(tx, "other")
    assert len(str(refused.value).splitlines()) == 1
    with pg.read() as tx:
        assert tx.feeds.live_ids() == []


def test_a_claimer_does_not_wait_for_another_but_takes_the_next_feeds(pg: Store, url: str) -> None:
    with pg.begin() as tx:
        put(tx, "a", "b", "c")
    other = connect(url)
    with pg.begin() as first:
        assert sorted(claim_due(first, "first", limit=2)) == ["a", "b"]
        with other.begin() as second:
            assert claim_due(second, "second", limit=2) == ["c"]
    other.close()


def test_nobody_can_take_over_a_feed_whose_holder_is_writing(pg: Store, url: str) -> None:
    with pg.begin() as tx:
        put(tx, "news")
        claim_due(tx, "slow", lease=MINUTE)
    other = connect(url)
    with pg.begin() as tx:
        assert tx.schedules.fence("slow", ["news"]) == {"news"}
        with other.begin() as second:
            assert claim_due(second, "second", now=NOW + DAY) == []
    other.close()


def test_a_reader_does_not_wait_for_a_writer(pg: Store, url: str) -> None:
    other = connect(url)
    with pg.begin() as tx:
        put(tx, "news")
        with other.read() as reader:
            assert reader.feeds.live_ids() == []
    other.close()


def save_articles(tx: Transaction, keys: Sequence[str]) -> None:
    tx.articles.save(make_article(key, threading.current_thread().name) for key in keys)


def remember(tx: Transaction, keys: Sequence[str]) -> None:
    tx.articles.remember(Memory(key, "news", key, NOW, NOW + DAY) for key in keys)


def claim(tx: Transaction, keys: Sequence[str]) -> None:
    tx.schedules.claim(threading.current_thread().name, keys, now=NOW, lease=LEASE)


@pytest.mark.parametrize("write", [save_articles, remember, claim])
def test_writers_that_bring_the_same_rows_in_different_order_do_not_block_each_other_for_good(
    pg: Store, url: str, write: Callable[[Transaction, Sequence[str]], None]
) -> None:
    with pg.begin() as tx:
        put(tx, "a", "m", "z")

    def one(keys: Sequence[str]) -> None:
        with pg.begin() as tx:
            write(tx, keys)

    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(ZeroDivisionError), pg.begin() as tx:
            write(tx, ["m"])
            running = [threads.submit(one, keys) for keys in (["a", "m", "z"], ["z", "m", "a"])]
            wait_until(lambda: count_others(url, "wait_event_type = 'Lock'") == 2)
            _ = 1 / 0
        for each in running:
            each.result()


def test_threads_that_start_at_once_leave_no_connection_behind_when_the_store_is_closed(url: str) -> None:
    store = connect(url)

    def read() -> list[str]:
        with store.read() as tx:
            return tx.feeds.live_ids()

    assert together(*[read] * 6) == [[]] * 6
    store.close()
    wait_until(lambda: count_others(url, "backend_type = 'client backend'") == 0)


def test_a_store_opens_in_a_database_beside_tables_of_others(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE SCHEMA other; CREATE TABLE other.schema_migrations (version INTEGER); CREATE TABLE other.feeds (x INTEGER)"
        )
    store = open_store(postgres_url)
    with store.begin() as tx:
        put(tx, "news")
        assert tx.feeds.live_ids() == ["news"]
    store.close()
