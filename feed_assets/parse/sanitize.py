"""HTML made safe, and HTML made plain. Only for items that are stored: it costs more than all the reading before it.

Whatever a publisher wrote, these answer, and in time.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache, partial

import nh3

from feed_assets.model import Entry
from feed_assets.parse.text import absolute, clean, unescaped, web_address, with_quotes

_TAG = re.compile(r"""</?[A-Za-z!](?:[^<>"']|"[^"<>]*(?:>[^"<>]*)?"|'[^'<>]*(?:>[^'<>]*)?')*+>""")
_SIMPLE_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")  # where quotes do not match
_LINE_ENDING_TAG = re.compile(r"<(?:br|/?p|/?div|/?li|/?h[1-6]|/?tr|/?td)(?=[\s/>])[^<>]*>", re.IGNORECASE)
_SCHEMES = {"http", "https", "mailto", "tel", "magnet", "xmpp", "irc", "ircs", "news"}
_TAGS = nh3.ALLOWED_TAGS | {"tfoot"}
# nh3 does not look at the addresses in `cite`, and no reader shows them.
_ATTRIBUTES = {tag: names - {"cite"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
_FIRST_SEGMENT = re.compile("[^/?#]*")

# What takes an HTML parser quadratic time: elements in elements in elements, and tags of thousands of attributes.
_JUDGED = 20_000  # characters; what is shorter cannot take long
_DEEPEST = 300
_ELEMENT = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")
_ENDLESS_TAG = re.compile(r"<[A-Za-z][^<>]{10000}")
_NEVER_OPEN = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead", "tfoot", "option", "colgroup",
})  # fmt: skip


def sanitize_html(content: str, base: str | None = None) -> str:
    """Only harmless markup, with absolute links: no scripts, styles, forms, event handlers or javascript: links."""
    content = with_quotes(_unwrapped(clean(content)))
    if "<" not in content and "&" not in content:
        return content
    if len(content) > _JUDGED and _takes_long(content):
        return html.escape(plain_text(content), quote=False)
    # Cleaned again, for `&#1;` has become a character by now.
    return with_quotes(clean(_cleaner(base if base and web_address(base) else None).clean(content)))


def plain_text(content: str) -> str:
    """Without markup, on one line: for headlines."""
    text = _unwrapped(content)
    if "<" in text:
        text = _LINE_ENDING_TAG.sub(" ", _without_comments(text))
        text = _SIMPLE_TAG.sub("", _TAG.sub("", text))
    return " ".join(with_quotes(clean(unescaped(text))).split())


def headline(entry: Entry) -> str:
    """An entry's title in plain text; publishers mostly mean HTML, and some say that they do not."""
    return " ".join(with_quotes(clean(entry.title)).split()) if entry.title_is_text else plain_text(entry.title)


def looks_like_html(text: str) -> bool:
    """Whether text that calls itself plain is HTML all the same: it closes an element that HTML has."""
    return any(name.lower() in _TAGS for name in re.findall(r"</([A-Za-z][A-Za-z0-9]{0,9})\s*>", text)) if "</" in text else False


def _unwrapped(content: str) -> str:
    """Without CDATA sections that were escaped and mean nothing in HTML."""
    return content.replace("<![CDATA[", "").replace("]]>", "") if "<![CDATA[" in content else content


def _without_comments(text: str) -> str:
    """Not by a pattern, which would look for the end of each unclosed one anew."""
    first, *others = text.split("<!--")
    return first + "".join(after if closed else before for before, closed, after in (each.partition("-->") for each in others))


def _takes_long(content: str) -> bool:
    depth = deepest = 0
    for closing, name in _ELEMENT.findall(content):
        if name.lower() not in _NEVER_OPEN:
            depth += -1 if closing else 1
            deepest = max(deepest, depth)
    return deepest > _DEEPEST or _ENDLESS_TAG.search(content) is not None


@lru_cache(maxsize=128)
def _cleaner(base: str | None) -> nh3.Cleaner:
    """Kept, as the items of a feed mostly share their base and making one takes half as long as using it."""
    return nh3.Cleaner(
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        link_rel="noopener noreferrer",
        url_schemes=_SCHEMES,
        url_relative=partial(_resolved, base),
    )


def _resolved(base: str | None, link: str) -> str | None:
    """A link without a scheme, made absolute where there is a base; None for one that gets a scheme when it is cleaned.

    "java\\x01script:" is no scheme to nh3, which leaves it alone.
    """
    link = clean(link)
    if base is None:
        return link if ":" not in _FIRST_SEGMENT.match(link)[0] else None  # type: ignore[index]  # it matches any text
    link = absolute(base, link)
    return link if web_address(link) else None
