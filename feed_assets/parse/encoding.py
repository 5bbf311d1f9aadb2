"""Which bytes are which letters: byte order mark, HTTP charset and XML declaration, which often disagree.

Text that is valid UTF-8 and has letters beyond ASCII is UTF-8, whatever is said of it, unless a multi-byte encoding is
declared: text in a single-byte encoding is never valid UTF-8 by chance.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress

import webencodings

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']\s{0,9}([\w.:-]{1,40})""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED = (
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00<", "utf-32-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
    (b"{\x00", "utf-16-le"),
    (b"\x00{", "utf-16-be"),
    (b"Lo\xa7\x94", "cp037"),  # "<?xm" in EBCDIC
)
# Names that browsers do not know either and publishers use all the same.
_ALIASES = {"x-big5": "big5hkscs", "utf8mb4": "utf-8", "latin-1": "cp1252"}
_UNDASHED = re.compile(r"^win(?:dows)?[-_ ]?(125\d|874)$", re.IGNORECASE)
_PYTHON = {"gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc-kr": "cp949", "x-user-defined": "cp1252"}
_ASCII = bytes(range(128))
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
_TELLING_BYTES = 16
_HEAD = 1000  # bytes; server messages may stand before the declaration
_TEXT = re.compile(r"utf-(8|16|32)|cp\d+|iso(8859|2022)|koi8|mac|gb|big5|shift_jis|euc_|hz$|johab|ascii|tis|ptcp|kz1048")
_SINGLE_BYTE = re.compile(r"cp(125\d|874|437|85\d|86\d|720|737|775)$|iso8859|koi8|mac|ascii|tis|ptcp|kz1048")


def decode(body: bytes, content_type: str | None) -> tuple[str, str]:
    """The text, without its byte order mark, and the name of the encoding that it was read as. Never fails: wrong bytes are made good."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    for start, name in _UNMARKED:
        if body.startswith(start):
            return body.decode(name, "replace"), name
    candidates = list(dict.fromkeys(_candidates(body, content_type)))
    for name in candidates:
        try:
            return body.decode(name), name
        except UnicodeDecodeError:
            continue
    return _damaged(body, candidates)


def _damaged(body: bytes, candidates: list[str]) -> tuple[str, str]:
    """Bytes that are wrong in every encoding that was named: the one in which the fewest are."""
    with suppress(UnicodeDecodeError):  # characters beyond 65,535 in two halves, as old databases have them
        return body.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16"), "utf-8 with errors"
    mixed = body.decode("utf-8", "replace")
    wrong = mixed.count("\ufffd")
    for name in candidates:
        if name not in ("utf-8", "cp1252") and (text := body.decode(name, "replace")).count("\ufffd") < wrong:
            return text, f"{name} with errors"
    if "cp1252" in candidates or wrong > sum(map(len, _BEYOND_ASCII.findall(mixed))) - wrong:  # what is valid in it is so by chance
        return body.decode("cp1252", "windows-1252 for the rest"), "cp1252"
    return body.decode("utf-8", "windows-1252 for the rest"), "utf-8 with errors"


def is_plain_utf8(body: bytes, content_type: str | None) -> bool:
    """Nobody says that it is anything but UTF-8: a parser may take the bytes as they are."""
    if body[:1] not in b"<\xef \t\r\n" or body[:2] == b"<\x00":
        return False
    declared, charset = _declared(body), _charset(content_type)
    return declared in (None, "utf-8") and charset in (None, "utf-8", declared or "utf-8")


def _candidates(body: bytes, content_type: str | None) -> Iterator[str]:
    """Encodings worth a try, the likeliest first."""
    said = [name for name in (_charset(content_type), _declared(body)) if name]
    multi = [name for name in said if not _SINGLE_BYTE.match(name) and name != "utf-8"]
    if not body.isascii():
        # A few characters in a multi-byte encoding may be valid UTF-8 by chance, many never are.
        if "utf-8" not in said and len(body.translate(None, _ASCII)) < _TELLING_BYTES:
            yield from multi
        yield "utf-8"
    yield from said
    if not said:
        yield "utf-8"


def _declared(body: bytes) -> str | None:
    found = _DECLARED.search(body[:_HEAD])
    return _codec(found[1].decode("ascii", "replace")) if found else None


def _charset(content_type: str | None) -> str | None:
    found = _CHARSET.search(content_type[:500]) if content_type else None
    return _codec(found[1]) if found else None


def _codec(name: str) -> str | None:
    """Python's codec of that name, if it is one for text on the web."""
    if name.lower() in ("utf-8", "utf8"):
        return "utf-8"
    known = webencodings.lookup(name)
    if known and known.name != "replacement":  # what browsers read under this name: mostly a superset of what it says
        return _PYTHON.get(known.name, str(known.codec_info.name))
    try:
        codec = codecs.lookup(_ALIASES.get(name.lower(), _UNDASHED.sub(r"cp\1", name))).name
    except (LookupError, ValueError):
        return None
    return codec if _TEXT.match(codec) else None


_WINDOWS_1252 = [bytes([byte]).decode("cp1252", "ignore") for byte in range(256)]


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join([_WINDOWS_1252[byte] for byte in error.object[error.start : error.end]]), error.end


codecs.register_error("windows-1252 for the rest", _as_windows_1252)
