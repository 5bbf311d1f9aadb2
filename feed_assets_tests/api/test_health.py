"""`/health`, and what the API does when the database cannot be used or is busy."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from feed_assets import catalog
from feed_assets.api.app import create_app
from feed_assets.refresh import claim_due, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store, open_store
from feed_assets.store.duckdb import DuckDBEngine
from feed_assets.store.engine import Engine
from feed_assets.store.postgres import PostgresEngine
from feed_assets_tests.api.conftest import Served
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


def not_a_database(folder: Path) -> Engine:
    path = folder / "feeds.duckdb"
    path.write_text("This is a letter, not a database. " * 200)
    return DuckDBEngine(path, patience=0.2)


def unreachable_server(folder: Path) -> Engine:
    return PostgresEngine("postgresql://reader:hunter2@127.0.0.1:1/feeds", patience=0.2)


@pytest.fixture(params=[not_a_database, unreachable_server], ids=["duckdb", "postgres"])
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> TestClient:
    return TestClient(create_app(make_settings(tmp_path), Store(request.param(tmp_path))))


def test_health_is_200_when_all_is_well(served: Served) -> None:
    answer = served.client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert all(check["ok"] for check in answer.json()["checks"].values())
    assert answer.json()["checks"]["queue"]["feeds"] == len(served.urls) - 1


def test_health_is_503_with_the_reason_when_the_database_cannot_be_used(broken: TestClient) -> None:
    answer = broken.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
    database = answer.json()["checks"]["database"]
    assert database["ok"] is False
    assert database["reason"]
    assert "hunter2" not in answer.text


def test_other_endpoints_are_503_problems_when_the_database_cannot_be_used(broken: TestClient) -> None:
    for path in ("/rss/news", "/rss?url=x", "/api/feeds", "/api/feeds/news"):
        answer = broken.get(path)
        assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
        assert "hunter2" not in answer.text


def test_a_folder_with_lock_in_its_name_does_not_hide_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "clockwork"
    folder.mkdir()
    client = TestClient(create_app(make_settings(tmp_path), Store(not_a_database(folder))))
    assert "not a valid DuckDB database" in client.get("/health").json()["checks"]["database"]["reason"]


@pytest.mark.parametrize(("stuck", "status"), [(9, 200), (10, 503)])
def test_health_is_503_when_many_feeds_are_stuck(client: TestClient, store: Store, settings: Settings, stuck: int, status: int) -> None:
    crashed_at = utc_now() - timedelta(hours=1)
    catalog.import_feeds(store, [{"url": f"https://news.example/{number}"} for number in range(stuck)], now=crashed_at)
    claim_due(store, settings, now=crashed_at)
    answer = client.get("/health")
    assert answer.status_code == status
    assert answer.json()["checks"]["leases"] == {"ok": status == 200, "stuck": stuck, "in_flight": 0, "most_stuck": 10}


@pytest.fixture
def small(tmp_path: Path, clock: Clock, server: FeedServer) -> Path:
    """A DuckDB file with one refreshed feed."""
    path = tmp_path / "feeds.duckdb"
    settings = make_settings(tmp_path, DATABASE_URL=f"duckdb:///{path}")
    store = open_store(settings.store_url)
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    return path


def test_the_api_does_not_hold_the_duckdb_file_between_requests(small: Path) -> None:
    with TestClient(create_app(make_settings(small.parent), Store(DuckDBEngine(small)))) as client:
        assert client.get("/rss/news").status_code == 200
        other = subprocess.run([sys.executable, "-c", HOLD, str(small)], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert (other.returncode, other.stdout) == (0, b"held\n")
