"""Whether the whole system keeps up: `feed-assets up` on Postgres with very many feeds, a share of which changes all the time.

    python -m benchmarks.soak [--feeds 10000] [--minutes 30] [--percent 20] [--json FILE]

Every feed has a fixed interval of fifteen minutes, `--percent` of them publish an item in each such quarter of an hour, and their due
times are spread. Lag is from when a feed was due to when it was fetched. Memory is that of all processes of `up` (PSS), the database
server's not included; CPU is that of all, the server included. Events are rows of Dagster's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import psycopg

from benchmarks.newsstand import Newsstand, open_newsstand
from benchmarks.throughput import postmaster
from feed_assets.cli.ports import any_port
from feed_assets.model import Feed
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX, load_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database

INTERVAL = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Sample:
    """How things stood after so many minutes."""

    minutes: float
    memory_mb: float
    cpu_seconds: float
    events: int
    runs: int
    database_mb: float
    fetches: int


def put_feeds(store: Store, urls: Sequence[str]) -> dict[str, datetime]:
    """All feeds, their first due times spread over an interval; when each is due."""
    now = utc_now() + timedelta(seconds=30)
    due = {f"feed-{number:06}": now + INTERVAL * (number / len(urls)) for number in range(len(urls))}
    rows = [
        Feed(feed_id, url, feed_id, refresh_interval_minutes=15, created_at=now, updated_at=now)
        for feed_id, url in zip(due, urls, strict=True)
    ]
    with store.begin() as tx:
        tx.feeds.put(rows, next_run_at=now, reason="new feed")
    return due


def spread(database: str, due: dict[str, datetime]) -> None:
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        cursor.executemany("UPDATE feed_schedules SET next_run_at = %s WHERE feed_id = %s", [(at, feed_id) for feed_id, at in due.items()])


def lags(database: str, due: dict[str, datetime]) -> list[float]:
    """Seconds from due to fetched, of every fetch."""
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT feed_id, fetch_time FROM fetch_history ORDER BY fetch_time").fetchall()
    expected, found = dict(due), []
    for feed_id, at in rows:
        found.append((at - expected[feed_id]).total_seconds())
        expected[feed_id] = at + INTERVAL
    return found


def overdue(database: str) -> float:
    """Seconds for which the feed that has waited longest has been due."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT extract(epoch FROM now() - min(next_run_at)) FROM feed_schedules").fetchone()
    return float(row[0]) if row and row[0] is not None else 0.0


def family(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [process, *process.children(recursive=True)]
    return []


def memory_mb(process: psutil.Process) -> float:
    total = 0
    for each in family(process):
        with suppress(psutil.Error):
            total += each.memory_full_info().pss
    return total / 1e6


class Clockwork:
    """CPU seconds of a family of processes, those that are over included as far as their parents waited for them."""

    def __init__(self, *roots: psutil.Process) -> None:
        self._roots = roots

    def seconds(self) -> float:
        total = 0.0
        for root in self._roots:
            for each in family(root):
                with suppress(psutil.Error):
                    times = each.cpu_times()
                    total += times.user + times.system + times.children_user + times.children_system
        return total


def scalar(database: str, query: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute(query.encode()).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def watch(
    stand: Newsstand, up: psutil.Process, feeds: str, dagster: str, minutes: float, percent: float, began: float, clockwork: Clockwork
) -> list[Sample]:
    samples: list[Sample] = []
    seen: list[float] = []
    turn, before = 0, clockwork.seconds()
    while (passed := (time.monotonic() - began) / 60) < minutes:
        time.sleep(max(0.0, 60 * (turn + 1) - (time.monotonic() - began)))
        turn += 1
        stand.advance(percent / 15, turn)
        seen.append(memory_mb(up))
        if turn % 5 == 0 or passed + 1 >= minutes:
            sample = Sample(
                turn,
                statistics.median(seen),
                clockwork.seconds() - before,
                scalar(dagster, "SELECT count(*) FROM event_logs"),
                scalar(dagster, "SELECT count(*) FROM runs"),
                scalar(feeds, "SELECT pg_database_size(current_database())") / 1e6,
                scalar(feeds, "SELECT count(*) FROM fetch_history"),
            )
            samples.append(sample)
            seen = []
            print(json.dumps(asdict(sample)), file=sys.stderr, flush=True)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=10_000)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--percent", type=float, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    databases = [new_postgres_database(), new_postgres_database()]
    with tempfile.TemporaryDirectory() as folder, open_newsstand(options.feeds) as stand:
        values = {"HOME": folder, "DATABASE_URL": databases[0], "DAGSTER_DATABASE_URL": databases[1], "ALLOW_PRIVATE_NETWORKS": "true"}
        values |= {"BATCH_SIZE": "500", "SENSOR_INTERVAL_SECONDS": "20"}
        variables = {PREFIX + name: value for name, value in values.items()}
        store = open_store(load_settings(variables, dotenv=None).store_url)
        due = put_feeds(store, stand.urls)
        spread(databases[0], due)
        command = [sys.executable, "-m", "feed_assets.cli.main", "up", "--port", str(any_port()), "--api-port", str(any_port())]
        with Path(folder, "up.log").open("wb") as log, subprocess.Popen(command, env=os.environ | variables, stdout=log, stderr=log) as up:
            try:
                process = psutil.Process(up.pid)
                clockwork = Clockwork(process, postmaster())
                samples = watch(stand, process, databases[0], databases[1], options.minutes, options.percent, time.monotonic(), clockwork)
                found = lags(databases[0], due)
                waiting = overdue(databases[0])
            finally:
                up.send_signal(signal.SIGINT)
                up.wait(60)
        seen = stand.seen()
    for url in databases:
        drop_postgres_database(url)
    report(options.feeds, found, waiting, samples, seen)
    if options.json:
        options.json.write_text(json.dumps({"lags": found, "samples": [asdict(sample) for sample in samples]}))


def report(feeds: int, found: Sequence[float], waiting: float, samples: Sequence[Sample], seen: dict[int, int]) -> None:
    ordered = sorted(found)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.9, 0.99)]
    print(f"{feeds:,} feeds, {len(found):,} fetches ({', '.join(f'{count:,} x {status}' for status, count in sorted(seen.items()))})")
    print(f"lag from due to fetched: median {at[0]:.0f} s, p90 {at[1]:.0f} s, p99 {at[2]:.0f} s, longest {ordered[-1]:.0f} s")
    print(f"at the end the longest overdue feed had waited {max(0.0, waiting):.0f} s\n")
    print("| minutes | fetches | CPU of a core | memory | Dagster runs | events | database |\n|---|---|---|---|---|---|---|")
    last = Sample(0, 0, 0, 0, 0, 0, 0)
    for sample in samples:
        share = (sample.cpu_seconds - last.cpu_seconds) / (60 * (sample.minutes - last.minutes))
        print(
            f"| {sample.minutes:.0f} | {sample.fetches:,} | {100 * share:.0f} % | {sample.memory_mb:,.0f} MB | {sample.runs:,} "
            f"| {sample.events:,} | {sample.database_mb:,.0f} MB |"
        )
        last = sample


if __name__ == "__main__":
    main()
