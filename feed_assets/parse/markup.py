"""Markup that stands as elements inside a feed's XML, as HTML text again."""

from __future__ import annotations

import re
from html import escape

from lxml import etree

from feed_assets.parse.names import NAMES

_NAMESPACES = re.compile(r"""\sxmlns(?::[\w.-]+)?=(?:"[^"]*"|'[^']*')""")
_PREFIXED = re.compile(r"<(/?)[\w.-]+:")


def inner_markup(element: etree._Element, *, xhtml: bool) -> str:
    """What is inside an element. Atom's xhtml has one wrapping div, which is not part of the content."""
    children = list(element)
    if xhtml and len(children) == 1 and NAMES[children[0].tag] == "xhtml:div":
        element = children[0]
    text = escape(element.text or "", quote=False)
    inner = "".join(etree.tostring(child, encoding="unicode", method="html") for child in element)
    return text + _PREFIXED.sub(r"<\1", _NAMESPACES.sub("", inner))
