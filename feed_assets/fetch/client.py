"""One polite GET: conditional, bounded in time and size, without cookies, and never raising.

Redirects are not followed here: each hop is a request to some host, and whose turn that is others decide.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
from requests.utils import requote_uri
from urllib3.exceptions import ProtocolError

from feed_assets.fetch import outcome
from feed_assets.fetch.decode import ACCEPT_ENCODING, decoded
from feed_assets.fetch.exchange import Exchange, within
from feed_assets.fetch.guard import Guard, GuardedAdapter
from feed_assets.fetch.hints import max_age_seconds, retry_after
from feed_assets.model import FetchRequest, FetchResult, Outcome
from feed_assets.settings import Settings
from feed_assets.urls import host_of, without_credentials

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.3, */*;q=0.1"
)
ACCEPT_PAGES = "text/html, application/xhtml+xml, */*;q=0.1"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({301, 308})
_CHUNK = 64 * 1024
_HEADER_BYTES = 256 * 1024
_LONGEST_URL = 8 * 1024
_DRAINED_BYTES = 16 * 1024  # a small body that nobody wants is read all the same, so that the connection can be used again
_DRAINED_SECONDS = 0.2
_POOLED_HOSTS = 256
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # what no header may hold, and no database takes


@dataclass(frozen=True, slots=True)
class Hop:
    """The next request on the way to a feed: the first, or one that a redirect leads to."""

    request: FetchRequest
    url: str
    started_at: datetime
    statuses: tuple[int, ...] = ()
    visited: tuple[str, ...] = ()
    seconds: float = 0.0  # spent so far, without the waiting for turns

    @property
    def host(self) -> str:
        return host_of(self.url)


class Fetcher:
    """Fetches feeds over pooled connections; one per batch, shared by its threads."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime], guard: Guard | None = None, *, accept: str = ACCEPT) -> None:
        self._settings = settings
        self._clock = clock
        self._adapter = GuardedAdapter(guard or Guard(allow_private=settings.allow_private_networks), hosts=_POOLED_HOSTS)
        self._headers: dict[str, Any] = {
            "User-Agent": settings.user_agent,
            "Accept": accept,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        if accept == ACCEPT:
            self._headers["A-IM"] = "feed"

    def first_hop(self, request: FetchRequest) -> Hop:
        return Hop(request, request.url, self._clock())

    def fetch(self, request: FetchRequest) -> FetchResult:
        """Get the feed, redirects followed at once; whatever happens is told in the result."""
        step: Hop | FetchResult = self.first_hop(request)
        while isinstance(step, Hop):
            step = self.follow(step)
        return step

    def follow(self, hop: Hop) -> Hop | FetchResult:
        """Do one request. Gives the result, or the hop that comes next."""
        started = time.monotonic()
        if not hop.visited:
            hop = replace(hop, started_at=self._clock())  # it may have waited long for its turn
        bounds = self._bounds(hop)
        try:
            step = self._exchange(hop, bounds)
        except Exception as error:  # a hostile server may make any layer raise anything; the batch goes on
            verdict, reason = outcome.of_exception(error)
            failed = not bounds.answered and outcome.is_host_failure(error)
            step = FetchResult(hop.request.feed_id, without_credentials(hop.url), hop.started_at, verdict, reason, host_failed=failed)
        seconds = hop.seconds + time.monotonic() - started
        if isinstance(step, Hop):
            return replace(step, seconds=seconds)
        return replace(step, duration_ms=int(seconds * 1000), host=hop.host)

    def close(self) -> None:
        self._adapter.close()

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bounds(self, hop: Hop) -> Exchange:
        return Exchange(
            seconds=self._settings.job_timeout_seconds,
            spent=hop.seconds,
            patience=self._settings.request_timeout_seconds,
            header_bytes=_HEADER_BYTES,
        )

    def _exchange(self, hop: Hop, bounds: Exchange) -> Hop | FetchResult:
        prepared = requests.PreparedRequest()
        prepared.prepare(method="GET", url=hop.url, headers=self._headers | _conditions(hop.request))
        with within(bounds):
            response = self._send(prepared, bounds)
            if response is None:
                response = self._adapter.send(prepared, stream=True, timeout=bounds.wait())
            with response:
                return self._judged(hop, response, bounds)

    def _send(self, prepared: requests.PreparedRequest, bounds: Exchange) -> requests.Response | None:
        """The answer; None when a kept connection was closed by the server meanwhile, which is nobody's fault: then try once more."""
        try:
            return self._adapter.send(prepared, stream=True, timeout=bounds.wait())
        except requests.exceptions.ConnectionError as error:
            if isinstance(error.args[0], ProtocolError) and not bounds.connected and not bounds.received:
                return None
            raise

    def _judged(self, hop: Hop, response: requests.Response, bounds: Exchange) -> Hop | FetchResult:
        bounds.headers_are_in(self._settings.max_body_bytes * 2 + _HEADER_BYTES)
        status = response.status_code
        if status in _REDIRECTS:
            _drain(response, bounds)
            return self._redirected(hop, response)
        verdict, reason = outcome.of_status(status)
        body = self._body(response) if verdict is Outcome.SUCCESS else None
        if body is None:
            _drain(response, bounds)
        moved = bool(hop.statuses) and _PERMANENT.issuperset(hop.statuses)
        return FetchResult(
            hop.request.feed_id,
            without_credentials(hop.url),
            hop.started_at,
            verdict,
            reason,
            status_code=status,
            headers={name: _CONTROL.sub("", value) for name, value in response.headers.items()},
            body=body,
            bytes_received=response.raw.tell(),
            retry_after=retry_after(response.headers, hop.started_at),
            max_age_seconds=max_age_seconds(response.headers, hop.started_at),
            moved_to=hop.url if moved else None,
        )

    def _redirected(self, hop: Hop, response: requests.Response) -> Hop:
        """Where a redirect leads: to a place that is new on this way and that can be fetched."""
        target = _target(hop.url, response.headers.get("Location", ""))
        visited = (*hop.visited, hop.url)
        if len(visited) > self._settings.max_redirects:
            raise outcome.BadRedirect(f"more than {self._settings.max_redirects} redirects", temporary=True)
        if target in visited:
            raise outcome.BadRedirect("it redirects in a circle", temporary=True)
        return replace(hop, url=target, statuses=(*hop.statuses, response.status_code), visited=visited)

    def _body(self, response: requests.Response) -> bytes:
        """The decompressed body, unless it is too large."""
        limit = self._settings.max_body_bytes
        body = bytearray()
        for piece in decoded(_chunks(response), response.headers.get("Content-Encoding", ""), most=limit * 2 + _HEADER_BYTES):
            body += piece
            if len(body) > limit:
                raise outcome.BodyTooLarge(f"the body is larger than {self._settings.max_body_mb:g} MB; MAX_BODY_MB sets the limit")
        return bytes(body)


def _chunks(response: requests.Response) -> Iterator[bytes]:
    while chunk := response.raw.read(_CHUNK, decode_content=False):
        yield chunk


def _drain(response: requests.Response, bounds: Exchange) -> None:
    """Read a small body away; one that is large, or does not come, is not worth it: the connection is closed instead."""
    length = response.headers.get("Content-Length", "")
    if length.isascii() and length.isdecimal() and int(length[:9]) <= _DRAINED_BYTES:
        bounds.hurry(_DRAINED_SECONDS)
        with contextlib.suppress(Exception):
            response.raw.read(_DRAINED_BYTES, decode_content=False)


def _target(url: str, location: str) -> str:
    """The URL that a Location header means, seen from `url`."""
    if not location.strip():
        raise outcome.BadRedirect("it redirects to nowhere", temporary=True)
    if len(location) > _LONGEST_URL:
        raise outcome.BadRedirect("it redirects to a URL that is too long", temporary=True)
    try:
        before, after = urlsplit(url), urlsplit(urldefrag(urljoin(url, _CONTROL.sub("", _readable(location.strip())))).url)
        after = after._replace(path=requote_uri(after.path), query=requote_uri(after.query))
        target = after.geturl()
        same = (before.scheme, before.hostname, before.port) == (after.scheme, after.hostname, after.port)
    except (ValueError, UnicodeError) as error:
        raise outcome.BadRedirect("it redirects to something that is not a URL") from error
    if after.scheme not in ("http", "https") or not after.hostname:
        raise outcome.BadRedirect(f"it redirects to {after.scheme or 'nowhere'}:, which is not fetched")
    if same and "@" in before.netloc and "@" not in after.netloc:
        # Credentials are for the server they were given for, and for no other.
        target = after._replace(netloc=f"{before.netloc.rpartition('@')[0]}@{after.netloc}").geturl()
    return target


def _readable(location: str) -> str:
    """What HTTP calls Latin-1 is mostly UTF-8; what is neither keeps its bytes, escaped."""
    raw = location.encode("latin-1")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def _conditions(request: FetchRequest) -> dict[str, Any]:
    """The publisher's own validators, sent back byte for byte."""
    conditions = {}
    if request.etag:
        conditions["If-None-Match"] = _wire(request.etag)
    if request.last_modified:
        conditions["If-Modified-Since"] = _wire(request.last_modified)
    return conditions


def _wire(value: str) -> bytes:
    """Headers are read as Latin-1, so this gives the very bytes that came."""
    return value.encode("latin-1", "replace")
