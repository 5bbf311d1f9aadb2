"""The database goes away and comes back: documents are served all the while, and health says what is wrong."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from feed_assets.api import watch
from feed_assets.api.app import create_app
from feed_assets.settings import Settings
from feed_assets.store import Store, open_readers, open_store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.chaos import Server
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.stop()
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


def served(settings: Settings, store: Store, clock: Clock, server: FeedServer) -> TestClient:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    return TestClient(create_app(settings, open_readers(settings.store_url, memory_mb=64, most_articles=1000)))


def await_health(client: TestClient, status: int, seconds: float = 40) -> dict[str, object]:
    deadline = time.monotonic() + seconds
    while (answer := client.get("/health")).status_code != status:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.2)
    found: dict[str, object] = answer.json()["checks"]
    return found


def test_a_killed_server_leaves_documents_served_and_health_red_until_it_is_back(
    tmp_path: Path, postgres: Server, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_FRESH_SECONDS", 1.0)
    settings = make_settings(tmp_path, DATABASE_URL=postgres.url)
    store = open_store(settings.store_url)
    with served(settings, store, clock, server) as client:
        before = client.get("/rss/news")
        assert (before.status_code, before.headers.get("Warning")) == (200, None)
        postgres.kill()
        reason = await_health(client, 503)["database"]
        assert isinstance(reason, dict) and reason["reason"]
        time.sleep(1.1)
        during = client.get("/rss/news")
        assert (during.status_code, during.text) == (200, before.text)
        assert during.headers["Warning"].startswith("110") and int(during.headers["Age"]) >= 1
        assert client.get("/api/feeds").status_code == 503
        assert (client.get("/health/live").status_code, client.get("/health/ready").status_code) == (200, 200)
        assert "has not answered" in client.get("/docs").text
        postgres.start()
        await_health(client, 200)
        assert client.get("/rss/news").headers.get("Warning") is None
        assert client.get("/api/feeds").status_code == 200
    store.close()


def test_a_file_that_is_gone_is_served_from_the_copy_until_it_is_back(
    tmp_path: Path, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_FRESH_SECONDS", 1.0)
    settings = make_settings(tmp_path, DATABASE_URL=f"duckdb:///{tmp_path / 'feeds.duckdb'}")
    with served(settings, open_store(settings.store_url), clock, server) as client:
        assert client.get("/rss/news").status_code == 200
        (tmp_path / "feeds.duckdb").rename(tmp_path / "elsewhere")
        await_health(client, 503)
        time.sleep(1.1)
        assert client.get("/rss/news").headers["Warning"].startswith("110")
        assert client.get("/api/feeds").json()["feeds"][0]["feed_id"] == "news"
        (tmp_path / "elsewhere").rename(tmp_path / "feeds.duckdb")
        await_health(client, 200)
        assert client.get("/rss/news").headers.get("Warning") is None
