"""Content-Encoding, however it comes in pieces: whole bodies come out whole, broken ones not at all, and bombs stay small."""

from __future__ import annotations

import gzip
import itertools
import random
import resource
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest

from feed_assets.fetch.decode import ACCEPT_ENCODING, BrokenCompression, decoded
from feed_assets_tests.support.hostile import MB, SKIPPED_FRAME, bomb, padded_in_zstd, raw_deflate, zstd

PLAIN = b"<rss>" + random.Random(1).randbytes(3000) + b"feed " * 2000 + b"</rss>"
ENCODED = {
    "gzip": ("gzip", gzip.compress(PLAIN, mtime=0)),
    "x-gzip": ("x-gzip", gzip.compress(PLAIN, mtime=0)),
    "gzip in two members": ("gzip", gzip.compress(PLAIN[:1000]) + gzip.compress(PLAIN[1000:])),
    "gzip with an empty member": ("gzip", gzip.compress(b"") + gzip.compress(PLAIN)),
    "deflate": ("deflate", zlib.compress(PLAIN)),
    "deflate without its header": ("deflate", raw_deflate(PLAIN)),
    "br": ("br", brotli.compress(PLAIN)),
    "zstd": ("zstd", zstd.compress(PLAIN)),
    "gzip, then br": ("gzip, br", brotli.compress(gzip.compress(PLAIN))),
    "three layers": ("deflate, zstd, gzip", gzip.compress(zstd.compress(zlib.compress(PLAIN)))),
    "none": ("", PLAIN),
    "identity": ("identity", PLAIN),
    "a name that nobody knows": ("utf-8, none", PLAIN),
    "capitals and spaces": (" GZip ,, ", gzip.compress(PLAIN)),
}
CUT = [name for name in ENCODED if ENCODED[name][1] is not PLAIN and name not in ("gzip in two members", "gzip with an empty member")]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[place : place + size] for place in range(0, len(data), size))


def body(data: bytes, encoding: str, size: int = 65536) -> bytes:
    return b"".join(decoded(pieces(data, size), encoding))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 65536])
@pytest.mark.parametrize("name", ENCODED)
def test_a_body_comes_out_whole_in_pieces_of_any_size(name: str, size: int) -> None:
    encoding, data = ENCODED[name]
    assert body(data, encoding, size) == PLAIN


def test_every_encoding_that_is_offered_is_understood() -> None:
    assert {name.strip() for name in ACCEPT_ENCODING.split(",")} <= {encoding for encoding, _ in ENCODED.values()}


@pytest.mark.parametrize("name", CUT)
def test_a_body_that_is_cut_off_anywhere_is_broken(name: str) -> None:
    encoding, data = ENCODED[name]
    for end in [*range(2, 40), *range(40, len(data), 97), len(data) - 1]:
        with pytest.raises(BrokenCompression):
            body(data[:end], encoding)


@pytest.mark.parametrize(
    "encoding",
    [
        "gzip",
        "deflate",
        "br",
        "zstd",
    ],
)
def test_a_body_that_is_cut_off_after_one_byte_is_broken(encoding: str) -> None:
    with pytest.raises(BrokenCompression):
        body(ENCODED[encoding][1][:1], encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_no_bytes_are_an_empty_body_in_every_encoding(encoding: str) -> None:
    assert body(b"", encoding) == b""


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd", "br"])
def test_a_byte_that_was_changed_on_the_way_never_makes_another_error(name: str) -> None:
    encoding, data = ENCODED[name]
    broken = 0
    for place in range(0, len(data), 41):
        changed = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        try:
            body(changed, encoding)
        except BrokenCompression:
            broken += 1
    assert broken, "most changes are noticed, and any other exception would have ended this test"


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_wrong_checksum_is_broken(name: str) -> None:
    encoding, data = ENCODED[name]
    for place in range(1, 5):
        end = len(data) - place - (4 if name == "gzip" else 0)
        with pytest.raises(BrokenCompression):
            body(data[:end] + bytes([data[end] ^ 1]) + data[end + 1 :], encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip"])
@pytest.mark.parametrize(
    "plain", [PLAIN, b"<?xml version='1.0'?><rss/>", b"\xef\xbb\xbf<rss/>"], ids=["long", "short", "with a byte order mark"]
)
def test_what_is_called_compressed_and_is_not_comes_out_as_it_is(encoding: str, plain: bytes) -> None:
    assert body(plain, encoding) == plain


def test_json_that_is_called_deflate_and_is_not_comes_out_as_it_is() -> None:
    plain = b'{"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": []}'
    assert body(plain, "deflate") == plain


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_plain_text_called_brotli_or_zstd_is_broken(encoding: str) -> None:
    with pytest.raises(BrokenCompression):
        body(PLAIN, encoding)


@pytest.mark.parametrize("size", [1, 65536])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_garbage_after_the_end_is_left_out(encoding: str, size: int) -> None:
    assert body(ENCODED[encoding][1] + b"garbage " * 100, encoding, size) == PLAIN


@pytest.mark.parametrize("size", [1, 65536])
def test_zeros_after_gzip_are_left_out(size: int) -> None:
    assert body(ENCODED["gzip"][1] + bytes(1000), "gzip", size) == PLAIN


@pytest.mark.parametrize(
    ("encoding", "after"),
    [("gzip", b"\x1f\x8b\xff\xff garbage"), ("deflate", bytes(8))],
    ids=["half a member after gzip", "zeros after deflate"],
)
def test_garbage_that_looks_like_more_ends_the_body(tmp_path: Path, encoding: str, after: bytes) -> None:
    """In a process that has little memory, so that it cannot take the machine with it."""
    (tmp_path / "body").write_bytes(ENCODED[encoding][1] + after)
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import print_size; print_size()", encoding, str(tmp_path / "body")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.stdout == str(len(PLAIN)), done.stderr[-500:]


def print_size() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (400 * MB, 400 * MB))
    encoding, path = sys.argv[1:]
    print(len(body(Path(path).read_bytes(), encoding)), end="")


def test_two_zeros_after_deflate_are_left_out() -> None:
    assert body(ENCODED["deflate"][1] + bytes(2), "deflate") == PLAIN


@pytest.mark.parametrize(
    "data",
    [zstd.compress(PLAIN[:1000]) + zstd.compress(PLAIN[1000:]), SKIPPED_FRAME + zstd.compress(PLAIN)],
    ids=["two frames", "a frame to skip"],
)
@pytest.mark.parametrize("size", [1, 100, 65536])
def test_zstd_may_have_several_frames(data: bytes, size: int) -> None:
    assert body(data, "zstd", size) == PLAIN


def test_more_than_three_layers_are_refused() -> None:
    data = b"x"
    for _ in range(4):
        data = gzip.compress(data)
    with pytest.raises(BrokenCompression, match="too many layers"):
        body(data, "gzip,gzip,gzip,gzip")


@pytest.mark.parametrize("kind", ["gzip", "deflate", "raw deflate", "br", "zstd"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_comes_out_in_small_pieces(kind: str, layers: int) -> None:
    encoding, data = kind.removeprefix("raw "), bomb(kind)
    if layers == 2:
        encoding, data = f"{encoding}, gzip", gzip.compress(data)
    tracemalloc.start()
    try:
        first = list(itertools.islice(decoded(pieces(data, 65536), encoding), 20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(map(len, first)) > 1000
    assert max(map(len, first)) <= MB / 2
    assert peak < 12 * MB


def test_what_comes_after_the_end_is_not_kept() -> None:
    data = padded_in_zstd(ENCODED["gzip"][1], 16)
    tracemalloc.start()
    try:
        assert body(data, "gzip, zstd") == PLAIN
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * MB
