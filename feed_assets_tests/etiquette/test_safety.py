"""Rules 14 and 15: verified TLS, http and https only, bounds in size and time, and no address that is not of the open internet."""

from __future__ import annotations

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from feed_assets.errors import UsageError
from feed_assets.fetch import guard
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.raw_server import drip, raw_server
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

pytestmark = one_engine


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed, with its key in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, crt = tmp_path / "key.pem", tmp_path / "crt.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, "req", "-x509", *kind, *name, "-keyout", str(key), "-out", str(crt)], check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + crt.read_text())
    return both


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[FeedServer]:
    running = FeedServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    inner = running._server
    inner.socket = context.wrap_socket(inner.socket, server_side=True, do_handshake_on_connect=False)
    running.base = running.base.replace("http:", "https:")
    yield running
    running.close()


def test_rule_14_a_certificate_that_nobody_vouches_for_is_refused(
    store: Store, settings: Settings, clock: Clock, tls_server: FeedServer, certificate: Path
) -> None:
    add(store, clock, tls_server.publish("/feed", rss("one")))
    report = refresh_one(store, settings, clock)
    assert (report.outcome, tls_server.asked) == ("temporary_error", [])
    assert report.reason and report.reason.startswith("TLS failed")
    assert "certificate" in report.reason
    trusting = HTTPSConnection("127.0.0.1", int(tls_server.base.rpartition(":")[2]), context=ssl.create_default_context(cafile=certificate))
    trusting.request("GET", "/feed")
    assert trusting.getresponse().status == 200
    trusting.close()


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/feed", "gopher://127.0.0.1/", "data:text/xml,<rss/>"])
def test_rule_14_only_http_and_https_are_fetched(store: Store, settings: Settings, clock: Clock, server: FeedServer, url: str) -> None:
    with pytest.raises(UsageError, match="cannot be fetched"):
        add(store, clock, url)
    server.answers["/feed"] = Answer(302, b"", {"Location": url})
    add(store, clock, server.base + "/feed")
    report = refresh_one(store, settings, clock)
    assert (report.outcome, len(server.asked)) == ("permanent_error", 1)
    assert "not fetched" in str(report.reason)


@pytest.mark.parametrize("kilobytes", [900, 1100])
def test_rule_14_size_is_limited_after_decompression(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, kilobytes: int
) -> None:
    body = rss("one", extra=f"<!--{' ' * (kilobytes * 1024)}-->").encode()
    packed = gzip.compress(body)
    assert len(packed) < 10_000
    add(store, clock, server.publish("/feed", packed, Content_Encoding="gzip"))
    report = refresh_one(store, settings.model_copy(update={"max_body_mb": 1}), clock)
    if kilobytes < 1024:
        assert report.new == 1
    else:
        assert (report.new, report.reason) == (0, "the body is larger than 1 MB; MAX_BODY_MB sets the limit")


def test_rule_14_a_body_that_drips_ends_at_the_deadline_of_the_feed(store: Store, settings: Settings, clock: Clock) -> None:
    def dribble(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        drip(connection, b" ", seconds=0.05, times=60)

    settings = settings.model_copy(update={"request_timeout_seconds": 0.3, "job_timeout_seconds": 0.5})
    with raw_server(dribble) as base:
        add(store, clock, base + "/feed")
        report = refresh_one(store, settings, clock)
    assert (report.outcome, report.reason) == ("temporary_error", "not done within 0.5 s")
    assert report.duration_ms < 1500


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_rule_15_a_feed_on_this_machine_is_not_asked(store: Store, settings: Settings, clock: Clock, server: FeedServer, host: str) -> None:
    add(store, clock, server.publish("/feed", rss("one")).replace("127.0.0.1", host))
    report = refresh_one(store, settings.model_copy(update={"allow_private_networks": False}), clock)
    assert (report.outcome, server.asked) == ("permanent_error", [])
    assert "not a public address" in look(store).schedule()["last_error"]


@pytest.mark.parametrize(
    "inside", ["127.0.0.2", "10.0.0.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "[::ffff:10.0.0.1]", "[fe80::1]"]
)
def test_rule_15_every_hop_is_checked(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    real = guard.is_public
    monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1" or real(address))
    server.answers["/feed"] = Answer(301, b"", {"Location": f"http://{inside}/latest/meta-data"})
    add(store, clock, server.base + "/feed")
    report = refresh_one(store, settings.model_copy(update={"allow_private_networks": False}), clock)
    assert (report.outcome, len(server.asked)) == ("permanent_error", 1)
    assert "not a public address" in str(report.reason)


def test_rule_15_a_name_that_changes_its_address_cannot_get_around_the_check(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is at an allowed address when it is checked, and inside whenever it is looked up again."""
    monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1")
    real = socket.getaddrinfo
    looked_up, connected = [], []
    lock = threading.Lock()

    def rebinding(host: Any, *args: Any, **options: Any) -> Any:
        with lock:
            looked_up.append(host)
            return real("127.0.0.1" if len(looked_up) == 1 else "127.0.0.2", *args, **options)

    def open_socket(address: guard.Address, seconds: float) -> socket.socket:
        connected.append(address.ip)
        return guard.open_socket(address, seconds)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(guard.Guard.__init__, "__kwdefaults__", {"resolve": guard.look_up, "connect": open_socket})
    server.answers["/feed"] = Answer(302, b"", {"Location": "/second", "Connection": "close"})
    server.publish("/second", rss("one"))
    add(store, clock, server.base.replace("127.0.0.1", "rebinding.example") + "/feed")
    report = refresh_one(store, settings.model_copy(update={"allow_private_networks": False}), clock)
    assert (report.new, set(connected), looked_up) == (1, {"127.0.0.1"}, ["rebinding.example"])
