"""When to fetch a feed next, and why: the one function that folds outcome, pace, hints and policy together."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from feed_assets.decide import pace
from feed_assets.model import ErrorPolicy, Feed, FetchResult, Hints, NextRun, Outcome, Stats
from feed_assets.settings import Settings

_JITTER = 0.1
_MOMENT_SECONDS = 20.0  # a moment that was chosen for what is published then is spread by no more than this
# A poll is worth `target_articles` new articles for a feed that publishes one a minute. For slower feeds it is worth less, by the root
# of their rate, which makes the mean delay of all articles the shortest; the feed of few articles a day gets a little more than that.
_BUSY_PER_DAY = 1440.0
_FAIR_PER_DAY = 0.8
_WORTH_POWER = 0.4
_HINT_SPREAD = 0.02
_HINT_SPREAD_SECONDS = 60.0
_TOO_MANY_REQUESTS = timedelta(hours=1)
_FIRST_BACKOFF_MINUTES = 1.0
# A feed that has been silent for so many days is polled so many times more slowly, and beyond MAX_INTERVAL_MINUTES.
_DORMANCY = ((90, 16), (30, 8), (7, 2))
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings a cadence depends on."""

    min_minutes: float
    max_minutes: float
    target_articles: float
    hint_max_minutes: float
    backoff_max_minutes: float
    max_consecutive_errors: int
    alert_after_errors: int = 3

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        return cls(
            settings.min_interval_minutes,
            settings.max_interval_minutes,
            settings.target_articles_per_fetch,
            settings.hint_max_minutes,
            settings.backoff_max_minutes,
            settings.max_consecutive_errors,
            settings.alert_after_errors,
        )


def next_run(feed: Feed, result: FetchResult, stats: Stats, errors_so_far: int, policy: Policy) -> NextRun:
    """When to come back after this result."""
    if not result.outcome.ok:
        return _after_error(feed, result, errors_so_far + 1, policy)
    if not feed.polling:
        return NextRun(None, None, "fetched once; polling is off")
    interval, reason = _interval(feed, stats, result.fetched_at, policy)
    if feed.refresh_interval_minutes is None:
        interval, reason = _slowed_by_hints(interval, reason, stats.feed_hints, result, policy)
    asked = min(result.retry_after or timedelta(), timedelta(minutes=policy.hint_max_minutes))
    if asked > interval:
        interval, reason = asked, f"the publisher asked for it (Retry-After {_words(asked)})"
    return NextRun(result.fetched_at + interval, round(interval.total_seconds()), reason)


def fixed_or_longest(feed: Feed, policy: Policy) -> timedelta:
    """The interval of a feed of which nothing else is known."""
    return timedelta(minutes=feed.refresh_interval_minutes or policy.max_minutes)


def _interval(feed: Feed, stats: Stats, now: datetime, policy: Policy) -> tuple[timedelta, str]:
    if feed.refresh_interval_minutes is not None:
        return timedelta(minutes=feed.refresh_interval_minutes), f"every {feed.refresh_interval_minutes} min, as set for this feed"
    longest, target, idle = policy.max_minutes, policy.target_articles, ""
    silent_days = (now - stats.newest_item_at).days if stats.newest_item_at else 0
    for days, factor in _DORMANCY:
        if silent_days >= days:
            longest, target, idle = longest * factor, target * factor, f"nothing new for {silent_days} days"
            break
    wanted = _wanted_minutes(stats, now, target, longest)
    spread = _spread(feed.feed_id, now)
    if wanted >= longest:
        limit, seconds = "longest allowed", max(longest * (1 - _JITTER * spread), policy.min_minutes) * 60
    elif wanted < policy.min_minutes:
        limit, seconds = "shortest allowed", policy.min_minutes * 60
    else:
        limit, seconds = "adaptive", min(max(wanted * 60 + _MOMENT_SECONDS * spread, policy.min_minutes * 60), longest * 60)
    interval = timedelta(seconds=round(seconds))
    words = idle or f"{stats.articles_per_hour:.2f} articles/h, x{stats.current_hour_multiplier:.1f} at this hour"
    return interval, f"every {_words(interval)}: {words} ({limit})"


def _wanted_minutes(stats: Stats, now: datetime, target: float, longest: float) -> float:
    """Until a poll is worth it, to the beginning of a minute: many publish on the hour."""
    per_day = 24 * stats.articles_per_hour
    if per_day <= 0:
        return longest
    moment = now.timestamp()
    minutes = pace.minutes_until(
        stats.pace,
        now=moment,
        newest=stats.newest_item_at.timestamp() if stats.newest_item_at else None,
        per_day=per_day,
        worth=target * _worth(per_day) / _worth(_BUSY_PER_DAY),
        power=_WORTH_POWER,
        most=longest,
    )
    return minutes if minutes >= longest else minutes - moment % 60 / 60


def _worth(per_day: float) -> float:
    return per_day / math.sqrt(per_day + _FAIR_PER_DAY)


def _slowed_by_hints(interval: timedelta, reason: str, hints: Hints, result: FetchResult, policy: Policy) -> tuple[timedelta, str]:
    """Hints are floors: they only ever make us slower, and not beyond HINT_MAX_MINUTES."""
    floors = [
        (result.max_age_seconds, "Cache-Control/Expires"),
        (hints.ttl_minutes * 60 if hints.ttl_minutes else None, "RSS ttl"),
        (hints.update_period_seconds, "sy:updatePeriod"),
    ]
    seconds, name = max(((floor, name) for floor, name in floors if floor), default=(0, ""))
    # Feeds of one host mostly say the same: they are spread a little, so that they do not come back in the same moment.
    spread = min(seconds * _HINT_SPREAD, _HINT_SPREAD_SECONDS) * _spread(result.feed_id, result.fetched_at) if seconds else 0.0
    floor = timedelta(seconds=min(seconds + spread, policy.hint_max_minutes * 60))
    if floor > interval:
        interval, reason = floor, f"every {_words(floor)}: the publisher asked for it ({name})"
    moment = result.fetched_at + interval
    allowed = _next_unskipped(moment, hints, result.fetched_at + timedelta(minutes=policy.hint_max_minutes))
    if allowed > moment:
        interval, reason = allowed - result.fetched_at, f"{reason}; then the publisher's skipHours/skipDays are over"
    return interval, reason


def _next_unskipped(moment: datetime, hints: Hints, latest: datetime) -> datetime:
    """The first moment from this one on that the publisher does not ask to skip, not after `latest`."""
    latest = max(moment, latest)
    while moment < latest and (moment.hour in hints.skip_hours or _WEEKDAYS[moment.weekday()] in hints.skip_days):
        moment = moment.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return min(moment, latest)


def _after_error(feed: Feed, result: FetchResult, errors: int, policy: Policy) -> NextRun:
    why = result.reason or result.outcome.value
    if result.outcome is Outcome.UNAUTHORIZED or result.outcome is Outcome.PERMANENT_ERROR:
        return NextRun(None, None, f"paused: {why}; `feed-assets feed sync {feed.feed_id}` tries again", errors, died=True)
    if feed.error_policy == ErrorPolicy.ONE_STRIKE:
        return NextRun(None, None, f"paused at the first error (one_strike): {why}", errors, died=True)
    if errors >= policy.max_consecutive_errors:
        return NextRun(
            None, None, f"dead after {errors} errors in a row: {why}; `feed-assets feed sync {feed.feed_id}` revives it", errors, died=True
        )
    if not feed.polling:
        return NextRun(None, None, f"fetched once; polling is off: {why}", errors)
    minutes = min(_FIRST_BACKOFF_MINUTES * 2 ** min(errors - 1, 20), policy.backoff_max_minutes)
    jitter = _JITTER * _spread(feed.feed_id, result.fetched_at)
    later = minutes * (1 + jitter)
    pause = timedelta(minutes=later if later <= policy.backoff_max_minutes else minutes * (1 - jitter))
    reason = f"error {errors} of {policy.max_consecutive_errors} ({why}): trying again in {_words(pause)}"
    floor = result.retry_after or (_TOO_MANY_REQUESTS if result.status_code == 429 else timedelta())
    if floor > pause:
        pause = min(floor, max(timedelta(minutes=policy.hint_max_minutes), _TOO_MANY_REQUESTS))
        reason = f"error {errors} of {policy.max_consecutive_errors} ({why}): the publisher asked us to wait {_words(pause)}"
    return NextRun(result.fetched_at + pause, round(pause.total_seconds()), reason, errors)


def _spread(feed_id: str, now: datetime) -> float:
    """A number in [0, 1) that differs between feeds and fetches but not between workers."""
    digest = hashlib.sha256(f"{feed_id}@{now.timestamp()}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def _words(interval: timedelta) -> str:
    seconds = round(interval.total_seconds())
    if seconds < 90:
        return f"{seconds} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
