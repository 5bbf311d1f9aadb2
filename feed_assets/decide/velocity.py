"""How fast a feed publishes: learned from publication times and the time watched, forgetting slowly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from feed_assets.model import Stats

_HALF_LIFE_HOURS = 10 * 24.0  # of the rate; the hour-of-day profile remembers for longer
_PROFILE_HALF_LIFE_HOURS = 90 * 24.0
_FIRST_LOOK_HOURS = 7 * 24.0  # how far back a first document is believed
_PRIOR_HOURS = 1.0  # thin data is pulled towards one article a day, as if we had watched for an hour
_PRIOR_PER_HOUR = 1 / 24
_FLAT_ARTICLES = 72.0  # articles that an hourly profile needs before it weighs as much as a flat one
_MOST = 4.0  # no hour counts for more than this many average ones, or for less than its inverse
_MEMORY_FETCHES = 20.0  # averaging window of articles per fetch


def learn(stats: Stats, published: Sequence[datetime], *, now: datetime, new: int) -> Stats:
    """The statistics after a successful fetch that brought items published at these times."""
    first = stats.last_successful_fetch is None
    since = now - timedelta(hours=_FIRST_LOOK_HOURS) if first else stats.last_successful_fetch
    assert since is not None
    counted = [moment for moment in published if since <= moment <= now] if first else [min(moment, now) for moment in published]
    if first and counted:
        since = max(since, min(counted))
    elapsed = max((now - since).total_seconds() / 3600, 0.0) if not first or counted else _FIRST_LOOK_HOURS
    keep = 0.5 ** (elapsed / _HALF_LIFE_HOURS)
    articles = stats.observed_articles * keep + len(counted)
    hours = stats.observed_hours * keep + elapsed
    profile = _profile(stats.hourly_distribution, published, elapsed)
    weight = 1 / min(_MEMORY_FETCHES, 1 + stats.total_articles_fetched) if not first else 1.0
    newest = max((moment for moment in published if moment <= now), default=None)
    return replace(
        stats,
        observed_articles=articles,
        observed_hours=hours,
        articles_per_hour=(articles + _PRIOR_HOURS * _PRIOR_PER_HOUR) / (hours + _PRIOR_HOURS),
        hourly_distribution=profile,
        current_hour_multiplier=hour_multiplier(profile, now.hour),
        avg_articles_per_fetch=stats.avg_articles_per_fetch + weight * (new - stats.avg_articles_per_fetch),
        total_articles_fetched=stats.total_articles_fetched + new,
        last_fetch_time=now,
        last_successful_fetch=now,
        newest_item_at=max(filter(None, (newest, stats.newest_item_at)), default=None),
        updated_at=now,
    )


def missed(stats: Stats, *, now: datetime) -> Stats:
    """The statistics after a fetch that failed: nothing was learned."""
    return replace(stats, last_fetch_time=now, current_hour_multiplier=hour_multiplier(stats.hourly_distribution, now.hour), updated_at=now)


def hour_multiplier(profile: Sequence[float], hour: int) -> float:
    """How much busier than average this hour of the day (UTC) is; near 1 while little is known."""
    total = sum(profile)
    expected = (total + _FLAT_ARTICLES) / 24
    return min(max((profile[hour] + _FLAT_ARTICLES / 24) / expected, 1 / _MOST), _MOST)


def _profile(profile: Sequence[float], published: Sequence[datetime], elapsed: float) -> tuple[float, ...]:
    keep = 0.5 ** (elapsed / _PROFILE_HALF_LIFE_HOURS)
    hours = [count * keep for count in profile]
    for moment in published:
        hours[moment.hour] += 1
    return tuple(round(count, 4) for count in hours)
