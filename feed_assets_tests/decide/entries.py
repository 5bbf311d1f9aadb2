"""Entries as they are compared and as they were stored, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from feed_assets.decide.identity import BY_ID, compare, draft, keys_of
from feed_assets.model import Changes, Entry, Item, KnownItem


def stored(entry: Entry, *, content_hash: str | None = None, item_hash: str | None = None) -> KnownItem:
    """The entry as a fetch before has stored it."""
    each = draft(entry)
    return KnownItem(item_hash or each.id_key, each.id_key, content_hash or each.content_hash, keys_of(entry), entry.published_at)


def compared(entries: Sequence[Entry], known: Iterable[Entry | KnownItem] = (), mode: str = BY_ID) -> Changes:
    return compare([draft(e) for e in entries], [k if isinstance(k, KnownItem) else stored(k) for k in known], mode)


def identified(entry: Entry) -> Item:
    """The entry as the only one of a first document."""
    return compared([entry]).new[0]
