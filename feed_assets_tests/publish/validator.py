"""What the W3C feed validator would say of a document: a schema, and checks for what no schema can say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree

_SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).with_name("rss20.rng")))
_CHARACTER = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"
_HOST = r"(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])"
_ABSOLUTE = re.compile(rf"https?://(?:(?:(?![@/?]){_CHARACTER})*@)?{_HOST}(?::[0-9]{{1,5}})?(?:[/?]{_CHARACTER}*)?(?:#{_CHARACTER}*)?")
_ENCLOSURE = re.compile(r"https?://([A-Za-z0-9-]+\.)+[A-Za-z0-9][A-Za-z0-9-]*(:[0-9]+)?(/|$)")
_MARKUP = re.compile("<[A-Za-z/!?]")
_PLAIN = ("title", "category", "{http://purl.org/dc/elements/1.1/}creator")


def problems(xml: str) -> list[str]:
    """Every complaint about the document; none for a valid one."""
    root = etree.fromstring(xml.encode())
    found = [] if _SCHEMA.validate(root) else [f"schema: {error.message} (line {error.line})" for error in _SCHEMA.error_log]
    return [*found, *_addresses(root), *_dates(root), *_guids(root), *_texts(root)]


def _addresses(root: etree._Element) -> Iterator[str]:
    addresses = [element.text or "" for element in root.iter("link")]
    addresses += [guid.text or "" for guid in root.iter("guid") if guid.get("isPermaLink") == "true"]
    addresses += [str(value) for element in root.iter() for name in ("url", "href") if (value := element.get(name)) is not None]
    for address in addresses:
        if not _ABSOLUTE.fullmatch(address) or int(urlsplit(address).port or 0) > 65535:
            yield f"not an absolute URI: {address!r}"
    for enclosure in root.iter("enclosure"):
        if not _ENCLOSURE.match(enclosure.get("url") or ""):
            yield f"not the URL of an enclosure: {enclosure.get('url')!r}"


def _dates(root: etree._Element) -> Iterator[str]:
    for element in root.iter("pubDate", "lastBuildDate"):
        text = element.text or ""
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            yield f"not a date: {text!r}"
            continue
        if moment.strftime("%w") != str(("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat").index(text[:3])) or str(moment.year) not in text:
            yield f"the weekday or the year is wrong: {text!r}"


def _guids(root: etree._Element) -> Iterator[str]:
    guids = [(guid.text or "").strip() for guid in root.iter("guid")]
    if len(set(guids)) != len(guids):
        yield f"guids are there twice: {sorted(guids)}"
    for guid in root.iter("guid"):
        if guid.get("isPermaLink") == "true" and guid.text != guid.getparent().findtext("link"):
            yield f"a permalink that is not the link: {guid.text!r}"


def _texts(root: etree._Element) -> Iterator[str]:
    plain = [*root.iter(*_PLAIN), *root.findall("channel/description")]
    for element in plain:
        if _MARKUP.search(element.text or ""):
            yield f"{element.tag} has markup: {element.text!r}"
    for item in root.iter("item"):
        categories = [category.text for category in item.findall("category")]
        if len(set(categories)) != len(categories):
            yield f"categories are there twice: {categories}"
