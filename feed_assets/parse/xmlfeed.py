"""RSS, Atom and RDF out of an XML tree: where the feed is, what its head says, and which elements are its entries.

Knows no bytes and no encodings. RSS and Atom share most names (see `names.py`), and publishers mix them; so one reader reads both.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from lxml import etree

from feed_assets.model import Hints, ParsedFeed
from feed_assets.parse.dates import parse_date
from feed_assets.parse.limits import newest
from feed_assets.parse.names import NAMES, namespaces_to_put_right
from feed_assets.parse.text import or_none, squeeze, web_address, whole_number
from feed_assets.parse.tree import Tree
from feed_assets.parse.xmlentry import Inherited, author_of, date_of, page_of, read_entry, text_of, xml_base

_RSS_VERSIONS = {"0.9": "rss090", "0.90": "rss090", "0.91": "rss091u", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}
_PERIODS = {"hourly": 3600, "daily": 86_400, "weekly": 7 * 86_400, "monthly": 30 * 86_400, "yearly": 365 * 86_400}
_ENTRIES = ("item", "entry")
_KINDS = ("rss", "feed", "rdf", "channel", *_ENTRIES)
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_MOST_LEVELS = 4  # of other XML that may stand around a feed


def read_xml_feed(tree: Tree, *, url: str, max_entries: int) -> ParsedFeed | None:
    """The feed, or None when the document is something else."""
    root = tree.root
    if root is None:
        return None
    if wrong := namespaces_to_put_right(root.nsmap):
        _put_right(root, wrong)
    feed = _read(root, tree, url, max_entries)
    if feed is not None and feed.found:
        return feed
    _forget_odd_namespaces(root)
    again = _read(root, tree, url, max_entries)
    if again is None and (inner := _wrapped(root)) is not None:
        again = _read(inner, tree, url, max_entries)
    return again or feed


def _read(root: etree._Element, tree: Tree, url: str, max_entries: int) -> ParsedFeed | None:
    kind = NAMES[root.tag].rpartition(":")[2]
    if kind not in _KINDS:
        return None
    heads = [root] if kind in ("feed", "channel", "entry") else [child for child in root if NAMES[child.tag] == "channel"]
    elements = [root] if kind in _ENTRIES else _entry_elements(root, heads)
    if kind == "rdf" and not heads and not elements:
        return None  # some other RDF
    head = heads[0] if heads else root
    stated = xml_base(head, xml_base(root, url))
    said = _head(head, kind, stated or url)
    form = _format(root, kind)
    if form == "atom03":
        _decode_base64(root)
    kept = elements
    if len(elements) > max_entries:  # what is dropped is not even read
        dates = [parse_date(element.findtext("pubDate")) or date_of(element) for element in elements]
        kept = [elements[place] for place in newest(dates, max_entries)]
    link = said.link if kind != "feed" and said.link and web_address(said.link) else None
    inherited = Inherited(base=stated if stated and stated != url else link or url, author=said.author)
    return ParsedFeed(
        format=form,
        title=said.title,
        link=said.link,
        description=squeeze(tree.lifted.restored(said.description)),
        language=said.language or or_none(head.get(_LANG) or root.get(_LANG)),
        entries=tuple([read_entry(element, inherited, tree.lifted) for element in kept]),
        hints=said.hints,
        found=len(elements),
        reading=tree.reading,
        encoding=tree.encoding,
    )


def _put_right(root: etree._Element, wrong: dict[str, str]) -> None:
    """Elements of a well-known prefix that was declared with an address of somebody's own are what the prefix says."""
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag[0] == "{":
            namespace, _, local = element.tag[1:].rpartition("}")
            if namespace in wrong:
                with suppress(ValueError):
                    element.tag = f"{{{wrong[namespace]}}}{local}"


def _forget_odd_namespaces(root: etree._Element) -> None:
    """A feed in a namespace that no feed has is a feed without one."""
    odd = {
        element.tag.rpartition("}")[0]
        for element in root.iter()
        if isinstance(element.tag, str)
        and element.tag[0] == "{"
        and _local(element) in _KINDS
        and NAMES[element.tag] not in (*_KINDS, "rdf:rdf")
    }
    if odd:
        for element in root.iter():
            if isinstance(element.tag, str) and element.tag.rpartition("}")[0] in odd:
                with suppress(ValueError):  # a recovered tree may have names that nobody could write
                    element.tag = element.tag.rpartition("}")[2]


def _local(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def _wrapped(root: etree._Element) -> etree._Element | None:
    """A feed inside of other XML, such as an answer in an envelope; only one with entries."""
    level = [root]
    for _ in range(_MOST_LEVELS):
        level = [child for element in level for child in element if isinstance(child.tag, str)][:100]
        for element in level:
            if _local(element) in ("rss", "feed", "rdf") and any(
                _local(each) in _ENTRIES for each in element.iter() if isinstance(each.tag, str)
            ):
                return element
    return None


def _entry_elements(root: etree._Element, heads: Sequence[etree._Element]) -> list[etree._Element]:
    """Items where they belong: in a channel, or beside it. If there are none, wherever they are."""
    places = heads if root in heads else [*heads, root]
    found = [child for place in places for child in place if NAMES[child.tag] in _ENTRIES]
    return found or list(_scattered(root))


def _scattered(root: etree._Element) -> Iterator[etree._Element]:
    for element in root.iter():
        if NAMES[element.tag] in _ENTRIES and not any(NAMES[above.tag] in _ENTRIES for above in element.iterancestors()):
            yield element


class _Head(NamedTuple):
    """What the feed says of itself, and the author of its entries unless they say another."""

    title: str
    link: str | None
    description: str
    language: str | None
    hints: Hints
    author: str | None


def _head(head: etree._Element, kind: str, base: str) -> _Head:
    texts: dict[str, str] = {}
    skip_hours: set[int] = set()
    skip_days: set[str] = set()
    links: list[etree._Element] = []
    authors: list[str] = []
    for child in head if kind != "entry" else ():
        name = NAMES[child.tag]
        if name == "item" or name == "entry":
            continue
        if name == "link":
            links.append(child)
        elif name == "author" and kind == "feed":
            authors += filter(None, [author_of(child)])
        elif name == "skiphours":
            skip_hours |= {hour % 24 for each in child if (hour := whole_number(each.text)) is not None}
        elif name == "skipdays":
            skip_days |= {squeeze(each.text or "").lower() for each in child} - {""}
        elif name not in texts and len(texts) < 100 and (text := text_of(child)):
            texts[name] = text
    period = _PERIODS.get(texts.get("sy:updateperiod", "").lower())
    times = whole_number(texts.get("sy:updatefrequency")) or 1
    link = page_of(links, base) or head.get("HREF")
    return _Head(
        title=texts.get("title") or texts.get("dc:title") or "",
        link=link or (texts.get("id") if web_address(texts.get("id", "")) else None),
        description=texts.get("description") or texts.get("subtitle") or texts.get("tagline") or texts.get("itunes:summary") or "",
        language=texts.get("language") or texts.get("dc:language"),
        hints=Hints(
            ttl_minutes=whole_number(texts.get("ttl"), most=10**6),
            update_period_seconds=period // times if period else None,
            skip_hours=tuple(sorted(skip_hours)),
            skip_days=tuple(sorted(skip_days)),
        ),
        author=", ".join(dict.fromkeys(authors)) or None,
    )


def _format(root: etree._Element, kind: str) -> str:
    if kind in ("feed", "entry"):
        return "atom03" if "purl.org/atom/ns" in str(root.tag) or root.get("version") == "0.3" else "atom10"
    if kind == "rdf":
        return "rss10" if any("purl.org/rss/1.0" in str(uri) for uri in root.nsmap.values()) else "rss090"
    if kind == "channel" and root.tag == "CHANNEL":
        return "cdf"
    version = (root.get("version") or "").strip()
    return _RSS_VERSIONS.get(version) or ("rss20" if version.startswith("2") else "rss")


def _decode_base64(root: etree._Element) -> None:
    """Atom 0.3 allows it for any text."""
    for element in root.iter():
        if element.get("mode") == "base64" and element.text:
            with suppress(ValueError, binascii.Error):
                element.text = base64.b64decode(element.text).decode("utf-8", "replace")
