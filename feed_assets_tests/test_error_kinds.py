"""Each reason that fetching and reading give has a kind."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
import requests
import urllib3.exceptions as transport

import feed_assets
from feed_assets.error_kinds import OTHER, error_kind
from feed_assets.fetch.outcome import of_exception, of_status

PACKAGE = Path(feed_assets.__file__).parent


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "not let in (401, 403)"),
        (403, "not let in (401, 403)"),
        (404, "gone (404, 410)"),
        (410, "gone (404, 410)"),
        (408, "timeout"),
        (418, "refused by the server (other 4xx)"),
        (429, "asked too often (429)"),
        (500, "server error (5xx)"),
        (599, "server error (5xx)"),
        (204, OTHER),
    ],
)
def test_a_status_has_a_kind(status: int, kind: str) -> None:
    assert error_kind(of_status(status)[1]) == kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "timeout"),
        (socket.gaierror(), "DNS"),
        (ConnectionRefusedError(), "connection refused"),
        (ConnectionResetError(), "connection lost"),
        (requests.exceptions.SSLError("certificate verify failed"), "TLS"),
        (transport.ProtocolError(), "connection lost"),
        (requests.exceptions.InvalidURL(), "unusable URL"),
        (RuntimeError("who knows"), OTHER),
    ],
)
def test_an_exception_on_the_way_has_a_kind(error: Exception, kind: str) -> None:
    assert error_kind(of_exception(error)[1]) == kind


def test_every_reason_that_is_written_in_fetching_and_reading_has_a_kind() -> None:
    """Taken from the code, so that a new one is not forgotten."""
    raised = re.compile(r"(?:DeadlineExceeded|BrokenCompression|TooMuchData|BodyTooLarge|BadRedirect|NotAFeed)\(\s*f?\"([^\"]+)\"")
    returned = re.compile(r"return Outcome\.\w+_ERROR, f?\"([^\"{]+)")
    code = [path.read_text("utf-8") for folder in ("fetch", "parse") for path in (PACKAGE / folder).glob("*.py")]
    reasons = [reason for text in code for pattern in (raised, returned) for reason in pattern.findall(text)]
    assert len(reasons) > 25
    assert [reason for reason in reasons if error_kind(reason) == OTHER] == []


def test_no_reason_is_of_no_kind() -> None:
    assert error_kind(None) == error_kind("") == OTHER


def test_an_address_that_is_not_public_is_a_kind_of_its_own() -> None:
    reason = "intranet.example is at 10.0.0.1, which is not a public address; FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true allows it"
    assert error_kind(reason) == "not a public address"
