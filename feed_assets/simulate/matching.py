"""The adaptive policy at the same number of polls as another one: its effort is scaled until they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from feed_assets.errors import FeedAssetsError
from feed_assets.simulate.policies import Limits
from feed_assets.simulate.run import Trace, simulate
from feed_assets.simulate.score import Score, score
from feed_assets.simulate.timelines import Timeline

CLOSE = 0.01
_ROUNDS = 12
_USUAL_SLOPE = -0.75  # of the number of polls over the target, both as logarithms


class CannotMatch(FeedAssetsError):
    """The limits do not allow so many polls, or so few."""


def match(
    feeds: Sequence[Timeline], limits: Limits, polls: int, *, done: Callable[[], None] = lambda: None, workers: int | None = None
) -> tuple[list[Trace], Score]:
    """The adaptive policy with the target at which it polls that often, within one percent."""
    target, slope = limits.target, _USUAL_SLOPE
    before: tuple[float, int] | None = None
    for _ in range(_ROUNDS):
        traces = simulate("adaptive", feeds, replace(limits, target=target), done=done, workers=workers)
        found = score("adaptive", traces, target)
        if abs(found.polls / polls - 1) <= CLOSE:
            return traces, found
        if before and found.polls != before[1]:
            slope = math.log(found.polls / before[1]) / math.log(target / before[0])
        before = (target, found.polls)
        step = math.log(polls / found.polls) / (slope if slope < -0.05 else _USUAL_SLOPE)
        target *= math.exp(min(max(step, -3.0), 3.0))
    raise CannotMatch(
        f"{polls} polls cannot be matched between {limits.min_minutes:g} and {limits.max_minutes:g} minutes (nearest: {found.polls}); "
        "use wider --min-minutes and --max-minutes"
    )
