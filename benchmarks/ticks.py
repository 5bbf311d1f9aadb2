"""How long a tick of the sensor takes with very many feeds, on both engines.

    python -m benchmarks.ticks [--feeds 10000 50000 100000] [--repeat 3] [--postgres URL]

A tick keeps the partitions in step, claims what is due and requests runs. Measured are the first ticks, which register every feed as a
partition; ticks with a batch to claim while everything is due; ticks with nothing to do; and what the UI asks for to list the partitions.
Seconds on the clock, medians. Postgres is one that the benchmark starts, unless --postgres names another; it holds the feeds and Dagster's
storage, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import dagster as dg
import yaml

from feed_assets.model import Feed
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX, Settings, load_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database

_ROUNDS = 50  # first ticks: at most so many until all partitions are there


@contextmanager
def engine(name: str, folder: Path) -> Iterator[tuple[Settings, dg.DagsterInstance]]:
    """Settings for an empty store, and an instance of Dagster with its storage on the same engine."""
    values = {"HOME": str(folder)}
    storage: dict[str, object] = {}
    databases: list[str] = []
    if name == "postgres":
        databases = [new_postgres_database(), new_postgres_database()]
        values |= {"DATABASE_URL": databases[0], "DAGSTER_DATABASE_URL": databases[1]}
        storage = {"storage": {"postgres": {"postgres_url": databases[1]}}}
    (folder / "dagster.yaml").write_text(yaml.safe_dump({"telemetry": {"enabled": False}, **storage}))
    settings = load_settings({PREFIX + key: value for key, value in values.items()}, dotenv=None)
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            yield settings, instance
    finally:
        for url in databases:
            drop_postgres_database(url)


def put_feeds(store: Store, number: int) -> None:
    now = utc_now()
    feeds = [
        Feed(f"feed-{n:06}", f"https://host-{n % 5000}.example/{n}", f"Feed {n}", created_at=now, updated_at=now) for n in range(number)
    ]
    with store.begin() as tx:
        tx.feeds.put(feeds, next_run_at=now - timedelta(minutes=1), reason="new feed")


def seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def measure(name: str, number: int, repeat: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, engine(name, Path(folder)) as (settings, instance):
        os.environ["DAGSTER_HOME"] = folder
        store = open_store(settings.store_url)
        put_feeds(store, number)
        dagster = Dagster(instance, settings)
        first = []
        for _ in range(_ROUNDS):
            first.append(seconds(dagster.tick))
            if len(instance.get_dynamic_partitions("feeds")) == number:
                break
        busy = []
        for _ in range(repeat):
            finish_all(store)
            busy.append(seconds(dagster.tick))
        idle = [seconds(dagster.tick) for _ in range(repeat)]  # as many batches are in flight as may be
        store.close()
        listed = [seconds(lambda: list_partitions(instance)) for _ in range(repeat)]
        return {
            "first ticks": max(first),
            "with batches to claim": statistics.median(busy),
            "with nothing to do": statistics.median(idle),
            "list": statistics.median(listed),
        }


def list_partitions(instance: dg.DagsterInstance) -> None:
    """What the UI asks for to list the partitions of an asset with their states."""
    instance.get_dynamic_partitions("feeds")
    instance.get_materialized_partitions(dg.AssetKey("raw_items"))


def finish_all(store: Store) -> None:
    with store.begin() as tx:
        for batch in tx.batches.in_flight():
            tx.schedules.release(batch.token)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, nargs="*", default=[10_000, 50_000, 100_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--postgres", default="", help="a postgresql:// URL of a server where databases may be made")
    options = parser.parse_args()
    if options.postgres:
        os.environ[f"{PREFIX}TEST_POSTGRES_URL"] = options.postgres
    print(
        "| feeds | engine | longest first tick | with batches to claim | with nothing to do | list of partitions |\n"
        "|---|---|---|---|---|---|"
    )
    for number in options.feeds:
        for name in ("duckdb", "postgres"):
            found = measure(name, number, options.repeat)
            print(f"| {number:,} | {name} | " + " | ".join(f"{value:.2f} s" for value in found.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
