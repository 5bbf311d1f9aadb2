"""One polite GET: conditional, bounded in time and size, without cookies, and never raising."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from feed_assets.fetch import outcome
from feed_assets.fetch.guard import GuardedAdapter
from feed_assets.fetch.hints import max_age_seconds, retry_after
from feed_assets.model import FetchRequest, FetchResult, Outcome
from feed_assets.settings import Settings

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.3, */*;q=0.1"
)
_CHUNK = 64 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # what no header may hold, and no database takes


class Fetcher:
    """Fetches feeds over pooled connections; one per batch, shared by its threads."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._clock = clock
        self._session = _session(settings)

    def fetch(self, request: FetchRequest) -> FetchResult:
        """Get the feed; whatever happens is told in the result."""
        started = time.monotonic()
        now = self._clock()

        def result(verdict: Outcome, reason: str | None, **more: Any) -> FetchResult:
            elapsed = int((time.monotonic() - started) * 1000)
            return FetchResult(request.feed_id, more.pop("url", request.url), now, verdict, reason, duration_ms=elapsed, **more)

        try:
            with self._session.get(
                request.url,
                headers=_conditions(request),
                stream=True,
                timeout=(self._settings.request_timeout_seconds, self._settings.request_timeout_seconds),
            ) as response:
                verdict, reason = outcome.of_status(response.status_code)
                body = self._read(response, started + self._settings.job_timeout_seconds) if verdict is Outcome.SUCCESS else None
                return result(
                    verdict,
                    reason,
                    url=response.url,
                    status_code=response.status_code,
                    headers={name: _CONTROL.sub("", value) for name, value in response.headers.items()},
                    body=body,
                    bytes_received=response.raw.tell(),
                    retry_after=retry_after(response.headers, now),
                    max_age_seconds=max_age_seconds(response.headers, now),
                )
        except Exception as error:  # a hostile server may make any layer raise anything; the batch goes on
            return result(*outcome.of_exception(error))

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        """The decompressed body, unless it is too large or drips too slowly."""
        limit = self._settings.max_body_bytes
        body = bytearray()
        while True:
            chunk = response.raw.read1(_CHUNK, decode_content=True)
            if not chunk and _at_end(response):
                return bytes(body)
            body += chunk
            if len(body) > limit:
                raise outcome.BodyTooLarge(f"the body is larger than {self._settings.max_body_mb:g} MB; MAX_BODY_MB sets the limit")
            if time.monotonic() > deadline:
                raise outcome.DeadlineExceeded(f"not done within {self._settings.job_timeout_seconds:g} s")


def _at_end(response: requests.Response) -> bool:
    return response.raw.closed or response.raw._fp is None or getattr(response.raw._fp, "fp", None) is None


def _session(settings: Settings) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no proxies or .netrc behind the user's back
    session.max_redirects = settings.max_redirects
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers.clear()
    session.headers.update({"User-Agent": settings.user_agent, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate", "A-IM": "feed"})
    adapter = HTTPAdapter if settings.allow_private_networks else GuardedAdapter
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter(pool_connections=settings.fetch_workers * 2, pool_maxsize=2))
    return session


def _conditions(request: FetchRequest) -> dict[str, str]:
    """The publisher's own validators, sent back byte for byte."""
    conditions = {}
    if request.etag:
        conditions["If-None-Match"] = request.etag
    if request.last_modified:
        conditions["If-Modified-Since"] = request.last_modified
    return conditions
