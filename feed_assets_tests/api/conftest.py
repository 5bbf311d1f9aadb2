"""The API over a store of each engine: one that tests only read from (`served`), and one of a test's own (`client`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient

from feed_assets import catalog
from feed_assets.api.app import create_app
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store, open_readers, open_store
from feed_assets_tests.conftest import ENGINES, make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.databases import drop_postgres_database, new_database
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one

BARE = "<rss version='2.0'><channel><title>Bare</title><item><title>one</title><guid>1</guid></item></channel></rss>"


class Client(TestClient):
    """Sees what was committed last. A browser or a program sees it within two seconds: see `test_freshness`."""

    def request(self, *args: Any, **options: Any) -> Any:
        watcher = self.app.state.watcher  # type: ignore[attr-defined]
        deadline = time.monotonic() + 10
        while not watcher.catch_up() and time.monotonic() < deadline:
            time.sleep(0.02)
        return super().request(*args, **options)


def readers(settings: Settings) -> Store:
    """The store as the API opens it."""
    return open_readers(settings.store_url, memory_mb=64, most_articles=1000)


class Served(NamedTuple):
    client: TestClient
    store: Store
    urls: dict[str, str]


@pytest.fixture(scope="package", params=ENGINES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Feeds in every state, refreshed from a server on loopback. For tests that change nothing."""
    folder = tmp_path_factory.mktemp("served")
    database_url = new_database(request.param, folder)
    settings, store, clock, server = make_settings(folder, DATABASE_URL=database_url), open_store(database_url), Clock(), FeedServer()
    clock.advance(seconds=1.234567)
    urls = {
        "news": server.publish("/news?a=1&b=x%20y", rss("one", "two &amp; three", "four")),
        "long": server.publish("/long", rss(*(f"story {number}" for number in range(40)))),
        "private": server.publish("/bare", BARE).replace("http://", "http://reader:hunter2@"),
        "failing": server.fail("/failing", 410),
        "disabled": server.publish("/disabled", rss("one")),
        "deleted": server.publish("/deleted", rss("one")),
        "later": server.publish("/later", rss("one")),
    }
    catalog.import_feeds(store, [{"id": name, "url": url} for name, url in urls.items()], now=clock())
    assert len(list(refresh_feeds(store, settings, [name for name in urls if name != "later"], clock=clock))) == len(urls) - 1
    catalog.edit_feed(store, settings, "disabled", now=clock(), enabled=False)
    catalog.delete_feed(store, "deleted", now=clock())
    server.close()
    with Client(create_app(settings, readers(settings))) as client:
        yield Served(client, store, urls)
    store.close()
    if request.param == "postgres":
        drop_postgres_database(database_url)


@pytest.fixture
def client(settings: Settings, store: Store) -> Iterator[TestClient]:
    with Client(create_app(settings, readers(settings))) as running:
        yield running


@pytest.fixture
def news_url(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> str:
    """The URL of the feed `news` of a test's own, refreshed once."""
    add(store, clock, server.publish("/feed", rss("one", "two", "three")))
    assert refresh_one(store, settings, clock).new == 3
    return server.base + "/feed"
