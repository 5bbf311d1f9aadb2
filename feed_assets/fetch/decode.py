"""Bodies decompressed piece by piece: a bomb is noticed after MAX_BODY_MB, and a body that was cut off is never taken for whole."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import brotli

from feed_assets.fetch.exchange import current

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_PIECE = 256 * 1024
_MOST_LAYERS = 3
_START = 4  # bytes that tell how compressed data begins


class BrokenCompression(Exception):
    """The body's compression is broken or ends early."""


class _Decoder(Protocol):
    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What this much more input decompresses to, in pieces of bounded size."""

    def end(self) -> None:
        """The input is over; raises when the data is not."""


def decoded(chunks: Iterable[bytes], encoding: str, *, most: int = 2**62) -> Iterator[bytes]:
    """The body in pieces, without its Content-Encoding; no layer of it may be larger than `most`.

    Names that nobody knows (`utf-8`, `none`) are taken as no encoding.
    """
    layers = [name for name in (part.strip().lower() for part in encoding.split(",")) if name in _DECODERS]
    if len(layers) > _MOST_LAYERS:
        raise BrokenCompression("the body is compressed in too many layers")
    for name in reversed(layers):
        chunks = _through(_DECODERS[name](), chunks, most)
    yield from chunks


def _through(decoder: _Decoder, chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            for piece in decoder.pieces(chunk):
                if exchange := current():
                    exchange.wait()  # a few bytes may take long to decompress, to nothing
                most -= len(piece)
                if most < 0:
                    raise BrokenCompression("the body swells without end when it is decompressed")
                yield piece
        decoder.end()
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
        raise BrokenCompression("the body's compression is broken") from error


class _Zlib:
    """gzip and deflate. Also what is called so and is not compressed at all, which some servers send."""

    def __init__(self, start: Callable[[bytes], Any], *, members: bool) -> None:
        self._start = start  # a decompressor for data that begins like this, or None
        self._members = members  # gzip may have several, one after the other
        self._decompressor: Any = None
        self._head = b""
        self._plain = self._ended = self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data, self._head = self._head + data, b""
        while data and not self._over:
            if self._plain:
                yield data
                return
            if self._decompressor is None:
                if len(data) < _START:
                    self._head = data
                    return
                self._decompressor = self._start(data)
                if self._decompressor is None:  # padding after the end, or never compressed
                    self._over, self._plain = self._ended, not self._ended
                    continue
            yield self._decompressor.decompress(data, _PIECE)
            data = self._decompressor.unconsumed_tail
            if self._decompressor.eof:
                data, self._decompressor = self._decompressor.unused_data, None
                self._ended, self._over = True, not self._members

    def end(self) -> None:
        if self._decompressor is not None or (self._head and not self._ended):
            raise EOFError


def _gzip(data: bytes) -> Any:
    return zlib.decompressobj(16 + zlib.MAX_WBITS) if data.startswith(b"\x1f\x8b\x08") else None


def _deflate(data: bytes) -> Any:
    """With zlib's header, as it should be, or without, as some send it."""
    if data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0:
        return zlib.decompressobj()
    if data[:1] in (b"{", b"["):  # JSON passes for raw deflate for quite a while
        return None
    try:
        zlib.decompressobj(-zlib.MAX_WBITS).decompress(data[:4096], _PIECE)
    except zlib.error:
        return None
    return zlib.decompressobj(-zlib.MAX_WBITS)


class _Brotli:
    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self._fed = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(data)
        while piece := self._decompressor.process(data, output_buffer_limit=_PIECE):
            yield piece
            data = b""  # what is left of it, the decompressor keeps

    def end(self) -> None:
        if self._fed and not self._decompressor.is_finished():
            raise EOFError


class _Zstd:
    """Frames, one after the other; anything else after the end is padding."""

    def __init__(self) -> None:
        self._decompressor: Any = None
        self._head = b""
        self._ended = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data, self._head = self._head + data, b""
        while data or (self._decompressor is not None and not self._decompressor.needs_input):
            if self._decompressor is None:
                if len(data) < _START:
                    self._head = data
                    return
                if self._ended and not _starts_zstd_frame(data):
                    return
                # A frame may ask for a window of gigabytes; 8 MB is what HTTP allows (RFC 9659).
                self._decompressor = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 23})
            yield self._decompressor.decompress(data, max_length=_PIECE)
            data = b""
            if self._decompressor.eof:
                data, self._decompressor, self._ended = self._decompressor.unused_data, None, True

    def end(self) -> None:
        if self._decompressor is not None or (self._head and not self._ended):
            raise EOFError


def _starts_zstd_frame(data: bytes) -> bool:
    return data.startswith(b"\x28\xb5\x2f\xfd") or (data[1:4] == b"\x2a\x4d\x18" and data[0] >> 4 == 5)


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: _Zlib(_gzip, members=True),
    "x-gzip": lambda: _Zlib(_gzip, members=True),
    "deflate": lambda: _Zlib(_deflate, members=False),
    "br": _Brotli,
    "zstd": _Zstd,
}
