"""Who decides when to poll: feed_assets itself, by the code that runs, and the published rules of others.

A policy sees what a reader sees: a document of the newest items at each poll.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from feed_assets.decide import cadence, velocity
from feed_assets.model import Feed, FetchResult, Outcome, Stats

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What the adaptive policy is told; `target` is TARGET_ARTICLES_PER_FETCH."""

    min_minutes: float
    max_minutes: float
    target: float


class Poller(Protocol):
    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        """When to poll again. `seen` are all items so far, `new` those that this poll brought."""
        ...


class Adaptive:
    """feed_assets: `velocity.learn` and `cadence.next_run`, as a refresh calls them."""

    def __init__(self, feed: str, limits: Limits) -> None:
        self._feed = Feed(feed, f"https://{feed}.invalid/", feed)
        self._stats = Stats(feed)
        self._policy = cadence.Policy(limits.min_minutes, limits.max_minutes, limits.target, 1440, 60, 10)
        self._result = FetchResult(feed, self._feed.url, datetime.fromtimestamp(0, UTC), Outcome.SUCCESS)

    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        moment = datetime.fromtimestamp(now, UTC)
        self._stats = velocity.learn(self._stats, [datetime.fromtimestamp(time, UTC) for time in new], now=moment, new=len(new))
        following = cadence.next_run(self._feed, replace(self._result, fetched_at=moment), self._stats, 0, self._policy).at
        assert following is not None  # nothing fails here
        return following.timestamp()


class Fixed:
    def __init__(self, minutes: float) -> None:
        self._seconds = 60 * minutes

    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        return now + self._seconds


class MovingAverage:
    """The simple rule: velocity as a moving average over polls, five articles a poll, 1 to 15 minutes, peak hours x 0.7."""

    def __init__(self) -> None:
        self._per_hour = 0.0
        self._hours = [0] * 24
        self._last: float | None = None

    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        if self._last is not None:
            self._per_hour = 0.9 * self._per_hour + 0.1 * len(new) / ((now - self._last) / 3600)
        for time in new:
            self._hours[int(time % DAY // 3600)] += 1
        self._last = now
        minutes = min(max(5 / self._per_hour * 60, 1.0), 15.0) if self._per_hour > 0 else 15.0
        if self._hours[int(now % DAY // 3600)] > 1.5 * sum(self._hours) / 24:
            minutes = max(0.7 * minutes, 1.0)
        return now + 60 * minutes


class CommaFeed:
    """Half the average gap between the items of the document, 5 minutes to an hour; an hour when idle for a week."""

    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        document = seen[-30:]
        if len(document) < 2 or now - document[-1] >= 7 * DAY:
            return now + 3600
        gap = (document[-1] - document[0]) / (len(document) - 1)
        return now + min(max(gap / 2, 300.0), 3600.0)


class Miniflux:
    """`entry_frequency`: a week over the number of items of the last week, 5 minutes to a day."""

    def next_poll(self, now: float, seen: Sequence[float], new: Sequence[float]) -> float:
        weekly = len(seen) - bisect_left(seen, now - 7 * DAY)
        return now + (min(max(7 * DAY / weekly, 300.0), DAY) if weekly else DAY)


POLICIES: dict[str, Callable[[str, Limits], Poller]] = {
    "adaptive": Adaptive,
    "ema": lambda feed, limits: MovingAverage(),
    "fixed15": lambda feed, limits: Fixed(15),
    "fixed30": lambda feed, limits: Fixed(30),
    "fixed60": lambda feed, limits: Fixed(60),
    "commafeed": lambda feed, limits: CommaFeed(),
    "miniflux": lambda feed, limits: Miniflux(),
}
