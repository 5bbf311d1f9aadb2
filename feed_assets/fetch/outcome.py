"""The one place where a status or an exception becomes an outcome with a reason for people."""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.client import BadStatusLine, HTTPException, LineTooLong, RemoteDisconnected, UnknownProtocol

import requests
import urllib3.exceptions as transport

from feed_assets.errors import ForbiddenAddress
from feed_assets.fetch.decode import BrokenCompression
from feed_assets.fetch.exchange import DeadlineExceeded, TooMuchData
from feed_assets.model import Outcome


class BodyTooLarge(Exception):
    """The body, decompressed, is larger than MAX_BODY_MB."""


class BadRedirect(Exception):
    """A redirect that cannot be followed."""

    def __init__(self, reason: str, *, temporary: bool = False) -> None:
        super().__init__(reason)
        self.temporary = temporary


_HOST_FAILURES = (
    DeadlineExceeded,
    TimeoutError,
    ConnectionError,
    socket.gaierror,
    BadStatusLine,
    transport.TimeoutError,
    transport.NewConnectionError,
    transport.NameResolutionError,
    transport.SSLError,
    transport.ProtocolError,
)


def of_status(status: int) -> tuple[Outcome, str | None]:
    """What an HTTP status means for a feed."""
    if status in (200, 226):
        return Outcome.SUCCESS, None
    if status == 304:
        return Outcome.NOT_MODIFIED, None
    reason = f"HTTP {status}{_phrase(status)}"
    if status in (401, 403):
        return Outcome.UNAUTHORIZED, f"{reason}: the publisher does not let us in"
    if status in (408, 425, 429) or status >= 500:
        return Outcome.TEMPORARY_ERROR, reason
    if status in (404, 410):
        return Outcome.PERMANENT_ERROR, f"{reason}: the feed is not there any more"
    if 400 <= status < 500:
        return Outcome.PERMANENT_ERROR, reason
    return Outcome.TEMPORARY_ERROR, f"{reason}: an answer that a feed should not give"


def of_exception(error: BaseException) -> tuple[Outcome, str]:
    """What went wrong on the way, in a few words. The innermost cause says most."""
    causes = _chain(error)
    for cause in causes:
        match cause:
            case ForbiddenAddress() | BodyTooLarge():
                return Outcome.PERMANENT_ERROR, str(cause)
            case BadRedirect():
                return Outcome.TEMPORARY_ERROR if cause.temporary else Outcome.PERMANENT_ERROR, str(cause)
            case DeadlineExceeded() | BrokenCompression() | TooMuchData():
                return Outcome.TEMPORARY_ERROR, str(cause)
            case requests.exceptions.InvalidURL() | requests.exceptions.InvalidSchema() | transport.LocationParseError():
                return Outcome.PERMANENT_ERROR, "this is not a URL that can be fetched"
            case transport.NameResolutionError() | socket.gaierror():
                return Outcome.TEMPORARY_ERROR, "the host name could not be resolved"
            case transport.SSLError() | requests.exceptions.SSLError():
                return Outcome.TEMPORARY_ERROR, f"TLS failed: {_short(causes[-1])}"
            case TimeoutError() | transport.TimeoutError() | requests.exceptions.Timeout():
                return Outcome.TEMPORARY_ERROR, "timed out waiting for the server"
            case ConnectionRefusedError():
                return Outcome.TEMPORARY_ERROR, "connection refused"
            case LineTooLong():
                return Outcome.TEMPORARY_ERROR, "the server's headers are too large"
            case RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
                return Outcome.TEMPORARY_ERROR, "the server broke off the connection"
            case BadStatusLine() | UnknownProtocol():
                return Outcome.TEMPORARY_ERROR, "the server does not answer in HTTP"
            case transport.IncompleteRead():
                return Outcome.TEMPORARY_ERROR, "the server broke off in the middle of the body"
            case transport.InvalidChunkLength():
                return Outcome.TEMPORARY_ERROR, "the body's chunks are broken"
            case HTTPException() if "headers" in str(cause):
                return Outcome.TEMPORARY_ERROR, "the server sends too many headers"
            case transport.ProtocolError() | HTTPException():
                return Outcome.TEMPORARY_ERROR, "the server broke off the connection"
    return Outcome.TEMPORARY_ERROR, _short(causes[-1])


def is_host_failure(error: BaseException) -> bool:
    """Whether it was the host that failed, and not just this feed: a reason to leave its other feeds alone for a while."""
    causes = _chain(error)
    return any(isinstance(cause, _HOST_FAILURES) for cause in causes) and not any(isinstance(c, ForbiddenAddress) for c in causes)


def _chain(error: BaseException) -> list[BaseException]:
    """The error and its causes from the inside out: libraries wrap the telling one in vaguer ones."""
    chain: list[BaseException] = []
    pending: list[BaseException] = [error]
    while pending:
        current = pending.pop()
        if current in chain:
            continue
        chain.append(current)
        pending.extend(arg for arg in current.args if isinstance(arg, BaseException))
        reason = getattr(current, "reason", None)
        pending.extend(e for e in (current.__cause__, current.__context__, reason) if isinstance(e, BaseException))
    return chain[::-1]


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}..."
