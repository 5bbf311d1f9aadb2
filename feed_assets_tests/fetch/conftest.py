"""A fetcher for tests, `fetch(url, etag=..., SETTING=...)`, and one server for all of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from feed_assets.fetch import Fetcher
from feed_assets.model import FetchRequest, FetchResult
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer

Fetch = Callable[..., FetchResult]


@pytest.fixture
def fetch(tmp_path: Path, clock: Clock) -> Fetch:
    def once(url: str, *, etag: str | None = None, last_modified: str | None = None, **settings: Any) -> FetchResult:
        with Fetcher(make_settings(tmp_path, **settings), clock) as fetcher:
            return fetcher.fetch(FetchRequest("news", url, etag, last_modified))

    return once


@pytest.fixture(scope="session")
def running_server() -> Iterator[FeedServer]:
    running = FeedServer()
    yield running
    running.close()


@pytest.fixture
def server(running_server: FeedServer) -> FeedServer:
    running_server.answers.clear()
    running_server.asked.clear()
    return running_server


@pytest.fixture
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that knows nobody, so that no test asks a real one."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
