"""Documents that nobody wrote on purpose, and some that somebody did: feeds damaged in every way, and what must hold of each.

A damaged document follows from a seed and its number alone, so a failure can be made again.
"""

from __future__ import annotations

import codecs
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from feed_assets.errors import NotAFeed
from feed_assets.model import ParsedFeed, PublishedItem
from feed_assets.parse import parse_document, plain_text, sanitize_html
from feed_assets.publish import is_well_formed, render_rss

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
URL = "https://news.example/feed"
SECONDS, SECONDS_PER_MB = 0.3, 3.0  # what reading a document may take
MB = 1_000_000

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOW = datetime(2025, 6, 1, tzinfo=UTC)
_MOST_OF_THE_CORPUS = 300_000  # bytes; the few larger documents would take most of the time
_LARGEST = 2 * MB
_OFTEN = 5


@dataclass(frozen=True)
class Document:
    name: str  # what was done to it
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


# What must hold


@dataclass(frozen=True)
class Reading:
    """How a document was read, how long that took, and what is wrong with the result."""

    kind: str  # `ParsedFeed.reading` or `not a feed`
    seconds: float
    wrong: tuple[str, ...] = ()
    feed: ParsedFeed | None = None


def read(document: Document, *, publish: bool = True, patience: float = 1) -> Reading:
    """Read a document as a refresh would. Exceptions are caught and are among what is wrong.

    With more `patience` only a reader that takes far too long is wrong, not a machine that is busy.
    """
    began = time.process_time()
    feed, kind, wrong = None, "not a feed", []
    try:
        feed = parse_document(document.body, url=URL, headers=document.headers, max_entries=100)
        kind = feed.reading
    except NotAFeed as refused:
        if refused.__cause__ is not None:  # caught by the last resort of `parse_document`
            wrong.append(f"a reader stumbled: {refused}")
        wrong += _unstorable(str(refused), "refusal")
    except Exception as error:
        wrong.append(f"{type(error).__name__} left the parser: {error}")
    seconds = time.process_time() - began
    if seconds > patience * (SECONDS + SECONDS_PER_MB * len(document.body) / MB):
        wrong.append(f"{len(document.body):,} bytes took {seconds:.1f} s")
    if feed is not None:
        wrong += _unstorable(feed, "feed")
        if len(feed.entries) > 100 or feed.found < len(feed.entries) or not feed.reading:
            wrong.append(f"{len(feed.entries)} entries of {feed.found}, read {feed.reading!r}")
        if publish:
            wrong += _unpublishable(feed)
    return Reading(kind, seconds, tuple(wrong), feed)


def _unstorable(value: object, place: str) -> Iterator[str]:
    """Where a value holds what one of the two engines refuses."""
    if isinstance(value, str):
        if found := _FORBIDDEN.search(value):
            yield f"{place} has {found[0]!r}"
    elif isinstance(value, datetime):
        if value.tzinfo is None or not 1 <= value.astimezone(UTC).year <= 9999:
            yield f"{place} is {value!r}"
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            yield f"{place} is a number of {value.bit_length()} bits"
    elif isinstance(value, tuple):
        for each in value:
            yield from _unstorable(each, f"{place}[]")
    elif is_dataclass(value):
        for each in fields(value):
            yield from _unstorable(getattr(value, each.name), f"{place}.{each.name}")
    elif value is not None:
        yield f"{place} is a {type(value).__name__}"


def _unpublishable(feed: ParsedFeed) -> Iterator[str]:
    """What is wrong with the XML that a feed becomes; the steps are those of `feed_assets.commit`."""
    try:
        items = [
            PublishedItem(
                feed_id="fuzz",
                article_id=str(number),
                guid=entry.guid,
                url=entry.url,
                headline=plain_text(entry.title),
                author=entry.author,
                published_at=entry.published_at or _NOW,
                content=sanitize_html(entry.content, entry.base),
                extra={"categories": entry.categories, "enclosures": [asdict(each) for each in entry.enclosures]},
            )
            for number, entry in enumerate(feed.entries)
        ]
        for item in items:
            yield from _unstorable(item.headline, "headline")
            yield from _unstorable(item.content, "content")
        head: dict[str, Any] = {"title": feed.title, "link": feed.link or URL, "description": feed.description, "language": feed.language}
        if not is_well_formed(render_rss(**head, self_url=URL, built_at=_NOW, items=items).xml):
            yield "the published XML is not well-formed"
    except Exception as error:
        yield f"{type(error).__name__} while publishing: {error}"


# What is damaged

_RSS = (
    """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>News &amp; more</title><link>https://news.example/</link><description>Tägliches</description><ttl>60</ttl>
<item><title>One <![CDATA[<b>bold</b>]]></title><link>https://news.example/1</link><guid isPermaLink="false">1</guid>
<pubDate>Tue, 03 Jun 2025 09:39:21 GMT</pubDate><author>a@news.example (Anna)</author><category>World</category>
<enclosure url="/1.mp3" type="audio/mpeg" length="123"/><description>&lt;p&gt;First&lt;/p&gt;</description></item>
<item><title>二</title><link>/2?a=1&amp;b=2</link><guid>https://news.example/2</guid><dc:date>2025-06-03T10:00:00Z</dc:date>
<content:encoded><![CDATA[<p>Second <a href="/x">link</a></p>"""
    + "<p>More text.</p>" * 30
    + """]]></content:encoded></item>
</channel></rss>"""
)
_ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en" xml:base="https://atom.example/">
<title type="html">Atom &lt;b&gt;feed&lt;/b&gt;</title><link href="/"/><link rel="self" href="/feed"/><id>urn:feed</id>
<updated>2025-06-03T10:00:00+02:00</updated><author><name>Ann</name></author>
<entry><id>urn:1</id><title>Entry</title><link href="1.html"/><updated>2025-06-03T10:00:00Z</updated><category term="x"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Text <em>here</em></p></div></content></entry>
<entry><id>urn:2</id><title>Other</title><link rel="enclosure" href="2.mp3" length="9"/><summary>Short</summary></entry></feed>"""
_RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="https://rdf.example/"><title>RDF</title><link>https://rdf.example/</link></channel>
<item rdf:about="https://rdf.example/1"><title>One</title><link>https://rdf.example/1</link></item></rdf:RDF>"""
_JSON = """{"version": "https://jsonfeed.org/version/1.1", "title": "JSON", "home_page_url": "https://json.example/", "items": [
{"id": 1, "url": "/1", "title": "One", "content_html": "<p>Hi</p>", "date_published": "2025-06-03T10:00:00Z", "tags": ["a", "b"],
"attachments": [{"url": "/1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}], "authors": [{"name": "Ann"}]},
{"id": "2", "content_text": "line\\nline", "date_modified": "2025-06-04T10:00:00+09:00"}]}"""
SMALL = tuple(text.encode() for text in (_RSS, _ATOM, _RDF, _JSON))


def originals(corpus: Path = CORPUS) -> list[bytes]:
    """The documents of a corpus, and the small ones here. Feeds come several times: most damage is to be done to them."""
    files = sorted(path for path in corpus.rglob("*") if path.is_file() and path.name not in ("README.md", "expectations.jsonl"))
    bodies = [*SMALL, *(path.read_bytes() for path in files if path.stat().st_size <= _MOST_OF_THE_CORPUS)]
    return [body for body in bodies for _ in range(_OFTEN if read(Document("", body), publish=False).feed else 1)]


# How it is damaged

Mutation = Callable[[random.Random, bytes, bytes], bytes]  # chance, document, another document -> document

_TAG = re.compile(rb"<[^<>]{1,300}>")
_ATTRIBUTE = re.compile(rb"""\s[\w:.-]{1,40}\s?=\s?(?:"[^"<>]{0,300}"|'[^'<>]{0,300}')""")
_TEXT = re.compile(rb">[^<>]{1,300}<")
_JSON_VALUE = re.compile(rb""":\s*(?:"[^"]{0,300}"|[0-9.]{1,20}|true|false|null)""")
_ODD_TEXT = (
    *(b"&nbsp; &bogus; &#0; &#xD800; &#x110000; &#xFFFE; &#x1; &#99999999999999; &#; &#x; & &; &amp;amp; &lt &aacute &e; %e;".split()),
    *(b"]]> <![CDATA[ <![CDATA[x]]> --> <!-- <!-- -- --> <? ?> <?xml?> < > << </ </> <> <!DOCTYPE <!ENTITY ' \" = {}".split()),
    *(bytes([code]) for code in range(32)),
    *(b"\x7f", b"\x80", b"\x85", b"\xa0", b"\xc0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\xef\xbf\xbe", b"\xf4\x90\x80\x80"),
    *(b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\\ud800", b"\\u0000", b"\\ud83d\\ude00", b"\xe2\x80\xa8"),
    *("\ue000-0\ue001".encode(), "\u202e\u200b".encode(), "٣٤".encode(), "²".encode(), "İı".encode()),
    *(b"http://[::1", b"http://[", b"//", b"javascript:alert(1)", b"http://\xc3\xa9\xe3\x80\x82/", b"a:b:c", b"http://x:99999999/"),
)
_ODD_DATES = (
    *(b"0000-00-00", b"0001-01-01T00:00:00+14:00", b"9999-12-31T23:59:59-14:00", b"99999-01-01", b"-1", b"1e400", b"9999999999999"),
    *(b"Mon, 31 Dec 9999 23:59:60 -2359", b"01 Jan 0001 00:00:00 +2359", b"32 Foo 2025", b"2025-02-30T25:61:61Z", b"NaN", b"24:00"),
    *("٢٠٢٥-٠٦-٠٣".encode(), "²⁰²⁵-01-01".encode(), b"2025-W01-1T00:00", b"20250603T093921Z", b"9999-12-31T24:00:00Z", b"1" * 5000),
    *("30 十十月 2025".encode(), b"31 Dec 9999 24:00", "¹/¹/2025".encode(), b"9" * 18, b"2025-06-03T09:39:21.999999999999+00:00:30"),
)
_ODD_JSON = (
    *(b"null true -1 0 NaN Infinity -Infinity 1e400 -0.0 [] {} [null] [[[]]] [{}]".split()),
    *(b"1" * 400, b"1" * 5000, b"9223372036854775808", b"1.5", b'"\\ud800"', b'"\\u0000"', b'"a\x00b"', b'"\xed\xa0\x80"', b"'x'"),
)
_NAMES = (
    *(b"item entry channel rss feed rdf:RDF title link guid id pubDate updated description content content:encoded summary".split()),
    *(b"author name category enclosure media:content media:group x:y html script xml:x a..b 1a".split()),
)
_ENCODINGS = (
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "gb18030", "shift_jis", "latin-1", "cp1252", "euc_jp"),
    *("big5", "koi8-r", "iso2022_jp", "utf-7", "cp037", "utf-8-sig", "euc_kr", "hz", "cp1026"),
)
_DECLARED = (
    *("utf-8", "UTF-16", "utf-32", "gb2312", "Shift_JIS", "iso-8859-1", "windows-1252", "us-ascii", "x-sjis", "none", "idna", "punycode"),
    *("unicode_escape", "raw_unicode_escape", "utf-7", "base64", "rot13", "hex", "zlib", "undefined", "mbcs", "cp037", "utf-8-sig", "hz"),
    *("iso-2022-jp", "iso-2022-kr", "utf-16-be", "big5", "johab", "a" * 40, "../../x", "utf_8_sig", "palmos"),
)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"\x00", b" \r\n", b"\xff")
_DECLARATION = re.compile(rb"^\s*<\?xml[^>]{0,200}\?>")


def _slice(chance: random.Random, body: bytes) -> tuple[int, int]:
    start = chance.randrange(len(body) + 1)
    return start, min(len(body), start + chance.choice((1, 3, 20, 200, 2000, 20_000)))


def _put(body: bytes, start: int, end: int, new: bytes) -> bytes:
    return body[:start] + new + body[end:]


def _at(pattern: re.Pattern[bytes], chance: random.Random, body: bytes) -> tuple[int, int]:
    """Some place where a pattern is, without looking for all of them; any place when there is none after a random one."""
    found = pattern.search(body, chance.randrange(len(body) + 1)) or pattern.search(body)
    return found.span() if found else _slice(chance, body)


def _flip(chance: random.Random, body: bytes, _: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.choice((1, 3, 30)) if body else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(chance: random.Random, body: bytes, _: bytes) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _behead(chance: random.Random, body: bytes, _: bytes) -> bytes:
    return body[chance.randrange(min(len(body), 500) + 1) :]


def _delete(chance: random.Random, body: bytes, _: bytes) -> bytes:
    return _put(body, *_slice(chance, body), b"")


def _double(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _slice(chance, body)
    return _put(body, end, end, body[start:end])


def _repeat(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _slice(chance, body)
    end = min(end, start + 200)
    return _put(body, end, end, body[start:end] * (chance.choice((300, 5000, 60_000)) // max(end - start, 1)))


def _swap(chance: random.Random, body: bytes, _: bytes) -> bytes:
    (a, b), (c, d) = sorted((_slice(chance, body), _slice(chance, body)))
    return body if c < b else body[:a] + body[c:d] + body[b:c] + body[a:b] + body[d:]


def _splice(chance: random.Random, body: bytes, other: bytes) -> bytes:
    return body[: chance.randrange(len(body) + 1)] + other[chance.randrange(len(other) + 1) :]


def _implant(chance: random.Random, body: bytes, other: bytes) -> bytes:
    start, end = _slice(chance, other)
    return _put(body, *(_slice(chance, body)[:1] * 2), other[start:end])


def _rename_tag(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _at(_TAG, chance, body)
    return _put(body, start, end, chance.choice((b"<%s>", b"</%s>", b"<%s/>", b"<%s", b"<%s x='", b"<x:%s>")) % chance.choice(_NAMES))


def _drop_tag(chance: random.Random, body: bytes, _: bytes) -> bytes:
    return _put(body, *_at(_TAG, chance, body), b"")


def _double_tag(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _at(_TAG, chance, body)
    return _put(body, end, end, body[start:end])


def _open_tag(chance: random.Random, body: bytes, _: bytes) -> bytes:
    _, end = _at(_TAG, chance, body)
    return _put(body, end - 1, end, chance.choice((b"", b"/", b" ", b"<", b"=")))


def _break_attribute(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _at(_ATTRIBUTE, chance, body)
    old, odd = body[start:end], chance.choice(_ODD_TEXT)
    new = (old[:-1], old.replace(b"=", b"", 1), old + old, old.replace(b'"', b""), b" xmlns=''", b" xml:base='%s'" % odd, old[:-1] + odd)
    return _put(body, start, end, chance.choice(new))


def _odd_text(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _at(_TEXT, chance, body) if chance.random() < 0.6 else _slice(chance, body)[:1] * 2
    odd = b"".join(chance.choices(_ODD_TEXT, k=chance.choice((1, 1, 4))))
    return _put(body, start, end, b">" + odd + body[start + 1 : end] if end > start else odd)


def _odd_date(chance: random.Random, body: bytes, _: bytes) -> bytes:
    pattern = re.compile(rb"(?<=[>\"'])[^<>\"']{0,12}20[0-9]{2}[^<>\"']{1,25}")
    return _put(body, *_at(pattern, chance, body), chance.choice(_ODD_DATES))


def _odd_number(chance: random.Random, body: bytes, _: bytes) -> bytes:
    numbers = (b"9" * 18, b"9" * 19, b"9" * 400, b"-1", b"1e9", "²".encode(), "٣".encode(), b"0x10", b" 7 ", b"NaN")
    return _put(body, *_at(re.compile(rb"(?<=[>\"'])[0-9]{1,20}(?=[<\"'])"), chance, body), chance.choice(numbers))


def _odd_json(chance: random.Random, body: bytes, _: bytes) -> bytes:
    start, end = _at(_JSON_VALUE, chance, body)
    return _put(body, start, end, b": " + chance.choice(_ODD_JSON))


def _break_section(chance: random.Random, body: bytes, _: bytes) -> bytes:
    old, new = chance.choice(
        ((b"]]>", b""), (b"<![CDATA[", b""), (b"]]>", b"]] >"), (b"<![CDATA[", b"<![CDATA[]]>"), (b"-->", b""), (b"?>", b""))
    )
    places = body.count(old)
    if not places:
        return _put(body, *(_slice(chance, body)[:1] * 2), old)
    place = -1
    for _ in range(chance.randrange(min(places, 50)) + 1):
        place = body.find(old, place + 1)
    return _put(body, place, place + len(old), new)


def _reencode(chance: random.Random, body: bytes, _: bytes) -> bytes:
    """Another encoding; what is declared may stay."""
    text = body.decode("utf-8", chance.choice(("replace", "surrogateescape")))
    return text.encode(chance.choice(_ENCODINGS), "replace")


def _declare(chance: random.Random, body: bytes, _: bytes) -> bytes:
    declaration = b"<?xml version=%s encoding='%s'?>" % (chance.choice((b"'1.0'", b"'1.1'", b"'9'")), chance.choice(_DECLARED).encode())
    found = _DECLARATION.match(body)
    return declaration + (body[found.end() :] if found else body)


def _mark(chance: random.Random, body: bytes, _: bytes) -> bytes:
    return chance.choice(_MARKS) + body


def _doctype(chance: random.Random, body: bytes, _: bytes) -> bytes:
    found = _DECLARATION.match(body)
    place = found.end() if found else 0
    kinds = (
        b"<!DOCTYPE rss>",
        b"<!DOCTYPE rss [<!ENTITY e 'x<b>y</b>'>]>",
        b"<!DOCTYPE rss [<!ENTITY e '%s'>]>" % (b"y" * 30_000),
        b"<!DOCTYPE rss [<!ENTITY e '&amp;'><!ENTITY f '&#60;'>",
        b"<!DOCTYPE rss SYSTEM 'file:///etc/hostname' [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>",
        b"<!doctype rss [<!ENTITY % e SYSTEM 'http://127.0.0.1:9/x'> %e;]>",
        b"<!DOCTYPE html>",
        b"<!DOCTYPE rss [<!ATTLIST item guid CDATA '\x01'>]>",
    )
    return _put(_odd_text(chance, body, b"").replace(b">", b">&e;", chance.randrange(30)), place, place, chance.choice(kinds))


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _cut, _behead, _delete, _double, _repeat, _swap, _splice, _implant, _rename_tag, _drop_tag, _double_tag, _open_tag),
    *(_break_attribute, _odd_text, _odd_date, _odd_number, _odd_json, _break_section, _reencode, _declare, _mark, _doctype),
)


def damaged(bodies: Sequence[bytes], seed: int, number: int) -> Document:
    """The document of this number: one of `bodies`, damaged one to six times."""
    chance = random.Random(f"{seed}/{number}")
    body, steps = chance.choice(bodies), []
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        mutation = chance.choice(MUTATIONS)
        body = mutation(chance, body, chance.choice(bodies))[:_LARGEST]
        steps.append(mutation.__name__.strip("_"))
    headers = {"Content-Type": f"text/xml; charset={chance.choice(_DECLARED)}"} if chance.random() < 0.2 else {}
    return Document(f"{seed}/{number}: {', '.join(steps)}", body, headers)


# What somebody made on purpose


def hostile(megabytes: float = 1.0, *, secret: Path | None = None) -> Iterator[Document]:
    """Documents of about so many megabytes, each made to take time, memory or secrets from who reads it.

    `secret` is a file that some of them ask for.
    """
    size = int(megabytes * MB)
    for name, body in _floods(size):
        yield Document(name, body)
    for name, item in _odd_items(size):
        yield Document(name, _feed(item))
        yield Document(f"{name}, cut off", _feed(item)[:-20])
        yield Document(f"{name}, beside damage", _feed(item + b"<item><title>a < b & c</item></b></i>"))
    for name, body in (*_bombs(size), *_secrets(secret or Path("/etc/hostname"))):
        yield Document(name, body)
    for name, body in _odd_json_documents(size):
        yield Document(name, body)


def _feed(items: bytes) -> bytes:
    return b"<rss version='2.0'><channel><title>t</title><item><guid>g</guid></item>" + items + b"</channel></rss>"


def _floods(size: int) -> Iterator[tuple[str, bytes]]:
    """One piece again and again: alone, at the start of a feed, and inside an item."""
    pieces = (
        *(b"< & <![CDATA[ ]]> <!-- --> <!--> <item><item> <item> <entry> </item> <item/> <? ?> <a &a; &#1; &amp; &nbsp; <!".split()),
        *(b"<![CDATA[]]> <!----> <b><i></b></i> <item><title><![CDATA[ <item><!-- <!DOCTYPE <!ENTITY &#x <item>]]> <x:item> <x:".split()),
        *(b"</a> <a><b> <a/> xmlns:a='' <description><![CDATA[ <content>x <title> <link> <rss> <feed> <channel> <rss><channel>".split()),
        *(
            b"<a b='c' ",
            b"<a b=",
            b" a='b'",
            b'"',
            b"'",
            b"\x00",
            b"\x01",
            b"\xff",
            b"\xed\xa0\x80",
            b" ",
            b"\r",
            b"<item ",
            b"&lt;",
            b"<guid>1</guid>",
        ),
        *(
            b"<!ENTITY a 'b'>",
            b"<!DOCTYPE a [",
            b"<?xml version='1.0'?>",
            b"<a href='",
            b"<pubDate>1",
            b"\xc3",
            b"=?utf-8?q?",
            b"{",
            b"[",
            b"\n<",
        ),
    )
    for piece in pieces:
        many = piece * (size // len(piece))
        yield f"{piece!r} alone", many
        yield f"{piece!r} in a feed", _feed(many)
        yield f"{piece!r} in an item", _feed(b"<item><guid>1</guid><description>" + many + b"</description></item>")
        yield f"{piece!r} at the end of an item", _feed(b"<item><guid>1</guid><title>x</title>" * 3)[:-10] + many


def _odd_items(size: int) -> Iterator[tuple[str, bytes]]:
    many = size // 100
    yield "a title of a megabyte", b"<item><title>" + b"x " * (size // 2) + b"</title></item>"
    yield "a title of tags", b"<item><title><![CDATA[" + b"<b " * (size // 3) + b"]]></title></item>"
    yield "a title of escaped tags", b"<item><title>" + b"&lt;b " * (size // 6) + b"</title></item>"
    yield "a guid of a megabyte", b"<item><guid>" + b"x" * size + b"</guid></item>"
    yield "a link of a megabyte", b"<item><link>http://x/" + b"../" * (size // 3) + b"</link></item>"
    yield "a date of a megabyte", b"<item><pubDate>" + b"1 " * (size // 2) + b"</pubDate></item>"
    yield "an author of a megabyte", b"<item><author>" + b"a@" * (size // 2) + b"</author></item>"
    yield "an author of one word", b"<item><author>" + b"Ach" * (size // 3) + b"</author></item>"
    yield "an author of blanks", b"<item><author>a@b" + b"&#160;" * (size // 6) + b"(x</author></item>"
    yield "authors of long words", b"<item>" + (b"<author>" + b"Ach" * 50 + b"</author>") * (size // 170) + b"</item>"
    yield "100,000 items a megabyte", b"<item/>" * (size // 10)
    yield "100,000 small items", b"<item><guid>%d</guid></item>" * (size // 28)
    yield "dated items", b"<item><pubDate>Tue, 03 Jun 2025 09:39:21 GMT</pubDate></item>" * (size // 70)
    yield "oddly dated items", b"<item><pubDate>am Dienstag, den 3. Juni 2025 um 9 Uhr</pubDate></item>" * (size // 70)
    yield "items in items", b"<item>" * 250 + b"</item>" * 250
    yield "10,000 levels", b"<item><description>" + b"<a>" * 10_000 + b"</a>" * 10_000 + b"</description></item>"
    yield "240 levels of text", b"<item><description>" + b"<a>x" * 240 + b"</a>" * 240 + b"</description></item>"
    yield "10,000 levels in CDATA", b"<item><description><![CDATA[" + b"<div>" * 10_000 + b"]]></description></item>"
    yield "formatting in CDATA", b"<item><description><![CDATA[" + b"<b><a href=x><p>" * 200 + b"]]></description></item>"
    yield "10,000 attributes", b"<item " + b" ".join(b"a%d='1'" % n for n in range(10_000)) + b"/>"
    yield "the same attribute again and again", b"<item " + b"a='1' " * (size // 6) + b"/>"
    yield "a namespace per item", b"".join(b"<x:item xmlns:x='http://%d/'/>" % n for n in range(size // 40))
    yield "namespaces without end", b"<item " + b" ".join(b"xmlns:a%d='%d'" % (n, n) for n in range(many // 5)) + b"/>"
    yield "a tag name per item", b"<item>" + b"".join(b"<t%d/>" % n for n in range(size // 10)) + b"</item>"
    yield "categories", b"<item>" + b"".join(b"<category>%d</category>" % n for n in range(size // 30)) + b"</item>"
    yield "enclosures", b"<item>" + b"".join(b"<enclosure url='/%d'/>" % n for n in range(size // 30)) + b"</item>"
    yield "links", b"<item>" + b"<link rel='enclosure' href='a'/>" * (size // 32) + b"</item>"
    yield "authors", b"<item>" + b"<author>a</author>" * (size // 20) + b"</item>"
    yield (
        "media groups",
        b"<item xmlns:media='http://search.yahoo.com/mrss/'>" + b"<media:group>" * 240 + b"</media:group>" * 240 + b"</item>",
    )
    yield "contents", b"<item>" + b"<description><b>x</b></description>" * (size // 35) + b"</item>"
    yield "a CDATA section per item", b"<item><description><![CDATA[" * (size // 28)
    yield "CDATA sections", b"<item><description>" + b"<![CDATA[x]]>" * (size // 13) + b"</description></item>"
    yield "entities", b"<item><description>" + b"&nbsp;" * (size // 6) + b"</description></item>"
    yield "unknown entities", b"<item><description>" + b"&bogus;" * (size // 7) + b"</description></item>"
    yield "skipped hours", b"<skipHours>" + b"<hour>1</hour>" * (size // 14) + b"</skipHours>"
    yield "skipped days", b"<skipDays>" + b"".join(b"<day>%d</day>" % n for n in range(size // 16)) + b"</skipDays>"
    yield "scattered items", b"</channel><x>" + b"<y><item/></y>" * (size // 14) + b"</x><channel>"


def _bombs(size: int) -> Iterator[tuple[str, bytes]]:
    laughs = b"".join(b"<!ENTITY l%d '%s'>" % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 20))
    item = _feed(b"<item><title>%s</title></item>")
    yield "a billion laughs", b"<!DOCTYPE rss [<!ENTITY l0 'ha'>" + laughs + b"]>" + item % b"&l19;"
    padded = b"<?xml version='1.0'?>" + b" " * 2000
    yield "a billion laughs, late", padded + b"<!DOCTYPE rss [<!ENTITY l0 'ha'>" + laughs + b"]>" + item % b"&l19;"
    yield (
        "a billion laughs in parameters",
        b"<!DOCTYPE rss [" + laughs.replace(b"ENTITY ", b"ENTITY % ").replace(b"&", b"%") + b"%l19;]>" + item % b"",
    )
    yield "laughs in UTF-16", (b"<!DOCTYPE rss [<!ENTITY l0 'ha'>" + laughs + b"]>" + item % b"&l19;").decode().encode("utf-16")
    long = b"<!DOCTYPE rss [<!ENTITY a '%s'>]>" % (b"a" * (size // 2))
    yield "one long entity many times", long + item % (b"&a;" * (size // 6))
    yield "one long entity of markup many times", long.replace(b"aaa", b"<b>") + item % (b"&a;" * (size // 6))
    yield "one entity inside another", b"<!DOCTYPE rss [<!ENTITY a '&#38;b;'><!ENTITY b '&#38;a;'>]>" + item % b"&a;&b;"
    yield (
        "an entity in 1,000 items",
        b"<!DOCTYPE rss [<!ENTITY a '%s'>]>" % (b"a" * 90_000) + _feed(b"<item><title>&a;</title></item>" * 1000),
    )
    yield "many entities", b"<!DOCTYPE rss [" + b"".join(b"<!ENTITY e%d 'x'>" % n for n in range(size // 20)) + b"]>" + item % b"&e1;"
    yield "attributes with defaults", b"<!DOCTYPE rss [<!ATTLIST item a CDATA '%s'>]>" % (b"a" * 50_000) + _feed(b"<item/>" * (size // 10))


def _secrets(path: Path) -> Iterator[tuple[str, bytes]]:
    address = path.as_uri().encode()
    item = _feed(b"<item><title>t &s; &t;</title><description>&s;</description></item>")
    for target in (address, bytes(path)):
        yield "an external entity", b"<!DOCTYPE rss [<!ENTITY s SYSTEM '%s'>]>" % target + item
        yield (
            "an external entity, late",
            b"<?xml version='1.0'?>" + b" " * 2000 + b"<!DOCTYPE rss [<!ENTITY s SYSTEM '%s'>]>" % target + item,
        )
        yield "a public entity", b'<!DOCTYPE rss [<!ENTITY s PUBLIC "x" "%s">]>' % target + item
        yield "an external parameter", b"<!DOCTYPE rss [<!ENTITY %% p SYSTEM '%s'> %%p;<!ENTITY s '%%p;'>]>" % target + item
        yield "an external document type", b"<!DOCTYPE rss SYSTEM '%s'>" % target + item
        include = b"<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='%s' parse='text'/>" % target
        yield "an inclusion", _feed(b"<item><title>t" + include + b"</title></item>")
        yield "a stylesheet", b"<?xml-stylesheet href='%s'?>" % target + item
        yield (
            "an external entity beside damage",
            b"<!DOCTYPE rss [<!ENTITY s SYSTEM '%s'>]>" % target + item.replace(b"</item>", b"</b></item"),
        )
        yield "an external entity in UTF-16", (b"<!DOCTYPE rss [<!ENTITY s SYSTEM '%s'>]>" % target + item).decode().encode("utf-16")


def _odd_json_documents(size: int) -> Iterator[tuple[str, bytes]]:
    start = b'{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": ['
    values = {
        "deep lists": b"[" * 5000 + b"]" * 5000,
        "deep objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
        "a number of a megabyte": b"1" * size,
        "a number of 4,000 digits": b"1" * 4000,
        "a number without end": b"1e999999",
        "a string of a megabyte": b'"' + b"x" * size + b'"',
        "escapes": b'"' + b"\\u0000\\ud800" * (size // 12) + b'"',
        "a list of a megabyte": b"[" + b"{}," * (size // 3) + b"{}]",
        "not a number": b"NaN",
        "infinity": b"-Infinity",
    }
    for name, value in values.items():
        for key in (b"id", b"url", b"title", b"content_html", b"content_text", b"date_published", b"tags", b"authors", b"attachments"):
            yield f"JSON: {name} as {key.decode()}", start + b'{"%s": %s}]}' % (key, value)
        yield f"JSON: {name} as size", start + b'{"attachments": [{"url": "a", "size_in_bytes": %s}]}]}' % value
        yield f"JSON: {name} as version", b'{"version": %s, "items": []}' % value
        yield f"JSON: {name} as items", b'{"version": "https://jsonfeed.org/version/1", "items": %s}' % value
    yield "JSON: keys again and again", start + b'{"id": 1, "id": 2, "id": 3}], "items": [{"id": 4}], "version": 1}'
    yield "JSON: the version in a list", b'{"version": ["https://jsonfeed.org/version/1"], "items": [{"id": "1"}]}'
    yield "JSON: a hundred thousand items", start + b",".join(b'{"id": "%d"}' % n for n in range(size // 14)) + b"]}"
    yield "JSON: a long line of brackets", b"[" * size
    yield "JSON: a long line of objects", b'{"a":' * (size // 5)
    yield "JSON: a version of a megabyte", b'{"version": "https://jsonfeed.org/version/%s", "items": [{}]}' % (b"/1" * (size // 2))
