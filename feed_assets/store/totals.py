"""`fetch_totals` and `signals`: numbers for metrics and health that need no running process to be kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime

from feed_assets.store.engine import Connection, Row

# Upper bounds of the histogram of fetch durations, in milliseconds, and the column that counts up to each.
DURATIONS = {
    100: "within_100ms",
    300: "within_300ms",
    1000: "within_1s",
    3000: "within_3s",
    10_000: "within_10s",
    30_000: "within_30s",
}


@dataclass(frozen=True, slots=True)
class Totals:
    """What some fetches did, all counted up."""

    success: int = 0
    not_modified: int = 0
    temporary_error: int = 0
    permanent_error: int = 0
    unauthorized: int = 0
    total_bytes: int = 0
    total_ms: int = 0
    within_100ms: int = 0
    within_300ms: int = 0
    within_1s: int = 0
    within_3s: int = 0
    within_10s: int = 0
    within_30s: int = 0
    articles_parsed: int = 0
    articles_inserted: int = 0
    articles_changed: int = 0
    articles_deduplicated: int = 0

    @property
    def fetches(self) -> int:
        return self.success + self.not_modified + self.temporary_error + self.permanent_error + self.unauthorized

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class Signal:
    """The latest that a part of the system said of itself."""

    name: str
    value: float | None
    noted_at: datetime


_NAMES = tuple(column.name for column in fields(Totals))


class Numbers:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def add(self, total_id: str, totals: Totals, *, at: datetime) -> None:
        """Rows are only ever added, so that batches never wait for each other to count."""
        self._db.write("save_totals", ("total_id", "noted_at", *_NAMES), [[total_id, at, *(getattr(totals, name) for name in _NAMES)]])

    def totals(self) -> Totals:
        return Totals(**self._db.rows("sum_totals")[0])

    def since(self, latest: datetime, later: datetime, early: datetime) -> tuple[Totals, Totals, Totals]:
        """What was done since each of these moments, the latest first. Durations by bounds and articles by fate are left out."""
        found = {row.pop("age"): Totals(**row) for row in self._db.rows("totals_by_age", latest=latest, later=later, early=early)}
        first = found.get(0, Totals())
        second = first + found.get(1, Totals())
        return first, second, second + found.get(2, Totals())

    def sum_up(self, before: datetime) -> int:
        """Make one row of all older ones; how many those were."""
        rows = self._db.rows("take_totals", before=before)
        if rows:
            total = sum((Totals(**{name: row[name] for name in _NAMES}) for row in rows), Totals())
            newest = max(rows, key=lambda row: (row["noted_at"], row["total_id"]))
            self.add(newest["total_id"], total, at=newest["noted_at"])
        return len(rows)

    def signal(self, name: str, *, at: datetime, value: float | None = None) -> None:
        self._db.write("save_signals", ("name", "value", "noted_at"), [[name, value, at]])

    def signals(self) -> dict[str, Signal]:
        return {row["name"]: Signal(**row) for row in self._db.rows("signals")}

    def busiest(self, feeds: int) -> list[Row]:
        """Feeds by priority, then by how much they publish."""
        return self._db.rows("busiest_feeds", feeds=feeds)

    def stored(self, now: datetime) -> Row:
        return self._db.rows("stored", now=now)[0]

    def size(self) -> int:
        """Of the database, in bytes."""
        return int(self._db.rows("database_size")[0]["bytes"])

    def moments(self) -> Row:
        """The time by the database's own clock (`server_at`), and the newest that it has of ours."""
        return self._db.rows("moments")[0]
