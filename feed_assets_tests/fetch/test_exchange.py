"""The bounds of an exchange hold at the socket: a deadline and a number of bytes, whoever reads, with and without TLS."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator

import pytest

from feed_assets.fetch.exchange import BoundedSocket, DeadlineExceeded, Exchange, TooMuchData, current, tls_context, within
from feed_assets_tests.support.hostile import self_signed_certificate


def exchange(*, seconds: float = 1.0, patience: float = 1.0, header_bytes: int = 1000) -> Exchange:
    return Exchange(seconds=seconds, patience=patience, header_bytes=header_bytes)


@pytest.fixture
def ends() -> Iterator[tuple[BoundedSocket, socket.socket]]:
    """Our end of a connection, and theirs."""
    with socket.create_server(("127.0.0.1", 0)) as listener, BoundedSocket(socket.AF_INET, socket.SOCK_STREAM) as ours:
        ours.connect(listener.getsockname())
        theirs, _ = listener.accept()
        with theirs:
            yield ours, theirs


def test_the_next_step_may_block_for_as_long_as_patience_lasts() -> None:
    assert exchange(seconds=60, patience=2).wait() == 2


def test_the_next_step_may_not_block_past_the_deadline() -> None:
    assert 0.4 < exchange(seconds=0.5, patience=30).wait() <= 0.5


@pytest.mark.parametrize("seconds", [0.0, -3.0])
def test_after_the_deadline_there_is_no_next_step(seconds: float) -> None:
    with pytest.raises(DeadlineExceeded):
        exchange(seconds=seconds).wait()


def test_headers_may_have_so_many_bytes_and_no_more() -> None:
    bounds = exchange(header_bytes=10)
    bounds.took(10)
    with pytest.raises(TooMuchData, match="the server's headers are too large"):
        bounds.took(1)


def test_the_body_is_counted_anew() -> None:
    bounds = exchange(header_bytes=10)
    bounds.took(10)
    bounds.headers_are_in(5)
    bounds.took(5)
    assert (bounds.received, bounds.answered) == (15, True)
    with pytest.raises(TooMuchData, match="the body is too large"):
        bounds.took(1)


def test_an_exchange_belongs_to_its_thread() -> None:
    seen: list[Exchange | None] = []
    with within(exchange()) as mine:
        other = threading.Thread(target=lambda: seen.append(current()))
        other.start()
        other.join()
        assert current() is mine
    assert (seen, current()) == ([None], None)


def test_an_exchange_ends_with_an_exception_too() -> None:
    with pytest.raises(KeyError), within(exchange()):
        raise KeyError
    assert current() is None


def test_what_is_read_is_counted(ends: tuple[BoundedSocket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.sendall(b"x" * 30)
    with within(exchange()) as bounds, ours.makefile("rb") as reader:
        assert reader.read(30) == b"x" * 30
    assert bounds.received == 30


def test_reading_too_much_raises(ends: tuple[BoundedSocket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.sendall(b"x" * 3000)
    with within(exchange(header_bytes=1000)), ours.makefile("rb") as reader, pytest.raises(TooMuchData):
        reader.read(3000)


def test_silence_ends_with_patience(ends: tuple[BoundedSocket, socket.socket]) -> None:
    started = time.monotonic()
    with within(exchange(patience=0.1, seconds=5)), ends[0].makefile("rb") as reader, pytest.raises(TimeoutError):
        reader.readline()
    assert time.monotonic() - started < 0.8


def test_silence_ends_with_the_deadline(ends: tuple[BoundedSocket, socket.socket]) -> None:
    with (
        within(exchange(patience=5, seconds=0.1)),
        ends[0].makefile("rb") as reader,
        pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"),
    ):
        reader.readline()


def test_dripping_ends_with_the_deadline(ends: tuple[BoundedSocket, socket.socket]) -> None:
    ours, theirs = ends
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            theirs.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with within(exchange(patience=5, seconds=0.2)), ours.makefile("rb") as reader, pytest.raises(DeadlineExceeded):
            reader.readline()
    finally:
        stop.set()
        thread.join()


def test_outside_of_an_exchange_a_socket_is_like_any_other(ends: tuple[BoundedSocket, socket.socket]) -> None:
    ours, theirs = ends
    theirs.sendall(b"hello\n")
    ours.settimeout(1)
    with ours.makefile("rb") as reader:
        assert reader.readline() == b"hello\n"


def test_tls_is_verified() -> None:
    context = tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.cert_store_stats()["x509_ca"] > 50


@pytest.mark.parametrize(
    ("bounds", "sent", "error"),
    [
        ({"header_bytes": 100}, b"x" * 5000, TooMuchData),
        ({"seconds": 0.2, "patience": 5}, b"x", DeadlineExceeded),
        ({"seconds": 5, "patience": 0.1}, b"x", TimeoutError),
    ],
    ids=["size", "deadline", "patience"],
)
def test_the_bounds_hold_under_tls(
    ends: tuple[BoundedSocket, socket.socket], bounds: dict[str, float], sent: bytes, error: type[Exception]
) -> None:
    certificate = self_signed_certificate()
    if certificate is None:
        pytest.skip("there is no openssl here to make a certificate")
    ours, theirs = ends
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one of our own: theirs is shared, and stays strict
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.sslsocket_class = tls_context().sslsocket_class

    def serve() -> None:
        with certificate.wrap_socket(theirs, server_side=True) as secured:
            secured.sendall(sent)
            secured.recv(1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with context.wrap_socket(ours) as secured, within(exchange(**bounds)), secured.makefile("rb") as reader, pytest.raises(error):  # type: ignore[arg-type]
        reader.read(5000)
    thread.join(timeout=5)
