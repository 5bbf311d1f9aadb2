"""Ports of this machine: free ones, and what answers on them."""

from __future__ import annotations

import socket

import requests

from feed_assets.errors import FeedAssetsError, UsageError


def free_port(host: str, port: int, option: str) -> int:
    """The port, if it can be listened on; else what to do."""
    if not 1 <= port <= 65_535:
        raise UsageError(f"{port} is not a port; choose 1 to 65535 with {option}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FeedAssetsError(f"port {port} of {host} cannot be used ({reason}); choose another with {option}") from None
    return port


def any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def answers(url: str) -> bool:
    try:
        requests.get(url, timeout=2)
    except requests.RequestException:
        return False
    return True
