"""Statistics of feeds with a known pace, learned the way a running system learns them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from feed_assets.decide.velocity import learn
from feed_assets.model import Stats

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def watched(per_hour: float, *, days: float = 10, until: datetime = NOW, before: Stats | None = None) -> Stats:
    """A feed that published evenly and was polled every hour until `until`."""
    stats = before or Stats("news")
    start = until - timedelta(days=days)
    every = timedelta(hours=1 / per_hour) if per_hour else None
    published = start
    moment = start
    while moment <= until:
        new = []
        while every and published <= moment:
            new.append(published)
            published += every
        stats = learn(stats, new, now=moment, new=len(new))
        moment += timedelta(hours=1)
    return stats
