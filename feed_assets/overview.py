"""How the whole system is, from the tables, in a few queries however many feeds there are.

Shared by `feed-assets status` and `doctor`, `/health` and `/metrics`, so that all of them mean the same by "late" and "stale".
Only finds facts; how they are shown is for the edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from feed_assets.error_kinds import error_kind
from feed_assets.model import FeedState
from feed_assets.settings import Settings
from feed_assets.store import InFlight, Queue, Signal, Store, Totals, Transaction

# What gives a sign of life each time it has done its work.
PARTS = ("sensor", "recovery", "housekeeping")
WINDOWS = {"5 min": timedelta(minutes=5), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_COMING = 5


@dataclass(frozen=True, slots=True)
class Coming:
    """A feed whose turn is next, or overdue."""

    feed_id: str
    next_run_at: datetime
    next_run_reason: str | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that `feed-assets status` tells, at one moment."""

    at: datetime
    queue: Queue
    states: Mapping[FeedState, int]
    batches: Sequence[InFlight]
    stale: Sequence[str]  # due, and not asked for twice their interval
    throughput: Mapping[str, Totals]  # by the names of WINDOWS
    errors: Mapping[str, int]  # feeds whose last fetch failed, by kind, the most frequent first
    coming: Sequence[Coming]
    signals: Mapping[str, Signal]
    articles: int
    blocked_hosts: int
    bytes: int


def look(store: Store, settings: Settings, now: datetime) -> Overview:
    """All of it in one transaction."""
    with store.read() as tx:
        stored = tx.numbers.stored(now)
        return Overview(
            at=now,
            queue=tx.schedules.queue(now),
            states=states(tx),
            batches=[batch for batch in tx.batches.in_flight() if batch.feeds],
            stale=tx.schedules.stale(now, usual=timedelta(minutes=settings.max_interval_minutes)),
            throughput=dict(zip(WINDOWS, tx.numbers.since(*(now - window for window in WINDOWS.values())), strict=True)),
            errors=_by_kind(tx),
            coming=[Coming(**row) for row in tx.schedules.coming_up(now, feeds=_COMING)],
            signals=tx.numbers.signals(),
            articles=stored["articles"],
            blocked_hosts=stored["blocked_hosts"],
            bytes=tx.numbers.size(),
        )


def states(tx: Transaction) -> dict[FeedState, int]:
    """How many feeds are in each state, zeros too."""
    found = tx.schedules.states()
    return {state: found.get(state.value, 0) for state in FeedState}


def ages(signals: Mapping[str, Signal], now: datetime) -> dict[str, float]:
    """Part -> seconds since its last sign of life."""
    return {name: (now - signal.noted_at).total_seconds() for name, signal in signals.items() if name in PARTS}


def lag(queue: Queue, now: datetime) -> float:
    """For how many seconds the longest overdue feed has been due."""
    return (now - queue.oldest_due_at).total_seconds() if queue.oldest_due_at else 0.0


def sensor_trouble(signals: Mapping[str, Signal], now: datetime, settings: Settings) -> str | None:
    """The sensor's last tick tells that daemon, code location and sensor are alive. A database that never had one is not ill."""
    age = ages(signals, now).get("sensor", 0.0)
    if age <= settings.health_sensor_seconds:
        return None
    return "the sensor does not look for due feeds: is the Dagster daemon running, and the sensor on?"


def lag_trouble(queue: Queue, signals: Mapping[str, Signal], now: datetime, settings: Settings) -> str | None:
    """Where no sensor ever was, feeds are refreshed by hand, and nothing is late."""
    if "sensor" not in signals or lag(queue, now) <= settings.health_max_lag_seconds:
        return None
    return "feeds have been due for too long: more batches or workers are needed"


def _by_kind(tx: Transaction) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for row in tx.schedules.last_errors():
        kinds[error_kind(row["last_error"])] += row["feeds"]
    return dict(kinds.most_common())
