"""Text that is nearly XML, made XML: what publishers get wrong most often, without touching what they got right.

Bare ampersands, HTML's entities, control characters, a document type, words before the first element. What is inside
CDATA sections and comments is left alone but for characters that XML forbids everywhere.
"""

from __future__ import annotations

import re
from html.entities import html5

from feed_assets.errors import NotAFeed
from feed_assets.parse.names import UNDECLARED
from feed_assets.parse.text import clean, with_quotes

_SECTION = re.compile(r"<!\[CDATA\[|<!--")
_SECTION_ENDS = {"<![CDATA[": "]]>", "<!--": "-->"}
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_DOCTYPE = re.compile(r"<!DOCTYPE\s", re.IGNORECASE)
_ENTITY = re.compile(r"""<!ENTITY\s+(%\s+)?([\w.:-]{1,80})\s+(?:"([^"]*)"|'([^']*)')""")
_OTHER_ENTITY = re.compile(r"[&%](?!(?:amp|lt|gt|quot|apos);)[A-Za-z_][\w.-]*;")
_HALVES = re.compile(r"&#[xX]([dD][89aAbB][0-9a-fA-F]{2});&#[xX]([dD][c-fC-F][0-9a-fA-F]{2});")  # one character in UTF-16
_REFERENCE = re.compile(r"&(#[0-9]{1,9};|#[xX][0-9a-fA-F]{1,8};|[A-Za-z][\w.-]{0,40};)?")
_FEED = re.compile(r"<(?:[\w.-]{1,20}:)?(?:rss|feed|rdf)[\s>]", re.IGNORECASE)
_FEED_NAME = re.compile(r"<(?:[\w.-]{1,20}:)?(?:rss|feed|rdf)(?=[\s>])", re.IGNORECASE)
_FEED_END = re.compile(r"</(?:[\w.-]{1,20}:)?(?:rss|feed|rdf)\s*>", re.IGNORECASE)
_ENTRY = re.compile(r"<(?:[\w.-]{1,20}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_PREFIXED_TAG = re.compile(r"<([A-Za-z_][\w.-]{0,30}):")
_PREFIXED_ATTRIBUTE = re.compile(r"\s([A-Za-z_][\w.-]{0,30}):[A-Za-z_][\w.-]{0,60}\s?=")
_DECLARED_PREFIX = re.compile(r"\sxmlns:([\w.-]{1,31})\s*=")
_MOST_PREFIXES = 50
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_MOST_ENTITIES = 500
_MOST_GROWTH = 100_000  # characters that a document's own entities may add to it


def repaired(text: str) -> str:
    """The text with the usual damage mended; whether it is XML now, the parser will tell."""
    text = without_declaration(clean(text))
    first = _FEED.search(text)
    text, entities = _without_doctype(text, first.start() if first else len(text))
    if first and (found := _FEED.search(text)) and "<html" not in text[: found.start()].lower():
        text = text[found.start() :]  # server warnings, blanks and worse before the feed
    put_in = _References(entities)
    parts = apart(text)
    for place in range(0, len(parts), 2):
        if "&" in parts[place]:
            parts[place] = _REFERENCE.sub(put_in, _HALVES.sub(_whole, parts[place]))
    return "".join(parts)


def _whole(halves: re.Match[str]) -> str:
    return f"&#{(int(halves[1], 16) - 0xD800 << 10) + int(halves[2], 16) - 0xDC00 + 0x10000};"


def without_declaration(text: str) -> str:
    """Without the XML declaration, whose encoding is not this text's any more."""
    return _DECLARATION.sub("", text, count=1)


def without_what_follows(text: str) -> str | None:
    """Without scripts, warnings and the like after the feed's end; None where that may be another feed."""
    end = _FEED_END.search(text)
    return text[: end.end()] if end and not _ENTRY.search(text, end.end()) else None


def with_prefixes(text: str) -> str:
    """With a declaration for every prefix that is used and never declared: publishers copy elements without it."""
    markup = "".join(apart(text)[::2])
    used = {*_PREFIXED_TAG.findall(markup), *_PREFIXED_ATTRIBUTE.findall(markup)} - {"xml", "xmlns"}
    missing = sorted(used - set(_DECLARED_PREFIX.findall(markup)))
    root = _FEED_NAME.search(text)
    if not missing or not root or len(missing) > _MOST_PREFIXES:
        return text
    declared = "".join(f' xmlns:{prefix}="{UNDECLARED}{prefix}"' for prefix in missing)
    return text[: root.end()] + declared + text[root.end() :]


def apart(text: str) -> list[str]:
    """Text, then a CDATA section or a comment, then text, and so on. One that nobody closes is text.

    Not by one pattern: that would search the rest of the document anew for the end of each unclosed section.
    """
    parts: list[str] = []
    unclosed: set[str] = set()
    copied, found = 0, _SECTION.search(text)
    while found and len(unclosed) < len(_SECTION_ENDS):
        start, stop = found.span()
        end = -1 if found[0] in unclosed else text.find(_SECTION_ENDS[found[0]], stop)
        if end < 0:
            unclosed.add(found[0])
        else:
            stop = end + 3
            parts += (text[copied:start], text[start:stop])
            copied = stop
        found = _SECTION.search(text, stop)
    return [*parts, text[copied:]]


def _without_doctype(text: str, end: int) -> tuple[str, dict[str, str]]:
    """Without its document type, and what that defined. Entities made of entities are refused: no feed needs them."""
    head = text[:end]
    found = _DOCTYPE.search(head)
    if not found:
        return text, {}
    subset = head.find("[", found.end())
    close = head.find(">", found.end())
    if 0 <= subset < close:
        stop = re.compile(r"\]\s*>").search(text, subset)
        close = stop.end() - 1 if stop else -1
    if close < 0:
        return text, {}
    definitions = _ENTITY.findall(text[found.start() : close])
    values = {name: double or single for parameter, name, double, single in definitions if not parameter}
    if len(definitions) > _MOST_ENTITIES or any(map(_OTHER_ENTITY.search, values.values())):
        raise NotAFeed("this document defines entities out of entities; such documents are not read")
    return text[: found.start()] + text[close + 1 :], values


class _References:
    """What stands for `&name;`: XML's own as they are, others by what they mean, an ampersand for what means nothing."""

    def __init__(self, entities: dict[str, str]) -> None:
        self._entities = {name: value if "&" in value or "<" not in value else _escaped(value) for name, value in entities.items()}
        self._room = _MOST_GROWTH

    def __call__(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "&amp;"
        if name.startswith("#"):
            number = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
            character = with_quotes(clean(chr(number))) if number < 0x110000 else ""
            return f"&#{ord(character)};" if character else ""
        key = name[:-1]
        if key in _XML_ENTITIES:
            return f"&{name}"
        if key in self._entities:
            return self._own(key)
        meaning = html5.get(name)
        return _escaped(meaning) if meaning is not None else f"&amp;{name}"

    def _own(self, key: str) -> str:
        """What the document says of it; counted at each use, so that no text grows before anybody looks."""
        value = self._entities[key]
        self._room -= len(value)
        if self._room < 0:
            raise NotAFeed("this document grows without end when its entities are put in; such documents are not read")
        return value


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
