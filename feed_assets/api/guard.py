"""What holds for every request: its size, how many a client may send, who may read the answer, and what a browser may do with it."""

from __future__ import annotations

import gzip
import json
import time
from collections import OrderedDict
from http import HTTPStatus

from feed_assets.api.asgi import App, Message, Receive, Scope, Send, header, takes_gzip
from feed_assets.api.express import Express
from feed_assets.api.shelf import Shelf
from feed_assets.api.watch import Watcher
from feed_assets.settings import Settings

LONGEST_URL = 16_384
_LARGEST_BODY = 65_536
_MOST_CLIENTS = 10_000
_READS = ("GET", "HEAD")
_WORTH_PACKING = 1000  # bytes
_PACKED = (b"application/json", b"application/problem+json", b"text/", b"application/xml")

# Pages take nothing from elsewhere, run no script but ours, and are nobody's frame.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"ETag, Last-Modified, Link, Retry-After, Warning"),
]
_PAGE_HEADERS = [(b"content-security-policy", CONTENT_POLICY.encode())]
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"If-None-Match, If-Modified-Since"),
    (b"access-control-max-age", b"86400"),
]


class Guard:
    """ASGI, and no framework: it stands before every request, the ones that take no time as well."""

    def __init__(self, app: App, *, settings: Settings, shelf: Shelf, watcher: Watcher) -> None:
        self._app = app
        self._express = Express(shelf, watcher, _HEADERS)
        self._per_minute = settings.api_rate_limit
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_URL:
            await _refuse(send, 414, f"the URL is longer than {LONGEST_URL} bytes")
        elif _announced(scope) > _LARGEST_BODY:
            await _refuse(send, 413, f"no request needs a body of more than {_LARGEST_BODY} bytes")
        elif self._per_minute and (wait := self._must_wait(scope)):
            await _refuse(send, 429, "too many requests; the operator limits them (API_RATE_LIMIT)", [(b"retry-after", str(wait).encode())])
        elif scope["method"] == "OPTIONS":
            await _answer(send, 204, b"", [*_HEADERS, *_PREFLIGHT])
        elif scope["path"].startswith("/api/") and (b"=&" in scope["query_string"] or scope["query_string"].endswith(b"=")):
            given = b"&".join(part for part in scope["query_string"].split(b"&") if not part.endswith(b"="))
            await self._app({**scope, "query_string": given}, _limited(receive), _finishing(scope, send))  # empty fields of a form
        elif not (scope["path"].startswith("/rss") and scope["method"] in _READS and await self._express.serve(scope, send)):
            await self._app(scope, _limited(receive), _finishing(scope, send))

    def _must_wait(self, scope: Scope) -> int:
        """Seconds until this client may ask again; a minute's worth may come at once."""
        client, now = (scope.get("client") or ("", 0))[0], time.monotonic()
        left, at = self._clients.pop(client, (float(self._per_minute), now))
        left = min(left + (now - at) * self._per_minute / 60, float(self._per_minute))
        self._clients[client] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0 if left >= 1 else max(round((1 - left) * 60 / self._per_minute), 1)


def _announced(scope: Scope) -> int:
    length = header(scope, b"content-length")
    return int(length) if length.isdigit() else 0


def _limited(receive: Receive) -> Receive:
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > _LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return limited


def _finishing(scope: Scope, send: Send) -> Send:
    """With the headers that all answers have; texts are packed for those who take gzip, unless they are already."""
    start: Message | None = None
    packs = False

    async def finishing(message: Message) -> None:
        nonlocal start, packs
        if message["type"] == "http.response.start":
            headers = message["headers"]
            headers += _HEADERS
            kind = next((value for name, value in headers if name == b"content-type"), b"")
            if kind.startswith(b"text/html"):
                headers += _PAGE_HEADERS
            packs = kind.startswith(_PACKED) and not any(name == b"content-encoding" for name, _ in headers)
            if packs:
                start = message
                return
        elif packs and start is not None:
            begun, start = start, None
            if not message.get("more_body") and message["type"] == "http.response.body":
                begun["headers"].append((b"vary", b"Accept-Encoding"))
                body = message.get("body", b"")
                if len(body) >= _WORTH_PACKING and takes_gzip(header(scope, b"accept-encoding")):
                    body = gzip.compress(body, 4, mtime=0)
                    begun["headers"] = [pair for pair in begun["headers"] if pair[0] != b"content-length"]
                    begun["headers"] += [(b"content-encoding", b"gzip"), (b"content-length", str(len(body)).encode())]
                    message = {**message, "body": body}
            await send(begun)
        await send(message)

    return finishing


async def _refuse(send: Send, status: int, detail: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    await _answer(send, status, json.dumps(body).encode(), [*_HEADERS, (b"content-type", b"application/problem+json"), *(headers or [])])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", str(len(body)).encode())]},
    )
    await send({"type": "http.response.body", "body": body})
