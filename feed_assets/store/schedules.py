"""`feed_schedules`: what is due, and the leases under which feeds are fetched.

A claim is a lease with a token. Whoever wants to write proves by the token that the lease is still theirs (`fence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from feed_assets.model import Claim, Hints, Schedule, Stats
from feed_assets.store.encoding import encode_json
from feed_assets.store.engine import Connection, Row
from feed_assets.store.feeds import to_feed

_SAVED = (
    "feed_id",
    "next_run_at",
    "last_fetched_at",
    "last_success_at",
    "last_status",
    "last_error",
    "consecutive_errors",
    "etag",
    "last_modified",
    "body_sha256",
    "interval_seconds",
    "next_run_reason",
    "redirect_url",
    "redirect_count",
    "last_body_at",
    "check_states",
    "identity_mode",
    "identity_reason",
    "reading",
    "incident",
)
_JSON = ("check_states", "reading")
_CLOCKS_DIFFER = timedelta(minutes=2)  # between machines, without anything being wrong


@dataclass(frozen=True, slots=True)
class Queue:
    """The state of the queue at one moment."""

    feeds: int
    due: int
    in_flight: int
    batches: int
    stuck: int
    dead: int  # paused after an error, until somebody revives them
    next_run_at: datetime | None
    oldest_due_at: datetime | None = None


class Schedules:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def get(self, feed_id: str) -> Schedule | None:
        return next(map(to_schedule, self._db.rows("get_schedule", feed_id=feed_id)), None)

    def queue(self, now: datetime) -> Queue:
        return Queue(**self._db.rows("queue_counts", now=now)[0])

    def states(self) -> dict[str, int]:
        """How many feeds are in each state; states that none is in are left out."""
        return {row["state"]: row["feeds"] for row in self._db.rows("feed_states")}

    def claim_due(self, token: str, *, now: datetime, lease: timedelta, limit: int) -> list[str]:
        """Take up to `limit` due feeds: highest priority first, then longest overdue."""
        return [row["feed_id"] for row in self._db.rows("claim_due", token=token, now=now, until=now + lease, batch=limit)]

    def claim(self, token: str, feed_ids: Sequence[str], *, now: datetime, lease: timedelta) -> list[str]:
        """Take these feeds, due or not, unless somebody holds them."""
        return [row["feed_id"] for row in self._db.rows("claim_feeds", token=token, feed_ids=list(feed_ids), now=now, until=now + lease)]

    def leases(self, feed_ids: Sequence[str], *, now: datetime) -> dict[str, datetime]:
        """Until when each of these feeds is held by somebody."""
        return {row["feed_id"]: row["locked_until"] for row in self._db.rows("leases_of", feed_ids=list(feed_ids), now=now)}

    def idle(self, feed_ids: Sequence[str], *, now: datetime) -> set[str]:
        """The feeds of these that nobody holds, and nobody takes until the end of this transaction."""
        return {row["feed_id"] for row in self._db.rows("idle_feeds", feed_ids=list(feed_ids), now=now)}

    def start(self, token: str, *, now: datetime, lease: timedelta, only_enabled: bool = True) -> list[Claim]:
        """Begin to work on what was claimed under `token`: everything needed to refresh it, in order of priority."""
        self._db.run("start_batch", token=token, now=now, until=now + lease, only_enabled=only_enabled)
        schedules = {row["feed_id"]: to_schedule(row) for row in self._db.rows("held_schedules", token=token)}
        stats = {row["feed_id"]: to_stats(row) for row in self._db.rows("held_stats", token=token)}
        feeds = [to_feed(row) for row in self._db.rows("held_feeds", token=token)]
        return [Claim(feed, schedules[feed.feed_id], stats.get(feed.feed_id, Stats(feed.feed_id))) for feed in feeds]

    def renew(self, token: str, *, now: datetime, lease: timedelta) -> int:
        """How many feeds are still held under `token`, for longer now."""
        return len(self._db.rows("renew_lease", token=token, until=now + lease))

    def release(self, token: str) -> int:
        """Give back what is still held under `token`, as it was before: its due time has not moved. How many those were."""
        return len(self._db.rows("release_lease", token=token))

    def expire(self, now: datetime) -> list[str]:
        """Give back what nobody has renewed in time."""
        return [row["feed_id"] for row in self._db.rows("expire_leases", now=now)]

    def mend_clock(self, now: datetime) -> list[str]:
        """After the clock was set back: feeds that would else wait until it has caught up."""
        return [row["feed_id"] for row in self._db.rows("mend_clock", now=now, latest=now + _CLOCKS_DIFFER)]

    def stale(self, now: datetime, *, usual: timedelta) -> list[str]:
        """Feeds that were not asked for twice their interval (`usual` for those that have none yet), though they are due."""
        return [row["feed_id"] for row in self._db.rows("stale_feeds", now=now, usual=round(usual.total_seconds()))]

    def fail_check(self, check: str, feed_ids: Sequence[str], *, most: int) -> list[str]:
        """Note that a check of these feeds has failed: which of them, so many at most, it is news for."""
        rows = self._db.rows("check_states_of", feed_ids=list(feed_ids))
        before = {row["feed_id"]: row["check_states"] or {} for row in rows}
        news = [feed_id for feed_id, states in before.items() if states.get(check, True)][:most]
        changed = ((feed_id, encode_json(before[feed_id] | {check: False})) for feed_id in news)
        self._db.write("save_check_states", ("feed_id", "check_states"), changed)
        return news

    def coming_up(self, now: datetime, *, feeds: int) -> list[Row]:
        """What is due next, or has been due for longest."""
        return self._db.rows("coming_up", now=now, feeds=feeds)

    def last_errors(self) -> list[Row]:
        """Why feeds failed last, with the number of those that are still in that state."""
        return self._db.rows("last_errors")

    def tried_since(self, moment: datetime) -> tuple[int, int]:
        """How many of the feeds that were fetched since then could be, and how many could not for now."""
        row = self._db.rows("tried_since", moment=moment)[0]
        return row["worked"], row["failed"]

    def fence(self, token: str, feed_ids: Sequence[str]) -> set[str]:
        """The feeds of these that are still ours to write."""
        return {row["feed_id"] for row in self._db.rows("fence", token=token, feed_ids=list(feed_ids))}

    def save(self, schedules: Sequence[Schedule]) -> None:
        """Store how attempts ended and end their leases."""
        self._db.write(
            "save_schedules",
            _SAVED,
            ([encode_json(getattr(s, name)) if name in _JSON else getattr(s, name) for name in _SAVED] for s in schedules),
        )

    def postpone(self, token: str, feeds: Iterable[tuple[str, datetime, str]]) -> None:
        """Give feeds back that were not asked for: (feed_id, when to try, why)."""
        rows = ((feed_id, at, reason, token) for feed_id, at, reason in feeds)
        self._db.write("postpone", ("feed_id", "next_run_at", "next_run_reason", "lease_token"), rows)

    def reported(self, versions: Iterable[tuple[str, str]]) -> None:
        """Dagster was told of these documents: (feed_id, body_sha256)."""
        self._db.write("mark_reported", ("feed_id", "body_sha256"), versions)

    def reschedule(self, feed_id: str, *, at: datetime | None, interval_seconds: int | None, reason: str) -> None:
        self._db.run("reschedule", feed_id=feed_id, at=at, interval_seconds=interval_seconds, reason=reason)

    def revive(self, feed_id: str, *, at: datetime, reason: str) -> None:
        """Due at `at`, with a clean slate of errors."""
        self._db.run("revive", feed_id=feed_id, at=at, reason=reason)

    def forget_validators(self, feed_id: str) -> None:
        """What was learned at another URL: validators, redirects, and the answer that the feed was added with."""
        self._db.run("forget_validators", feed_id=feed_id)
        self._db.run("drop_first_responses", feed_ids=[feed_id])


def to_schedule(row: Row) -> Schedule:
    values = {column.name: row[column.name] for column in fields(Schedule)}
    empty = {"check_states": {}, "redirect_count": 0, "identity_mode": "id", "reading": {}}
    return Schedule(**values | {name: values[name] or default for name, default in empty.items()})


def to_stats(row: Row) -> Stats:
    values = {column.name: row[column.name] for column in fields(Stats)}
    hints: dict[str, Any] = values["feed_hints"] or {}
    values["feed_hints"] = Hints(**{name: _tuple(value) for name, value in hints.items()})
    values["hourly_distribution"] = tuple(values["hourly_distribution"] or (0.0,) * 24)
    values["pace"] = tuple(values["pace"] or ())
    return Stats(**values)


def _tuple(value: Any) -> Any:
    """JSON knows lists only."""
    return tuple(value) if isinstance(value, list) else value
