"""Polling, simulated: the real decision function, and other readers' rules beside it, over real publication times. No network, no store."""

from feed_assets.simulate.matching import CannotMatch, match
from feed_assets.simulate.plot import draw
from feed_assets.simulate.policies import POLICIES, Limits
from feed_assets.simulate.run import Trace, simulate
from feed_assets.simulate.score import Score, score
from feed_assets.simulate.timelines import Timeline, read_timelines, timelines

__all__ = [
    "POLICIES",
    "CannotMatch",
    "Limits",
    "Score",
    "Timeline",
    "Trace",
    "draw",
    "match",
    "read_timelines",
    "score",
    "simulate",
    "timelines",
]
