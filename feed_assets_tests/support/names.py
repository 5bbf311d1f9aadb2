"""Host names for tests: every name under example.com and example.org is this machine, in this process only."""

from __future__ import annotations

import socket
from typing import Any

import pytest

DOMAINS = ("example.com", "example.org")


def resolve_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    before = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **options: Any) -> Any:
        return before("127.0.0.1" if str(host).endswith(DOMAINS) else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def at(name: str, url: str) -> str:
    """The same place under another host name."""
    return url.replace("127.0.0.1", name)
