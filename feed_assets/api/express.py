"""The short way for what is asked for most: `/rss?url=` and `/rss/{feed_id}` of documents that lie on the shelf.

Plain ASGI, a few dictionary lookups. Whatever is not quite so goes the long way, through `rss.py`, which answers the same.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from functools import lru_cache
from urllib.parse import unquote_plus

from feed_assets.api.asgi import Scope, Send, takes_gzip
from feed_assets.api.shelf import Document, Shelf
from feed_assets.api.watch import Watcher
from feed_assets.store import Address

_USUAL_SECONDS = 60
_LONGEST_SECONDS = 3600
COMBINED = frozenset({"all", "site", "group"})


def max_age_of(address: Address) -> int:
    """In step with the feed: nothing new comes before its next fetch."""
    return min(address.interval_seconds or _USUAL_SECONDS, _LONGEST_SECONDS)


class Express:
    def __init__(self, shelf: Shelf, watcher: Watcher, headers: list[tuple[bytes, bytes]]) -> None:
        self._shelf = shelf
        self._watcher = watcher
        self._headers = headers  # that every answer has

    async def serve(self, scope: Scope, send: Send) -> bool:
        """Answer, if that is as simple as it mostly is."""
        address = self._wanted(scope)
        if address is None or not address.enabled or self._watcher.is_stale:
            return False
        document = self._shelf.get(address.feed_id)
        if document is None:
            return False
        packs, tags, since = False, None, None
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                packs = takes_gzip(value)
            elif name == b"if-none-match":
                tags = value.decode("latin-1")
            elif name == b"if-modified-since":
                since = value.decode("latin-1")
        headers = [*(document.packed_headers if packs else document.headers), _cache_control(max_age_of(address)), *self._headers]
        if is_current(document, tags, since):
            await send({"type": "http.response.start", "status": 304, "headers": headers[:3] + headers[5 + packs :]})
            await send({"type": "http.response.body", "body": b""})
            return True
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else document.packed if packs else self._shelf.plain(address.feed_id, document)
        await send({"type": "http.response.body", "body": body})
        return True

    def _wanted(self, scope: Scope) -> Address | None:
        path = scope["path"]
        if path == "/rss":
            query = scope["query_string"]
            if query[:4] != b"url=" or b"&" in query:
                return None
            return self._shelf.find(unquote_plus(query[4:].decode("latin-1")))
        feed_id = path[5:]
        return None if feed_id in COMBINED or "/" in feed_id else self._shelf.address(feed_id)


@lru_cache(maxsize=4096)
def _cache_control(seconds: int) -> tuple[bytes, bytes]:
    return b"cache-control", f"public, max-age={seconds}".encode()


def is_current(document: Document, tags: str | None, since: str | None) -> bool:
    """Whether the client has this version already, packed or not. If-None-Match, when given, decides alone."""
    if tags is not None:
        if tags == document.etag or tags == document.packed_etag or tags.strip() == "*":
            return True
        known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return document.etag in known or document.packed_etag in known
    if since is None:
        return False
    if since == document.last_modified:
        return True
    try:
        return document.updated_at <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False
