"""Feeds that may only bring links to their own site (`enforce_feed_domain`)."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from feed_assets.model import Entry, Feed


def allowed_entries(feed: Feed, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """All entries, or those that link to the feed's root domain when the feed asks for that."""
    if not feed.enforce_feed_domain or not feed.root_domain:
        return tuple(entries)
    return tuple(entry for entry in entries if entry.url and _is_under(entry.url, feed.root_domain))


def _is_under(url: str, domain: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == domain or host.endswith(f".{domain}")
