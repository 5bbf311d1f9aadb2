"""HTML made safe, and HTML made plain."""

from __future__ import annotations

import html
import re

import nh3

_TAG = re.compile(r"</?[A-Za-z!][^>]*>")
_BLANKS = re.compile(r"\s+")


def sanitize_html(content: str) -> str:
    """Only harmless markup: no scripts, styles, forms, event handlers or javascript: links."""
    if "<" not in content and "&" not in content:
        return content
    return nh3.clean(content, link_rel="noopener noreferrer")


def plain_text(content: str) -> str:
    """Without markup, on one line: for headlines."""
    text = html.unescape(_TAG.sub("", content)) if "<" in content or "&" in content else content
    return _BLANKS.sub(" ", text).strip()
