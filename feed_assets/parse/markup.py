"""Markup that stands as elements inside a feed's XML, as HTML text again."""

from __future__ import annotations

from html import escape

from lxml import etree

from feed_assets.parse.text import absolute

_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_XHTML_DIV = ("{http://www.w3.org/1999/xhtml}div", "div")
_EMPTY = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"})
_ADDRESSES = frozenset({"href", "src", "poster", "cite", "longdesc", "data"})


def inner_markup(element: etree._Element, *, xhtml: bool) -> str:
    """What is inside an element. Atom's xhtml has one wrapping div, which is not part of the content."""
    pieces: list[str] = []
    base = None
    children = [child for child in element if isinstance(child.tag, str)]
    if xhtml and len(children) == 1 and children[0].tag in _XHTML_DIV:
        element = children[0]
        base = element.get(_BASE)
    pieces.append(escape(element.text or "", quote=False))
    for child in element:
        _write(child, base, pieces)
    return "".join(pieces)


def _write(element: etree._Element, base: str | None, pieces: list[str]) -> None:
    """By hand: libxml2 writes elements in a namespace as XML in HTML, and closes what HTML never closes."""
    if isinstance(element.tag, str):
        name = element.tag.rpartition("}")[2]
        own = element.get(_BASE)
        if own:
            base = absolute(base, own) if base else own
        pieces.append(f"<{name}")
        for attribute, value in element.attrib.items():
            key = attribute.rpartition("}")[2]
            if attribute == _BASE:
                continue
            if base and key in _ADDRESSES:
                value = absolute(base, value)
            pieces.append(f' {key}="{escape(value)}"')
        pieces.append(">")
        if name.lower() not in _EMPTY:
            pieces.append(escape(element.text or "", quote=False))
            for child in element:
                _write(child, base, pieces)
            pieces.append(f"</{name}>")
    pieces.append(escape(element.tail or "", quote=False))
