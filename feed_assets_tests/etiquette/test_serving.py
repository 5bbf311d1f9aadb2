"""Rule 17: what we serve follows the same rules. Our own fetcher, as a guest of our own API, is the judge."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import pytest
import uvicorn

from feed_assets.api.app import create_app
from feed_assets.api.watch import Watcher
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store, open_readers
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine


class Api(NamedTuple):
    url: str
    watcher: Watcher

    def settle(self) -> None:
        """Until it has seen the last commit, which takes two seconds at most."""
        deadline = time.monotonic() + 2
        while not self.watcher.catch_up():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture
def api(settings: Settings, store: Store) -> Iterator[Api]:
    """The API on a port of its own."""
    app = create_app(settings, open_readers(settings.store_url, memory_mb=64, most_articles=1000))
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 5
    while not running.started:
        assert time.monotonic() < deadline, "the API does not start"
        time.sleep(0.01)
    yield Api(f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}", app.state.watcher)
    running.should_exit = True
    thread.join(5)


def test_rule_17_our_own_feeds_answer_as_we_ask_of_others(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, api: Api
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two")), "news", refresh_interval_minutes=40)
    refresh_one(store, settings, clock)
    api.settle()
    add(store, clock, f"{api.url}/rss/news", "guest")
    first = refresh_one(store, settings, clock, "guest")
    assert (first.status_code, first.found) == (200, 2)
    assert first.next_run_at and first.next_run_at >= clock() + timedelta(minutes=40)
    rows = look(store)
    cached, schedule = rows.of("cached_feeds"), rows.schedule("guest")
    assert schedule["etag"] == f'{cached["etag"][:-1]}-gzip"'  # a packed body is another representation
    assert schedule["last_modified"] == f"{cached['updated_at']:%a, %d %b %Y %H:%M:%S} GMT"
    clock.advance(minutes=40)
    second = refresh_one(store, settings, clock, "guest")
    assert (second.status_code, second.bytes_received) == (304, 0)
    assert second.next_run_at and second.next_run_at >= clock() + timedelta(minutes=40)


@one_engine
def test_rule_17_news_change_the_validators_and_nothing_else_does(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, api: Api
) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    add(store, clock, f"{api.url}/rss/news", "guest")
    statuses = []
    for titles in (["one"], ["one"], ["two", "one"], ["two", "one"]):
        server.publish("/feed", rss(*titles))
        for feed_id in ("news", "guest"):
            api.settle()
            [report] = refresh_feeds(store, settings, [feed_id], clock=clock)
        statuses.append(report.status_code)
        clock.advance(hours=1)
    assert statuses == [200, 304, 200, 304]
