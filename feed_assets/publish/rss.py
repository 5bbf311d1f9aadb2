"""RSS 2.0 that the W3C feed validator accepts, whatever a publisher wrote.

The content goes escaped into <description>: every reader takes HTML there, escaping has no special case as CDATA has with "]]>",
and content:encoded would need a <description> beside it and so carry the text twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from ipaddress import AddressValueError, IPv6Address
from typing import Any
from urllib.parse import quote
from xml.parsers import expat

import idna

from feed_assets.model import Analysis, PublishedItem

_NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"'
)
# Declared where there is something of it in the document.
_ANALYSIS_NAMESPACE = 'xmlns:analysis="https://github.com/feed-assets/feed_assets/analysis"'
_NOWHERE = "http://unknown.invalid/"  # a channel must have a link, even when no address of it can be written
_UNKNOWN_KIND = "application/octet-stream"
_FIRST_YEAR = 1000  # readers take "0026" for 2026
_LENGTH_LIMIT = 10**18

# What XML 1.0 forbids, lone surrogates included.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\r")))
_FFFE, _FFFF = "\ufffe".encode(), "\uffff".encode()
_SHORT = 200
_TAG = re.compile("<[A-Za-z/!?]")

_URI_CHARS = "A-Za-z0-9._~!$&'()*+,;=:@/?-"
_URI_TEXT = f"[{_URI_CHARS}]*(?:%[0-9A-Fa-f]{{2}}[{_URI_CHARS}]*)*"
_HOST = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?"
_GOOD_HOST = re.compile(_HOST)
_GOOD_URI = re.compile(f"https?://{_HOST}(?::[0-9]{{1,4}})?(?:[/?]{_URI_TEXT})?(?:#{_URI_TEXT})?")
# Not re.IGNORECASE, which takes "ſ" for an "s".
_URL_PARTS = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://(?:([^/?#\\]*)@)?(\[[0-9A-Fa-f:.]+\]|[^/?#\\@:\[\]]+)(?::([0-9]{0,5}))?((?:[/?][^#]*)?)(?:#(.*))?",
    re.DOTALL,
)
_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_LINE_BREAKS = re.compile("[\t\n\r]")
# The validator asks more of an enclosure's host than of a link's: a dot in it, and no user name.
_ENCLOSURE_URL = re.compile(r"https?://(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9][A-Za-z0-9-]*(?::[0-9]+)?(?:/|\Z)")
_MEDIA_TYPE = re.compile("[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")
# RFC 5646, without the long first subtags: it allows "english", but none is registered.
_LANGUAGE = re.compile(
    r"[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[A-WYZa-wyz0-9](?:-[A-Za-z0-9]{2,8})+)*(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?"
    r"|[Xx](?:-[A-Za-z0-9]{1,8})+"
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A finished document and its parts."""

    header: str
    xml: str
    etag: str


@dataclass(frozen=True, slots=True)
class Document:
    """All of a document but the moment it was built at."""

    head: str
    foot: str  # of the channel's head
    items: str

    def at(self, built_at: datetime) -> Rendered:
        """Finished; `built_at` becomes lastBuildDate, in whole seconds."""
        built = _date(built_at)
        header = "\n".join((self.head, *([f"<lastBuildDate>{built}</lastBuildDate>"] if built else ()), self.foot))
        xml = f"{header}\n{self.items}"
        return Rendered(header, xml, f'"{hashlib.sha256(xml.encode()).hexdigest()[:32]}"')


def compose_rss(
    *, title: str, link: str, description: str, language: str | None, self_url: str, items: Sequence[PublishedItem]
) -> Document:
    own = _uri(self_url)
    title = _words(title) or "Untitled"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _opening(items),
        "<channel>",
        _element("title", title),
        f"<link>{_escaped(_uri(link) or own or _NOWHERE)}</link>",
        _element("description", _words(description) or title),
    ]
    if own:
        lines.append(f'<atom:link href="{_escaped(own)}" rel="self" type="application/rss+xml"/>')
    if language and _LANGUAGE.fullmatch(language):
        lines.append(f"<language>{language}</language>")
    return Document("\n".join(lines), "<generator>feed_assets</generator>", _body(items))


def recompose_rss(header: str, items: Sequence[PublishedItem]) -> Document:
    """Other items under the head that a document has (`Rendered.header`)."""
    declaration, _, *channel, foot = header.split("\n")
    if channel[-1].startswith("<lastBuildDate>"):
        channel.pop()
    return Document("\n".join((declaration, _opening(items), *channel)), foot, _body(items))


def render_rss(*, built_at: datetime, **document: Any) -> Rendered:
    return compose_rss(**document).at(built_at)


def is_well_formed(xml: str) -> bool:
    try:
        expat.ParserCreate().Parse(xml.encode(), True)
    except expat.ExpatError:
        return False
    return True


def _opening(items: Sequence[PublishedItem]) -> str:
    more = f" {_ANALYSIS_NAMESPACE}" if any(item.analysis for item in items) else ""
    return f'<rss version="2.0" {_NAMESPACES}{more}>'


def _body(items: Sequence[PublishedItem]) -> str:
    guids: set[str] = set()
    return "\n".join((*(_item(item, guids) for item in items), "</channel>", "</rss>", ""))


def _item(item: PublishedItem, guids: set[str]) -> str:
    """`guids` are those of the items before, to which this one's is added."""
    link = _uri(item.url)
    lines = ["<item>", _element("title", _words(item.headline) or link or "Untitled")]
    if link:
        lines.append(f"<link>{_escaped(link)}</link>")
    lines.append(_guid(item, link, guids))
    if date := _date(item.published_at):
        lines.append(f"<pubDate>{date}</pubDate>")
    if author := _words(item.author or ""):
        lines.append(_element("dc:creator", author))
    categories = filter(None, (_line(str(category)) for category in item.extra.get("categories") or ()))
    lines.extend(dict.fromkeys(_element("category", category) for category in categories))  # compared as written: "<b>" is "&lt;b&gt;" then
    lines.extend(_enclosures(item.extra.get("enclosures") or ()))
    if content := _clean(item.content).strip():
        lines.append(f"<description>{_escaped(content)}</description>")
    if item.analysis:
        lines.extend(_analysis(item.analysis))
    lines.append("</item>")
    return "\n".join(lines)


def _guid(item: PublishedItem, link: str | None, guids: set[str]) -> str:
    """The publisher's id; the article's where there is none or an item before has it."""
    permanent = link is not None and _uri(item.guid) == link
    guid = link if link and permanent else _line(item.guid or "")
    if not guid or guid in guids:
        permanent = False
        own = guid = _line(item.article_id) or "item"
        again = 1
        while guid in guids:  # a publisher's id may look like ours
            again += 1
            guid = f"{own}#{again}"
    guids.add(guid)
    return f'<guid isPermaLink="{"true" if permanent else "false"}">{_escaped(guid)}</guid>'


def _enclosures(enclosures: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The first as <enclosure>, of which RSS allows one, and the others as <media:content>."""
    first = True
    for enclosure in enclosures:
        url = _uri(enclosure.get("url"))
        if url is None:
            continue
        kind = _escaped(_media_type(enclosure.get("type")))
        length = _length(enclosure.get("length"))
        if first and _ENCLOSURE_URL.match(url):
            first = False
            yield f'<enclosure url="{_escaped(url)}" length="{length}" type="{kind}"/>'
        else:
            size = f' fileSize="{length}"' if length else ""  # zero is not allowed here
            yield f'<media:content url="{_escaped(url)}" type="{kind}"{size}/>'


def _analysis(analysis: Analysis) -> Iterator[str]:
    yield f"<analysis:score>{analysis.score:g}</analysis:score>"
    if summary := _words(analysis.summary):
        yield _element("analysis:summary", summary)
    for fact in filter(None, map(_words, analysis.facts)):
        yield _element("analysis:fact", fact)


def _media_type(kind: object) -> str:
    bare = kind.partition(";")[0].strip() if isinstance(kind, str) else ""
    return bare if _MEDIA_TYPE.fullmatch(bare) else _UNKNOWN_KIND


def _length(length: object) -> int:
    """Zero is how RSS says that nobody knows."""
    return int(length) if isinstance(length, int) and 0 < length < _LENGTH_LIMIT else 0


def _date(moment: datetime) -> str | None:
    """RFC 822 in GMT, or None for a year that it cannot say."""
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except OverflowError:
            return None
    return format_datetime(moment, usegmt=True) if moment.year >= _FIRST_YEAR else None


def _uri(url: str | None) -> str | None:
    """An absolute http(s) URL in the characters that URIs have, or None. What is encoded already stays as it is."""
    if not url or _GOOD_URI.fullmatch(url):
        return url or None
    if "://" not in url:  # most guids
        return None
    found = _URL_PARTS.fullmatch(_LINE_BREAKS.sub("", _clean(url).strip()))
    if found is None:
        return None
    scheme, user, host, port, path, fragment = found.groups()
    ascii_host = _ascii_host(host)
    if ascii_host is None or int(port or 0) > 65535:
        return None
    parts = [scheme.lower(), "://"]
    if user is not None:
        parts += (_percent_encoded(user).replace("@", "%40"), "@")
    parts.append(ascii_host)
    if port:
        parts += (":", port)
    parts.append(_percent_encoded(path))
    if fragment is not None:
        parts += ("#", _percent_encoded(fragment))
    return "".join(parts)


def _ascii_host(host: str) -> str | None:
    if host.startswith("["):
        try:
            IPv6Address(host[1:-1])
        except AddressValueError:
            return None
        return host
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()  # as browsers do; the codec of Python is that of 2003
        except UnicodeError:
            return None
    return host if _GOOD_HOST.fullmatch(host) else None


def _percent_encoded(text: str) -> str:
    return quote(_LONE_PERCENT.sub("%25", text), safe="._~!$&'()*+,;=:@/?-%")


def _element(name: str, text: str) -> str:
    """Plain text. Many readers take it for HTML, so what looks like a tag is escaped for them as well: nobody runs it."""
    escaped = _escaped(text)
    if "<" in text and _TAG.search(text):
        escaped = _escaped(escaped)
    return f"<{name}>{escaped}</{name}>"


def _words(text: str) -> str:
    return _clean(text).strip()


def _line(text: str) -> str:
    """For what is compared: XML reads every kind of line end as the same one."""
    return " ".join(_clean(text).split())


def _clean(text: str) -> str:
    found = _FORBIDDEN.search(text) if len(text) < _SHORT else not _is_clean(text)
    return _FORBIDDEN.sub("", text) if found else text


def _is_clean(text: str) -> bool:
    """Nothing of `_FORBIDDEN` in it; on a long text much faster than to search for that."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return len(raw.translate(None, _CONTROLS)) == len(raw) and _FFFE not in raw and _FFFF not in raw


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
