"""Which reader a document gets, and what holds for all of them: the fast one where it is sure, feedparser where it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from feed_assets.errors import NotAFeed
from feed_assets.model import ParsedFeed
from feed_assets.parse.jsonfeed import parse_json_feed
from feed_assets.parse.notafeed import seems_to_be
from feed_assets.parse.reference import read_with_feedparser
from feed_assets.parse.repair import apart
from feed_assets.parse.tree import Tree, read_tree
from feed_assets.parse.xmlfeed import read_xml_feed

_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]|(?:\xff\xfe)?[{\[]\x00|(?:\xfe\xff)?\x00[{\[]")
_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE | re.DOTALL)
_FEED_START = re.compile(rb"<(?:rss|feed|rdf:rdf)[\s>]", re.IGNORECASE)
_FEED_AFTER_DOCTYPE = re.compile(rb"\s*<!doctype\s[^>]{0,300}>\s*<(?:\?xml[^>]{0,200}>\s*<)?(?:rss|feed|rdf:rdf)[\s>]", re.IGNORECASE)
_MESSAGES = 10_000  # bytes that may stand before a feed
_BLANKS = b" \t\r\n\x00\xef\xbb\xbf\xff\xfe"
_START = re.compile(r"<(?:[\w.-]{1,20}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_END = re.compile(r"</(?:[\w.-]{1,20}:)?(?:item|entry)\s*>", re.IGNORECASE)
_WHOLE_ID = re.compile(r"</(?:[\w.-]{1,20}:)?(?:guid|id)\s*>", re.IGNORECASE)
_WHOLE_LINK = re.compile(r"</(?:[\w.-]{1,20}:)?link\s*>|<(?:[\w.-]{1,20}:)?link\s[^<>]{0,1000}>", re.IGNORECASE)
# What feedparser takes for a tag, a reference and a letter, and what it may take: for any document, and more for each byte of it.
_TAG_MICROSECONDS, _REFERENCE_MICROSECONDS, _LETTER_MICROSECONDS = 60, 4, 0.5
_ATTRIBUTES_MICROSECONDS = 0.02  # for the square of their number in a tag: it looks for each among all
_LONG_WORD = re.compile(r"(?<![\w.+-])[\w.+-]{100,}")
_WORD_MICROSECONDS = 0.016  # for the square of its length: in an author, an email address may begin at each letter
_MICROSECONDS, _MICROSECONDS_PER_BYTE = 150_000, 2
_MOST_FOR_FEEDPARSER = 4_000_000  # characters


def parse_document(body: bytes, *, url: str, headers: Mapping[str, str], max_entries: int) -> ParsedFeed:
    """Read a feed of any kind; of more than `max_entries` entries the newest stay."""
    if not body[:100].strip(_BLANKS) and not body.strip(_BLANKS):
        raise NotAFeed("the document is empty")
    content_type = headers.get("Content-Type") or headers.get("content-type")
    try:
        if _JSON_START.match(body):
            parsed = parse_json_feed(body, content_type, url=url, max_entries=max_entries)
            if parsed is None and _FEED_START.search(body[:_MESSAGES]):  # "[Warning] ..." before it
                parsed = _parse_xml(body, content_type, url, max_entries)
        elif _HTML_START.match(body) and not _FEED_AFTER_DOCTYPE.match(body):
            parsed = None  # not worth mending
        else:
            parsed = _parse_xml(body, content_type, url, max_entries)
    except NotAFeed:
        raise
    except Exception as error:  # a parser that stumbles must not take the batch with it
        raise NotAFeed(f"the document cannot be read: {type(error).__name__}: {error}") from error
    if parsed is None:
        raise NotAFeed(f"this is not a feed but {seems_to_be(body, content_type)}")
    return parsed


def _parse_xml(body: bytes, content_type: str | None, url: str, max_entries: int) -> ParsedFeed | None:
    tree = read_tree(body, content_type)
    parsed = read_xml_feed(tree, url=url, max_entries=max_entries)
    if tree.reading != "recovered":
        return parsed
    return _saved(tree, parsed, url, max_entries, size=len(body))


def _saved(tree: Tree, parsed: ParsedFeed | None, url: str, max_entries: int, *, size: int) -> ParsedFeed | None:
    """What can be had of a document that is not XML: by feedparser, unless the tree has more entries."""
    text = "".join(apart(tree.text or "")[::2])
    if _START.search(text) and _can_be_afforded(text, tree.text or "", size):
        other = read_with_feedparser(tree.text or "", url=url, max_entries=max_entries)
        if other and other.found >= (parsed.found if parsed else 1):
            parsed = replace(other, reading="by feedparser", encoding=tree.encoding)
    if parsed is None:
        return None
    parsed = _without_cut_entry(text, parsed)
    if not parsed.entries:
        raise NotAFeed(f"this is broken XML with no readable entry: {tree.error}")
    return parsed


def _can_be_afforded(markup: str, text: str, size: int) -> bool:
    """Whether feedparser reads this in time. Feeds have a tag for every 20 letters or so; some documents are nothing but tags."""
    tags = [piece.partition(">")[0].count("=") for piece in markup.split("<")]
    cost = _TAG_MICROSECONDS * len(tags) + _ATTRIBUTES_MICROSECONDS * sum(attributes**2 for attributes in tags)
    cost += _WORD_MICROSECONDS * sum(len(word[0]) ** 2 for word in _LONG_WORD.finditer(text))
    cost += _REFERENCE_MICROSECONDS * markup.count("&") + _LETTER_MICROSECONDS * len(text)
    return len(text) <= _MOST_FOR_FEEDPARSER and cost <= _MICROSECONDS + _MICROSECONDS_PER_BYTE * size


def _without_cut_entry(text: str, parsed: ParsedFeed) -> ParsedFeed:
    """Without a last entry that was cut off before its id ended, or its link in a feed without ids: half of one is another item's."""
    begins, ends = list(_START.finditer(text)), list(_END.finditer(text))
    if not begins or not parsed.entries or (ends and ends[-1].start() > begins[-1].start()):
        return parsed
    whole = _WHOLE_ID if any(entry.guid for entry in parsed.entries) else _WHOLE_LINK
    if whole.search(text, begins[-1].start()):
        return parsed
    return replace(parsed, entries=parsed.entries[:-1], found=parsed.found - 1)
