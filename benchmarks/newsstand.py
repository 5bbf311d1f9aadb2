"""Many feeds with articles as publishers write them, served from memory: 34 kB with 30 items each, packed or not, with an ETag.

    python -m benchmarks.newsstand FEEDS

Prints its port and serves until it is killed. `/feed/N` is a feed; `/advance?percent=20&round=1` puts new items on top of so many of
them and answers how many those were; `/seen` answers the statuses given since it was last asked. Feeds are spread over a thousand
loopback addresses.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

import requests

ITEMS = 30
HOSTS = 1000
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_TEXT_LENGTH = 800  # with titles, links and markup, 34 kB for 30 items


def address(feed: int) -> str:
    """The loopback address that serves a feed."""
    host = feed % HOSTS
    return f"127.1.{host // 250}.{host % 250 + 1}"


def urls(feeds: int, port: int) -> list[str]:
    return [f"http://{address(feed)}:{port}/feed/{feed}" for feed in range(feeds)]


class Stand:
    """The documents. A version of a feed adds an item on top and drops one at the bottom."""

    def __init__(self, feeds: int) -> None:
        chance = random.Random(2026)
        self._words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(3, 9))) for _ in range(4000)]
        self._prose = " ".join(chance.choices(self._words, k=60_000))
        self.versions = [0] * feeds
        self.documents = [self._packed(feed) for feed in range(feeds)]
        self.seen: Counter[int] = Counter()

    def _item(self, feed: int, number: int) -> str:
        chance = random.Random(feed * 1_000_003 + number)
        start = chance.randrange(len(self._prose) - _TEXT_LENGTH)
        title = " ".join(chance.choices(self._words, k=8))
        return (
            f"<item><title>{title}</title><link>https://site-{feed}.example/{number}/{title.replace(' ', '-')}</link>"
            f"<guid isPermaLink='false'>site-{feed}-{number}</guid>"
            f"<pubDate>{format_datetime(_BEGINNING + timedelta(minutes=47 * number + feed % 47))}</pubDate>"
            f"<category>news</category><description>&lt;p&gt;{self._prose[start : start + _TEXT_LENGTH]}&lt;/p&gt;</description></item>\n"
        )

    def _packed(self, feed: int) -> bytes:
        version = self.versions[feed]
        items = "".join(self._item(feed, number) for number in range(version + ITEMS - 1, version - 1, -1))
        head = f"<title>Site {feed}</title><link>https://site-{feed}.example/</link><description>News of site {feed}</description>"
        document = f"<?xml version='1.0' encoding='utf-8'?>\n<rss version='2.0'><channel>{head}\n{items}</channel></rss>"
        return gzip.compress(document.encode(), 6, mtime=0)

    def advance(self, percent: float, turn: int) -> int:
        chosen = random.Random(turn).sample(range(len(self.versions)), round(len(self.versions) * percent / 100))
        for feed in chosen:
            self.versions[feed] += 1
            self.documents[feed] = self._packed(feed)
        return len(chosen)

    def answer(self, head: bytes) -> bytes:
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/feed/"):
            return self._feed(int(path[6:]), head.lower())
        asked = urlsplit(path)
        if asked.path == "/advance":
            options = parse_qs(asked.query)
            return _whole(json.dumps(self.advance(float(options["percent"][0]), int(options["round"][0]))).encode())
        seen, self.seen = self.seen, Counter()
        return _whole(json.dumps(seen).encode())

    def _feed(self, feed: int, head: bytes) -> bytes:
        etag = b'"%d"' % self.versions[feed]
        if b"if-none-match: " + etag in head:
            self.seen[304] += 1
            return b"HTTP/1.1 304 Not Modified\r\nETag: " + etag + b"\r\n\r\n"
        self.seen[200] += 1
        body, packed = self.documents[feed], b"gzip" in head
        kind = b"Content-Type: application/rss+xml\r\nETag: " + etag + (b"\r\nContent-Encoding: gzip" if packed else b"")
        return _whole(body if packed else gzip.decompress(body), kind)


def _whole(body: bytes, headers: bytes = b"Content-Type: application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + headers + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class _Connection(asyncio.Protocol):
    def __init__(self, stand: Stand) -> None:
        self._stand = stand
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            self._transport.write(self._stand.answer(head + b"\r\n"))  # type: ignore[attr-defined]


async def _main(feeds: int) -> None:
    stand, loop = Stand(feeds), asyncio.get_running_loop()
    servers = [await loop.create_server(lambda: _Connection(stand), address(0), 0, backlog=512)]
    port = servers[0].sockets[0].getsockname()[1]
    servers += [await loop.create_server(lambda: _Connection(stand), address(feed), port, backlog=64) for feed in range(1, HOSTS)]
    print(port, flush=True)
    await asyncio.Event().wait()


class Newsstand:
    """The publisher, from outside."""

    def __init__(self, feeds: int, port: int) -> None:
        self.urls = urls(feeds, port)
        self._control = f"http://{address(0)}:{port}"

    def advance(self, percent: float, turn: int) -> int:
        return int(requests.get(f"{self._control}/advance?percent={percent}&round={turn}", timeout=600).json())

    def seen(self) -> dict[int, int]:
        return {int(status): count for status, count in requests.get(f"{self._control}/seen", timeout=60).json().items()}


@contextlib.contextmanager
def open_newsstand(feeds: int) -> Iterator[Newsstand]:
    """A publisher in a process of its own."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.newsstand", str(feeds)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Newsstand(feeds, int(process.stdout.readline()))
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
