"""Readers and writers side by side: what is committed is seen within two seconds, and nobody waits for anybody."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
import uvicorn

from feed_assets.api.app import create_app
from feed_assets.settings import Settings
from feed_assets.store import Store, open_readers
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one

HOLD = """
import sys, time, duckdb
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def api(settings: Settings, store: Store, clock: Clock, server: FeedServer) -> Iterator[str]:
    """The API on a port of its own, with a feed."""
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    app = create_app(settings, open_readers(settings.store_url, memory_mb=64, most_articles=1000))
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join(10)


def seconds_until(api: str, path: str, word: str, patience: float = 5) -> float:
    began = time.monotonic()
    while word not in requests.get(api + path, timeout=5).text:
        assert time.monotonic() - began < patience
        time.sleep(0.02)
    return time.monotonic() - began


def test_a_commit_is_seen_within_two_seconds_everywhere(
    api: str, store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    for word in ("first news", "second news"):
        server.publish("/feed", rss(word, "one"))
        clock.advance(hours=1)
        refresh_one(store, settings, clock)
        for path in ("/rss/news", "/api/articles", "/feeds/news"):
            assert seconds_until(api, path, word) < 2


def wait_until(true: Callable[[], bool], patience: float = 10) -> None:
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_while_a_writer_has_the_file_every_answer_is_quick(api: str, tmp_path: Path) -> None:
    path = str(tmp_path / "feeds.duckdb")
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout and writer.stdout.readline() == "held\n"
        slowest = 0.0
        for path in ("/rss/news", "/api/feeds", "/api/articles", "/", "/api/feeds/news") * 10:
            began = time.monotonic()
            assert requests.get(api + path, timeout=5).status_code == 200
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 0.5
        writer.communicate("done")


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_between_two_looks_the_file_is_free(api: str, tmp_path: Path) -> None:
    requests.get(f"{api}/rss/news", timeout=5)
    command = [sys.executable, "-c", HOLD, str(tmp_path / "feeds.duckdb")]
    ended = [subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20).stdout for _ in range(3)]
    assert ended == [b"held\n"] * 3


def test_a_document_is_always_whole(api: str, store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    """Read all the time while versions follow each other: each answer is one of them, with its own validators."""
    stop, wrong, seen = threading.Event(), [], set()

    def read() -> None:
        while not stop.is_set():
            answer = requests.get(f"{api}/rss/news", timeout=5, headers={"Accept-Encoding": "identity"})
            stories = answer.text.count("<item>")
            seen.add(answer.headers["ETag"])
            if not answer.text.endswith("</rss>\n") or f"version {stories - 1} " not in answer.text + " version 0 ":
                wrong.append(answer.text)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    names = ["one"]
    for number in range(1, 12):
        names.insert(0, f"version {number} of the story {number}")
        server.publish("/feed", rss(*names))
        clock.advance(minutes=30)
        refresh_one(store, settings, clock)
        wait_until(lambda number=number: len(seen) > number)
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == [] and len(seen) == 12
