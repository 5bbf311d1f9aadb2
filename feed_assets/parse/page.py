"""The text of an article's own page, without what stands around it: menus, banners, forms, links to other stories.

Good enough for somebody who reads to judge; nothing of it is stored or shown.
"""

from __future__ import annotations

import threading

from lxml import etree

from feed_assets.parse.encoding import decode
from feed_assets.parse.text import clean, squeeze

_NOISE = frozenset({
    "head", "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "button", "select", "iframe", "svg",
    "figure", "dialog", "menu",
})  # fmt: skip
_TEXTS = frozenset({"p", "div", "section", "br", "h1", "h2", "h3", "h4", "li", "blockquote", "pre", "td", "dd"})
_LONGEST = 50_000  # characters
_SHORTEST = 200  # of a main part that is worth being one
_MOST_PARTS = 20


def main_text(body: bytes, content_type: str | None) -> str:
    """Paragraphs and headings, one per line: those of the main part where the page marks one. Empty for what is no HTML."""
    text, _ = decode(body, content_type)
    try:
        root = etree.fromstring(text.encode("utf-8", "ignore"), _PARSERS.html) if text.strip() else None
    except (etree.XMLSyntaxError, ValueError):
        return ""
    if root is None:
        return ""
    texts = [_text(part) for part in root.xpath("//article | //main | //*[@role='main']")[:_MOST_PARTS]]
    best = max(texts, key=len, default="")
    return best if len(best) >= _SHORTEST else _text(root)


def _text(part: etree._Element) -> str:
    """The lines of a part, up to a limit. One walk, without recursion: pages nest as deep as they like."""
    lines: list[str] = []
    pieces: list[str] = []
    skipped: etree._Element | None = None
    length = 0
    for event, element in etree.iterwalk(part, events=("start", "end")):
        if skipped is None and event == "start":
            if element.tag in _NOISE or not isinstance(element.tag, str):
                skipped = element
            else:
                if element.tag in _TEXTS:
                    _finish(pieces, lines)
                pieces.append(element.text or "")
        elif event == "end" and (skipped is None or skipped is element):
            if element.tag in _TEXTS:
                _finish(pieces, lines)
                length += len(lines[-1]) if lines else 0
            skipped = None
            if element is not part:
                pieces.append(element.tail or "")
        if length > _LONGEST:
            break
    _finish(pieces, lines)
    return "\n".join(lines)[:_LONGEST]


def _finish(pieces: list[str], lines: list[str]) -> None:
    if line := squeeze(clean("".join(pieces))):
        lines.append(line)
    pieces.clear()


class _Parsers(threading.local):
    """A parser for each thread: lxml lets one thread at a time use one."""

    def __init__(self) -> None:
        self.html = etree.HTMLParser(
            no_network=True, remove_comments=True, remove_pis=True, huge_tree=False, collect_ids=False, encoding="utf-8"
        )


_PARSERS = _Parsers()
