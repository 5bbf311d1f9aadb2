"""One GET over real HTTP: what is sent, what comes back, redirects and compression."""

from __future__ import annotations

import gzip
import socket
import zlib
from pathlib import Path

import pytest

from feed_assets.fetch import Fetcher
from feed_assets.model import FetchRequest, Outcome
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer
from feed_assets_tests.support.raw_server import raw_server

ODD_ETAGS = ['"plain"', 'W/"weak"', "unquoted", '"a,b"', '"caf\u00e9"', '"--gzip"', '""']


def test_a_success_brings_the_body_headers_time_and_size(fetch: Fetch, server: FeedServer, clock: Clock) -> None:
    result = fetch(server.publish("/feed", "<rss/>", ETag='"1"', X_Other="yes"))
    assert (result.outcome, result.reason, result.status_code, result.body) == (Outcome.SUCCESS, None, 200, b"<rss/>")
    assert (result.feed_id, result.url, result.fetched_at) == ("news", server.base + "/feed", clock())
    assert (result.headers["ETag"], result.headers["X-Other"], result.bytes_received) == ('"1"', "yes", 6)
    assert 0 <= result.duration_ms < 2000


def test_a_first_request_introduces_us_and_carries_no_conditions(fetch: Fetch, server: FeedServer) -> None:
    fetch(server.publish("/feed", "<rss/>"), USER_AGENT="tester/1.0 (+https://tester.example)")
    sent = server.asked[0].headers
    assert sent["user-agent"] == "tester/1.0 (+https://tester.example)"
    assert sent["accept"].startswith("application/atom+xml, application/rss+xml")
    assert sent["accept-encoding"] == "gzip, deflate, br, zstd"
    assert sent["a-im"] == "feed"
    assert not {"if-none-match", "if-modified-since", "cookie", "referer", "authorization"} & sent.keys()


@pytest.mark.parametrize("etag", ODD_ETAGS)
def test_validators_go_back_byte_for_byte(fetch: Fetch, server: FeedServer, etag: str) -> None:
    first = fetch(server.publish("/feed", "<rss/>", ETag=etag, Last_Modified="sunday, whenever"))
    second = fetch(first.url, etag=first.headers["ETag"], last_modified=first.headers["Last-Modified"])
    assert server.asked[1].headers["if-none-match"] == etag
    assert server.asked[1].headers["if-modified-since"] == "sunday, whenever"
    assert (second.outcome, second.status_code, second.body) == (Outcome.NOT_MODIFIED, 304, None)


@pytest.mark.parametrize("name", ["If-None-Match", "If-Modified-Since"])
def test_one_validator_alone_is_sent_alone(fetch: Fetch, server: FeedServer, name: str) -> None:
    value = {"If-None-Match": {"etag": '"1"'}, "If-Modified-Since": {"last_modified": "Sun, 01 Mar 2026 10:00:00 GMT"}}[name]
    fetch(server.publish("/feed", "<rss/>"), **value)
    sent = server.asked[0].headers
    assert sent[name.lower()] == next(iter(value.values()))
    assert len({"if-none-match", "if-modified-since"} & sent.keys()) == 1


def test_cookies_are_not_kept_between_fetches(server: FeedServer, clock: Clock, tmp_path: Path) -> None:
    url = server.publish("/feed", "<rss/>", Set_Cookie="id=1; Path=/")
    with Fetcher(make_settings(tmp_path), clock) as fetcher:
        fetcher.fetch(FetchRequest("news", url))
        fetcher.fetch(FetchRequest("news", url))
    assert [("cookie" in asked.headers) for asked in server.asked] == [False, False]


def test_a_redirect_sets_no_cookie_and_sends_no_referer(fetch: Fetch, server: FeedServer) -> None:
    server.answers["/old"] = Answer(302, b"", {"Location": "/new", "Set-Cookie": "id=1; Path=/"})
    server.publish("/new", "<rss/>")
    assert fetch(server.base + "/old").outcome is Outcome.SUCCESS
    assert not {"cookie", "referer"} & server.asked[1].headers.keys()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_with_the_validators(fetch: Fetch, server: FeedServer, status: int) -> None:
    server.answers["/old"] = Answer(status, b"moved", {"Location": "/new"})
    server.publish("/new", "<rss/>")
    result = fetch(server.base + "/old", etag='"1"')
    assert (result.outcome, result.url, result.body) == (Outcome.SUCCESS, server.base + "/new", b"<rss/>")
    assert [asked.path for asked in server.asked] == ["/old", "/new"]
    assert server.asked[1].headers["if-none-match"] == '"1"'


def test_a_redirect_loop_ends_where_it_began(fetch: Fetch, server: FeedServer) -> None:
    server.answers["/a"] = Answer(302, b"", {"Location": "/b"})
    server.answers["/b"] = Answer(302, b"", {"Location": "/a"})
    result = fetch(server.base + "/a")
    assert (result.outcome, result.reason) == (Outcome.TEMPORARY_ERROR, "it redirects in a circle")
    assert len(server.asked) == 2


def test_a_chain_of_redirects_ends_after_max_redirects(fetch: Fetch, server: FeedServer) -> None:
    for number in range(20):
        server.answers[f"/{number}"] = Answer(302, b"", {"Location": f"/{number + 1}"})
    result = fetch(server.base + "/0", MAX_REDIRECTS=4)
    assert (result.outcome, result.reason) == (Outcome.TEMPORARY_ERROR, "more than 4 redirects")
    assert len(server.asked) == 5


@pytest.mark.parametrize(
    "location", ["file:///etc/hostname", "ftp://127.0.0.1/feed", "javascript:alert(1)", "http://[", "http://", "//:x/"]
)
def test_a_redirect_to_nowhere_is_an_error_and_no_exception(fetch: Fetch, server: FeedServer, location: str) -> None:
    server.answers["/old"] = Answer(302, b"", {"Location": location})
    result = fetch(server.base + "/old")
    assert not result.outcome.ok
    assert result.reason
    assert result.body is None


def test_a_password_in_the_url_is_used(fetch: Fetch, server: FeedServer) -> None:
    fetch(server.publish("/feed", "<rss/>").replace("//", "//me:secret@"))
    assert server.asked[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


def test_proxies_of_the_environment_are_not_used(fetch: Fetch, server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert fetch(server.publish("/feed", "<rss/>")).outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("x-gzip", gzip.compress), ("identity", bytes)]
)
def test_compressed_bodies_come_out_plain(fetch: Fetch, server: FeedServer, encoding: str, compress: object) -> None:
    plain = b"<rss>" + bytes(range(256)) * 2000 + b"</rss>"
    result = fetch(server.publish("/feed", compress(plain), Content_Encoding=encoding))  # type: ignore[operator]
    assert (result.outcome, result.body) == (Outcome.SUCCESS, plain)


def test_an_empty_body_is_a_success_without_bytes(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.publish("/feed", ""))
    assert (result.outcome, result.body) == (Outcome.SUCCESS, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n<rss\r\n2\r\n/>\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<rss/>",
        b"HTTP/1.0 200 OK\r\n\r\n<rss/>",
        b"HTTP/1.1 200\r\nContent-Length: 6\r\n\r\n<rss/>",
    ],
    ids=["chunked", "until close", "HTTP/1.0", "no reason phrase"],
)
def test_every_way_to_end_a_body_is_understood(fetch: Fetch, answer: bytes) -> None:
    with raw_server(lambda connection: connection.sendall(answer)) as base:
        result = fetch(base)
    assert (result.outcome, result.body) == (Outcome.SUCCESS, b"<rss/>")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss/>", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<rss/>\r\n", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n<rss/>\r\n", "broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not answer in HTTP"),
        (b"\x00\xff\x16\x03" * 100, "not answer in HTTP"),
        (b"", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\n\x1f\x8b\x08\x00rs", "compression"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n<rss/>", "headers are too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 500 + b"\r\n<rss/>", "too many headers"),
    ],
    ids=["short body", "no last chunk", "bad chunk", "not HTTP", "binary", "nothing", "broken gzip", "long header", "many headers"],
)
def test_broken_answers_are_temporary_errors(fetch: Fetch, answer: bytes, reason: str) -> None:
    with raw_server(lambda connection: connection.sendall(answer)) as base:
        result = fetch(base)
    assert (result.outcome, result.body) == (Outcome.TEMPORARY_ERROR, None)
    assert result.reason and reason in result.reason


def test_a_gzip_body_that_breaks_off_is_a_temporary_error(fetch: Fetch, server: FeedServer) -> None:
    whole = gzip.compress(b"<rss>" + bytes(range(256)) * 100 + b"</rss>")
    result = fetch(server.publish("/feed", whole[: len(whole) // 2], Content_Encoding="gzip"))
    assert (result.outcome, result.body) == (Outcome.TEMPORARY_ERROR, None)


def test_a_refused_connection_is_a_temporary_error(fetch: Fetch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = fetch(f"http://127.0.0.1:{port}/")
    assert (result.outcome, result.reason, result.status_code) == (Outcome.TEMPORARY_ERROR, "connection refused", None)


@pytest.mark.usefixtures("no_names")
@pytest.mark.parametrize("guarded", [True, False])
def test_a_host_that_does_not_exist_is_a_temporary_error(fetch: Fetch, guarded: bool) -> None:
    result = fetch("http://no-such-host.invalid/feed", ALLOW_PRIVATE_NETWORKS=str(not guarded))
    assert (result.outcome, result.reason) == (Outcome.TEMPORARY_ERROR, "the host name could not be resolved")


def test_plain_http_where_tls_was_asked_for_is_a_temporary_error(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.base.replace("http:", "https:") + "/feed")
    assert result.outcome is Outcome.TEMPORARY_ERROR
    assert result.reason and result.reason.startswith("TLS failed")
