"""The words of ASGI, and the little that its users here share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_NEVER = (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")


def takes_gzip(accepted: bytes) -> bool:
    """Whether a client with this Accept-Encoding takes gzip."""
    if b"gzip" not in accepted and b"*" not in accepted:
        return False
    for part in accepted.lower().split(b","):
        coding, _, quality = part.partition(b";")
        if coding.strip() in (b"gzip", b"x-gzip", b"*"):
            return quality.replace(b" ", b"") not in _NEVER
    return False


def header(scope: Scope, wanted: bytes) -> bytes:
    for name, value in scope["headers"]:
        if name == wanted:
            found: bytes = value
            return found
    return b""
