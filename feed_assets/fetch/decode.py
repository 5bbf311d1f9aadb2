"""Bodies decompressed piece by piece: a bomb is noticed after MAX_BODY_MB, and a body that was cut off is never taken for whole."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_PIECE = 256 * 1024
_MOST_LAYERS = 3


class BrokenCompression(Exception):
    """The body's compression is broken or ends early."""


class _Decoder(Protocol):
    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What this much more input decompresses to, in pieces of bounded size."""

    def end(self) -> None:
        """The input is over; raises when the data is not."""


def decoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The body in pieces, without its Content-Encoding. Names that nobody knows (`utf-8`, `none`) are taken as no encoding."""
    layers = [name for name in (part.strip().lower() for part in encoding.split(",")) if name in _DECODERS]
    if len(layers) > _MOST_LAYERS:
        raise BrokenCompression("the body is compressed in too many layers")
    for name in reversed(layers):
        chunks = _through(_DECODERS[name](), chunks)
    yield from chunks


def _through(decoder: _Decoder, chunks: Iterable[bytes]) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            yield from decoder.pieces(chunk)
        decoder.end()
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
        raise BrokenCompression("the body's compression is broken") from error


class _Zlib:
    """gzip and deflate. Also what is called so and is not compressed at all, which some servers send."""

    def __init__(self, formats: tuple[int, ...], magic: bytes) -> None:
        self._formats = formats
        self._magic = magic
        self._decompressor: Any = None
        self._plain = False
        self._head = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._plain:
            yield data
            return
        if self._decompressor is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head = self._head, b""
            if not self._start(data):
                self._plain = True
                yield data
                return
        while data:
            yield self._decompressor.decompress(data, _PIECE)
            data = self._decompressor.unconsumed_tail
            if self._decompressor.eof:
                data = self._decompressor.unused_data
                if not data.startswith(self._magic):
                    return  # padding after the end
                self._start(data)  # gzip may have several members

    def end(self) -> None:
        if self._decompressor is not None and not self._decompressor.eof:
            raise EOFError

    def _start(self, data: bytes) -> bool:
        for wbits in self._formats:
            decompressor = zlib.decompressobj(wbits)
            try:
                decompressor.decompress(data[:512], 1)
            except zlib.error:
                continue
            self._decompressor = zlib.decompressobj(wbits)
            return True
        return False


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
    def __init__(self) -> None:
        # A frame may ask for a window of gigabytes; 8 MB is what HTTP allows (RFC 9659).
        self._decompressor = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 23})
        self._fed = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(data)
        if self._decompressor.eof:
            return
        yield self._decompressor.decompress(data, max_length=_PIECE)
        while not self._decompressor.needs_input and not self._decompressor.eof:
            yield self._decompressor.decompress(b"", max_length=_PIECE)

    def end(self) -> None:
        if self._fed and not self._decompressor.eof:
            raise EOFError


_DECODERS: dict[str, Any] = {
    "gzip": lambda: _Zlib((16 + zlib.MAX_WBITS,), b"\x1f\x8b"),
    "x-gzip": lambda: _Zlib((16 + zlib.MAX_WBITS,), b"\x1f\x8b"),
    "deflate": lambda: _Zlib((zlib.MAX_WBITS, -zlib.MAX_WBITS), b"\x00\x00"),
    "br": _Brotli,
    "zstd": _Zstd,
}
