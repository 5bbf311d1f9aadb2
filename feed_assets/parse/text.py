"""Text that any database and any XML document can hold."""

from __future__ import annotations

import re
from urllib.parse import urljoin

# What XML 1.0 forbids, lone surrogates included; Postgres refuses NUL as well.
_UNSTORABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BLANKS = re.compile(r"\s+")


def clean(text: object) -> str:
    return _UNSTORABLE.sub("", text) if isinstance(text, str) else ""


def one_line(text: object) -> str:
    return _BLANKS.sub(" ", clean(text)).strip()


def absolute(base: str, link: str) -> str:
    """The link seen from the document's address; as it stands when it is no URL."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link


def whole_number(text: object, *, most: int = 10**9) -> int | None:
    """A number as publishers write it, or None: not every digit of Unicode, and not 5,000 of them."""
    digits = one_line(text)
    return min(int(digits), most) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None


def or_none(text: object) -> str | None:
    return one_line(text) or None
