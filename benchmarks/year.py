"""A year of simulated operation: how large the database and Dagster's storage are after each month, and whether anything came back.

    python -m benchmarks.year [--feeds 1000] [--days 365] [--every 5] [--engine duckdb]

Feeds publish an item a day and are asked every few days; every document is read, stored and published by the code that runs use, some
feeds are told to Dagster by a real run. Our tables are pruned each night, Dagster's runs at the end of each month. With Postgres, Dagster's
storage is there, too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import dagster as dg

from feed_assets.store import open_store
from feed_assets_tests.conftest import ENGINES, make_settings
from feed_assets_tests.support.databases import new_postgres_database
from feed_assets_tests.support.year import Month, Year, is_bounded

RETENTION = {"ARTICLE_RETENTION_DAYS": 30, "RAW_RETENTION_DAYS": 7, "DEDUP_RETENTION_DAYS": 30, "HISTORY_RETENTION_DAYS": 30}
TABLES = ("raw_fetches", "raw_items", "deduped_articles", "dedup_cache", "fetch_history", "events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--every", type=int, default=5, help="days between two fetches of a feed")
    parser.add_argument("--told", type=int, default=25, help="feeds that Dagster hears of each time")
    parser.add_argument("--max-runs", type=int, default=30, help="Dagster runs that are kept")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        postgres = options.engine == "postgres"
        url = new_postgres_database() if postgres else f"duckdb:///{folder}/feeds.duckdb"
        settings = make_settings(Path(folder), DATABASE_URL=url, **RETENTION)
        storage = {"storage": {"postgres": {"postgres_url": new_postgres_database()}}} if postgres else {}
        with dg.DagsterInstance.local_temp(folder, overrides=storage) as instance:
            year = Year(
                open_store(url), settings, instance, feeds=options.feeds, every=options.every, told=options.told, most_runs=options.max_runs
            )
            print(f"\n{options.engine}: {options.feeds} feeds, {options.days} days\n", flush=True)
            print(f"| month | database | Dagster | runs | {' | '.join(TABLES)} |\n{'|---' * (4 + len(TABLES))}|", flush=True)
            months = []
            for month in year.live(options.days):
                months.append(month)
                print(line(month), flush=True)
    pruned = ", ".join(f"{rows:,} {table}" for table, rows in year.pruned.items() if rows)
    print(f"\n{year.fetches:,} fetches, {year.new:,} items, each new once; pruned {pruned}; {time.monotonic() - began:.0f} s")
    for what in ("database", "dagster"):
        assert is_bounded(months, what), f"{what} grows: {[getattr(month, what) for month in months]}"


def line(month: Month) -> str:
    rows = " | ".join(f"{month.rows[table]:,}" for table in TABLES)
    return f"| {month.number} | {month.database / 1e6:.1f} MB | {month.dagster / 1e6:.1f} MB | {month.runs} | {rows} |"


if __name__ == "__main__":
    main()
