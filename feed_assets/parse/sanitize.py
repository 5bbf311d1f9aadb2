"""HTML made safe, and HTML made plain. Only for items that are stored: it costs more than all the reading before it."""

from __future__ import annotations

import html
import re
from functools import lru_cache, partial

import nh3

from feed_assets.parse.text import absolute, clean, web_address

_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_SCHEMES = {"http", "https", "mailto", "tel", "magnet", "xmpp", "irc", "ircs", "news"}
_TAGS = nh3.ALLOWED_TAGS | {"tfoot"}
# nh3 does not look at the addresses in `cite`, and no reader shows them.
_ATTRIBUTES = {tag: names - {"cite"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
_FIRST_SEGMENT = re.compile("[^/?#]*")


def sanitize_html(content: str, base: str | None = None) -> str:
    """Only harmless markup, with absolute links: no scripts, styles, forms, event handlers or javascript: links."""
    content = clean(content)
    if "<" not in content and "&" not in content:
        return content
    # Cleaned again, for `&#1;` has become a character by now.
    return clean(_cleaner(base if base and web_address(base) else None).clean(content))


def plain_text(content: str) -> str:
    """Without markup, on one line: for headlines."""
    text = html.unescape(_TAG.sub("", content)) if "<" in content or "&" in content else content
    return " ".join(clean(text).split())


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
