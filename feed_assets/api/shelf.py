"""The shelf: finished documents in memory, and which feed a request means. Serving from here asks no database.

`update` brings it in step with the store. What does not fit is left out, the longest unused first, and read again when asked for.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from feed_assets.store import Address, CachedFeed, Transaction
from feed_assets.urls import lenient_key

_LOOK_BACK = timedelta(minutes=15)  # transactions end in another order than they begin
_AT_ONCE = 50  # documents
_ALL_SECONDS = 300.0  # intervals of feeds that publish nothing change as well
_COMPRESSION = 5
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Document:
    """A version of a finished document, as it goes over the wire. A packed body is another representation, with an ETag of its own."""

    __slots__ = ("etag", "headers", "last_modified", "packed", "packed_etag", "packed_headers", "size", "unpacked", "updated_at")

    def __init__(self, xml: str, etag: str, updated_at: datetime) -> None:
        plain = xml.encode()
        self.etag, self.packed_etag = etag, f'{etag[:-1]}-gzip"'
        self.updated_at, self.last_modified = updated_at, format_datetime(updated_at, usegmt=True)
        self.packed, self.size = gzip.compress(plain, _COMPRESSION, mtime=0), len(plain)
        self.unpacked: bytes | None = None
        self.headers = _headers(self.etag, self.last_modified, self.size)
        self.packed_headers = [*_headers(self.packed_etag, self.last_modified, len(self.packed)), (b"content-encoding", b"gzip")]

    @property
    def plain(self) -> bytes:
        """Unpacked when somebody wants it so, and kept: most readers take what is packed."""
        if self.unpacked is None:
            self.unpacked = gzip.decompress(self.packed)
        return self.unpacked

    @property
    def bytes_kept(self) -> int:
        return len(self.packed) + (self.size if self.unpacked is not None else 0)


def _headers(etag: str, last_modified: str, length: int) -> list[tuple[bytes, bytes]]:
    return [
        (b"etag", etag.encode()),
        (b"last-modified", last_modified.encode()),
        (b"vary", b"Accept-Encoding"),
        (b"content-type", b"application/rss+xml; charset=utf-8"),
        (b"content-length", str(length).encode()),
    ]


class Shelf:
    def __init__(self, megabytes: int) -> None:
        self._limit = megabytes * 1024 * 1024
        self._used = 0
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self._etags: dict[str, str] = {}  # of all that is published, on the shelf or not
        self._newest = _BEGINNING
        self._version: tuple[object, ...] | None = None
        self._taken_at = 0.0
        self._addresses: dict[str, Address] = {}
        self._by_url: dict[str, str] = {}
        self._by_key: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self.edition = 0  # counts the changes

    def find(self, url: str) -> Address | None:
        """The feed at this URL: exactly, or else the only one at a URL that differs in encoding or a last slash."""
        feed_id = self._by_url.get(url)
        if feed_id is None:
            alike = self._by_key.get(lenient_key(url), ())
            feed_id = alike[0] if len(alike) == 1 else None
        return self._addresses.get(feed_id) if feed_id else None

    def address(self, feed_id: str) -> Address | None:
        return self._addresses.get(feed_id)

    def addresses(self) -> list[Address]:
        return list(self._addresses.values())

    def is_published(self, feed_id: str) -> bool:
        return feed_id in self._etags

    def get(self, feed_id: str) -> Document | None:
        """The current document, when it is here."""
        with self._lock:
            document = self._documents.get(feed_id)
            if document is not None:
                self._documents.move_to_end(feed_id)
            return document

    def put(self, feed_id: str, document: Document) -> None:
        with self._lock:
            if old := self._documents.pop(feed_id, None):
                self._used -= old.bytes_kept
            self._documents[feed_id] = document
            self._used += document.bytes_kept
            self._make_room()

    def plain(self, feed_id: str, document: Document) -> bytes:
        """The document for those who take nothing packed."""
        if document.unpacked is None:
            with self._lock:
                if document.unpacked is None and self._documents.get(feed_id) is document:
                    self._used += document.size
                    _ = document.plain
                    self._make_room()
        return document.plain

    def _make_room(self) -> None:
        while self._used > self._limit and len(self._documents) > 1:
            _, gone = self._documents.popitem(last=False)
            self._used -= gone.bytes_kept

    def update(self, tx: Transaction) -> None:
        """Take what has changed since the last time."""
        version = tx.reading.addresses_version()
        if version != self._version or time.monotonic() - self._taken_at > _ALL_SECONDS:
            self._take_addresses(tx.reading.addresses())
            self._version, self._taken_at = version, time.monotonic()
        since = max(self._newest - _LOOK_BACK, _BEGINNING)
        editions = tx.reading.editions_since(since)
        changed = [feed_id for feed_id, etag in editions.items() if self._etags.get(feed_id) != etag]
        for start in range(0, len(changed), _AT_ONCE):
            self._take_documents(tx.reading.cached(changed[start : start + _AT_ONCE]))
        if changed:
            for address in tx.reading.addresses(changed):  # their intervals have changed, too
                if address.feed_id in self._addresses:
                    self._addresses[address.feed_id] = address
            self.edition += 1

    def _take_documents(self, rows: Iterable[CachedFeed]) -> None:
        for row in rows:
            self.put(row.feed_id, Document(row.xml_content, row.etag, row.updated_at))
            self._etags[row.feed_id] = row.etag
            self._newest = max(self._newest, row.updated_at)

    def _take_addresses(self, addresses: list[Address]) -> None:
        by_key: dict[str, list[str]] = defaultdict(list)
        for address in addresses:
            by_key[lenient_key(address.url)].append(address.feed_id)
        self._addresses = {address.feed_id: address for address in addresses}
        self._by_url = {address.url: address.feed_id for address in addresses}
        self._by_key = dict(by_key)
        self.edition += 1
