"""One webhook request: whom it goes to, what it says, how it is signed, and what the answer means.

Signed as the Standard Webhooks specification has it. Receivers may be anywhere, also on private networks: operators choose them. But a
redirect is an answer like any other and is not followed. Knows nothing of the store; never lets a receiver's URL or key be seen.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import ProtocolError

from feed_assets.fetch import outcome
from feed_assets.fetch.exchange import Exchange, within
from feed_assets.fetch.guard import Guard, GuardedAdapter
from feed_assets.fetch.hints import retry_after
from feed_assets.model import EventType
from feed_assets.settings import Settings, listed
from feed_assets.urls import host_of, mask_secrets

_HEADER_BYTES = 64 * 1024
_BODY_BYTES = 64 * 1024
_BODY_SECONDS = 0.2
_GONE = 410
_POOLED_HOSTS = 4


@dataclass(frozen=True, slots=True)
class Receiver:
    """Whoever hears of events. `name` tells it from others and may be seen by everybody; `types` None means all."""

    name: str
    url: str = field(repr=False)
    types: tuple[str, ...] | None

    @property
    def shown(self) -> str:
        return mask_secrets(self.url)


DAGSTER = Receiver("dagster", "", None)  # gets no request: the run that delivers tells it, as a materialization


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request. `answered` is false when the receiver did not get as far as a status."""

    delivered: bool
    gone: bool = False
    answered: bool = True
    status_code: int | None = None
    reason: str | None = None
    retry_after: timedelta | None = None
    seconds: float = 0.0


def receivers(settings: Settings) -> list[Receiver]:
    """The receivers that the settings name. A URL that is given for both purposes gets what either would."""
    alerts = tuple(kind.value for kind in EventType if kind.is_alert)
    chosen = tuple(listed(settings.webhook_events)) or None
    found: dict[str, Receiver] = {}
    for urls, types in ((settings.webhook_urls, chosen), (settings.alert_urls, alerts)):
        for url in listed(urls):
            before = found[url].types if url in found else ()
            both = None if types is None or before is None else tuple(dict.fromkeys((*before, *types)))
            found[url] = Receiver(receiver_name(url), url, both)
    return list(found.values())


def listeners(settings: Settings) -> list[Receiver]:
    """All who hear of events: the receivers, and Dagster itself where that is wanted."""
    return [*receivers(settings), *([DAGSTER] if settings.dagster_events else [])]


def receiver_name(url: str) -> str:
    """The same for the same URL at all times, and without its secrets."""
    return f"{host_of(url)}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def webhook_id(event_id: str) -> str:
    """The `webhook-id` of an event: the same at every try. Never with a dot, which separates the parts of what is signed."""
    return f"evt_{hashlib.sha256(event_id.encode()).hexdigest()[:32]}"


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def message(event_id: str, event_type: str, created_at: datetime, payload: Mapping[str, Any], attempt: int) -> bytes:
    """The body of a request."""
    said = {"event_id": event_id, "event_type": event_type, "created_at": created_at.isoformat(), "payload": payload, "attempt": attempt}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


class Sender:
    """Posts to one receiver over a connection that is kept."""

    def __init__(self, settings: Settings, receiver: Receiver) -> None:
        self._receiver = receiver
        self._key = settings.webhook_key
        self._seconds = settings.webhook_timeout_seconds
        self._user_agent = settings.user_agent
        self._adapter = GuardedAdapter(Guard(allow_private=True), hosts=_POOLED_HOSTS)

    def post(self, event_id: str, body: bytes, now: datetime) -> Answer:
        """Send a body; whatever happens is told in the answer."""
        if not self._receiver.url:
            return Answer(True)
        began = time.monotonic()
        bounds = Exchange(seconds=self._seconds, patience=self._seconds, header_bytes=_HEADER_BYTES)
        try:
            prepared = requests.PreparedRequest()
            prepared.prepare(method="POST", url=self._receiver.url, headers=self._headers(event_id, body, now), data=body)
            with within(bounds), self._sent(prepared, bounds) as response:
                answer = _judged(response, bounds, now)
        except Exception as error:  # a receiver may make any layer raise anything; the others wait for their events
            reason = self._without_secrets(outcome.of_exception(error)[1])
            answer = Answer(False, answered=bounds.answered, reason=reason)
        return replace(answer, seconds=time.monotonic() - began)

    def close(self) -> None:
        self._adapter.close()

    def _headers(self, event_id: str, body: bytes, now: datetime) -> dict[str, str]:
        name, timestamp = webhook_id(event_id), int(now.timestamp())
        headers = {
            "User-Agent": self._user_agent,
            "Content-Type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(timestamp),
        }
        return headers | ({"webhook-signature": signature(self._key, name, timestamp, body)} if self._key else {})

    def _sent(self, prepared: requests.PreparedRequest, bounds: Exchange) -> requests.Response:
        try:
            return self._adapter.send(prepared, stream=True, timeout=bounds.wait())
        except requests.exceptions.ConnectionError as error:
            if isinstance(error.args[0], ProtocolError) and not bounds.connected and not bounds.received:
                return self._adapter.send(prepared, stream=True, timeout=bounds.wait())  # a kept connection was closed meanwhile
            raise

    def _without_secrets(self, reason: str) -> str:
        """Libraries repeat the URL in what they complain about."""
        parts = urlsplit(self._receiver.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        for secret in (target, parts.path, parts.query, parts.netloc.rpartition("@")[0], parts.password):
            if secret and secret != "/":
                reason = reason.replace(secret, "***")
        return reason


def _judged(response: requests.Response, bounds: Exchange, now: datetime) -> Answer:
    bounds.headers_are_in(_BODY_BYTES)
    status = response.status_code
    delivered = 200 <= status < 300
    length = response.headers.get("Content-Length", "")
    if length.isascii() and length.isdecimal() and int(length[:9]) < _BODY_BYTES:
        bounds.hurry(_BODY_SECONDS)
        with suppress(Exception):  # what counts is the status; reading the rest lets the connection be used again
            response.raw.read(_BODY_BYTES, decode_content=False)
    reason = None if delivered else (outcome.of_status(status)[1] or f"HTTP {status}").partition(":")[0]
    if 300 <= status < 400:
        reason = f"{reason}: redirects are not followed"
    asked = retry_after(response.headers, now) if status in (429, 503) else None
    return Answer(delivered, gone=status == _GONE, status_code=status, reason=reason, retry_after=asked)
