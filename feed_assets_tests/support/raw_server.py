"""A server on loopback that speaks no HTTP of its own: a test writes to the socket byte by byte."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Script = Callable[[socket.socket], None]


@contextmanager
def raw_server(script: Script) -> Iterator[str]:
    """The base URL of a server that reads a request, runs `script` on the connection and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            script(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def drip(connection: socket.socket, data: bytes, *, seconds: float, times: int) -> None:
    """Send `data` so many times, with a pause before each."""
    for _ in range(times):
        time.sleep(seconds)
        connection.sendall(data)
