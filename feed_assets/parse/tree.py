"""Bytes -> an XML tree: as they are when they are XML, mended when they nearly are, what can be saved of the rest."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from lxml import etree

from feed_assets.parse.encoding import decode, is_plain_utf8
from feed_assets.parse.lifting import Lifted, lift
from feed_assets.parse.repair import repaired, with_prefixes, without_declaration, without_what_follows

# No network, no external or expanded entities, no documents deeper than libxml2 thinks sane.
_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "remove_comments": True, "remove_pis": True, "huge_tree": False}
_SAFE["collect_ids"] = False  # nobody asks for elements by id
_ENTITY_SPACE = 4000  # a document type stands before the first element; entities of one farther away are left out, not expanded


@dataclass(frozen=True, slots=True)
class Tree:
    root: etree._Element | None
    reading: str  # `as it is`, `mended` or `recovered`
    encoding: str
    lifted: Lifted = field(default_factory=Lifted)
    text: str | None = None  # what was parsed, where the bytes would not do
    error: str | None = None  # why it is not XML


def read_tree(body: bytes, content_type: str | None) -> Tree:
    """Well-formed UTF-8 costs one pass; other encodings are decoded first, and only what is not XML then is mended."""
    text, encoding, data = None, "utf-8", body
    if not is_plain_utf8(body, content_type):
        text, encoding = decode(body, content_type)
        data = without_declaration(text).encode("utf-8", "ignore")
    if not _has_doctype(data):
        lighter, lifted = lift(data.lstrip() if data[:1] in b" \t\r\n" else data)
        root, _ = _strictly(lighter)
        if root is not None:
            return Tree(root, "as it is", encoding, lifted)
    if text is None:
        text, encoding = decode(body, content_type)
    mended = repaired(text)
    root, error = _strictly(mended.encode("utf-8", "ignore"))
    if root is None and "Extra content" in error and (shorter := without_what_follows(mended)):
        mended = shorter
        root, error = _strictly(mended.encode("utf-8", "ignore"))
    if root is None and "prefix" in error:
        mended = with_prefixes(mended)
        root, error = _strictly(mended.encode("utf-8", "ignore"))
    if root is not None:
        return Tree(root, "mended", encoding, text=mended)
    return Tree(_forgivingly(mended.encode("utf-8", "ignore")), "recovered", encoding, text=mended, error=error)


def _strictly(data: bytes) -> tuple[etree._Element | None, str]:
    """The root, or why there is none."""
    try:
        return etree.fromstring(data, _PARSERS.strict), ""
    except (etree.XMLSyntaxError, ValueError) as error:
        return None, " ".join(str(error).split())[:200]


def _forgivingly(data: bytes) -> etree._Element | None:
    try:
        return etree.fromstring(data, _PARSERS.forgiving) if data.strip() else None
    except (etree.XMLSyntaxError, ValueError):
        return None


def _has_doctype(body: bytes) -> bool:
    head = body[:_ENTITY_SPACE]
    return b"<!DOCTYPE" in head or b"<!doctype" in head


class _Parsers(threading.local):
    """A strict and a forgiving parser for each thread: lxml lets one thread at a time use a parser."""

    def __init__(self) -> None:
        self.strict = etree.XMLParser(**_SAFE)
        self.forgiving = etree.XMLParser(recover=True, **_SAFE)


_PARSERS = _Parsers()
