"""A real HTTP server on loopback whose answers a test sets, and that remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    then: Callable[[], None] | None = None  # called while the client waits
    raw: bytes | None = None  # sent instead of a proper response


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]


class FeedServer:
    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
                answer = outer.answers.get(self.path, Answer(404, b"no"))
                if answer.then:
                    answer.then()
                if answer.raw is not None:
                    self.wfile.write(answer.raw)
                    self.close_connection = True
                    return
                status, body = answer.status, answer.body
                etag = answer.headers.get("ETag")
                if status == 200 and etag and self.headers.get("If-None-Match") == etag:
                    status, body = 304, b""
                self.send_response(status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in answer.headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def publish(self, path: str, body: str | bytes, **headers: str) -> str:
        """Answer 200 with this body; gives the URL."""
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = Answer(200, data, {name.replace("_", "-"): value for name, value in headers.items()})
        return self.base + path

    def fail(self, path: str, status: int, **headers: str) -> str:
        self.answers[path] = Answer(status, b"no", {name.replace("_", "-"): value for name, value in headers.items()})
        return self.base + path

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def rss(*titles: str, base: str = "https://news.example", day: int = 1, extra: str = "") -> str:
    """A small RSS feed; the titles are newest first, the guids are made of them."""
    items = "".join(
        f"<item><title>{title}</title><link>{base}/{title.replace(' ', '-')}</link><guid isPermaLink='false'>id-{title}</guid>"
        f"<pubDate>Sun, {day:02d} Mar 2026 {10 - number % 10:02d}:00:00 GMT</pubDate><description>About {title}</description></item>"
        for number, title in enumerate(titles)
    )
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>News</title><link>{base}/</link>{extra}{items}</channel></rss>"
