"""How fast a feed publishes: learned from publication times and the time watched, forgetting slowly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from feed_assets.decide import pace
from feed_assets.model import Stats

_HALF_LIFE_HOURS = 10 * 24.0  # of the rate; the shape of the day remembers for longer
_FIRST_LOOK = timedelta(days=30)  # how far back a first document is believed
_LATE = timedelta(days=2)  # publishers who add items with dates older than this say nothing about the present
_LESSON = timedelta(hours=3)  # time without items is noted in pieces of this length: a poll that brings nothing changes nothing
_PRIOR_HOURS = 7.2  # thin data is pulled towards one article a day, as if we had watched for so long
_PRIOR_PER_HOUR = 1 / 24
_STEP, _OLD_STEP, _RECENT = timedelta(days=1), timedelta(days=7), timedelta(days=30)  # in which a past is learned anew
_MEMORY_FETCHES = 20.0  # averaging window of articles per fetch


def learn(stats: Stats, published: Sequence[datetime], *, now: datetime, new: int) -> Stats:
    """The statistics after a successful fetch that brought items published at these times."""
    first = stats.last_successful_fetch is None
    since, counted = _first_look(published, now) if first else _since_then(stats, published, now)
    weight = 1.0 if first else 1 / min(_MEMORY_FETCHES, 1 + stats.total_articles_fetched)
    newest = max((moment for moment in published if moment <= now), default=None)
    if first or counted or now - since >= _LESSON:
        stats = _learned(stats, counted, since, now)
    return replace(
        stats,
        current_hour_multiplier=pace.multiplier(stats.pace, now.timestamp()),
        avg_articles_per_fetch=stats.avg_articles_per_fetch + weight * (new - stats.avg_articles_per_fetch),
        total_articles_fetched=stats.total_articles_fetched + new,
        last_fetch_time=now,
        last_successful_fetch=now,
        learned_until=stats.learned_until or now,
        newest_item_at=max(filter(None, (newest, stats.newest_item_at)), default=None),
        updated_at=now,
    )


def missed(stats: Stats, *, now: datetime) -> Stats:
    """The statistics after a fetch that failed: nothing was learned."""
    return replace(stats, last_fetch_time=now, current_hour_multiplier=pace.multiplier(stats.pace, now.timestamp()), updated_at=now)


def relearn(stats: Stats, published: Sequence[datetime], *, stored: int, now: datetime) -> Stats:
    """The statistics as if they were learned anew, in a few steps, from when these items were published: what has drifted is put right.

    Watched is the time since the oldest of them, which only says where that begins; `stored` is how many items there are at least.
    """
    until = stats.learned_until or stats.last_successful_fetch or now
    moments = sorted(min(moment, until) for moment in published)
    counted = max(stats.total_articles_fetched, stored)
    if len(moments) < 2 or moments[0] >= until:
        return replace(stats, total_articles_fetched=counted)
    fresh = replace(stats, observed_articles=0.0, observed_hours=0.0, pace=(), newest_item_at=moments[0])
    since, place = moments[0], 1
    while since < until:
        end = min(since + (_OLD_STEP if until - since > _RECENT else _STEP), until)
        upto = bisect_right(moments, end)
        fresh = _learned(fresh, moments[place:upto], since, end)
        fresh = replace(fresh, newest_item_at=moments[upto - 1])
        since, place = end, upto
    return replace(
        fresh,
        total_articles_fetched=counted,
        learned_until=until,
        current_hour_multiplier=pace.multiplier(fresh.pace, now.timestamp()),
        updated_at=now,
    )


def rate(articles: float, hours: float) -> float:
    """Articles per hour, as far as can be told from so many in so much time."""
    return (articles + _PRIOR_HOURS * _PRIOR_PER_HOUR) / (hours + _PRIOR_HOURS)


def _first_look(published: Sequence[datetime], now: datetime) -> tuple[datetime, list[datetime]]:
    """A first document tells of the time since its oldest item, which itself only says where that begins."""
    recent = sorted(moment for moment in published if now - _FIRST_LOOK < moment <= now)
    reaches_back = any(moment <= now - _FIRST_LOOK for moment in published)
    if reaches_back:
        return now - _FIRST_LOOK, recent
    return (recent[0], recent[1:]) if recent else (now, [])


def _since_then(stats: Stats, published: Sequence[datetime], now: datetime) -> tuple[datetime, list[datetime]]:
    since = stats.learned_until or stats.last_successful_fetch or now
    return since, [min(moment, now) for moment in published if moment > since - _LATE]


def _learned(stats: Stats, counted: Sequence[datetime], since: datetime, now: datetime) -> Stats:
    elapsed = max((now - since).total_seconds() / 3600, 0.0)
    keep = 0.5 ** (elapsed / _HALF_LIFE_HOURS)
    articles = stats.observed_articles * keep + len(counted)
    hours = stats.observed_hours * keep + elapsed
    velocity = rate(articles, hours)
    learned = pace.learn(
        stats.pace,
        [moment.timestamp() for moment in counted],
        since=since.timestamp(),
        until=now.timestamp(),
        newest=stats.newest_item_at.timestamp() if stats.newest_item_at else None,
        per_day=24 * velocity,
    )
    return replace(
        stats,
        observed_articles=articles,
        observed_hours=hours,
        articles_per_hour=velocity,
        pace=learned,
        hourly_distribution=pace.hourly(learned),
        learned_until=max(now, since),
    )
