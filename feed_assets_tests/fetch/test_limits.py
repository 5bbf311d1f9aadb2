"""Bounds in size and time that hold whatever a server does."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc

import pytest

from feed_assets.model import Outcome
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.feed_server import Answer, FeedServer
from feed_assets_tests.support.raw_server import drip, raw_server

MB = 1024 * 1024
HURRY = {"REQUEST_TIMEOUT_SECONDS": 0.3, "JOB_TIMEOUT_SECONDS": 0.4}


def test_a_body_of_exactly_the_limit_is_taken(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.publish("/feed", b"x" * MB), MAX_BODY_MB=1)
    assert (result.outcome, len(result.body or b"")) == (Outcome.SUCCESS, MB)


def test_a_body_above_the_limit_is_refused(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.publish("/feed", b"x" * (MB + 1)), MAX_BODY_MB=1)
    assert (result.outcome, result.body) == (Outcome.PERMANENT_ERROR, None)
    assert result.reason == "the body is larger than 1 MB; MAX_BODY_MB sets the limit"


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(fetch: Fetch, server: FeedServer) -> None:
    url = server.publish("/feed", gzip.compress(bytes(50 * MB)), Content_Encoding="gzip")
    tracemalloc.start()
    try:
        result = fetch(url, MAX_BODY_MB=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.outcome, result.body) == (Outcome.PERMANENT_ERROR, None)
    assert peak < 20 * MB


def test_the_body_of_a_redirect_is_not_read_without_limit(fetch: Fetch, server: FeedServer) -> None:
    sent = 0

    def redirect(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: " + server.base.encode() + b"/new\r\nContent-Length: 100000000\r\n\r\n")
        while sent < 100_000_000:
            sent += connection.send(b"x" * MB)

    server.publish("/new", "<rss/>")
    with raw_server(redirect) as base:
        fetch(base, MAX_BODY_MB=1)
    assert sent < 50 * MB


def test_a_server_that_says_nothing_times_out(fetch: Fetch) -> None:
    with raw_server(lambda connection: time.sleep(0.9)) as base:
        result = fetch(base, REQUEST_TIMEOUT_SECONDS=0.2)
    assert (result.outcome, result.reason) == (Outcome.TEMPORARY_ERROR, "timed out waiting for the server")
    assert 200 <= result.duration_ms < 800


def test_a_body_that_stops_coming_times_out(fetch: Fetch) -> None:
    def stall(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss>")
        time.sleep(0.9)

    with raw_server(stall) as base:
        result = fetch(base, REQUEST_TIMEOUT_SECONDS=0.2)
    assert (result.outcome, result.reason, result.body) == (Outcome.TEMPORARY_ERROR, "timed out waiting for the server", None)
    assert result.duration_ms < 800


@pytest.mark.parametrize("encoding", [b"", b"Content-Encoding: gzip\r\n"], ids=["plain", "gzip"])
def test_a_dripping_body_ends_at_the_deadline(fetch: Fetch, encoding: bytes) -> None:
    def dribble(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n" + encoding + b"\r\n")
        if encoding:
            connection.sendall(gzip.compress(b"", mtime=0)[:10])
        drip(connection, b"\x00" if encoding else b"x", seconds=0.05, times=40)

    with raw_server(dribble) as base:
        result = fetch(base, **HURRY)
    assert result.outcome is Outcome.TEMPORARY_ERROR
    assert result.duration_ms < 1000
    assert encoding or result.reason == "not done within 0.4 s"


def test_dripping_headers_end_at_the_deadline(fetch: Fetch) -> None:
    def dribble(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        drip(connection, b"X: y\r\n", seconds=0.05, times=30)
        connection.sendall(b"Content-Length: 0\r\n\r\n")

    with raw_server(dribble) as base:
        result = fetch(base, **HURRY)
    assert result.outcome is Outcome.TEMPORARY_ERROR
    assert result.duration_ms < 1000


def test_slow_redirects_end_at_the_deadline(fetch: Fetch, server: FeedServer) -> None:
    for number in range(8):
        server.answers[f"/{number}"] = Answer(302, b"", {"Location": f"/{number + 1}"}, then=lambda: time.sleep(0.2))
    result = fetch(server.base + "/0", **HURRY)
    assert result.outcome is Outcome.TEMPORARY_ERROR
    assert result.duration_ms < 1000


def test_a_dripping_redirect_ends_at_the_deadline(fetch: Fetch, server: FeedServer) -> None:
    def dribble(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 302 Found\r\nContent-Length: 9999\r\nLocation: " + server.publish("/new", "<rss/>").encode() + b"\r\n\r\n"
        )
        drip(connection, b"x", seconds=0.05, times=30)

    with raw_server(dribble) as base:
        result = fetch(base, **HURRY)
    assert result.duration_ms < 1000
