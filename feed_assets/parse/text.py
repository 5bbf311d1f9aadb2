"""Text that any database and any XML document can hold."""

from __future__ import annotations

import re
from urllib.parse import urljoin

# What XML 1.0 forbids, lone surrogates included; Postgres refuses NUL as well.
_UNSTORABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAIL = r"[^\s()<>]{1,200}@[^\s()<>]{1,200}"
_MAIL_AND_NAME = re.compile(rf'^{_MAIL}\s*\(([^()]{{1,200}})\)$|^"?([^<>"@]{{1,200}}?)"?\s*<{_MAIL}>$')


def clean(text: object) -> str:
    return _UNSTORABLE.sub("", text) if isinstance(text, str) else ""


def squeeze(text: str) -> str:
    """On one line. For text out of an XML parser, which lets nothing unstorable pass."""
    return " ".join(text.split())


def one_line(text: object) -> str:
    return squeeze(clean(text))


def absolute(base: str, link: str) -> str:
    """The link seen from the document's address; as it stands when it is no URL."""
    if web_address(link):
        return link
    try:
        return urljoin(base, link)
    except ValueError:
        return link


def web_address(text: str) -> bool:
    return text.startswith(("https://", "http://")) or text[:8].lower().startswith(("https://", "http://"))


def whole_number(text: object, *, most: int = 10**9) -> int | None:
    """A number as publishers write it, or None: not every digit of Unicode, and not 5,000 of them."""
    digits = text.strip() if isinstance(text, str) else ""
    return min(int(digits), most) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None


def or_none(text: object) -> str | None:
    return one_line(text) or None


def person(text: str | None) -> str | None:
    """`mail@example.com (Name)` and `Name <mail@example.com>` are Name; anything else stays."""
    line = squeeze(text) if text else ""
    found = _MAIL_AND_NAME.match(line) if "@" in line else None
    return ((found[1] or found[2]).strip() or line) if found else line or None
