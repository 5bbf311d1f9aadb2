"""Syndicated copies: which stored or waiting article has a headline like an item's, told within two days.

Composes `decide/headlines.py`, which knows when two headlines tell one story, with the store, which knows the recent ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from feed_assets import parse
from feed_assets.decide.headlines import LEAD_CHARACTERS, Headline, block_keys, same_story, telling_words
from feed_assets.model import Feed, Item
from feed_assets.store import RecentHeadline, Transaction
from feed_assets.urls import domain_of

_LIFETIME = timedelta(hours=48)
_BEGINNING = 3000  # characters of markup, of which the first words are compared


class Headlines:
    """The recent headlines that these items may be copies of, and those of the items themselves as they are placed."""

    def __init__(self, tx: Transaction, items: Iterable[tuple[Feed, datetime, Item]]) -> None:
        self._tx = tx
        self._of: dict[tuple[str, str], tuple[str, Headline, tuple[str, ...]]] = {}
        self._known: dict[str, list[RecentHeadline]] = defaultdict(list)
        self._new: list[RecentHeadline] = []
        for feed, at, item in items:
            text = parse.headline(item.entry)
            moment = min(item.entry.published_at or at, at)  # a date in the future is no reason to miss a copy
            domain = domain_of(item.entry.url) if item.entry.url else None
            headline = Headline(telling_words(text, feed.source_name), feed.source_name, domain, moment, _lead(item))
            self._of[feed.feed_id, item.item_hash] = text, headline, block_keys(headline.tokens)
        for row in tx.articles.recent_headlines(key for _, _, keys in self._of.values() for key in keys):
            self._known[row.headline_key].append(row)

    @property
    def article_ids(self) -> set[str]:
        return {row.article_id for rows in self._known.values() for row in rows}

    def similar(self, feed: Feed, at: datetime, item: Item) -> Iterator[str]:
        """Articles that tell the same story, the oldest first."""
        if (feed.feed_id, item.item_hash) not in self._of:
            return
        _, mine, keys = self._of[feed.feed_id, item.item_hash]
        rows = {row.article_id: row for key in keys for row in self._known.get(key, ())}
        for row in sorted(rows.values(), key=lambda row: (row.published_at, row.article_id)):
            theirs = Headline(telling_words(row.headline, row.source), row.source, row.domain, row.published_at, row.lead or "")
            if same_story(mine, theirs):
                yield row.article_id

    def add(self, feed: Feed, at: datetime, item: Item, article_id: str) -> None:
        """A story that nobody told before: copies of it may follow, in this batch already."""
        if (feed.feed_id, item.item_hash) not in self._of:
            return
        text, mine, keys = self._of[feed.feed_id, item.item_hash]
        for key in keys:
            row = RecentHeadline(key, article_id, text[:1000], mine.source, mine.domain, mine.published_at, mine.lead)
            self._known[key].append(row)
            self._new.append(row)

    def save(self) -> None:
        self._tx.articles.save_headlines(self._new, lifetime=_LIFETIME)


def _lead(item: Item) -> str:
    return parse.plain_text(item.entry.content[:_BEGINNING])[:LEAD_CHARACTERS]
