"""A run that is asked to end gives back what it has not done, and stores what it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX
from feed_assets.store import open_store
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.rows import look


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_refresh_that_is_ended_politely_gives_back_its_feeds(number: signal.Signals, tmp_path: Path, server: FeedServer) -> None:
    store = open_store(f"duckdb:///{tmp_path / 'home' / 'feeds.duckdb'}")
    quick, slow = server.publish("/quick", rss("A story")), server.publish("/slow", rss("Another"))
    server.answers["/slow"].then = lambda: time.sleep(20)
    for name, url in (("quick", quick), ("slow", slow)):
        catalog.add_feed(store, url.replace("127.0.0.1", "localhost") if name == "slow" else url, now=utc_now(), feed_id=name)
    values = {"HOME": str(tmp_path / "home"), "ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "0"}
    environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"} | {PREFIX + n: v for n, v in values.items()}
    command = [sys.executable, "-m", "feed_assets.cli.main", "refresh", "--all"]
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not look(store)["raw_items"]:
        assert time.monotonic() < deadline and process.poll() is None, process.communicate()
        time.sleep(0.2)

    process.send_signal(number)
    _, errors = process.communicate(timeout=15)

    assert process.returncode not in (0, None) and "Traceback" not in errors
    rows = look(store)
    assert [(row["feed_id"], row["fetch_status"], row["lease_token"]) for row in rows["feed_schedules"]] == [
        ("quick", "idle", None),
        ("slow", "idle", None),
    ]
    assert rows.schedule("slow")["next_run_at"] <= utc_now() < rows.schedule("quick")["next_run_at"]
    with store.read() as tx:
        assert tx.batches.in_flight() == []
