"""What a poll that is answered 304 costs, beside a bare `requests.Session.get` of the same URLs, in one run.

    python -m benchmarks.poll_cost [--feeds 500] [--repeat 5] [--engine duckdb]

CPU seconds of this process, the server being another one; medians over the repeats.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests

from benchmarks.publisher import address, running
from feed_assets import catalog
from feed_assets.fetch import Fetcher
from feed_assets.model import FetchRequest
from feed_assets.refresh import refresh_feeds, utc_now
from feed_assets.settings import PREFIX, Settings, load_settings
from feed_assets.store import Store, open_store


def bare(urls: list[str]) -> None:
    with requests.Session() as session:
        for url in urls:
            assert session.get(url, headers={"If-None-Match": '"1"'}, timeout=10).status_code == 304


def fetched(settings: Settings, urls: list[str]) -> None:
    with Fetcher(settings, utc_now) as fetcher:
        for url in urls:
            assert fetcher.fetch(FetchRequest("feed", url, '"1"')).status_code == 304


def polled(store: Store, settings: Settings, feed_ids: list[str]) -> None:
    assert all(report.status_code == 304 for report in refresh_feeds(store, settings, feed_ids))


def cpu_seconds(work: Callable[[], None]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--database", default="", help="a postgresql:// URL; default: a DuckDB file")
    options = parser.parse_args()
    with running(options.feeds) as port, tempfile.TemporaryDirectory() as folder:
        values = {"HOME": folder, "ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "0", "DATABASE_URL": options.database}
        settings = load_settings({PREFIX + name: value for name, value in values.items()}, dotenv=None)
        store = open_store(settings.store_url)
        urls = [f"http://{address(n)}:{port}/ok/{n}" for n in range(options.feeds)]
        feed_ids = [f"feed-{n}" for n in range(options.feeds)]
        catalog.import_feeds(store, [{"id": i, "url": u} for i, u in zip(feed_ids, urls, strict=True)], now=utc_now())
        list(refresh_feeds(store, settings, feed_ids))  # the first fetch brings bodies and validators
        ways: dict[str, Callable[[], None]] = {
            "bare requests.Session.get": lambda: bare(urls),
            "fetch": lambda: fetched(settings, urls),
            "whole poll: claim, fetch, decide, store": lambda: polled(store, settings, feed_ids),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.repeat):
            for name, way in ways.items():
                taken[name].append(cpu_seconds(way))
        base = statistics.median(taken["bare requests.Session.get"])
        print(f"\n{options.feeds} polls answered 304 ({Path(settings.store_url).name}), medians of {options.repeat}\n")
        print("| | CPU ms per poll | ratio |\n|---|---|---|")
        for name, seconds in taken.items():
            median = statistics.median(seconds)
            print(f"| {name} | {median / options.feeds * 1000:.2f} | {median / base:.2f} |")


if __name__ == "__main__":
    main()
