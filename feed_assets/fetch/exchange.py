"""The bounds of one exchange: a deadline and a number of bytes, held at every read of the socket, whatever layer reads.

HTTP libraries know a timeout per read. A server that drips a byte a second, into headers or body, never runs into that.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class DeadlineExceeded(Exception):
    """The whole exchange took longer than JOB_TIMEOUT_SECONDS."""


class TooMuchData(Exception):
    """More came over the wire than a feed may send; the text says of what."""


class Exchange:
    """What one try at a URL may still take. `connected`, `received` and `answered` tell how far it got."""

    def __init__(self, *, seconds: float, spent: float = 0.0, patience: float, header_bytes: int) -> None:
        self._ends = time.monotonic() + seconds - spent
        self._seconds = seconds
        self._patience = patience
        self._left = header_bytes
        self._part = "headers"
        self.connected = False
        self.answered = False
        self.received = 0

    def wait(self) -> float:
        """How long the next step may block."""
        left = self._ends - time.monotonic()
        if left <= 0.01:
            raise DeadlineExceeded(f"not done within {self._seconds:g} s")
        return min(self._patience, left)

    def headers_are_in(self, body_bytes: int) -> None:
        """From now on it is the body that counts."""
        self._part, self._left, self.answered = "body", body_bytes, True

    def hurry(self, seconds: float) -> None:
        """What is left is worth this much time and no more."""
        self._ends = min(self._ends, time.monotonic() + seconds)

    def took(self, count: int) -> None:
        self.received += count
        self._left -= count
        if self._left < 0:
            raise TooMuchData(f"the server's {self._part} are too large" if self._part == "headers" else "the body is too large")


_current = threading.local()


def current() -> Exchange | None:
    """The exchange of this thread, if it is in one."""
    return getattr(_current, "exchange", None)


@contextmanager
def within(exchange: Exchange) -> Iterator[Exchange]:
    _current.exchange = exchange
    try:
        yield exchange
    finally:
        _current.exchange = None


def _bounded(read: Callable[..., int]) -> Callable[..., int]:
    """A socket's `recv_into`, held to the exchange that its thread is in."""

    def recv_into(sock: socket.socket, *args: Any, **options: Any) -> int:
        exchange = current()
        if exchange is None:
            return read(sock, *args, **options)
        sock.settimeout(exchange.wait())
        try:
            count = read(sock, *args, **options)
        except TimeoutError as error:
            late = error
        else:
            exchange.took(count)
            return count
        exchange.wait()  # says so when it was the deadline that came
        raise late

    return recv_into


class BoundedSocket(socket.socket):
    recv_into = _bounded(socket.socket.recv_into)


class _BoundedTLSSocket(ssl.SSLSocket):
    recv_into = _bounded(ssl.SSLSocket.recv_into)


@cache
def tls_context() -> ssl.SSLContext:
    """One for all, never to be changed. Certificates are verified by what the system trusts (SSL_CERT_FILE) and by certifi's list."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.sslsocket_class = _BoundedTLSSocket
    return context
