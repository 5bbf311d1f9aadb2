"""What one attempt makes of a feed: its next state, statistics, next run and health. Pure: the past and the result in, the future out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from feed_assets.decide import cadence, health, incidents, velocity
from feed_assets.decide.domain import allowed_entries
from feed_assets.model import Changes, CheckResult, Claim, Feed, FetchResult, NextRun, Outcome, ParsedFeed, Schedule, Stats

_LONG_AGO = timedelta(days=30)
_MOVES_AFTER = 3  # fetches in a row that were redirected to the same place, by permanent redirects only


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fetch result, read: `parsed` is there when a body came that differs from the last one."""

    claim: Claim
    result: FetchResult
    parsed: ParsedFeed | None = None
    body_sha256: str | None = None

    @property
    def feed_id(self) -> str:
        return self.claim.feed.feed_id


@dataclass(frozen=True, slots=True)
class Decision:
    """What to write about an attempt, apart from the items themselves."""

    attempt: Attempt
    feed: Feed
    changes: Changes
    news: bool
    schedule: Schedule
    stats: Stats
    next_run: NextRun
    checks: tuple[CheckResult, ...]

    @property
    def moves_to(self) -> str | None:
        """The feed's new URL, once permanent redirects have said so often enough."""
        return self.schedule.redirect_url if self.attempt.result.outcome.ok and self.schedule.redirect_count >= _MOVES_AFTER else None


def decide(attempt: Attempt, feed: Feed, changes: Changes, *, stored_before: int, first: bool, policy: cadence.Policy) -> Decision:
    """Judge an attempt by what the feed is now (`feed`), which may differ from what was claimed."""
    result, before = attempt.result, attempt.claim.schedule
    news = attempt.parsed is not None and (changes.any or first)
    stats = _statistics(attempt, changes)
    next_run = cadence.next_run(feed, result, stats, before.consecutive_errors, policy)
    kept = len(allowed_entries(feed, attempt.parsed.entries)) if attempt.parsed else 0
    checks = [health.reachable(result), *health.late_no_more(before.check_states)]
    if attempt.parsed is not None:
        checks += health.document_checks(attempt.parsed, changes, stored_before, result)
    schedule = _schedule(attempt, next_run, policy.alert_after_errors)
    if attempt.parsed is not None:
        schedule = _with_reading(schedule, attempt.parsed, changes, kept, result.fetched_at)
    return Decision(attempt, feed, changes, news, schedule, stats, next_run, tuple(checks))


def _with_reading(schedule: Schedule, parsed: ParsedFeed, changes: Changes, kept: int, now: datetime) -> Schedule:
    """How the document was read, and what of it was dropped: `feed show` tells it."""
    items = len(changes.new) + len(changes.changed) + len(changes.known)
    reading = {
        "at": now.isoformat(),
        "format": parsed.format,
        "read": parsed.reading,
        "encoding": parsed.encoding,
        "found": parsed.found,
        "kept": items,
        "over_limit": parsed.found - len(parsed.entries),
        "off_domain": len(parsed.entries) - kept,
        "copies": changes.copies,
        "old_news": kept - changes.copies - items,
        "repeated_ids": changes.repeated_ids,
        "renamed": changes.renamed,
        "undated": sum(entry.published_at is None for entry in parsed.entries),
    }
    reason = changes.mode_reason or schedule.identity_reason
    return replace(schedule, identity_mode=changes.mode, identity_reason=reason, reading=reading)


def _statistics(attempt: Attempt, changes: Changes) -> Stats:
    result, stats = attempt.result, attempt.claim.stats
    if not result.outcome.ok:
        return velocity.missed(stats, now=result.fetched_at)
    if attempt.parsed is not None:
        stats = replace(stats, feed_hints=attempt.parsed.hints)
    first = stats.last_successful_fetch is None  # what a first document does not date may be of any age
    published = [_believable(item.entry.published_at, result.fetched_at) for item in changes.new if item.entry.published_at or not first]
    return velocity.learn(stats, published, now=result.fetched_at, new=len(changes.new))


def _believable(stated: datetime | None, now: datetime) -> datetime:
    """A date as scheduling takes it: items keep the one they state, but 1970 and 2099 say nothing about a feed's pace."""
    return min(max(stated or now, now - _LONG_AGO), now)


def _schedule(attempt: Attempt, next_run: NextRun, alert_after: int) -> Schedule:
    result, before = attempt.result, attempt.claim.schedule
    after = replace(
        before,
        next_run_at=next_run.at,
        interval_seconds=next_run.interval_seconds,
        next_run_reason=next_run.reason,
        consecutive_errors=next_run.consecutive_errors,
        last_fetched_at=result.fetched_at,
        last_status=result.outcome.last_status,
        last_error=None if result.outcome.ok else result.reason,
        incident=incidents.after(before, result.outcome, next_run, alert_after),
    )
    if not result.outcome.ok:
        return after
    again = result.moved_to is not None and result.moved_to == before.redirect_url
    after = replace(
        after,
        last_success_at=result.fetched_at,
        redirect_url=result.moved_to,
        redirect_count=before.redirect_count + 1 if again else 1 if result.moved_to else 0,
    )
    etag, last_modified = _header(result, "etag"), _header(result, "last-modified")
    if result.outcome is Outcome.NOT_MODIFIED:
        return replace(after, etag=etag or before.etag, last_modified=last_modified or before.last_modified)
    return replace(after, etag=etag, last_modified=last_modified, body_sha256=attempt.body_sha256, last_body_at=result.fetched_at)


def _header(result: FetchResult, name: str) -> str | None:
    return next((value for key, value in result.headers.items() if key.lower() == name and value), None)
