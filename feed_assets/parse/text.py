"""Text that any database and any XML document can hold."""

from __future__ import annotations

import re

# What XML 1.0 forbids, lone surrogates included; Postgres refuses NUL as well.
_UNSTORABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BLANKS = re.compile(r"\s+")


def clean(text: object) -> str:
    return _UNSTORABLE.sub("", text) if isinstance(text, str) else ""


def one_line(text: object) -> str:
    return _BLANKS.sub(" ", clean(text)).strip()


def or_none(text: object) -> str | None:
    return one_line(text) or None
