"""The one place where a status or an exception becomes an outcome with a reason for people."""

from __future__ import annotations

import socket
from http import HTTPStatus

import requests
import urllib3.exceptions as transport

from feed_assets.errors import ForbiddenAddress
from feed_assets.model import Outcome


class BodyTooLarge(Exception):
    """The body, decompressed, is larger than MAX_BODY_MB."""


class DeadlineExceeded(Exception):
    """The whole exchange took longer than JOB_TIMEOUT_SECONDS."""


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
    causes = list(_chain(error))
    for cause in causes:
        match cause:
            case ForbiddenAddress():
                return Outcome.PERMANENT_ERROR, str(cause)
            case BodyTooLarge():
                return Outcome.PERMANENT_ERROR, str(cause)
            case DeadlineExceeded():
                return Outcome.TEMPORARY_ERROR, str(cause)
            case requests.exceptions.InvalidURL() | requests.exceptions.InvalidSchema() | transport.LocationParseError():
                return Outcome.PERMANENT_ERROR, f"not a URL that can be fetched: {cause}"
            case requests.exceptions.TooManyRedirects():
                return Outcome.TEMPORARY_ERROR, "too many redirects"
            case transport.NameResolutionError() | socket.gaierror():
                return Outcome.TEMPORARY_ERROR, "the host name could not be resolved"
            case transport.SSLError() | requests.exceptions.SSLError():
                return Outcome.TEMPORARY_ERROR, f"TLS failed: {_short(causes[-1])}"
            case TimeoutError() | transport.TimeoutError() | requests.exceptions.Timeout():
                return Outcome.TEMPORARY_ERROR, "timed out waiting for the server"
            case ConnectionRefusedError():
                return Outcome.TEMPORARY_ERROR, "connection refused"
            case ConnectionResetError() | BrokenPipeError() | transport.ProtocolError():
                return Outcome.TEMPORARY_ERROR, "the server broke off the connection"
            case transport.DecodeError() | requests.exceptions.ContentDecodingError():
                return Outcome.TEMPORARY_ERROR, "the body's compression is broken"
    return Outcome.TEMPORARY_ERROR, _short(causes[-1])


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
