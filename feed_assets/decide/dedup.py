"""One row per story: which article an item belongs to, in its own feed and across feeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from datetime import datetime

from feed_assets.decide.canonical import canonical_url
from feed_assets.decide.identity import sha256
from feed_assets.model import Article, Changes, Feed, Item


@dataclass(frozen=True, slots=True)
class Placed:
    """An item and the story it belongs to. `keys` are what later copies of the story are recognised by."""

    item: Item
    article_id: str
    keys: tuple[str, ...]
    is_new: bool = False  # nobody told this story before


def item_key(feed_id: str, item_hash: str) -> str:
    """The item itself, should its feed show it again after it was pruned."""
    return sha256(f"item:{feed_id}\x00{item_hash}")


def story_keys(item: Item) -> tuple[str, ...]:
    """What makes two items of different feeds the same story."""
    url = canonical_url(item.entry.url)
    return (sha256(f"url:{url}"),) if url else ()


def place(
    feed_id: str,
    item: Item,
    remembered: MutableMapping[str, str],
    carried: MutableMapping[tuple[str, str], str],
    similar: Callable[[], Iterable[str]] = tuple,
) -> Placed:
    """Give an item its article: a remembered one or one of its own. What is placed is remembered for those after it.

    `carried` has the item of each (article, feed): two items of one feed are never the same story, though they may share a link.
    `similar` gives the articles with a headline like this one; it is asked only when nothing else tells.
    """
    own, stories = item_key(feed_id, item.item_hash), story_keys(item)

    def joins(article_id: str | None) -> bool:
        return bool(article_id) and carried.get((str(article_id), feed_id), item.item_hash) == item.item_hash

    # The item's own memory comes first: an item whose URL changed stays the article that it was.
    known = remembered.get(own) or next((remembered[key] for key in stories if joins(remembered.get(key))), None)
    if known is None and own not in remembered:
        known = next(filter(joins, similar()), None)
    article_id = known or next((key[:32] for key in stories if key not in remembered), own[:32])
    for key in (own, *stories):
        remembered.setdefault(key, article_id)
    carried.setdefault((article_id, feed_id), item.item_hash)
    return Placed(item, article_id, (own, *stories), is_new=known is None)


def without_old_news(feed_id: str, changes: Changes, remembered: Mapping[str, str]) -> Changes:
    """Without items that look new but were stored once and pruned since."""
    new = tuple(item for item in changes.new if item_key(feed_id, item.item_hash) not in remembered)
    return changes if len(new) == len(changes.new) else replace(changes, new=new)


def to_article(placed: Placed, feed: Feed, *, headline: str, content: str, fetched_at: datetime) -> Article:
    entry = placed.item.entry
    return Article(
        article_id=placed.article_id,
        url=entry.url if canonical_url(entry.url) else None,
        canonical_url=canonical_url(entry.url),
        headline=headline,
        source=feed.source_name,
        feed_id=feed.feed_id,
        published_at=entry.published_at or fetched_at,
        content=content,
        fetched_at=fetched_at,
        published_at_estimated=entry.published_at is None,
    )
