"""Looking after a whole database while others use it: small portions, each a transaction of its own, with pauses in between.

Knows how long a portion may take; what is outdated is known to `store/housekeeping.py`, and how a pace is learned to `decide/`.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from feed_assets.decide import velocity
from feed_assets.decide.dedup import item_key
from feed_assets.settings import Settings
from feed_assets.store import PRUNED, Outdated, Store

_PORTION, _SMALLEST, _LARGEST = 2_000, 500, 50_000  # rows in a transaction
_QUICK, _SLOW = 0.2, 0.8  # seconds: a portion that takes less is followed by a larger one, one that takes more by a smaller one
_LONGEST_PAUSE = 1.0
_FEEDS = 50  # whose statistics are recalculated in a transaction
_FEEDS_A_NIGHT = 5_000  # the others have their turn in the nights that follow
_REACH = timedelta(days=365)  # a pace remembers about so long
_SHORTEST_REACH = timedelta(days=30)  # items that are kept for less say less than what was learned from them


def outdated(store: Store, settings: Settings, *, now: datetime) -> list[Outdated]:
    """What `prune` would delete."""
    with store.read() as tx:
        return tx.housekeeping.outdated(settings, now=now)


def prune(store: Store, settings: Settings, *, now: datetime, pause: Callable[[float], None] = time.sleep) -> Iterator[tuple[str, int]]:
    """Delete what is past its retention; gives (table, rows) as they go. Ending it early is no harm: the next one goes on."""
    waiting, portion = deque(PRUNED), _PORTION
    while waiting:
        gone, began = [], time.monotonic()
        with store.begin() as tx:
            room = portion
            while waiting and room:
                rows = tx.housekeeping.prune(waiting[0], settings, now=now, item_key=item_key, most=room)
                gone.append((waiting[0].table, rows))
                room -= rows
                if room:  # less than there was room for: no more is left
                    waiting.popleft()
            if not waiting:
                tx.housekeeping.finish(now=now)
        took = time.monotonic() - began
        yield from gone
        if waiting:
            portion = min(portion * 2, _LARGEST) if took < _QUICK else max(portion // 2, _SMALLEST) if took > _SLOW else portion
            pause(min(took, _LONGEST_PAUSE))  # half of the time belongs to others


def summed(portions: Iterator[tuple[str, int]]) -> dict[str, int]:
    """Rows deleted by table."""
    gone: Counter[str] = Counter()
    for table, rows in portions:
        gone[table] += rows
    return {rule.table: gone[rule.table] for rule in PRUNED}


def recalculate(store: Store, settings: Settings, *, now: datetime) -> Iterator[int]:
    """Put the statistics of all feeds right, from their stored items; gives how many it were after each portion.

    A feed that is being fetched is left alone: what that fetch learns would be lost, or would undo this.
    """
    reach = min(_REACH, timedelta(days=settings.article_retention_days))
    if reach < _SHORTEST_REACH:
        return
    with store.read() as tx:
        feeds = tx.feeds.live_ids()
    for feed_ids in _tonight(feeds, now):
        with store.read() as tx:
            learned = tx.articles.stats_of(feed_ids)
            published = tx.items.published(feed_ids, since=now - reach)
            stored = tx.items.counts(feed_ids)
        anew = [velocity.relearn(each, published.get(name, ()), stored=stored.get(name, 0), now=now) for name, each in learned.items()]
        with store.begin() as tx:
            idle = tx.schedules.idle(feed_ids, now=now)
            current = tx.articles.stats_of(sorted(idle))
            right = [each for each in anew if each.feed_id in current and current[each.feed_id] == learned[each.feed_id] != each]
            tx.articles.save_stats(right)
        yield len(right)


def _tonight(feeds: Sequence[str], now: datetime) -> Iterator[Sequence[str]]:
    """All feeds in portions; of very many, others each night."""
    nights = -(-len(feeds) // _FEEDS_A_NIGHT) or 1
    first = now.toordinal() % nights * _FEEDS_A_NIGHT
    chosen = feeds[first : first + _FEEDS_A_NIGHT]
    yield from (chosen[start : start + _FEEDS] for start in range(0, len(chosen), _FEEDS))
