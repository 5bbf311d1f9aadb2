"""One entry of an XML feed, in one walk over its children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from lxml import etree

from feed_assets.model import Enclosure, Entry
from feed_assets.parse.dates import parse_date
from feed_assets.parse.lifting import Lifted
from feed_assets.parse.markup import inner_markup
from feed_assets.parse.names import MOST_REMEMBERED, NAMES
from feed_assets.parse.sanitize import looks_like_html
from feed_assets.parse.text import absolute, person, squeeze, web_address, whole_number, with_quotes

_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"

_PUBLISHED = ("pubdate", "published", "issued", "dc:date", "dcterms:issued", "dcterms:created", "created", "dcterms:date", "date")
_UPDATED = ("updated", "modified", "dcterms:modified", "lastbuilddate")
_TITLES = ("title", "dc:title", "itunes:title")
_CREATORS = ("dc:creator", "itunes:author", "dc:author", "dc:contributor")
# The fullest text first: content before description before what podcast and media namespaces say.
_MARKUP = (
    "content:encoded",
    "content",
    "xhtml:body",
    "xhtml:div",
    "body",
    "description",
    "summary",
    "itunes:summary",
    "dc:description",
    "abstract",
)
_FULLNESS = {name: place for place, name in enumerate((*_MARKUP, "media:description"))}
_TEXTS = frozenset((*_PUBLISHED, *_UPDATED, *_TITLES, *_CREATORS, "id", "dc:identifier"))  # first come, first kept
_STRUCTURED = frozenset((*_MARKUP, "link", "author", "category", "dc:subject", "enclosure", "media:content", "media:group", "guid"))
_STRUCTURED |= {"media:description", "media:title", "source"}
_DATES = frozenset((*_PUBLISHED, *_UPDATED))
_BINARY = ("image/", "audio/", "video/", "application/octet", "application/pdf", "application/zip", "font/", "model/")
_PLAIN = ("text", "text/plain", "plain")
_NO_PAGE = frozenset({
    "self", "enclosure", "replies", "edit", "edit-media", "hub", "via", "related", "payment", "license", "next", "prev", "previous",
    "first", "last", "current", "archives", "next-archive", "prev-archive", "shortlink", "service.edit", "service.post", "service.feed",
    "search", "pingback", "preview", "icon", "up", "start",
})  # fmt: skip


_NOTHING, _TEXT, _PART = range(3)


class _Roles(dict[object, tuple[str, int]]):
    """By tag: the name of a child, and what it is to an entry. One look-up for each of a document's elements."""

    def __missing__(self, tag: object) -> tuple[str, int]:
        name = NAMES[tag]
        if len(self) > MOST_REMEMBERED:
            self.clear()
        self[tag] = role = name, _TEXT if name in _TEXTS else _PART if name in _STRUCTURED else _NOTHING
        return role


_ROLES = _Roles()


@dataclass(frozen=True, slots=True)
class Inherited:
    """What holds for every entry that does not say otherwise."""

    base: str
    author: str | None = None


def read_entry(element: etree._Element, inherited: Inherited, lifted: Lifted) -> Entry:
    texts: dict[str, str] = {}
    parts = _Parts(xml_base(element, inherited.base) or inherited.base)
    title_type = None
    for child in element:
        name, role = _ROLES[child.tag]
        if role == _TEXT:
            if (text := text_of(child) if len(child) else child.text) and not text.isspace():
                if name not in texts:
                    texts[name] = text
                    if name == "title":
                        title_type = child.get("type")
                elif name in _DATES and parse_date(texts[name]) is None:
                    texts[name] = text
                elif name == "dc:creator":
                    texts[name] = f"{texts[name]}, {text}"
        elif role == _PART:
            parts.take(name, child)
    about = element.get(_ABOUT)
    guid = parts.guid or texts.get("id") or about or texts.get("dc:identifier")
    title = texts.get("title") or texts.get("dc:title") or texts.get("itunes:title") or parts.title
    published, updated = _first_date(texts, _PUBLISHED), _first_date(texts, _UPDATED)
    content, base = parts.content(lifted)
    link = parts.url(texts.get("id"), about)
    if link is None and "HREF" in element.attrib:  # Channel Definition Format, a grandfather of RSS
        link, updated = absolute(parts.base, element.get("HREF")), updated or parse_date(element.get("LASTMOD"))
    author = parts.author() or _creator(texts)
    return Entry(
        guid=guid.strip() if guid else None,
        url=link,
        title=with_quotes(squeeze(title)),
        author=author or parts.source_author or inherited.author,
        published_at=published or updated,
        updated_at=updated,
        content=content,
        categories=tuple(dict.fromkeys(parts.categories)) if parts.categories else (),
        enclosures=_once(parts.enclosures),
        base=base,
        title_is_text=title_type in _PLAIN and not looks_like_html(title),
    )


def _creator(texts: dict[str, str]) -> str | None:
    for name in _CREATORS:
        if name in texts:
            return person(texts[name])
    return None


def _once(enclosures: list[Enclosure]) -> tuple[Enclosure, ...]:
    """Each file once: publishers name it as enclosure and again as media."""
    return tuple(enclosures) if len(enclosures) < 2 else tuple({each.url: each for each in reversed(enclosures)}.values())[::-1]


class _Parts:
    """What an entry says in attributes and children."""

    __slots__ = ("_authors", "_guid", "_links", "_markup", "base", "categories", "enclosures", "source_author", "title")

    def __init__(self, base: str) -> None:
        self.base = base
        self.title = ""
        self.categories: list[str] = []
        self.enclosures: list[Enclosure] = []
        self.source_author: str | None = None
        self._authors: list[str] = []
        self._links: list[etree._Element] = []
        self._markup: dict[str, tuple[etree._Element, str]] = {}
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
            self._enclosure(attribute(child, "url") or attribute(child, "href") or child.text, child.get("type"), child.get("length"))
        elif name == "author":
            if author := author_of(child):
                self._authors.append(author)
        elif name == "source":
            authors = [author_of(each) for each in child if NAMES[each.tag] == "author"]
            self.source_author = ", ".join(filter(None, authors)) or None
        else:
            self._media(name, child)

    def _take_markup(self, name: str, child: etree._Element) -> None:
        kind = child.get("type")
        if kind and kind.lower().startswith(_BINARY):
            return
        text = inner_markup(child, xhtml=kind == "xhtml") if len(child) else child.text
        if text and not text.isspace():
            self._markup[name] = child, text
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
            self._markup.setdefault(name, (child, child.text))
        elif name == "media:title" and child.text and not self.title:
            self.title = child.text

    def _enclosure(self, url: str | None, kind: str | None, length: str | None) -> None:
        if url and (link := squeeze(url)):
            self.enclosures.append(Enclosure(absolute(self.base, link), kind or None, whole_number(length, most=2**53)))

    @property
    def guid(self) -> str | None:
        return self._guid.text if self._guid is not None else None

    def author(self) -> str | None:
        return ", ".join(dict.fromkeys(self._authors)) if self._authors else None

    def content(self, lifted: Lifted) -> tuple[str, str]:
        """The fullest text as HTML, and what its links are relative to."""
        markup = self._markup
        if not markup:
            return "", self.base
        name = next(iter(markup)) if len(markup) == 1 else min(markup, key=_FULLNESS.__getitem__)
        element, text = markup[name]
        text = lifted.restored(text)
        kind = element.get("type") or ("plain" if name == "media:description" else "")
        if kind.lower() in _PLAIN and not len(element) and not looks_like_html(text):
            text = escape(text.strip(), quote=False).replace("\n", "<br>\n")
        return text, xml_base(element, self.base) or self.base

    def url(self, atom_id: str | None, about: str | None) -> str | None:
        """The page's link, or an id that is one. Links to enclosures are noted on the way."""
        if found := page_of(self._links, self.base, self._enclosure):
            return found
        guid = self._guid
        if guid is not None:
            permanent = (guid.get("isPermaLink") or guid.get("ispermalink") or "").strip().lower()
            if permanent == "true" and (text := squeeze(guid.text)) and not web_address(text) and "/" in text and " " not in text:
                return absolute(self.base, text)
            if permanent != "false":
                atom_id = guid.text
        return next((squeeze(other) for other in (atom_id, about) if other and web_address(other.strip())), None)


def page_of(
    links: Sequence[etree._Element], base: str, enclosed: Callable[[str | None, str | None, str | None], None] | None = None
) -> str | None:
    """The link to the page: RSS says it as text, Atom as `href` with a relation; HTML before other types, content's `src` last."""
    best, best_rank, best_base = "", 9, base
    for link in links:
        text = link.text
        if text and not text.isspace():  # RSS
            rank = 0
        elif text := attribute(link, "href") or link.get("src"):
            relation = (link.get("rel") or "alternate").lower().rpartition("/")[2]  # also as an address of IANA's
            if relation == "enclosure" and enclosed:
                enclosed(text, link.get("type"), link.get("length"))
            if relation in _NO_PAGE:
                continue
            rank = 4 if relation != "alternate" or link.get("src") else 1 if "html" in (link.get("type") or "html") else 2
        else:
            continue
        if rank < best_rank:
            best, best_rank, best_base = text, rank, xml_base(link, base) or base
    return absolute(best_base, squeeze(best)).replace("&amp;", "&") if best else None


def author_of(element: etree._Element) -> str | None:
    """Atom's author with a name, an email or a page; RSS's `mail@example.com (Name)`."""
    if not len(element):
        return person(element.text)
    parts = {NAMES[child.tag]: squeeze(child.text or "") for child in element}
    return parts.get("name") or parts.get("foaf:name") or parts.get("email") or parts.get("uri") or person(element.text)


def date_of(element: etree._Element) -> datetime | None:
    texts: dict[str, str] = {}
    for child in element:
        name = NAMES[child.tag]
        if name in _DATES and child.text:
            texts.setdefault(name, child.text)
    return _first_date(texts, _PUBLISHED) or _first_date(texts, _UPDATED)


def _first_date(texts: dict[str, str], names: Sequence[str]) -> datetime | None:
    for name in names:
        if (text := texts.get(name)) and (moment := parse_date(text)):
            return moment
    return None


def text_of(element: etree._Element) -> str:
    """All text of an element on one line, with its markup's text."""
    return squeeze("".join(element.itertext()) if len(element) else element.text or "")


def attribute(element: etree._Element, name: str) -> str | None:
    """In capitals where it is not as it should be."""
    value: str | None = element.get(name) or element.get(name.upper())
    return value


def xml_base(element: etree._Element, base: str | None) -> str | None:
    """What links in this element are relative to: its own xml:base, seen from that around it."""
    own = element.get(_BASE)
    return (absolute(base, own.strip()) if base else own.strip()) if own else base
