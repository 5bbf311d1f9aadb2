"""Servers that do everything a server should not: a table of behaviours, each with the outcome that a fetch of it must have.

Every behaviour is a script on a raw socket. All of them live on loopback, and so does everywhere that they redirect to.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import brotli

from feed_assets.model import Outcome
from feed_assets_tests.support.feed_server import rss

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LIMITS = {"REQUEST_TIMEOUT_SECONDS": 0.6, "JOB_TIMEOUT_SECONDS": 1, "MAX_BODY_MB": 1, "MAX_REDIRECTS": 5}

SUCCESS, NOT_MODIFIED = Outcome.SUCCESS, Outcome.NOT_MODIFIED
TEMPORARY, PERMANENT = Outcome.TEMPORARY_ERROR, Outcome.PERMANENT_ERROR
MB = 1024 * 1024
FEED = rss("one", "two").encode()
_DRIP_SECONDS = 0.1
_MOST_DRIPS = 40
_ENDLESS = 64 * MB  # what is endless ends somewhere after all, should the client not notice


@dataclass(frozen=True)
class Visit:
    """One request that a server got."""

    connection: socket.socket
    request: bytes
    base: bytes  # the server's own URL, without a path

    @property
    def path(self) -> bytes:
        return self.request.split(b" ", 2)[1] if self.request.startswith(b"GET ") else b""

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.connection.sendall(piece)

    def drip(self, pieces: Iterable[bytes]) -> None:
        for piece in itertools.islice(pieces, _MOST_DRIPS):
            time.sleep(_DRIP_SECONDS)
            self.connection.sendall(piece)

    def flood(self, piece: bytes) -> None:
        for _ in range(_ENDLESS // len(piece)):
            self.connection.sendall(piece)

    def wait_for_the_client_to_go(self) -> None:
        self.connection.settimeout(5)
        while self.connection.recv(4096):
            pass


Script = Callable[[Visit], None]


@dataclass(frozen=True)
class Behaviour:
    """What a server does (its name says it), and what must become of the feed there."""

    name: str
    script: Script | None  # None: nobody listens
    outcome: Outcome
    reason: str = ""  # a part of it
    refreshed: Outcome | None = None  # the outcome of a whole refresh, where the parser has a word in it
    scheme: str = "http"
    tls: bool = False

    @property
    def after_parsing(self) -> Outcome:
        return self.refreshed or self.outcome


def answer(body: bytes = FEED, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A proper response, but for what the headers say."""
    length = () if any(header.lower().startswith((b"content-length", b"transfer-encoding")) for header in headers) else (_length(body),)
    return head(*headers, *length, status=status) + body


def head(*headers: bytes, status: bytes = b"200 OK") -> bytes:
    return b"\r\n".join((b"HTTP/1.1 " + status, *headers, b"", b""))


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    framed = (b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head(b"Transfer-Encoding: chunked") + b"".join(framed) + end


def says(*pieces: bytes) -> Script:
    """Send this and close."""
    return lambda visit: visit.send(*pieces)


def drips(before: bytes, pieces: Callable[[], Iterable[bytes]]) -> Script:
    def script(visit: Visit) -> None:
        visit.send(before)
        visit.drip(pieces())

    return script


def floods(before: bytes, piece: bytes) -> Script:
    def script(visit: Visit) -> None:
        visit.send(before)
        visit.flood(piece)

    return script


def stops_after(*pieces: bytes) -> Script:
    """Send this, keep the connection, say no more."""

    def script(visit: Visit) -> None:
        visit.send(*pieces)
        visit.wait_for_the_client_to_go()

    return script


def encoded(encoding: bytes, body: bytes, status: bytes = b"200 OK") -> Script:
    """Answer with this body and this Content-Encoding, true or not."""
    return says(answer(body, b"Content-Encoding: " + encoding, status=status))


def redirects(location: bytes, *, found_at: bytes | None = None, status: bytes = b"302 Found", body: bytes = b"") -> Script:
    """Redirect /feed to `location` (BASE stands for this server); the feed is there, or only at `found_at` if that is given."""

    def script(visit: Visit) -> None:
        if visit.path == b"/feed":
            visit.send(answer(body, b"Location: " + location.replace(b"BASE", visit.base), status=status))
        elif found_at in (None, visit.path):
            visit.send(answer())
        else:
            visit.send(answer(b"no", status=b"404 Not Found"))

    return script


def _length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def _forever(piece: bytes) -> Callable[[], Iterable[bytes]]:
    return lambda: itertools.repeat(piece)


def _bytes_of(data: bytes) -> Callable[[], Iterable[bytes]]:
    return lambda: (data[place : place + 1] for place in range(len(data)))


# Bodies


def _zeros_in_deflate(megabytes: int) -> bytes:
    """So many megabytes of zeros, of which only one is ever made."""
    compressor = zlib.compressobj(wbits=-15)
    return (compressor.compress(bytes(MB)) + compressor.flush(zlib.Z_FULL_FLUSH)) * megabytes + compressor.flush()


def _squeezed(megabytes: int, compress: Callable[[bytes], bytes], finish: Callable[[], bytes], before: bytes = b"") -> bytes:
    zeros = bytes(MB)
    return b"".join([compress(before), *(compress(zeros) for _ in range(megabytes)), finish()])


@functools.cache
def bomb(kind: str, megabytes: int = 200) -> bytes:
    """A small body that holds so many megabytes; what checks its end is left out, since nobody should get there."""
    if kind == "br":
        compressor = brotli.Compressor(quality=1)
        return _squeezed(megabytes, compressor.process, compressor.finish)
    if kind == "zstd":
        return padded_in_zstd(b"", megabytes)
    return {"gzip": GZIP[:10], "deflate": DEFLATE[:2], "raw deflate": b""}[kind] + _zeros_in_deflate(megabytes)


@functools.cache
def padded_in_zstd(body: bytes, megabytes: int) -> bytes:
    """A body and a great many zeros after it, in a few kilobytes."""
    compressor = zstd.ZstdCompressor(level=1)
    return _squeezed(megabytes, compressor.compress, compressor.flush, before=body)


@functools.cache
def padded_in_brotli(body: bytes, megabytes: int) -> bytes:
    """The same in far less: 16 MB are 26 bytes, which may be repeated."""
    compressor = brotli.Compressor(quality=5)
    start = compressor.process(body) + compressor.flush()
    first, more = (compressor.process(bytes(16 * MB)) + compressor.flush() for _ in range(2))
    return bytes(start + first + more * (megabytes // 16 - 1) + compressor.finish())


def _repeated(times: int, compress: Callable[[bytes], bytes], body: bytes) -> bytes:
    for _ in range(times):
        body = compress(body)
    return body


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


GZIP, BR, ZSTD, DEFLATE = gzip.compress(FEED, mtime=0), brotli.compress(FEED), zstd.compress(FEED), zlib.compress(FEED)
TWO_MEMBERS = gzip.compress(FEED[:100]) + gzip.compress(FEED[100:])
TWO_FRAMES = zstd.compress(FEED[:100]) + zstd.compress(FEED[100:])
SKIPPED_FRAME = struct.pack("<II", 0x184D2A50, 4) + b"skip"
HUGE_WINDOW = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"  # a frame that asks for a window of 2 GB

_BOMBS = [
    Behaviour(f"a {kind} bomb", encoded(label, bomb(kind)), PERMANENT, "larger than 1 MB")
    for kind, label in [("gzip", b"gzip"), ("br", b"br"), ("zstd", b"zstd"), ("deflate", b"deflate"), ("raw deflate", b"deflate")]
]
_COMPRESSION = [
    *_BOMBS,
    Behaviour("a gzip bomb in gzip", encoded(b"gzip, gzip", gzip.compress(bomb("gzip"))), PERMANENT, "larger than 1 MB"),
    Behaviour("a zstd bomb in an error", encoded(b"zstd", bomb("zstd"), b"500 No"), TEMPORARY, "500"),
    Behaviour("four layers of gzip", encoded(b"gzip, gzip, gzip, gzip", _repeated(4, gzip.compress, FEED)), TEMPORARY, "too many layers"),
    Behaviour("brotli in gzip, honestly", encoded(b"br, gzip", gzip.compress(BR)), SUCCESS),
    Behaviour("gzip that is cut off", encoded(b"gzip", _half(GZIP)), TEMPORARY, "compression is broken"),
    Behaviour("brotli that is cut off", encoded(b"br", _half(BR)), TEMPORARY, "compression is broken"),
    Behaviour("zstd that is cut off", encoded(b"zstd", _half(ZSTD)), TEMPORARY, "compression is broken"),
    Behaviour("deflate that is cut off", encoded(b"deflate", _half(DEFLATE)), TEMPORARY, "compression is broken"),
    Behaviour("gzip that is cut off in its checksum", encoded(b"gzip", GZIP[:-1]), TEMPORARY, "compression is broken"),
    Behaviour(
        "gzip that is cut off after one byte",
        encoded(b"gzip", GZIP[:1]),
        TEMPORARY,
        "compression is broken",
    ),
    Behaviour("gzip with a wrong checksum", encoded(b"gzip", GZIP[:-8] + b"checksum"), TEMPORARY, "compression is broken"),
    Behaviour("gzip with a wrong magic number", encoded(b"gzip", b"\x1f\x8c" + GZIP[2:]), SUCCESS, refreshed=PERMANENT),
    Behaviour("zstd with a wrong magic number", encoded(b"zstd", b"\x29" + ZSTD[1:]), TEMPORARY, "compression is broken"),
    Behaviour("zstd with a window of 2 GB", encoded(b"zstd", HUGE_WINDOW), TEMPORARY, "compression is broken"),
    Behaviour("gzip called brotli", encoded(b"br", GZIP), TEMPORARY, "compression is broken"),
    Behaviour("gzip called zstd", encoded(b"zstd", GZIP), TEMPORARY, "compression is broken"),
    Behaviour("brotli called gzip", encoded(b"gzip", BR), SUCCESS, refreshed=PERMANENT),
    Behaviour("gzip called nothing", encoded(b"identity", GZIP), SUCCESS, refreshed=PERMANENT),
    Behaviour("plain text called gzip", encoded(b"gzip", FEED), SUCCESS),
    Behaviour("plain text called deflate", encoded(b"deflate", FEED), SUCCESS),
    Behaviour("plain text called brotli", encoded(b"br", FEED), TEMPORARY, "compression is broken"),
    Behaviour("plain text called zstd", encoded(b"zstd", FEED), TEMPORARY, "compression is broken"),
    Behaviour("plain text called utf-8", encoded(b"utf-8", FEED), SUCCESS),
    Behaviour("deflate without its header", encoded(b"deflate", raw_deflate(FEED)), SUCCESS),
    Behaviour("gzip with garbage after it", encoded(b"gzip", GZIP + b"garbage" * 1000), SUCCESS),
    Behaviour("zstd with garbage after it", encoded(b"zstd", ZSTD + b"garbage" * 1000), SUCCESS),
    Behaviour("brotli with garbage after it", encoded(b"br", BR + b"garbage" * 1000), TEMPORARY, "compression is broken"),
    Behaviour("gzip in two members", encoded(b"gzip", TWO_MEMBERS), SUCCESS),
    Behaviour(
        "gzip with garbage after it that begins like a member",
        encoded(b"gzip", GZIP + b"\x1f\x8b\xff\xff garbage"),
        SUCCESS,
    ),
    Behaviour(
        "deflate with zeros after it",
        encoded(b"deflate", DEFLATE + bytes(8)),
        SUCCESS,
    ),
    Behaviour(
        "zstd in two frames",
        encoded(b"zstd", TWO_FRAMES),
        SUCCESS,
    ),
    Behaviour(
        "zstd that begins with a frame to skip",
        encoded(b"zstd", SKIPPED_FRAME + ZSTD),
        SUCCESS,
    ),
]

_BIG = b"x" * (2 * MB)
_SIZES = [
    Behaviour("a body over the limit, with its length", says(answer(_BIG)), PERMANENT, "larger than 1 MB"),
    Behaviour("a body over the limit, in chunks", says(chunked(_BIG)), PERMANENT, "larger than 1 MB"),
    Behaviour("a body over the limit, until the end", says(head(), _BIG), PERMANENT, "larger than 1 MB"),
    Behaviour("a body without end", floods(head(), b"x" * 65536), PERMANENT, "larger than 1 MB"),
    Behaviour("chunks without end", floods(chunked(end=b""), b"1000\r\n" + b"x" * 4096 + b"\r\n"), PERMANENT, "larger than 1 MB"),
    Behaviour("a body in chunks of one byte", says(chunked(*(FEED[n : n + 1] for n in range(len(FEED))))), SUCCESS),
    Behaviour("an error page without end", floods(head(status=b"404 Not Found"), b"x" * 65536), PERMANENT, "HTTP 404"),
]

_NOT_DONE = "not done within 1 s"
_SLOWNESS = [
    Behaviour("a status line that drips", drips(b"", _bytes_of(b"HTTP/1.1 200 " + b"O" * 99)), TEMPORARY, _NOT_DONE),
    Behaviour("a header line that drips", drips(b"HTTP/1.1 200 OK\r\nX: ", _forever(b"y")), TEMPORARY, _NOT_DONE),
    Behaviour("header lines that drip", drips(b"HTTP/1.1 200 OK\r\n", _forever(b"X: y\r\n")), TEMPORARY, _NOT_DONE),
    Behaviour("a body that drips", drips(head(b"Content-Length: 9999"), _forever(b"x")), TEMPORARY, _NOT_DONE),
    Behaviour("a body that drips until the end", drips(head(), _forever(b"x")), TEMPORARY, _NOT_DONE),
    Behaviour("gzip that drips", drips(head(b"Content-Encoding: gzip"), _bytes_of(bomb("gzip", 1))), TEMPORARY, _NOT_DONE),
    Behaviour("a chunk size that drips", drips(chunked(FEED, end=b""), _forever(b"0")), TEMPORARY, _NOT_DONE),
    Behaviour("chunks that drip", drips(chunked(end=b""), _forever(b"1\r\nx\r\n")), TEMPORARY, _NOT_DONE),
    Behaviour("trailers that drip", drips(chunked(FEED, end=b"0\r\n"), _forever(b"X: y\r\n")), TEMPORARY, _NOT_DONE),
    Behaviour("100 Continue that drips", drips(b"", _forever(head(status=b"100 Continue"))), TEMPORARY, _NOT_DONE),
    Behaviour("a connection that is accepted and never answered", stops_after(), TEMPORARY, "timed out"),
    Behaviour("a body that stops coming", stops_after(head(b"Content-Length: 99"), b"<rss"), TEMPORARY, "timed out"),
]

_EXTRA = b"\r\n".join(b"X-%d: %s" % (n, b"y" * 60_000) for n in range(6))
_CONTROLS = bytes({*range(32)} - {9, 10, 13}) + b"\x7f"
_HEADERS = [
    Behaviour("100 Continue without end", floods(b"", head(status=b"100 Continue") * 100), TEMPORARY, "headers are too large"),
    Behaviour("100 Continue before the answer", says(head(status=b"100 Continue"), answer()), SUCCESS),
    Behaviour(
        "103 Early Hints before the answer",
        says(head(b"Link: </style.css>; rel=preload", status=b"103 Early Hints"), answer()),
        SUCCESS,
    ),
    Behaviour("headers without end", floods(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100), TEMPORARY, "too many headers"),
    Behaviour("a header line of 10 MB", floods(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536), TEMPORARY, "headers are too large"),
    Behaviour("100000 header lines", says(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100_000, b"\r\n", FEED), TEMPORARY, "too many headers"),
    Behaviour("a few header lines that are large together", says(answer(FEED, _EXTRA)), TEMPORARY, "headers are too large"),
    Behaviour("a status line without end", floods(b"HTTP/1.1 200 ", b"O" * 65536), TEMPORARY, "headers are too large"),
    Behaviour("a header without a colon", says(answer(FEED, b"X: y", b"nonsense", b"Y: z")), SUCCESS),
    Behaviour("a header without a name", says(answer(FEED, b": y")), SUCCESS),
    Behaviour("a header that is folded", says(answer(FEED, b"X-Folded: one", b"\t two", b" three")), SUCCESS),
    Behaviour("line ends without carriage returns", says(answer().replace(b"\r\n", b"\n")), SUCCESS),
    Behaviour("control characters in the status line", says(answer(status=b"200 " + _CONTROLS)), SUCCESS),
    Behaviour("control characters in a header", says(answer(FEED, b"X-Odd: a" + _CONTROLS + b"b")), SUCCESS),
    Behaviour("control characters in a header's name", says(answer(FEED, b"X-\x00\x01Odd: y")), SUCCESS),
    Behaviour("control characters in the ETag", says(answer(FEED, b'ETag: "a' + _CONTROLS + b'b"')), SUCCESS),
    Behaviour(
        "bytes of no known encoding in every header", says(answer(FEED, b"ETag: \xff\xfe\x80", b"Last-Modified: \xff", b"X: \xff")), SUCCESS
    ),
    Behaviour("an absurd max-age", says(answer(FEED, b"Cache-Control: max-age=" + b"9" * 400, b"Age: -" + b"9" * 400)), SUCCESS),
    Behaviour("an Expires that no calendar has", says(answer(FEED, b"Expires: Fri, 99 Foo 99999 99:99:99 +9999")), SUCCESS),
]

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS_FRAME = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"
_ALERT = b"\x15\x03\x01\x00\x02\x02\x28"
_SERVER_HELLO = b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb\x03\x03"
_NOT_HTTP = "does not answer in HTTP"
_PROTOCOLS = [
    Behaviour("HTTP/0.9", says(FEED), TEMPORARY, _NOT_HTTP),
    Behaviour(
        "HTTP/9.9",
        says(answer().replace(b"HTTP/1.1", b"HTTP/9.9")),
        TEMPORARY,
        _NOT_HTTP,
    ),
    Behaviour("the HTTP/2 preface", says(_PREFACE), TEMPORARY, _NOT_HTTP),
    Behaviour("an HTTP/2 frame", says(_SETTINGS_FRAME), TEMPORARY, _NOT_HTTP),
    Behaviour("TLS on a plain port", says(_ALERT), TEMPORARY, _NOT_HTTP),
    Behaviour("an SSH banner", says(b"SSH-2.0-OpenSSH_9.6\r\n"), TEMPORARY, _NOT_HTTP),
    Behaviour("an SMTP banner", says(b"220 mail.example ESMTP\r\n"), TEMPORARY, _NOT_HTTP),
    Behaviour("noise", says(bytes(range(256)) * 100), TEMPORARY, _NOT_HTTP),
    Behaviour("empty lines without end", floods(b"", b"\r\n" * 1000), TEMPORARY, _NOT_HTTP),
    Behaviour("plain HTTP where TLS was asked for", says(answer()), TEMPORARY, "TLS failed", scheme="https"),
    Behaviour("a TLS alert", says(_ALERT), TEMPORARY, "TLS failed", scheme="https"),
    Behaviour("a TLS handshake that is never answered", stops_after(), TEMPORARY, "timed out", scheme="https"),
    Behaviour("a TLS handshake that drips", drips(_SERVER_HELLO, _forever(b"x")), TEMPORARY, "timed out", scheme="https"),
    Behaviour("a certificate that nobody signed", says(answer()), TEMPORARY, "TLS failed", scheme="https", tls=True),
]

_BROKE_OFF = "broke off"
_LENGTHS = [
    Behaviour("a negative length", says(answer(FEED, b"Content-Length: -5")), SUCCESS),
    Behaviour("a length that is not a number", says(answer(FEED, b"Content-Length: many")), SUCCESS),
    Behaviour("a length of 5000 digits", says(answer(FEED, b"Content-Length: " + b"9" * 5000)), SUCCESS),
    Behaviour("an immense length", says(answer(FEED, b"Content-Length: 999999999999999999999")), TEMPORARY, _BROKE_OFF),
    Behaviour("two lengths that differ", says(answer(FEED, b"Content-Length: 5", _length(FEED))), TEMPORARY, "Content-Length"),
    Behaviour("the same length twice", says(answer(FEED, _length(FEED), _length(FEED))), SUCCESS),
    Behaviour("a length that is too long", says(answer(FEED, b"Content-Length: 9999")), TEMPORARY, _BROKE_OFF),
    Behaviour("a length that is too short", says(answer(FEED, b"Content-Length: 10")), SUCCESS, refreshed=PERMANENT),
    Behaviour(
        "a length and chunks",
        says(answer(b"%x\r\n%s\r\n0\r\n\r\n" % (len(FEED), FEED), b"Content-Length: 3", b"Transfer-Encoding: chunked")),
        SUCCESS,
    ),
    Behaviour("chunks of garbage", says(chunked(end=b"garbage\r\n" * 100)), TEMPORARY, _BROKE_OFF),
    Behaviour("a chunk size that overflows", says(chunked(end=b"f" * 40 + b"\r\n" + FEED)), TEMPORARY, _BROKE_OFF),
    Behaviour("a chunk size of 60000 digits", says(chunked(end=b"f" * 60_000 + b"\r\n" + FEED)), TEMPORARY),
    Behaviour("a chunk size below zero", says(chunked(end=b"-5\r\n" + FEED)), TEMPORARY),
    Behaviour("a chunk size of minus one", floods(chunked(end=b"-1\r\n"), b"x" * 65536), TEMPORARY),
    Behaviour("a chunk extension without end", floods(chunked(end=b"5;x="), b"y" * 65536), TEMPORARY, "too large"),
    Behaviour("chunks without a last one", says(chunked(FEED, end=b"")), TEMPORARY, _BROKE_OFF),
    Behaviour("trailers without end", floods(chunked(FEED, end=b"0\r\n"), b"X: y\r\n" * 1000), TEMPORARY, "too large"),
]


def _reset(visit: Visit, *before: bytes) -> None:
    visit.send(*before)
    visit.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _half_closed(visit: Visit, *before: bytes) -> None:
    visit.send(*before)
    visit.connection.shutdown(socket.SHUT_WR)
    visit.wait_for_the_client_to_go()


_ENDINGS = [
    Behaviour("nobody listens", None, TEMPORARY, "connection refused"),
    Behaviour("the connection closes before the answer", says(), TEMPORARY, _BROKE_OFF),
    Behaviour("the connection is reset before the answer", _reset, TEMPORARY, _BROKE_OFF),
    Behaviour("the connection is reset in the body", lambda v: _reset(v, answer(FEED, b"Content-Length: 9999")), TEMPORARY),
    Behaviour("the connection closes in the status line", says(b"HTTP/1.1 20"), TEMPORARY, "the server "),
    Behaviour("the connection closes in the headers", says(b"HTTP/1.1 200 OK\r\nContent-Le"), TEMPORARY, _BROKE_OFF),
    Behaviour("the connection closes between headers", says(b"HTTP/1.1 200 OK\r\nX: y\r\n"), TEMPORARY, _BROKE_OFF),
    Behaviour("the connection half-closes before the answer", _half_closed, TEMPORARY, _BROKE_OFF),
    Behaviour(
        "the connection half-closes in the body", lambda v: _half_closed(v, head(b"Content-Length: 9999"), FEED), TEMPORARY, _BROKE_OFF
    ),
    Behaviour("the connection half-closes after the answer", lambda v: _half_closed(v, head(), FEED), SUCCESS),
    Behaviour("the answer comes twice", says(answer(), answer(b"<poison/>")), SUCCESS),
]


def _status(status: bytes, outcome: Outcome, reason: str = "", *headers: bytes, body: bytes = b"") -> Behaviour:
    name = f"status {status.decode()}" + (f" with {headers[0][:40].decode('latin-1')!a}" if headers else "")
    return Behaviour(name, says(answer(body, *headers, status=status)), outcome, reason)


_ODD_WAITS = [
    b"soon",
    b"-5",
    b"1e9",
    b"\xb2",
    b"9" * 400,
    b"10, 20",
    b"Fri, 31 Dec 9999 23:59:59 -2359",
    b"Mon, 01 Jan 0001 00:00:00 +2359",
]
_STATUSES = [
    _status(b"0", TEMPORARY, _NOT_HTTP),
    _status(b"99", TEMPORARY, _NOT_HTTP),
    _status(b"1000", TEMPORARY, _NOT_HTTP),
    _status(b"-200", TEMPORARY, _NOT_HTTP),
    _status(b"twohundred", TEMPORARY, _NOT_HTTP),
    *(_status(b"%d" % number, TEMPORARY, f"HTTP {number}") for number in (101, 204, 205, 206, 299, 300, 305, 306, 503, 520, 999)),
    _status(b"199", TEMPORARY),
    _status(b"304", NOT_MODIFIED),
    *(_status(b"%d" % number, PERMANENT, f"HTTP {number}") for number in (418, 451)),
    *(_status(b"429", TEMPORARY, "HTTP 429", b"Retry-After: " + value) for value in _ODD_WAITS),
    _status(b"503", TEMPORARY, "HTTP 503", b"Retry-After: " + b"9" * 15),
    Behaviour("410 with a body that breaks off", says(answer(b"gone", b"Content-Length: 99", status=b"410 Gone")), PERMANENT, "HTTP 410"),
    Behaviour(
        "429 with a body that drips",
        drips(head(b"Content-Length: 99", b"Retry-After: 60", status=b"429 No"), _forever(b"x")),
        TEMPORARY,
        "HTTP 429",
    ),
]


def _circle(visit: Visit) -> None:
    visit.send(answer(b"", b"Location: /a" if visit.path != b"/a" else b"Location: /b", status=b"301 Moved"))


def _growing(visit: Visit) -> None:
    visit.send(answer(b"", b"Location: " + visit.path + b"/" + b"x" * 1000, status=b"302 Found"))


def _always_new(visit: Visit) -> None:
    number = int(visit.path.rpartition(b"?")[2] or 0) if b"?" in visit.path else 0
    visit.send(answer(b"", b"Location: /feed?%d" % (number + 1), status=b"307 Again"))


def _slow_steps(visit: Visit) -> None:
    time.sleep(0.35)
    visit.send(answer(b"", b"Location: " + visit.path + b"x", status=b"302 Found"))


_MOVED = head(b"Content-Length: 99", b"Location: /new", status=b"301 Moved")


def _breaks_off(visit: Visit) -> None:
    visit.send(_MOVED + b"moved" if visit.path == b"/feed" else answer())


def _stalls(visit: Visit) -> None:
    visit.send(_MOVED if visit.path == b"/feed" else answer())
    visit.wait_for_the_client_to_go()


_NOT_FETCHED = "which is not fetched"
_REDIRECTS = [
    Behaviour("a redirect in a circle", _circle, TEMPORARY, "in a circle"),
    Behaviour("a redirect to itself", redirects(b"/feed"), TEMPORARY, "in a circle"),
    Behaviour("a redirect to itself with another fragment", redirects(b"#top"), TEMPORARY, "in a circle"),
    Behaviour("redirects to ever longer URLs", _growing, TEMPORARY, "more than 5 redirects"),
    Behaviour("redirects without end", _always_new, TEMPORARY, "more than 5 redirects"),
    Behaviour(
        "redirects that take their time",
        _slow_steps,
        TEMPORARY,
        _NOT_DONE,
    ),
    *(
        Behaviour(f"a redirect to {location.decode()}", redirects(location), PERMANENT, _NOT_FETCHED)
        for location in (b"file:///etc/hostname", b"ftp://127.0.0.1/feed", b"javascript:alert(1)", b"data:text/xml,<rss/>")
    ),
    Behaviour("a redirect to gopher", redirects(b"gopher://127.0.0.1:70/_feed"), PERMANENT, _NOT_FETCHED),
    Behaviour("a redirect to a local socket", redirects(b"http+unix://%2Frun%2Fsocket/feed"), PERMANENT, _NOT_FETCHED),
    Behaviour("a redirect without a Location", says(answer(b"", status=b"302 Found")), TEMPORARY, "to nowhere"),
    Behaviour("a redirect to an empty Location", redirects(b""), TEMPORARY, "to nowhere"),
    Behaviour("a redirect to white space", redirects(b" \t "), TEMPORARY, "to nowhere"),
    Behaviour("a redirect to a URL without a host", redirects(b"http:///new", found_at=b"/new"), SUCCESS),
    Behaviour("a redirect to a URL with a port that is none", redirects(b"http://127.0.0.1:99999/"), PERMANENT, "not a URL"),
    Behaviour("a redirect to half an IPv6 address", redirects(b"http://[::1/"), PERMANENT, "not a URL"),
    Behaviour("a redirect to a name with empty parts", redirects(b"http://a..b/"), TEMPORARY, "could not be resolved"),
    Behaviour("a redirect to a URL of 10 KB", redirects(b"/" + b"x" * 10_000), TEMPORARY, "too long"),
    Behaviour("a redirect to a relative Location", redirects(b"other/../new?x=1", found_at=b"/new?x=1"), SUCCESS),
    Behaviour("a redirect to a query", redirects(b"?new", found_at=b"/feed?new"), SUCCESS),
    Behaviour("a redirect without a scheme", lambda v: redirects(v.base.removeprefix(b"http:") + b"/new", found_at=b"/new")(v), SUCCESS),
    Behaviour("a redirect to a Location in UTF-8", redirects("/caf\u00e9".encode(), found_at=b"/caf%C3%A9"), SUCCESS),
    Behaviour(
        "a redirect to a Location in Latin-1",
        redirects("/caf\u00e9".encode("latin-1"), found_at=b"/caf%E9"),
        SUCCESS,
    ),
    Behaviour("a redirect to a Location with spaces", redirects(b" /new feed ", found_at=b"/new%20feed"), SUCCESS),
    Behaviour("a redirect to a Location with control characters", redirects(b"/n" + _CONTROLS + b"ew", found_at=b"/new"), SUCCESS),
    Behaviour("a redirect to a Location that is folded", redirects(b"/n\r\n ew", found_at=b"/n%20ew"), SUCCESS),
    Behaviour("a redirect with a body of 8 MB", redirects(b"/new", body=b"x" * (8 * MB)), SUCCESS),
    Behaviour("a redirect with a body that breaks off", _breaks_off, SUCCESS),
    Behaviour("a redirect with a body that does not come", _stalls, SUCCESS),
    Behaviour("a redirect to a port where nobody listens", redirects(b"http://127.0.0.1:9/"), TEMPORARY, "connection refused"),
]

_LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12))
_XML_BOMB = b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "ha">' + _LAUGHS + b"]><rss><channel><title>&l11;</title></channel></rss>"
_BODIES = [
    Behaviour("a body of NULs", says(answer(bytes(5000))), SUCCESS, refreshed=PERMANENT),
    Behaviour("a feed in UTF-16", says(answer(FEED.decode().replace("1.0'", "1.0' encoding='utf-16'").encode("utf-16"))), SUCCESS),
    Behaviour("a binary body", says(answer(bytes(range(256)) * 50)), SUCCESS, refreshed=PERMANENT),
    Behaviour("an HTML page", says(answer(b"<!doctype html><html><body>Hello</body></html>")), SUCCESS, refreshed=PERMANENT),
    Behaviour("an empty body", says(answer(b"")), SUCCESS, refreshed=PERMANENT),
    Behaviour("white space", says(answer(b" \r\n\t" * 1000)), SUCCESS, refreshed=PERMANENT),
    Behaviour("half a feed", says(answer(FEED[:60])), SUCCESS, refreshed=PERMANENT),
    Behaviour("an XML bomb", says(answer(_XML_BOMB)), SUCCESS, refreshed=PERMANENT),
    Behaviour("JSON in 100000 brackets", says(answer(b"[" * 100_000)), SUCCESS, refreshed=PERMANENT),
    Behaviour("a picture", says(answer(b"\x89PNG\r\n\x1a\n" + bytes(500), b"Content-Type: image/png")), SUCCESS, refreshed=PERMANENT),
]

BEHAVIOURS: list[Behaviour] = [
    *_COMPRESSION,
    *_SIZES,
    *_SLOWNESS,
    *_HEADERS,
    *_PROTOCOLS,
    *_LENGTHS,
    *_ENDINGS,
    *_STATUSES,
    *_REDIRECTS,
    *_BODIES,
]


# Serving


@functools.cache
def self_signed_certificate() -> ssl.SSLContext | None:
    """TLS with a certificate for 127.0.0.1 that no authority signed, if openssl is there to make it."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        try:
            subprocess.run([*command, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=20)
        except (OSError, subprocess.SubprocessError):
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context


@contextmanager
def serving(behaviour: Behaviour, address: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a feed on a server that behaves like this."""
    listener = _listener(address)
    host, port = listener.getsockname()
    base = f"{behaviour.scheme}://{host}:{port}"
    if behaviour.script is None:
        listener.close()
        yield f"{base}/feed"
        return
    threading.Thread(target=_accept, args=(listener, behaviour, base.encode()), daemon=True).start()
    try:
        yield f"{base}/feed"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@contextmanager
def serving_all(behaviours: Iterable[Behaviour]) -> Iterator[dict[str, str]]:
    """Name -> URL of a server each, and an address of its own for each of them where the machine has so many."""
    with ExitStack() as stack:
        yield {each.name: stack.enter_context(serving(each, f"127.0.{n // 200 + 1}.{n % 200 + 1}")) for n, each in enumerate(behaviours)}


def _listener(address: str) -> socket.socket:
    try:
        return socket.create_server((address, 0))
    except OSError:  # a machine with only one loopback address
        return socket.create_server(("127.0.0.1", 0))


def _accept(listener: socket.socket, behaviour: Behaviour, base: bytes) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_converse, args=(connection, behaviour, base), daemon=True).start()


def _converse(connection: socket.socket, behaviour: Behaviour, base: bytes) -> None:
    """Read one request, do what is to be done, close."""
    assert behaviour.script is not None
    with connection, suppress(OSError):
        connection.settimeout(10)
        if behaviour.tls and (context := self_signed_certificate()):
            connection = context.wrap_socket(connection, server_side=True)
        behaviour.script(Visit(connection, connection.recv(65536), base))
