"""RSS, Atom and RDF out of an XML tree, in one walk over each entry's children. Knows no bytes and no encodings.

RSS and Atom share most names (see `names.py`), and publishers mix them; so one reader reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from lxml import etree

from feed_assets.model import Enclosure, Entry, Hints, ParsedFeed
from feed_assets.parse.dates import parse_date
from feed_assets.parse.lifting import Lifted
from feed_assets.parse.limits import newest
from feed_assets.parse.markup import inner_markup
from feed_assets.parse.names import NAMES
from feed_assets.parse.text import absolute, or_none, person, squeeze, web_address, whole_number

_RSS_VERSIONS = {"0.9": "rss090", "0.90": "rss090", "0.91": "rss091u", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}
_PERIODS = {"hourly": 3600, "daily": 86_400, "weekly": 7 * 86_400, "monthly": 30 * 86_400, "yearly": 365 * 86_400}
_ENTRIES = ("item", "entry")
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"

_PUBLISHED = ("pubdate", "published", "issued", "dc:date", "dcterms:issued", "dcterms:created", "created", "dcterms:date", "date")
_UPDATED = ("updated", "modified", "dcterms:modified", "lastbuilddate")
_TITLES = ("title", "dc:title", "itunes:title")
_CREATORS = ("dc:creator", "itunes:author", "dc:contributor")
# The fullest text first: content before description before what podcast and media namespaces say.
_MARKUP = ("content:encoded", "content", "xhtml:body", "xhtml:div", "body", "description", "summary", "itunes:summary", "dc:description")
_TEXTS = frozenset((*_PUBLISHED, *_UPDATED, *_TITLES, *_CREATORS, "id", "dc:identifier"))  # first come, first kept
_STRUCTURED = frozenset((*_MARKUP, "link", "author", "category", "dc:subject", "enclosure", "media:content", "media:group", "guid"))
_STRUCTURED |= {"media:description", "media:title"}
_BINARY = ("image/", "audio/", "video/", "application/octet", "application/pdf", "application/zip", "font/", "model/")
_NO_PAGE = frozenset(("self", "enclosure", "replies", "edit", "hub", "via", "related", "payment", "license", "next"))


def read_xml_feed(root: etree._Element, lifted: Lifted, *, url: str, max_entries: int) -> ParsedFeed | None:
    """The feed, or None when the document is something else."""
    kind = NAMES[root.tag].rpartition(":")[2]
    if NAMES[root.tag].startswith("?:"):
        _forget_namespace(root)
    if kind not in ("rss", "feed", "rdf", "channel", *_ENTRIES):
        return None
    heads = [root] if kind in ("feed", "channel", "entry") else [child for child in root if NAMES[child.tag] == "channel"]
    elements = [root] if kind in _ENTRIES else _entry_elements(root, heads)
    if kind == "rdf" and not heads and not elements:
        return None  # some other RDF
    head = heads[0] if heads else root
    feed = _head(root, head, kind, url, lifted)
    kept = elements
    if len(elements) > max_entries:  # what is dropped is not even read
        dates = [parse_date(element.findtext("pubDate")) or _date_of(element) for element in elements]
        kept = [elements[place] for place in newest(dates, max_entries)]
    base = _base(head, _base(root, None)) or (feed.link if kind != "feed" and feed.link and web_address(feed.link) else None) or url
    return replace(feed, entries=tuple([_entry(element, base, lifted) for element in kept]), found=len(elements))


def _forget_namespace(root: etree._Element) -> None:
    """A feed in a namespace that nobody knows is a feed without one."""
    unknown = root.tag.rpartition("}")[0] + "}"
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag.startswith(unknown):
            with suppress(ValueError):  # a recovered tree may have names that nobody could write
                element.tag = element.tag.removeprefix(unknown)


def _entry_elements(root: etree._Element, heads: Sequence[etree._Element]) -> list[etree._Element]:
    """Items where they belong: in a channel, or beside it. If there are none, wherever they are."""
    places = heads if root in heads else [*heads, root]
    found = [child for place in places for child in place if NAMES[child.tag] in _ENTRIES]
    return found or list(_scattered(root))


def _scattered(root: etree._Element) -> Iterator[etree._Element]:
    for element in root.iter():
        if NAMES[element.tag] in _ENTRIES and not any(NAMES[above.tag] in _ENTRIES for above in element.iterancestors()):
            yield element


def _head(root: etree._Element, head: etree._Element, kind: str, url: str, lifted: Lifted) -> ParsedFeed:
    texts: dict[str, str] = {}
    skip_hours: set[int] = set()
    skip_days: set[str] = set()
    links: list[etree._Element] = []
    for child in head if kind != "entry" else ():
        name = NAMES[child.tag]
        if name in _ENTRIES:
            continue
        if name == "link":
            links.append(child)
        elif name == "skiphours":
            skip_hours |= {hour % 24 for each in child if (hour := whole_number(each.text)) is not None}
        elif name == "skipdays":
            skip_days |= {squeeze(each.text or "").lower() for each in child} - {""}
        elif name not in texts and len(texts) < 100 and (text := _text(child)):
            texts[name] = text
    period = _PERIODS.get(texts.get("sy:updateperiod", "").lower())
    times = whole_number(texts.get("sy:updatefrequency")) or 1
    base = _base(head, _base(root, None)) or url
    link = _page(links, base)
    description = texts.get("description") or texts.get("subtitle") or texts.get("tagline") or texts.get("itunes:summary") or ""
    return ParsedFeed(
        format=_format(root, kind),
        title=texts.get("title") or texts.get("dc:title") or "",
        link=link or (texts.get("id") if web_address(texts.get("id", "")) else None),
        description=squeeze(lifted.restored(description)),
        language=texts.get("language") or texts.get("dc:language") or or_none(head.get(_LANG) or root.get(_LANG)),
        entries=(),
        hints=Hints(
            ttl_minutes=whole_number(texts.get("ttl"), most=10**6),
            update_period_seconds=period // times if period else None,
            skip_hours=tuple(sorted(skip_hours)),
            skip_days=tuple(sorted(skip_days)),
        ),
    )


def _format(root: etree._Element, kind: str) -> str:
    if kind in ("feed", "entry"):
        return "atom03" if "purl.org/atom/ns" in str(root.tag) or root.get("version") == "0.3" else "atom10"
    if kind == "rdf":
        return "rss10" if any("purl.org/rss/1.0" in str(uri) for uri in root.nsmap.values()) else "rss090"
    version = (root.get("version") or "").strip()
    return _RSS_VERSIONS.get(version) or ("rss20" if version.startswith("2") else "rss")


def _entry(element: etree._Element, base: str, lifted: Lifted) -> Entry:
    texts: dict[str, str] = {}
    parts = _Parts(_base(element, base) or base)
    for child in element:
        name = NAMES[child.tag]
        if name in _TEXTS:
            if name not in texts and (text := _text(child) if len(child) else child.text) and not text.isspace():
                texts[name] = text
        elif name in _STRUCTURED:
            parts.take(name, child)
    about = element.get(_ABOUT)
    guid = parts.guid or texts.get("id") or about or texts.get("dc:identifier")
    title = next((texts[name] for name in _TITLES if name in texts), parts.title)
    published, updated = _first_date(texts, _PUBLISHED), _first_date(texts, _UPDATED)
    return Entry(
        guid=guid.strip() if guid else None,
        url=parts.url(texts.get("id"), about),
        title=squeeze(title),
        author=parts.author() or person(next((texts[name] for name in _CREATORS if name in texts), None)),
        published_at=published or updated,
        updated_at=updated,
        content=lifted.restored(parts.content()),
        categories=tuple(dict.fromkeys(parts.categories)) if parts.categories else (),
        enclosures=_once(parts.enclosures),
        base=parts.base,
    )


def _once(enclosures: list[Enclosure]) -> tuple[Enclosure, ...]:
    """Each file once: publishers name it as enclosure and again as media."""
    return tuple(enclosures) if len(enclosures) < 2 else tuple({each.url: each for each in reversed(enclosures)}.values())[::-1]


class _Parts:
    """What an entry says in attributes and children."""

    __slots__ = ("_authors", "_guid", "_links", "_markup", "base", "categories", "enclosures", "title")

    def __init__(self, base: str) -> None:
        self.base = base
        self.title = ""
        self.categories: list[str] = []
        self.enclosures: list[Enclosure] = []
        self._authors: list[str] = []
        self._links: list[etree._Element] = []
        self._markup: dict[str, str] = {}
        self._guid: etree._Element | None = None

    def take(self, name: str, child: etree._Element) -> None:
        if name == "link":
            self._links.append(child)
        elif name == "guid":
            if self._guid is None and child.text and not child.text.isspace():
                self._guid = child
        elif name in _MARKUP:
            if name not in self._markup:
                self._take_markup(name, child)
        elif name == "category" or name == "dc:subject":
            text = child.text or child.get("term") or child.get("label")
            if text and (text := squeeze(text)):
                self.categories.append(text)
        elif name == "enclosure":
            self._enclosure(child.get("url") or child.get("href") or child.text, child.get("type"), child.get("length"))
        elif name == "author":
            self._authors.extend(filter(None, [_author(child)]))
        else:
            self._media(name, child)

    def _take_markup(self, name: str, child: etree._Element) -> None:
        kind = child.get("type")
        if kind and kind.lower().startswith(_BINARY):
            return
        text = inner_markup(child, xhtml=kind == "xhtml") if len(child) else child.text
        if text and not text.isspace():
            self._markup[name] = text
            if own := _base(child, None):
                self.base = absolute(self.base, own)
        elif name == "content" and child.get("src"):
            self._links.append(child)

    def _media(self, name: str, child: etree._Element) -> None:
        if name == "media:content" and child.get("url"):
            self._enclosure(child.get("url"), child.get("type") or child.get("medium"), child.get("fileSize"))
        if name in ("media:group", "media:content"):
            for each in child:
                if (inner := NAMES[each.tag]) in ("media:content", "media:title", "media:description"):
                    self._media(inner, each)
        elif name == "media:description" and child.text:
            self._markup.setdefault(name, child.text)
        elif name == "media:title" and child.text and not self.title:
            self.title = child.text

    def _enclosure(self, url: str | None, kind: str | None, length: str | None) -> None:
        if url and (link := squeeze(url)):
            self.enclosures.append(Enclosure(absolute(self.base, link), kind or None, whole_number(length, most=2**53)))

    @property
    def guid(self) -> str | None:
        return self._guid.text if self._guid is not None else None

    def author(self) -> str | None:
        return ", ".join(dict.fromkeys(self._authors)) or None

    def content(self) -> str:
        markup = self._markup
        return next((markup[name] for name in _MARKUP if name in markup), "") or markup.get("media:description", "")

    def url(self, atom_id: str | None, about: str | None) -> str | None:
        """The page's link, or an id that is one. Links to enclosures are noted on the way."""
        if found := _page(self._links, self.base, self._enclosure):
            return found
        guid = self._guid
        if guid is not None and (guid.get("isPermaLink") or guid.get("ispermalink") or "true").strip().lower() != "false":
            atom_id = guid.text
        return next((squeeze(other) for other in (atom_id, about) if other and web_address(other.strip())), None)


def _page(
    links: Sequence[etree._Element], base: str, enclosed: Callable[[str | None, str | None, str | None], None] | None = None
) -> str | None:
    """The link to the page: RSS says it as text, Atom as `href` with a relation; HTML before other types, content's `src` last."""
    best, best_rank = "", 9
    for link in links:
        text = link.text
        if text and not text.isspace():  # RSS
            rank = 0
        elif text := link.get("href") or link.get("src"):
            relation = (link.get("rel") or "alternate").lower()
            if relation == "enclosure" and enclosed:
                enclosed(text, link.get("type"), link.get("length"))
            if relation in _NO_PAGE:
                continue
            rank = 4 if relation != "alternate" or link.get("src") else 1 if "html" in (link.get("type") or "html") else 2
        else:
            continue
        if rank < best_rank:
            best, best_rank = text, rank
    return absolute(base, squeeze(best)) if best else None


def _author(element: etree._Element) -> str | None:
    """Atom's author with a name, an email or a page; RSS's `mail@example.com (Name)`."""
    if not len(element):
        return person(element.text)
    parts = {NAMES[child.tag]: squeeze(child.text or "") for child in element}
    return parts.get("name") or parts.get("foaf:name") or parts.get("email") or parts.get("uri") or person(element.text)


def _first_date(texts: dict[str, str], names: Sequence[str]) -> datetime | None:
    for name in names:
        if (text := texts.get(name)) and (moment := parse_date(text)):
            return moment
    return None


def _date_of(element: etree._Element) -> datetime | None:
    texts: dict[str, str] = {}
    for child in element:
        name = NAMES[child.tag]
        if (name in _PUBLISHED or name in _UPDATED) and child.text:
            texts.setdefault(name, child.text)
    return _first_date(texts, _PUBLISHED) or _first_date(texts, _UPDATED)


def _text(element: etree._Element) -> str:
    """All text of an element on one line, with its markup's text."""
    return squeeze("".join(element.itertext()) if len(element) else element.text or "")


def _base(element: etree._Element, base: str | None) -> str | None:
    own = element.get(_BASE)
    return (absolute(base, own.strip()) if base else own.strip()) if own else base
