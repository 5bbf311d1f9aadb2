"""A client that asks as fast as it can over a few kept connections, or at a fixed pace; and what it saw."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Seen:
    """Statuses, and seconds from asking to the last byte."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    took: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.took if self.took else 0.0

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0

    def add(self, more: Seen) -> None:
        self.statuses += more.statuses
        self.seconds += more.seconds
        self.wrong += more.wrong
        self.took += more.took


class _Connection(asyncio.Protocol):
    """Just enough HTTP for answers that have a length."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.waiting: asyncio.Future[tuple[int, bytes, bytes]] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end]).lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        status = int(head[9:12])
        if status == 304:
            length = 0
        if len(self.buffer) >= end + 4 + length and self.waiting is not None:
            body = bytes(self.buffer[end + 4 : end + 4 + length])
            del self.buffer[: end + 4 + length]
            waiting, self.waiting = self.waiting, None
            waiting.set_result((status, head, body))

    def connection_lost(self, error: Exception | None) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(error or ConnectionResetError())

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes, bytes]]:
        assert self.transport is not None
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.waiting


Check = Callable[[bytes, bytes], str | None]


async def _load(
    port: int, requests: Sequence[bytes], seconds: float, connections: int, per_second: float | None, check: Check | None
) -> Seen:
    loop, seen = asyncio.get_running_loop(), Seen()
    began = time.perf_counter()
    turn = iter(range(10**9))

    async def client() -> None:
        _, connection = await loop.create_connection(_Connection, "127.0.0.1", port)
        while True:
            number = next(turn)
            if per_second:
                due = began + number / per_second
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
            asked = time.perf_counter()
            if asked - began > seconds:
                return
            status, head, body = await connection.ask(requests[number % len(requests)])
            seen.seconds.append(time.perf_counter() - asked)
            seen.statuses[status] += 1
            if check and status == 200 and (wrong := check(head, body)):
                seen.wrong.append(wrong)

    await asyncio.gather(*(client() for _ in range(connections)))
    seen.took = time.perf_counter() - began
    return seen


def load(
    port: int,
    requests: Sequence[bytes],
    *,
    seconds: float,
    connections: int = 16,
    per_second: float | None = None,
    check: Check | None = None,
) -> Seen:
    return asyncio.run(_load(port, requests, seconds, connections, per_second, check))


def get(path: str, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode()
