"""The publisher's HTTP server: several loopback addresses, conditional GET, gzip, and the faults of the faulty feeds."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from feed_assets.demo.feeds import DEMO_FEEDS, DemoFeed
from feed_assets.demo.render import CONTENT_TYPES, render

_FEEDS_PER_HOST = 3
_STATUS = {"404": 404, "410": 410, "401": 401, "429": 429, "500": 500}


def _places() -> dict[str, list[DemoFeed]]:
    """A few feeds per loopback address, so that politeness towards hosts has something to do. A host that says 429 or that hangs
    is left alone with all its feeds, so those two have no neighbours."""
    alone = [feed for feed in DEMO_FEEDS if feed.fault in ("429", "timeout")]
    others = [feed for feed in DEMO_FEEDS if feed not in alone]
    groups = [others[start : start + _FEEDS_PER_HOST] for start in range(0, len(others), _FEEDS_PER_HOST)] + [[feed] for feed in alone]
    if sys.platform != "linux":  # elsewhere only this one is set up
        return {"127.0.0.1": list(DEMO_FEEDS)}
    return {f"127.0.0.{number}": group for number, group in enumerate(groups, start=1)}


def demo_urls(port: int) -> dict[str, str]:
    """Where the feeds of a publisher on this port are, by name."""
    return {feed.name: f"http://{address}:{port}/feeds/{feed.name}" for address, group in _places().items() for feed in group}


class Publisher:
    """Serves the demo feeds until it is closed. `log` has every request: (address, path, status)."""

    def __init__(self, *, port: int = 0, clock: Callable[[], datetime] | None = None, log_file: Path | None = None) -> None:
        self.clock = clock or (lambda: datetime.now(UTC))
        self.log: list[tuple[str, str, int]] = []
        self._log_file = log_file
        self._closing = threading.Event()
        self._servers: list[_Server] = []
        self.urls: dict[str, str] = {}
        for address, group in _places().items():
            server = self._listen(address, port)
            port = server.server_port
            self.urls |= {feed.name: f"{server.base}/feeds/{feed.name}" for feed in group}
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(self, address: str, path: str, status: int) -> None:
        self.log.append((address, path, status))
        if self._log_file is not None:
            with self._log_file.open("a") as file:
                file.write(json.dumps({"at": self.clock().isoformat(), "address": address, "path": path, "status": status}) + "\n")

    def sleep(self, seconds: float) -> None:
        """Keep a client waiting, but not the end of the demo."""
        self._closing.wait(seconds)

    def _listen(self, address: str, port: int) -> _Server:
        server = _Server(self, address, port)
        self._servers.append(server)
        return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, publisher: Publisher, address: str, port: int) -> None:
        self.publisher = publisher
        super().__init__((address, port), _Handler)
        self.base = f"http://{address}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        feeds = {f"/feeds/{feed.name}": feed for feed in DEMO_FEEDS}
        path = self.path.partition("?")[0]
        moved = path.startswith("/moved/")
        feed = feeds.get(path.replace("/moved/", "/feeds/"))
        if feed is not None:
            self._feed(feed, faulty=not moved)
        elif path == "/" or path.startswith("/stories/"):
            links = "".join(f'<li><a href="{url}">{html.escape(name)}</a></li>' for name, url in self.server.publisher.urls.items())
            self._send(200, f"<!doctype html><title>Demo publisher</title><h1>Demo publisher</h1><ul>{links}</ul>".encode(), "text/html")
        else:
            self._send(404, b"not here\n", "text/plain")

    def _feed(self, feed: DemoFeed, *, faulty: bool) -> None:
        now = self.server.publisher.clock()
        fault = feed.fault if faulty else None
        if fault == "flaky":
            fault = "500" if int(now.timestamp() // 60) % 3 == 0 else None
        if fault in ("301", "302"):
            self._send(int(fault), b"", "text/plain", {"Location": f"/moved/{feed.name}"})
        elif fault == "timeout":
            self.server.publisher.record(str(self.server.server_address[0]), self.path, 0)
            self.server.publisher.sleep(60)
            self.close_connection = True
        elif fault in _STATUS:
            self._send(_STATUS[fault], b"sorry\n", "text/plain", {"Retry-After": "120"} if fault == "429" else {})
        elif fault == "html":
            self._send(200, b"<!doctype html><title>A homepage</title><p>No feed here.", "text/html")
        elif fault == "broken-xml":
            self._send(200, b"\x00\x01<<<rss>this never was XML</", "application/rss+xml")
        else:
            self._document(render(feed, self.server.base, now), CONTENT_TYPES[feed.format])

    def _document(self, body: bytes, content_type: str) -> None:
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if self.headers.get("If-None-Match") == etag:
            self._send(304, b"", content_type, {"ETag": etag})
        else:
            self._send(200, body, content_type, {"ETag": etag})

    def _send(self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> None:
        self.server.publisher.record(str(self.server.server_address[0]), self.path, status)
        extra = dict(headers or {})
        if "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 500:
            body = gzip.compress(body, 5)
            extra["Content-Encoding"] = "gzip"
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The publisher keeps its own log."""


def serve_forever(port: int, log_file: Path | None) -> None:
    """Run the publisher until the process is told to stop."""
    with Publisher(port=port, log_file=log_file):
        while True:
            time.sleep(3600)
