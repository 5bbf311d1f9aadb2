"""One run of grouping: read the window, find the stories, store what has changed and tell of it.

Composes `decide/grouping.py`, which knows when articles are about one story, with the store. Nothing is held while it thinks: what it
found is stored if nobody else was at it meanwhile, and found anew if somebody was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from feed_assets.decide.grouping import LEAD_CHARACTERS, Grouping, Told, group
from feed_assets.errors import StoreError
from feed_assets.model import EventType
from feed_assets.parse import plain_text
from feed_assets.settings import Settings
from feed_assets.store import Group, GroupingQueue, Store, Transaction
from feed_assets.urls import domain_of

_MOST_ARTICLES = 50_000  # of the window that are compared, the newest
_TRIES = 3
SIGNAL = "grouping"


@dataclass(frozen=True, slots=True)
class GroupingReport:
    """What a run did."""

    examined: int  # articles that were compared for the first time
    window: int  # articles that they were compared with
    founded: Sequence[Group] = ()
    grown: Sequence[Group] = ()
    merged: int = 0


def waiting(tx: Transaction, settings: Settings, *, now: datetime) -> GroupingQueue:
    return tx.groups.queue(_since(settings, now))


def is_due(queue: GroupingQueue, settings: Settings, *, now: datetime) -> bool:
    """Whether enough articles wait, or any for long enough; a clock that was set back is no reason to wait for it."""
    if queue.waiting >= settings.grouping_threshold_articles:
        return True
    last, interval = queue.last_run_at, timedelta(minutes=settings.grouping_interval_minutes)
    return queue.waiting > 0 and (last is None or last > now or now - last >= interval)


def find_stories(store: Store, settings: Settings, *, now: datetime) -> GroupingReport:
    """Compare the articles that wait with all of the window."""
    for _ in range(_TRIES):
        with store.read() as tx:
            before = waiting(tx, settings, now=now)
            rows = tx.groups.window(_since(settings, now), most=_MOST_ARTICLES)
            founded_at = tx.groups.founded_at(row["group_id"] for row in rows if row["group_id"])
        window = [_told(row) for row in rows]
        found = group(window, founded_at)
        with store.begin() as tx:
            tx.groups.lock()
            queue = waiting(tx, settings, now=now)
            if queue.examined_at == before.examined_at and queue.known - queue.waiting == before.known - before.waiting:
                if len(window) == _MOST_ARTICLES:
                    tx.groups.pass_over(_since(settings, now), min(article.moment for article in window), now=now)
                return _store(tx, window, found, founded_at, now)
    raise StoreError("another run groups the same articles; it will have found their stories")


def _store(tx: Transaction, window: Sequence[Told], found: Grouping, founded_at: Mapping[str, datetime], now: datetime) -> GroupingReport:
    fresh = [article.article_id for article in window if not article.examined]
    joined = dict(found.joined)
    for gone, article_ids in tx.groups.members(found.merged).items():  # those that the window has left behind move, too
        joined |= dict.fromkeys(article_ids, found.merged[gone])
    tx.articles.set_groups(joined)
    touched = sorted(set(joined.values()))
    # All of the window, not only these: a feed may have carried a copy of a story that was grouped long ago.
    tx.groups.save({group_id: founded_at.get(group_id, now) for group_id in {*founded_at, *touched}}, now=now)
    tx.groups.drop(found.merged)
    tx.groups.examined(fresh, now=now)
    groups = tx.groups.many(touched)
    tx.articles.save_events(_events(tx, groups, joined, now))
    tx.numbers.signal(SIGNAL, at=now)
    founded = [each for group_id, each in groups.items() if group_id in found.founded]
    grown = [each for group_id, each in groups.items() if group_id not in found.founded]
    return GroupingReport(len(fresh), len(window), _top(founded), _top(grown), len(found.merged))


def _events(
    tx: Transaction, groups: Mapping[str, Group], joined: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, dict[str, Any], datetime]]:
    """One for each group that was founded or grew; its id follows from what it says."""
    members, feeds = tx.groups.members(groups), tx.groups.feeds(groups)
    for group_id, told in groups.items():
        article_ids = members.get(group_id, [])
        payload = {
            "group_id": group_id,
            "headline": told.headline,
            "article_ids": article_ids,
            "added": sorted(article_id for article_id in article_ids if joined.get(article_id) == group_id),
            "feeds": feeds.get(group_id, []),
        }
        digest = blake2b("\x00".join(article_ids).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        yield f"{group_id}/{EventType.ARTICLES_GROUPED.value}/{digest}", EventType.ARTICLES_GROUPED.value, payload, now


def _top(groups: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(sorted(groups, key=lambda each: (each.sources, each.last_at, each.group_id), reverse=True))


def _since(settings: Settings, now: datetime) -> datetime:
    return now - timedelta(hours=settings.grouping_window_hours)


def _told(row: Mapping[str, Any]) -> Told:
    return Told(
        row["article_id"],
        row["headline"],
        plain_text(row["content"])[:LEAD_CHARACTERS],
        row["source"],
        domain_of(row["url"]) if row["url"] else None,
        row["moment_at"],
        row["group_id"],
        row["is_examined"],
    )
