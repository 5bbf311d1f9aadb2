"""A publisher for benchmarks: a process of its own, precomputed bytes, many loopback addresses.

Paths say what a feed does: /ok/N answers at once (304 when asked with the ETag), /slow/N after five seconds, /hang/N never.
`python -m benchmarks.publisher HOSTS ITEMS` prints its port and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator

ITEMS = int(sys.argv[2]) if len(sys.argv) > 2 and __name__ == "__main__" else 30


def address(host: int) -> str:
    """The loopback address of host number `host`."""
    return f"127.1.{host // 250}.{host % 250 + 1}"


def document(name: str) -> bytes:
    items = "".join(
        f"<item><title>Story {n} of {name}</title><link>https://{name}.example/{n}</link><guid>{name}-{n}</guid>"
        f"<pubDate>Mon, 02 Mar 2026 {n % 24:02d}:00:00 GMT</pubDate><description>{'Some words about it. ' * 40}</description></item>"
        for n in range(ITEMS)
    )
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>{name}</title>{items}</channel></rss>".encode()


def _answer(head: bytes, path: str) -> bytes:
    if b'if-none-match: "1"' in head.lower():
        return b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nDate: Mon, 02 Mar 2026 12:00:00 GMT\r\n\r\n'
    body = document(path.strip("/").replace("/", "-"))
    return (
        b'HTTP/1.1 200 OK\r\nETag: "1"\r\nDate: Mon, 02 Mar 2026 12:00:00 GMT\r\nContent-Type: application/rss+xml\r\n'
        b"Content-Length: %d\r\n\r\n" % len(body)
    ) + body


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            if path.startswith("/hang"):
                await asyncio.sleep(3600)
            if path.startswith("/slow"):
                await asyncio.sleep(5)
            writer.write(_answer(head, path))
            await writer.drain()
    writer.close()


async def _main(hosts: int) -> None:
    first = await asyncio.start_server(_serve, address(0), 0, backlog=512)
    port = first.sockets[0].getsockname()[1]
    servers = [first] + [await asyncio.start_server(_serve, address(host), port, backlog=64) for host in range(1, hosts)]
    print(port, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


@contextlib.contextmanager
def running(hosts: int, items: int = 30) -> Iterator[int]:
    """A publisher in a process of its own; gives its port."""
    command = [sys.executable, "-m", "benchmarks.publisher", str(hosts), str(items)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
