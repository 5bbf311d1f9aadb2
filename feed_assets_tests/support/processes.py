"""What tests with processes of their own need: a port that is free, and patience."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(wanted: Callable[[], Value], seconds: float) -> Value:
    """Wait for something to come true."""
    deadline = time.monotonic() + seconds
    while not (value := wanted()):
        assert time.monotonic() < deadline, f"not within {seconds} s; now: {value!r}"
        time.sleep(0.25)
    return value
