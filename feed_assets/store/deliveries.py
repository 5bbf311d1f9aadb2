"""`receivers` and `deliveries`: which events are on their way to whom.

A receiver is delivered to by one process at a time, under a lease with a token. So nobody overtakes anybody, and the events of a
feed (its line) stay in order: whoever has the lease sends the first of each line, and the next when that one has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from feed_assets.store.engine import Connection, Row

_BEFORE_IT_WAS_KNOWN = timedelta(hours=1)  # a new receiver hears of what happened since then, and not of a month of history

_FORGOTTEN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that a receiver is to hear of."""

    event_id: str
    receiver: str
    feed_id: str
    event_type: str
    payload: Mapping[str, Any]
    created_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a delivery: `delivered`, `dead`, or `pending` until `next_attempt_at`."""

    event_id: str
    receiver: str
    status: str
    attempts: int
    next_attempt_at: datetime
    last_error: str | None = None
    delivered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """What the receivers have still to hear of at one moment."""

    due: int
    pending: int
    dead: int
    next_attempt_at: datetime | None


_TRIED = tuple(column.name for column in fields(Tried))


class Deliveries:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def plan(self, wanted: Mapping[str, Sequence[str] | None], *, now: datetime) -> None:
        """Line up the events that each receiver wants (event types; None for all). Events that all of them have, or that nobody
        wants, are done."""
        names = sorted(wanted)
        pairs = [(name, kind) for name in names for kind in _types(wanted[name])]
        wants = {"receivers": [name for name, _ in pairs], "types": [kind for _, kind in pairs]}
        self._db.run("add_receivers", receivers=names, now=now, since=now - _BEFORE_IT_WAS_KNOWN, forgotten=now - _FORGOTTEN)
        self._db.run("plan_deliveries", **wants, now=now)
        self._db.run("close_events", **wants, now=now)

    def backlog(self, receivers: Iterable[str], *, now: datetime) -> Backlog:
        return Backlog(**self._db.rows("backlog", receivers=sorted(receivers), now=now)[0])

    def claim(self, receiver: str, token: str, *, now: datetime, lease: timedelta) -> bool:
        """Take a receiver, unless somebody has it or it is to be left alone."""
        return bool(self._db.rows("claim_receiver", receiver=receiver, token=token, now=now, until=now + lease))

    def renew(self, receiver: str, token: str, *, now: datetime, lease: timedelta) -> bool:
        """Whether the receiver is still ours, for longer now. What is written after this, in the same transaction, is safe."""
        return bool(self._db.rows("renew_receiver", receiver=receiver, token=token, until=now + lease))

    def release(self, receiver: str, token: str) -> None:
        self._db.run("release_receiver", receiver=receiver, token=token)

    def next(self, receiver: str, *, now: datetime, limit: int) -> list[Delivery]:
        """What may be sent, in order within each line. Lines that have failed least go first; those that wait are left out."""
        return [Delivery(**row) for row in self._db.rows("next_deliveries", receiver=receiver, now=now, deliveries=limit)]

    def save(self, tried: Iterable[Tried]) -> None:
        self._db.write("save_tried", _TRIED, ([getattr(each, name) for name in _TRIED] for each in tried))

    def judge(self, receiver: str, *, failures: int, blocked_until: datetime | None) -> None:
        """How often in a row the receiver has not answered, and until when it is left alone."""
        self._db.run("judge_receiver", receiver=receiver, failures=failures, blocked_until=blocked_until)

    def failures(self, receiver: str) -> int:
        return sum(row["consecutive_failures"] for row in self._db.rows("receiver_failures", receiver=receiver))

    def retry(self, event_ids: Sequence[str] | None, *, now: datetime) -> list[str]:
        """Give dead deliveries of these events, or all, a fresh start; and let no receiver be left alone."""
        wanted = list(event_ids) if event_ids is not None else None
        revived = [row["event_id"] for row in self._db.rows("retry_deliveries", event_ids=wanted, now=now)]
        self._db.run("unblock_receivers")
        return revived

    def events(self, *, status: str | None = None, event_type: str | None = None, limit: int) -> list[Row]:
        """The newest events, with how far each has come (`receivers` is who has it, or has not, by status)."""
        return self._db.rows("list_events", status=status, event_type=event_type, events=limit)

    def of_events(self, event_ids: Sequence[str]) -> list[Row]:
        return self._db.rows("deliveries_of", event_ids=list(event_ids)) if event_ids else []


def _types(wanted: Sequence[str] | None) -> Sequence[str | None]:
    return [None] if wanted is None else wanted
