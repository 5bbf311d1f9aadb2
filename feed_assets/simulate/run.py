"""One policy over many feeds: when each is polled. The clock is the simulation's own; the same input gives the same polls."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from feed_assets.simulate.policies import DAY, POLICIES, Limits
from feed_assets.simulate.timelines import Timeline

WINDOW = 30  # items in a feed's document


@dataclass(frozen=True, slots=True)
class Trace:
    """The polls of one feed, and how many items scrolled out of its document before anybody saw them."""

    timeline: Timeline
    polls: tuple[float, ...]
    lost: int = 0


def simulate(
    policy: str, feeds: Sequence[Timeline], limits: Limits, *, done: Callable[[], None] = lambda: None, workers: int | None = None
) -> list[Trace]:
    """Poll every feed from its first item to its last. `done` is called after each feed."""
    workers = min(workers or os.cpu_count() or 1, len(feeds))
    if workers == 1:
        traces = []
        for timeline in feeds:
            traces.append(poll(policy, timeline, limits))
            done()
        return traces
    found: dict[str, Trace] = {}
    with ProcessPoolExecutor(workers) as pool:
        longest_first = sorted(feeds, key=lambda timeline: timeline.times[0] - timeline.end)
        for future in as_completed([pool.submit(poll, policy, timeline, limits) for timeline in longest_first]):
            trace = future.result()
            found[trace.timeline.feed] = trace
            done()
    return [found[timeline.feed] for timeline in feeds]


def poll(policy: str, timeline: Timeline, limits: Limits) -> Trace:
    """All polls of a feed, the last one at or after its last item."""
    times = timeline.times
    poller = POLICIES[policy](timeline.feed, limits)
    now, polls, known, lost = _first_poll(timeline), [], 0, 0
    while True:
        polls.append(now)
        there = bisect_right(times, now, lo=known)
        if now >= timeline.scored_from:
            lost += max(there - known - WINDOW, 0)
        if now >= timeline.end:
            return Trace(timeline, tuple(polls), lost)
        now = poller.next_poll(now, _Seen(times, there), times[max(known, there - WINDOW) : there])
        known = there


def _first_poll(timeline: Timeline) -> float:
    """Somewhere in the first day, elsewhere for each feed: rules without any jitter would else depend on when a feed happens to begin."""
    digest = hashlib.sha256(timeline.feed.encode()).digest()
    warm_up = timeline.scored_from - timeline.times[0]
    return timeline.times[0] + int.from_bytes(digest[:4], "big") / 2**32 * min(DAY, warm_up / 2)


class _Seen(Sequence[float]):
    """The first items of a timeline, without copying them at each poll."""

    def __init__(self, times: tuple[float, ...], length: int) -> None:
        self._times, self._length = times, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if isinstance(place, slice):
            return self._times[slice(*place.indices(self._length))]
        return self._times[range(self._length)[place]]
