"""The read side under load: how fast documents are served, and what that costs a writer that commits all the time.

    python -m benchmarks.read_side [--feeds 1000] [--seconds 60] [--rate 200] [--engine duckdb postgres]

First the throughput of `/rss`, packed and from a warm cache, and of its 304, beside a bare FastAPI "hello" behind the same server; the
three take turns. Then a writer, a process of its own, commits groups of feeds with a new story each: alone, beside the API while nobody
asks, and beside the API while somebody reads --rate documents a second, in turns, for --seconds each. Every document read must be a whole
committed version. One API process.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import psutil
import requests

from benchmarks.load import Seen, get, load
from feed_assets import catalog
from feed_assets.cli.ports import any_port
from feed_assets.commit import commit_group
from feed_assets.decide.attempt import Attempt
from feed_assets.model import FetchResult, Outcome
from feed_assets.refresh import claim, parse, utc_now
from feed_assets.settings import PREFIX, load_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database

_STORIES = 30  # in a document
_GROUP = 25  # feeds per transaction
_ROUNDS = 5
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = "Some words about what happened, who said so, and what it may come to. " * 6
_NUMBER = re.compile(rb"<title>Story (\d+)</title>")


def document(feed: int, version: int) -> bytes:
    """A version adds a story on top: numbers without a gap are a whole version."""
    items = "".join(
        f"<item><title>Story {n}</title><link>https://site-{feed}.example/{n}</link><guid>{feed}-{n}</guid>"
        f"<pubDate>{format_datetime(_BEGINNING + timedelta(minutes=n))}</pubDate><description>{_WORDS}</description></item>"
        for n in range(version + _STORIES - 1, version - 1, -1)
    )
    return f"<rss version='2.0'><channel><title>Feed {feed}</title>{items}</channel></rss>".encode()


def commit(store: Store, values: dict[str, str], feeds: Sequence[int], version: int) -> None:
    """What a batch does with a group of feeds, but for the requests."""
    settings = load_settings(values, dotenv=None)
    token, now = claim(store, settings, [f"feed-{feed}" for feed in feeds], utc_now, 60), utc_now()
    with store.begin() as tx:
        claims = {held.feed.feed_id: held for held in tx.schedules.start(token, now=now, lease=timedelta(seconds=settings.lease_seconds))}
    attempts = []
    for feed in feeds:
        held = claims[f"feed-{feed}"]
        body = document(feed, version)
        result = FetchResult(held.feed.feed_id, held.feed.url, now, Outcome.SUCCESS, status_code=200, body=body, bytes_received=len(body))
        attempts.append(parse(Attempt(held, result, body_sha256=f"{feed}-{version}"), settings))
    reports = list(commit_group(store, settings, token, attempts, run_id=None))
    assert all(report.stored and report.new for report in reports), reports[0]


def write(values: dict[str, str], feeds: int, first_version: int, stop: Event, commits: Synchronized[int]) -> None:
    """The writer: group after group, version after version, until it is stopped."""
    store = open_store(load_settings(values, dotenv=None).store_url)
    for version in itertools.count(first_version):
        for start in range(0, feeds, _GROUP):
            if stop.is_set():
                return
            commit(store, values, range(start, min(start + _GROUP, feeds)), version)
            with commits.get_lock():
                commits.value += 1


@contextmanager
def writing(values: dict[str, str], feeds: int, first_version: int) -> Iterator[Synchronized[int]]:
    context = multiprocessing.get_context("spawn")
    stop, commits = context.Event(), context.Value("q", 0)
    writer = context.Process(target=write, args=(values, feeds, first_version, stop, commits), daemon=True)
    writer.start()
    while commits.value < 2:  # it is at work
        time.sleep(0.01)
    try:
        yield commits
    finally:
        stop.set()
        writer.join(60)


@contextmanager
def serving(command: Sequence[str], values: dict[str, str], port: int, path: str) -> Iterator[psutil.Process]:
    """A server in a process of its own, from its first answer on."""
    with subprocess.Popen([sys.executable, *command], env=os.environ | values) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    requests.get(f"http://127.0.0.1:{port}{path}", timeout=5).raise_for_status()
                    break
                except requests.RequestException:
                    assert time.monotonic() < deadline and process.poll() is None, "the server did not start"
                    time.sleep(0.1)
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGINT)


def hello(port: int) -> None:
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()

    @app.get("/")
    async def say() -> dict[str, str]:
        return {"hello": "world"}

    uvicorn.run(app, host="127.0.0.1", port=port, log_config=None, access_log=False)


def whole(head: bytes, body: bytes) -> str | None:
    """What is wrong with a document, if anything."""
    text = gzip.decompress(body) if b"content-encoding: gzip" in head else body
    numbers = [int(number) for number in _NUMBER.findall(text)]
    if not text.endswith(b"</rss>\n") or numbers != list(range(numbers[0], numbers[0] - len(numbers), -1)) or len(numbers) < _STORIES:
        return text[-200:].decode("utf-8", "replace")
    return None


def throughput(values: dict[str, str], feeds: int, api_port: int, rounds: int) -> None:
    port = any_port()
    tag = requests.get(f"http://127.0.0.1:{api_port}/rss/feed-0", headers={"Accept-Encoding": "gzip"}, timeout=5).headers["ETag"]
    ways = {
        "a bare FastAPI hello": (port, [get("/")]),
        "/rss": (api_port, [get(f"/rss/feed-{n}", Accept_Encoding="gzip") for n in range(feeds)]),
        "/rss?url=": (api_port, [get(f"/rss?url=https://site-{n}.example/feed", Accept_Encoding="gzip") for n in range(feeds)]),
        "/rss, 304": (api_port, [get("/rss/feed-0", Accept_Encoding="gzip", If_None_Match=tag)]),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    with serving(["-m", "benchmarks.read_side", "--hello", str(port)], {}, port, "/"):
        for _ in range(rounds):
            for name, (where, asked) in ways.items():
                seen = load(where, asked, seconds=2.0)
                assert set(seen.statuses) == {304 if "304" in name else 200}, seen.statuses
                taken[name].append(seen.per_second)
    base = statistics.median(taken["a bare FastAPI hello"])
    print("\n| | requests a second | of hello |\n|---|---|---|")
    for name, rates in taken.items():
        print(f"| {name} | {statistics.median(rates):,.0f} | {statistics.median(rates) / base:.2f} |")


def pace(commits: Synchronized[int], seconds: float) -> float:
    """Commits a second."""
    before, began = commits.value, time.monotonic()
    time.sleep(seconds)
    return (commits.value - before) / (time.monotonic() - began)


def side_by_side(values: dict[str, str], feeds: int, port: int, seconds: float, rate: float) -> None:
    """The writer alone, beside an idle API, beside a busy one, and alone again, in turns: a writer gets slower as its tables grow."""
    asked = [get(f"/rss/feed-{n}", Accept_Encoding="gzip") for n in range(feeds)]
    api = ["-m", "feed_assets.cli.main", "serve", "--port", str(port)]
    window, all_seen = seconds / _ROUNDS, Seen()
    alone, idle, loaded, cpu, memory = [], [], [], 0.0, 0.0
    with writing(values, feeds, 2) as commits:
        alone.append(pace(commits, window))
        for _ in range(_ROUNDS):
            with serving(api, values, port, "/health/ready") as process:
                idle.append(pace(commits, window))
                began, cpu_before = commits.value, sum(process.cpu_times()[:2])
                seen = load(port, asked, seconds=window, per_second=rate, check=whole)
                loaded.append((commits.value - began) / seen.took)
                cpu += sum(process.cpu_times()[:2]) - cpu_before
                memory = max(memory, process.memory_info().rss / 1e6)
                all_seen.add(seen)
            alone.append(pace(commits, window))
    base = statistics.mean(statistics.mean(pair) for pair in itertools.pairwise(alone))
    failed = sum(count for status, count in all_seen.statuses.items() if status != 200)
    count, took = len(all_seen.seconds), all_seen.took
    print(f"\n{count:,} documents in {took:.0f} s beside the writer: {failed} failed, {len(all_seen.wrong)} not whole\n")
    print("| | |\n|---|---|")
    for share, name in ((0.5, "median"), (0.99, "p99"), (1.0, "slowest")):
        print(f"| {name} | {all_seen.quantile(share) * 1000:.1f} ms |")
    print(f"| commits of {_GROUP} feeds a second, alone | {base:.2f} |")
    for name, rates in (("an idle API", idle), ("the API under load", loaded)):
        print(f"| the same beside {name} | {statistics.mean(rates):.2f} ({statistics.mean(rates) / base:.2f}) |")
    print(f"| CPU of the API under load | {cpu / took * 100:.0f} % of a core |")
    print(f"| memory of the API | {memory:.0f} MB |", flush=True)


def measure(engine: str, feeds: int, seconds: float, rate: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = new_postgres_database() if engine == "postgres" else f"duckdb:///{Path(folder) / 'feeds.duckdb'}"
        port = any_port()
        values = {PREFIX + name: value for name, value in {"HOME": folder, "DATABASE_URL": database, "LOG_LEVEL": "WARNING"}.items()}
        store = open_store(database)
        rows = [{"id": f"feed-{n}", "url": f"https://site-{n}.example/feed"} for n in range(feeds)]
        catalog.import_feeds(store, rows, now=utc_now())
        for start in range(0, feeds, 200):
            commit(store, values, range(start, min(start + 200, feeds)), 1)
        print(f"\n## {engine}, {feeds:,} feeds", flush=True)
        with serving(["-m", "feed_assets.cli.main", "serve", "--port", str(port)], values, port, "/health/live"):
            throughput(values, feeds, port, rounds=5)
        side_by_side(values, feeds, port, seconds, rate)
        store.close()
        if engine == "postgres":
            drop_postgres_database(database)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0, help="documents a second while the writer writes")
    parser.add_argument("--engine", nargs="*", default=["duckdb", "postgres"], choices=["duckdb", "postgres"])
    parser.add_argument("--hello", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hello:
        hello(options.hello)
        return
    for engine in options.engine:
        measure(engine, options.feeds, options.seconds, options.rate)


if __name__ == "__main__":
    main()
