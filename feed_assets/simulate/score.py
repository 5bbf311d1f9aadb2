"""How well a policy did: what it cost the publishers, and how long its readers waited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, quantiles

from feed_assets.simulate.run import Trace


@dataclass(frozen=True, slots=True)
class Score:
    """Delays are in minutes, from publication to the first poll at or after it."""

    policy: str
    feeds: int
    feed_days: float
    items: int
    polls: int
    polls_per_feed_day: float  # all polls over all days
    polls_per_day_mean_of_feeds: float
    delay_mean_item: float
    delay_mean_feed: float  # the mean of the feeds' means
    delay_median: float
    delay_p90: float
    empty_polls: float  # share
    lost_items: int
    target_articles_per_fetch: float | None = None  # of the adaptive policy


def score(policy: str, traces: Sequence[Trace], target: float | None = None) -> Score:
    """Of what happened after the warm-up."""
    delays: list[float] = []
    of_feeds: list[float] = []
    polls = useful = 0
    rates: list[float] = []
    for trace in traces:
        timeline = trace.timeline
        polled = trace.polls[bisect_left(trace.polls, timeline.scored_from) :]
        places = [bisect_left(polled, time) for time in timeline.times if time >= timeline.scored_from]
        own = [(polled[place] - time) / 60 for place, time in zip(places, timeline.times[-len(places) :], strict=True)]
        delays += own
        of_feeds.append(mean(own))
        polls += len(polled)
        useful += len(set(places))
        rates.append(len(polled) / timeline.scored_days)
    days = sum(trace.timeline.scored_days for trace in traces)
    tenths = quantiles(delays, n=10) if len(delays) > 1 else delays * 9
    return Score(
        policy=policy,
        feeds=len(traces),
        feed_days=days,
        items=len(delays),
        polls=polls,
        polls_per_feed_day=polls / days,
        polls_per_day_mean_of_feeds=mean(rates),
        delay_mean_item=mean(delays),
        delay_mean_feed=mean(of_feeds),
        delay_median=tenths[4],
        delay_p90=tenths[8],
        empty_polls=1 - useful / polls,
        lost_items=sum(trace.lost for trace in traces),
        target_articles_per_fetch=target,
    )
