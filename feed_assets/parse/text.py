"""Text that any database and any XML document can hold."""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin

# What XML 1.0 forbids, lone surrogates included; Postgres refuses NUL as well.
_UNSTORABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_URL = 8192  # with a longer base, a document of relative links would grow to many times its size
# Windows-1252 under the numbers of Latin 1, as browsers read them: "it&#146;s".
_CONTROLS = re.compile("[\x80-\x9f]")
_MEANT = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")
_MAIL = r"[^\s()<>]{1,200}@[^\s()<>]{1,200}"
_MAIL_AND_NAME = re.compile(rf'^{_MAIL}\s*\(([^()]{{1,200}})\)$|^"?([^<>"@]{{1,200}}?)"?\s*<{_MAIL}>$')


def clean(text: object) -> str:
    return _UNSTORABLE.sub("", text) if isinstance(text, str) else ""


def with_quotes(text: str) -> str:
    """With the quotes and dashes that control characters stand for."""
    return text.translate(_MEANT) if not text.isascii() and _CONTROLS.search(text) else text


def without_endless_references(text: str) -> str:
    """Python refuses numbers of thousands of digits, and no character has one of more than eight."""
    return _ENDLESS_REFERENCE.sub("", text) if "&#" in text else text


def unescaped(text: str) -> str:
    """With what HTML's references stand for."""
    return html.unescape(without_endless_references(text)) if "&" in text else text


def squeeze(text: str) -> str:
    """On one line. For text out of an XML parser, which lets nothing unstorable pass."""
    return " ".join(text.split())


def one_line(text: object) -> str:
    return squeeze(clean(text))


def absolute(base: str, link: str) -> str:
    """The link seen from the document's address; as it stands when it is no URL, or when no browser would take an address so long."""
    if web_address(link) or len(base) + len(link) > _LONGEST_URL:
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
