"""How a feed's documents are read, in words: for `feed show`."""

from __future__ import annotations

from typing import Any


def reading_facts(row: dict[str, Any], facts: dict[str, Any]) -> dict[str, str]:
    """How the feed's documents are read: identity, duplicates, and what was dropped, in words."""
    mode, reading = row["identity_mode"] or "id", row["reading"] or {}
    told = {"identity": _IDENTITY[mode] + (f" ({row['identity_reason']})" if row["identity_reason"] else "")}
    if reading:
        encoding = reading["encoding"]
        told["last document"] = (
            f"{reading['format']}, {encoding}, read {reading['read']}: {reading['found']} entries, {reading['kept']} kept"
        )
        dropped = [f"{reading[name]} {words}" for name, words in _DROPPED.items() if reading.get(name)]
        told["dropped"] = "; ".join(dropped) or "nothing"
        noticed = [f"{reading[name]} {words}" for name, words in _NOTICED.items() if reading.get(name)]
        if noticed:
            told["noticed"] = "; ".join(noticed)
    told["duplicates"] = (
        f"{facts['shared_articles']} of {facts['items']} items are stories that another feed had first"
        if facts["items"]
        else "no items stored yet"
    )
    return told


_IDENTITY = {
    "id": "by the publisher's ids, else links, else texts",
    "link": "by links, because its ids cannot be trusted",
    "title": "by titles, because neither its ids nor its links can be trusted",
}
_DROPPED = {
    "over_limit": "beyond MAX_ARTICLES_PER_FEED, the oldest",
    "off_domain": "that link to another site (enforce_feed_domain)",
    "copies": "that say the same again",
    "old_news": "that were stored once and pruned since",
}
_NOTICED = {
    "repeated_ids": "repeat the id of another",
    "renamed": "came back with another id",
    "undated": "have no date: when they were first seen counts",
}
