"""When to tell others that a feed is in trouble: once per incident, and once more when it is over. Pure.

An incident opens with `feed.failing` or `feed.dead` and closes with `feed.recovered`. What was told stands in
`feed_schedules.incident`, so that neither a restart nor a revival by hand tells it again.
"""

from __future__ import annotations

from feed_assets.model import EventType, NextRun, Outcome, Schedule


def after(before: Schedule, outcome: Outcome, next_run: NextRun, alert_after: int) -> str | None:
    """What others will have been told of the feed's trouble once this attempt is stored."""
    if outcome.ok:
        return None
    if next_run.died:
        return EventType.FEED_DEAD.value
    if before.incident is None and next_run.consecutive_errors >= alert_after:
        return EventType.FEED_FAILING.value
    return before.incident


def told(before: Schedule, now: Schedule) -> EventType | None:
    """The event by which the others hear of it, if there is something to hear."""
    if now.incident == before.incident:
        return None
    return EventType(now.incident) if now.incident else EventType.FEED_RECOVERED
