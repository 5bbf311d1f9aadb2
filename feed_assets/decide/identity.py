"""Who an entry is inside its feed, and whether it changed.

An entry is known by its id, else its link, else its text. Some publishers break that: ids that repeat in one document, ids or
hosts that change from fetch to fetch. So an entry whose id is unknown is also looked for by link, title and text among the items
that left the document; and a feed whose ids prove worthless is read by its links, or its titles, from then on (`mode`).
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from feed_assets.decide.canonical import identity_url, path_key
from feed_assets.model import Changes, Entry, Item, ItemKeys, KnownItem

BY_ID, BY_LINK, BY_TITLE = "id", "link", "title"
_ENOUGH = 3  # items that must have changed their id in one document before the feed's ids are distrusted
_TELLING_TEXT = 40  # characters of content that two items do not share by chance
_TELLING_TITLE = 12
_ONE_EDITION = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry, hashed: what it calls itself and what it says."""

    entry: Entry
    id_key: str
    content_hash: str

    @property
    def keys(self) -> ItemKeys:
        return keys_of(self.entry)


def draft(entry: Entry) -> Draft:
    """guid, else link, else title and content; spelled so that scheme, www and tracking parameters do not matter."""
    link = identity_url(entry.url) if entry.url else ""
    if entry.guid and entry.guid != entry.url:
        identity = f"guid:{identity_url(entry.guid)}"
    elif link:
        identity = f"guid:{link}"  # publishers add a guid that is the link, or drop it
    else:
        identity = f"text:{entry.title}\x00{entry.content}"
    return Draft(entry, sha256(identity), _fingerprint(entry, link))


def keys_of(entry: Entry) -> ItemKeys:
    """What an entry may be recognised by when its id is unknown. Only worked out for entries that seem new."""
    title = " ".join(entry.title.casefold().split())
    path = path_key(entry.url) if entry.url else ""
    text = " ".join(entry.content.split())
    return ItemKeys(
        link=_short(path) if path else None,
        title=_short(title) if title else None,
        text=_short(f"{title}\x00{text}") if len(text) >= _TELLING_TEXT else None,
    )


def compare(drafts: Sequence[Draft], known: Iterable[KnownItem], mode: str = BY_ID) -> Changes:
    """Sort a document's entries into new, changed and known.

    `known` are the stored items that share an id, a link, a title or a text with any of them; others do not matter.
    """
    return _Comparison(drafts, list(known), mode or BY_ID).result()


class _Comparison:
    """One document against what is stored: each stored item is given to one entry at most."""

    def __init__(self, drafts: Sequence[Draft], known: list[KnownItem], mode: str) -> None:
        self.mode = mode
        self.reason: str | None = None
        self.found: dict[int, KnownItem] = {}  # place in the document -> stored item
        self.taken: set[str] = set()
        self.renamed = 0
        self.drafts, self.copies = _without_copies(drafts)
        self.known = known
        self.ids = Counter(each.id_key for each in self.drafts)

    def result(self) -> Changes:
        if self.mode == BY_LINK:
            self._by_link()
        self._by_id()
        if self.mode == BY_ID and (wandered := self._ids_wander()):
            self._distrust(BY_LINK, f"the ids of {wandered} items went to other items: they say the place in the document")
            self.found, self.taken = {}, set()
            self._by_link()
            self._by_id()
        left = [place for place in range(len(self.drafts)) if place not in self.found]
        if left and len(self.taken) < len(self.known):
            self._by_likeness(left)
        new: list[Item] = []
        changed: list[Item] = []
        same: list[Item] = []
        used = {item.item_hash for item in self.known}
        for place, each in enumerate(self.drafts):
            stored = self.found.get(place)
            if stored is None:
                item_hash = self._new_hash(each, used)
                used.add(item_hash)
                new.append(Item(item_hash, each.content_hash, each.entry, each.id_key))
            else:
                item = Item(stored.item_hash, each.content_hash, each.entry, each.id_key)
                (same if stored.content_hash == each.content_hash else changed).append(item)
        repeated = sum(count - 1 for count in self.ids.values())
        return Changes(
            tuple(new), tuple(changed), tuple(same), repeated + self.copies, copies=self.copies, renamed=self.renamed,
            mode=self.mode, mode_reason=self.reason,
        )  # fmt: skip

    def _give(self, place: int, item: KnownItem) -> None:
        self.found[place] = item
        self.taken.add(item.item_hash)

    def _by_link(self) -> None:
        """Items at the same link, in a feed whose ids say nothing."""
        keys = {place: each.keys for place, each in enumerate(self.drafts)}
        for place, item in _pairs(keys, self.known, lambda k: k.link).items():
            self._give(place, item)

    def _by_id(self) -> None:
        """Items with the same id; where several share one, those that also share link or title."""
        stored: dict[str, list[KnownItem]] = defaultdict(list)
        for item in self.known:
            if item.item_hash not in self.taken:
                stored[item.id_key].append(item)
        for place, each in enumerate(self.drafts):
            rows = stored.get(each.id_key, [])
            if not rows or place in self.found:
                continue
            if len(rows) == 1 and self.ids[each.id_key] == 1:
                self._give(place, rows[0])
                continue
            keys = each.keys
            free = [row for row in rows if row.item_hash not in self.taken]
            alike = max(free, key=lambda row: _likeness(keys, row.keys), default=None)
            if alike is not None and _likeness(keys, alike.keys):
                self._give(place, alike)

    def _ids_wander(self) -> int:
        """How many items have an id that belonged to another item of this document before, if those are most of them."""
        changed = [place for place, item in self.found.items() if item.content_hash != self.drafts[place].content_hash]
        if len(changed) < _ENOUGH:
            return 0
        links = {item.keys.link for item in self.known} - {None}
        keys = {place: self.drafts[place].keys for place in changed}
        wandered = [p for p in changed if keys[p].link != self.found[p].keys.link and keys[p].link in links]
        return len(wandered) if len(wandered) >= _ENOUGH and 2 * len(wandered) >= len(self.found) else 0

    def _by_likeness(self, left: list[int]) -> None:
        """Items whose id is gone from the document, and that say what an entry with an unknown id says."""
        gone = [item for item in self.known if item.item_hash not in self.taken and item.id_key not in self.ids]
        keys = {place: self.drafts[place].keys for place in left}
        by_link = _pairs(keys, gone, lambda k: (k.link, k.title) if k.link and k.title else None)
        by_title = _pairs(keys, gone, lambda k: k.title)
        by_text = _pairs(keys, gone, lambda k: k.text)
        same_title = {p: i for p, i in by_title.items() if self._same_text(keys[p], i) or self._same_date(p, i)}
        if self.mode == BY_ID:
            exact = len(self.found)
            if len(by_link) >= _ENOUGH and len(by_link) * 2 >= len(left) and len(by_link) > exact:
                self._distrust(BY_LINK, f"{len(by_link)} of {len(self.drafts)} items came back with other ids at the same links")
            else:
                telling = {p: item for p, item in same_title.items() if len(self.drafts[p].entry.title) >= _TELLING_TITLE}
                if len(telling) >= _ENOUGH and len(telling) * 2 >= len(left) and len(telling) > exact:
                    self._distrust(BY_TITLE, f"{len(telling)} of {len(self.drafts)} items came back with other ids and links")
        certain = {p: i for p, i in by_text.items() if self._same_date(p, i)}
        certain |= {p: i for p, i in by_link.items() if self._same_text(keys[p], i) or self._near(p, i)}
        matches = [certain]
        if self.mode == BY_LINK:
            matches += [by_link, _pairs(keys, gone, lambda k: k.link)]
        if self.mode == BY_TITLE:
            matches += [by_link, same_title]
        for pairs in matches:
            for place, item in pairs.items():
                if place not in self.found and item.item_hash not in self.taken:
                    self._give(place, item)
                    self.renamed += 1

    @staticmethod
    def _same_text(keys: ItemKeys, item: KnownItem) -> bool:
        return keys.text is not None and keys.text == item.keys.text

    def _near(self, place: int, item: KnownItem) -> bool:
        """Not a later edition of a page that has a new one each day."""
        stated = self.drafts[place].entry.published_at
        return stated is None or item.published_at is None or abs(stated - item.published_at) < _ONE_EDITION

    def _same_date(self, place: int, item: KnownItem) -> bool:
        stated = self.drafts[place].entry.published_at
        return stated is None or item.published_at is None or stated == item.published_at

    def _distrust(self, mode: str, reason: str) -> None:
        self.mode, self.reason = mode, reason

    def _new_hash(self, each: Draft, used: Collection[str]) -> str:
        """Its id, unless that names several items: then what tells it apart goes into it."""
        if self.ids[each.id_key] == 1 and each.id_key not in used:
            return each.id_key
        apart = sha256(f"{each.id_key}\x00{identity_url(each.entry.url or '')}\x00{each.entry.title}")
        return apart if apart not in used else sha256(f"{apart}\x00{each.content_hash}")


def _without_copies(drafts: Sequence[Draft]) -> tuple[list[Draft], int]:
    """Without entries that say the same under the same id as another one before."""
    once = {(each.id_key, each.content_hash): each for each in reversed(drafts)}
    return (list(drafts), 0) if len(once) == len(drafts) else (list(once.values())[::-1], len(drafts) - len(once))


def _likeness(one: ItemKeys, other: ItemKeys) -> int:
    return 2 * bool(one.link and one.link == other.link) + bool(one.title and one.title == other.title)


def _pairs(keys: dict[int, ItemKeys], items: Sequence[KnownItem], key_of: Callable[[ItemKeys], object]) -> dict[int, KnownItem]:
    """Entries and items that share a key which no other entry and no other item has."""
    theirs: dict[object, list[KnownItem]] = defaultdict(list)
    ours = Counter(key for each in keys.values() if (key := key_of(each)))
    for item in items:
        if key := key_of(item.keys):
            theirs[key].append(item)
    return {
        place: theirs[key][0] for place, each in keys.items() if (key := key_of(each)) and ours[key] == 1 and len(theirs.get(key, ())) == 1
    }


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _fingerprint(entry: Entry, link: str) -> str:
    """What an entry says. Its dates are not part of it: a re-dated item is the same item. Neither is how its link is spelled."""
    enclosures = (enclosure.url for enclosure in entry.enclosures)
    return sha256("\x00".join((entry.title, link, entry.author or "", entry.content, *entry.categories, *enclosures)))
