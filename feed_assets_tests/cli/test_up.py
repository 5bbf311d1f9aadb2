"""`feed-assets up --demo`, as a person uses it: start, look, add a feed, stop, start again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import feedparser
import psutil
import pytest
import requests

from feed_assets import catalog
from feed_assets.demo import DEMO_FEEDS
from feed_assets.refresh import utc_now
from feed_assets.store import Store, open_store
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.processes import free_port, until

HEALTHY = {f"demo-{feed.name}" for feed in DEMO_FEEDS if feed.fault in (None, "301", "302")}
ASSETS = ("raw_items", "deduped_articles", "feed_stats", "cached_feed_xml")
SENSOR_SECONDS = 3


class Up:
    """`feed-assets up --demo` in a folder of its own."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home, self.ui, self.api = home, free_port(), free_port()
        self.environment = dict(os.environ) | {
            "FEED_ASSETS_HOME": str(home),
            "FEED_ASSETS_SENSOR_INTERVAL_SECONDS": str(SENSOR_SECONDS),
            **{f"FEED_ASSETS_{name}": value for name, value in settings.items()},
        }
        self.process: subprocess.Popen[str] | None = None
        self.output = home.parent / "up.log"

    def start(self) -> str:
        command = [sys.executable, "-m", "feed_assets.cli.main", "up", "--demo", "--port", str(self.ui), "--api-port", str(self.api)]
        with self.output.open("w") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, text=True)
        return until(lambda: "Stop with: Ctrl-C" in self.output.read_text() and self.output.read_text(), 90) or ""

    def stop(self, number: signal.Signals) -> tuple[float, list[psutil.Process]]:
        """Seconds it took, and what is left of the processes that were there."""
        assert self.process is not None
        family = psutil.Process(self.process.pid).children(recursive=True)
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        took = time.monotonic() - began
        return took, [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]

    def get(self, path: str) -> requests.Response:
        return requests.get(f"http://127.0.0.1:{self.api}{path}", timeout=10)

    def materialized(self, asset: str) -> int:
        query = "query ($path: [String!]!) {assetNodeOrError(assetKey: {path: $path}) {...on AssetNode {partitionStats {numMaterialized}}}}"
        body = {"query": query, "variables": {"path": [asset]}}
        answer = requests.post(f"http://127.0.0.1:{self.ui}/graphql", json=body, timeout=30).json()
        return int(answer["data"]["assetNodeOrError"]["partitionStats"]["numMaterialized"])

    def requests_seen(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.home / "logs" / "publisher.jsonl").read_text().splitlines()]


@pytest.fixture(params=["duckdb", "postgres"])
def up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Up]:
    """On the embedded defaults; and with everything, Dagster's own storage too, on Postgres."""
    databases = [new_postgres_database(), new_postgres_database()] if request.param == "postgres" else []
    settings = dict(zip(("DATABASE_URL", "DAGSTER_DATABASE_URL"), databases, strict=True)) if databases else {}
    started = Up(tmp_path / "home", **settings)
    yield started
    if started.process is not None and started.process.poll() is None:
        started.stop(signal.SIGTERM)
    for url in databases:
        drop_postgres_database(url)


def store_of(up: Up) -> Store:
    return open_store(up.environment.get("FEED_ASSETS_DATABASE_URL", f"duckdb:///{up.home / 'feeds.duckdb'}"))


def test_the_demo_from_start_to_stop_and_start_again(up: Up, server: FeedServer) -> None:
    greeting = up.start()
    assert f"http://127.0.0.1:{up.ui}" in greeting and f"http://127.0.0.1:{up.api}" in greeting

    # Every healthy feed is served and materialized within two minutes.
    until(lambda: all(up.get(f"/rss/{feed_id}").status_code == 200 for feed_id in sorted(HEALTHY)), 120)
    for asset in ASSETS:
        until(lambda asset=asset: up.materialized(asset) >= len(HEALTHY), 60)  # type: ignore[misc]
    rows = {row["feed_id"]: row for row in up.get("/api/feeds").json()["feeds"]}
    served = feedparser.parse(up.get(f"/rss?url={rows['demo-ticker']['url']}").content)
    assert not served.bozo and served.entries
    assert up.get("/health").json()["status"] == "ok"
    assert "404" in rows["demo-missing"]["last_error"] and rows["demo-missing"]["next_run_at"] is None

    # A feed added now is there within two sensor intervals, and the start of a run.
    store = store_of(up)
    catalog.add_feed(store, server.publish("/late", rss("A late story")), now=utc_now(), feed_id="late")
    until(lambda: up.get("/rss/late").status_code == 200, 2 * SENSOR_SECONDS + 20)

    took, left = up.stop(signal.SIGINT)
    assert took < 10 and not left
    assert up.process is not None and up.process.returncode == 0, up.output.read_text()

    # A restart fetches nothing that is not due.
    with store.begin() as tx:
        for feed_id in tx.feeds.live_ids():
            tx.schedules.reschedule(feed_id, at=utc_now() + timedelta(hours=1), interval_seconds=3600, reason="test")
    seen = len(up.requests_seen())
    up.start()
    time.sleep(3 * SENSOR_SECONDS)
    assert len(up.requests_seen()) == seen
    took, left = up.stop(signal.SIGTERM)
    assert took < 10 and not left


def test_a_port_in_use_is_named_with_the_option_that_chooses_another(tmp_path: Path, server: FeedServer) -> None:
    busy = re.findall(r":(\d+)", server.base)[0]
    command = [sys.executable, "-m", "feed_assets.cli.main", "up", "--port", busy]

    ended = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ) | {"FEED_ASSETS_HOME": str(tmp_path)}, timeout=60)

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and f"port {busy}" in ended.stderr and "--port" in ended.stderr
