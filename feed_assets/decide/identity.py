"""Who an entry is inside its feed, and whether it changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from feed_assets.model import Changes, Entry, Item


def identify(entry: Entry) -> Item:
    """guid, else link, else title and content."""
    if entry.guid:
        identity = f"guid:{entry.guid}"
    elif entry.url:
        identity = f"url:{entry.url}"
    else:
        identity = f"text:{entry.title}\x00{entry.content}"
    return Item(sha256(identity), _fingerprint(entry), entry)


def compare(entries: Iterable[Entry], known: Mapping[str, str]) -> Changes:
    """Sort a document's entries into new, changed and known. An id that repeats in one document counts once: the first."""
    new: list[Item] = []
    changed: list[Item] = []
    same: list[Item] = []
    seen: set[str] = set()
    repeated = 0
    for item in map(identify, entries):
        if item.item_hash in seen:
            repeated += 1
            continue
        seen.add(item.item_hash)
        fingerprint = known.get(item.item_hash)
        (new if fingerprint is None else same if fingerprint == item.content_hash else changed).append(item)
    return Changes(tuple(new), tuple(changed), tuple(same), repeated)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _fingerprint(entry: Entry) -> str:
    """What an entry says. Its dates are not part of it: a re-dated item is the same item."""
    enclosures = (enclosure.url for enclosure in entry.enclosures)
    return sha256("\x00".join((entry.title, entry.url or "", entry.author or "", entry.content, *entry.categories, *enclosures)))
