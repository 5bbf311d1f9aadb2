"""A press that never rests: feeds that publish a new story every few seconds, in a process of its own, until told to stop.

`GET /feed/N` is a feed with its newest items, `POST /stop` ends publishing and answers every id that was ever published.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WINDOW = 60  # items in a document


class Press:
    def __init__(self, feeds: int, seed: int, pause: float) -> None:
        self.chance = random.Random(seed)
        self.items: list[list[str]] = [[self._story(feed, 0)] for feed in range(feeds)]
        self.asked: list[tuple[float, int]] = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        threading.Thread(target=self._publish, args=(pause,), daemon=True).start()

    def _story(self, feed: int, number: int) -> str:
        """An id with words that no other story has, so that none is taken for a copy of another."""
        words = " ".join(f"{self.chance.getrandbits(32):08x}" for _ in range(6))
        return f"{feed}-{number} {words}"

    def _publish(self, pause: float) -> None:
        while not self.stopped.wait(self.chance.expovariate(1 / pause)):
            with self.lock:
                feed = self.chance.randrange(len(self.items))
                self.items[feed].append(self._story(feed, len(self.items[feed])))

    def document(self, feed: int) -> tuple[str, bytes]:
        with self.lock:
            self.asked.append((time.time(), feed))
            stories, number = self.items[feed][-WINDOW:][::-1], len(self.items[feed])
        items = "".join(
            f"<item><guid isPermaLink='false'>{story.split()[0]}</guid><title>{story}</title>"
            f"<link>https://feed-{feed}.example/{story.split()[0]}</link></item>"
            for story in stories
        )
        return f'"{number}"', f"<rss version='2.0'><channel><title>Feed {feed}</title>{items}</channel></rss>".encode()

    def everything(self) -> dict[str, Any]:
        with self.lock:
            return {"ids": [story.split()[0] for stories in self.items for story in stories], "asked": list(self.asked)}


def serve(press: Press) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            etag, body = press.document(int(self.path.rpartition("/")[2]))
            if self.headers.get("If-None-Match") == etag:
                self._answer(304, b"", etag)
            else:
                self._answer(200, body, etag)

        def do_POST(self) -> None:
            if self.path == "/stop":
                press.stopped.set()
            self._answer(200, json.dumps(press.everything()).encode(), '""')

        def _answer(self, status: int, body: bytes, etag: str) -> None:
            self.send_response(status)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("feeds", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("pause", type=float)
    options = parser.parse_args()
    server = serve(Press(options.feeds, options.seed, options.pause))
    print(server.server_port, flush=True)
    server.serve_forever()
