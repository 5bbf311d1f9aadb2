"""Months of operation in minutes: a simulated clock, publishers that are asked without HTTP, and everything behind that real.

Documents are read, decided upon, stored and published by the code that a run uses; some feeds are told to a real Dagster by real runs;
our tables are pruned each night, Dagster's each month. Counted is what publishers have shown, so that nothing can be lost or come back
unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.commit import commit_group
from feed_assets.decide.attempt import Attempt
from feed_assets.defs import assets
from feed_assets.defs.forgetting import Forgotten, forget
from feed_assets.defs.launch import register_partitions
from feed_assets.housekeeping import prune, recalculate, summed
from feed_assets.model import Claim, FeedReport, FetchResult, Outcome
from feed_assets.refresh import body_sha256, claim, parse
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.store.reading import row_counts
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.dagster import Dagster

_GROUP = 200
_WINDOW = 10  # items in a document
_A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Month:
    """How large everything is at the end of a month of thirty days."""

    number: int
    database: int
    dagster: int
    rows: dict[str, int]
    runs: int


@dataclass
class Year:
    """A number of feeds over a number of days. Each publishes `pace` items a day; all are asked every `every` days."""

    store: Store
    settings: Settings
    instance: dg.DagsterInstance | None = None
    feeds: int = 20
    pace: int = 1
    every: int = 1
    told: int = 5  # feeds of each day that Dagster hears of
    most_runs: int = 30
    clock: Clock = field(default_factory=lambda: Clock(datetime(2025, 1, 1, 12, 0, tzinfo=UTC)))
    shown: int = 0  # distinct items that documents have had
    new: int = 0  # items that were taken for new
    fetches: int = 0
    pruned: dict[str, int] = field(default_factory=dict)

    def live(self, days: int) -> Iterator[Month]:
        """Day after day; tells of each month when it is over."""
        names = [f"feed-{number:05d}" for number in range(self.feeds)]
        rows = [{"id": name, "url": f"https://{name}.example/feed"} for name in names]
        catalog.import_feeds(self.store, rows, now=self.clock())
        seen: list[set[int]] = [set() for _ in names]
        dagster = Dagster(self.instance, self.settings, self.clock) if self.instance else None
        if dagster:
            register_partitions(dagster.pipeline, dagster.instance)
        for day in range(days):
            if day % self.every == 0:
                groups = (range(start, min(start + _GROUP, self.feeds)) for start in range(0, self.feeds, _GROUP))
                reports = [report for group in groups for report in self._fetch(group, day, seen)]
                if dagster:
                    self._tell(dagster, reports[: self.told])
            self._keep_house(month_is_over=day % 30 == 29)
            self.clock.advance(days=1)
            if day % 30 == 29:
                yield self._measured(day // 30 + 1)

    def _fetch(self, numbers: Sequence[int], day: int, seen: list[set[int]]) -> list[FeedReport]:
        names = [f"feed-{number:05d}" for number in numbers]
        token = claim(self.store, self.settings, names, self.clock, 0)
        with self.store.begin() as tx:
            claims = {each.feed.feed_id: each for each in tx.schedules.start(token, now=self.clock(), lease=_A_DAY)}
        group = []
        for number, name in zip(numbers, names, strict=True):
            items = self._document(number, day)
            group.append(_attempt(claims[name], number, items, self.clock(), self.settings))
            self.shown += len(set(items) - seen[number])
            seen[number].update(items)
        reports = list(commit_group(self.store, self.settings, token, group, run_id=None))
        assert all(report.outcome.ok and report.stored for report in reports), [report.reason for report in reports if not report.stored]
        self.new += sum(report.new for report in reports)
        self.fetches += len(reports)
        assert self.new == self.shown, f"{self.shown} items were shown until day {day}, and {self.new} taken for new"
        return reports

    def _document(self, number: int, day: int) -> list[int]:
        """Which items a feed shows on a day. Every tenth pins its first item for ever, and every tenth hides some for so long that they are
        pruned, and shows them again while they are remembered."""
        newest = (day + 1) * self.pace - 1
        items = list(range(newest, max(newest - _WINDOW, -1), -1))
        if number % 10 == 0:
            items.append(0)
        hidden_for = self.settings.article_retention_days + self.settings.dedup_retention_days - 2 * self.every
        if number % 10 == 1 and day // hidden_for % 2 == 0:
            items += [1, 2]
        return list(dict.fromkeys(items))

    def _tell(self, dagster: Dagster, reports: Sequence[FeedReport]) -> None:
        """A real run, with these reports in the place of its fetches."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(assets, "_reports", lambda *_: iter(reports))
            assert dagster.refresh(*(report.feed_id for report in reports)).success

    def _keep_house(self, *, month_is_over: bool) -> None:
        gone = summed(prune(self.store, self.settings, now=self.clock(), pause=lambda _: None))
        self.pruned = {table: rows + self.pruned.get(table, 0) for table, rows in gone.items()}
        if self.instance and month_is_over:
            long_ago = self.clock.now - 9999 * _A_DAY  # Dagster knows no simulated clock, so runs go by their number
            sum(forget(self.instance, before=long_ago, most=self.most_runs, pause=lambda _: None), Forgotten())
        if month_is_over:
            sum(recalculate(self.store, self.settings, now=self.clock()))
            self.store.vacuum()

    def _measured(self, number: int) -> Month:
        runs = self.instance.get_runs_count() if self.instance else 0
        return Month(number, self.store.size(), _size_of(self.instance) if self.instance else 0, row_counts(self.store), runs)


def _attempt(held: Claim, number: int, items: Sequence[int], now: datetime, settings: Settings) -> Attempt:
    entries = "".join(_entry(number, item) for item in items)
    body = f"<rss version='2.0'><channel><title>Feed {number}</title><link>https://feed-{number}.example/</link>{entries}</channel></rss>"
    feed = held.feed
    result = FetchResult(feed.feed_id, feed.url, now, Outcome.SUCCESS, status_code=200, body=body.encode(), bytes_received=len(body))
    attempt = Attempt(held, result, body_sha256=body_sha256(result))
    return attempt if attempt.body_sha256 == held.schedule.body_sha256 else parse(attempt, settings)


def _entry(number: int, item: int) -> str:
    words = hashlib.sha256(f"{number}/{item}".encode()).hexdigest()
    title = " ".join(words[place : place + 7] for place in range(0, 35, 7))
    return (
        f"<item><title>{title}</title><link>https://feed-{number}.example/{item}</link><guid>{number}-{item}</guid>"
        f"<description>{' '.join([words] * 8)}</description></item>"
    )


def _size_of(instance: dg.DagsterInstance) -> int:
    storage = instance.event_log_storage
    if "postgres" in type(storage).__name__.lower():
        with storage.index_connection() as connection:  # type: ignore[attr-defined]
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar())
    return sum(path.stat().st_size for path in Path(instance.root_directory).rglob("*") if path.is_file())


def is_bounded(months: Sequence[Month], what: str, *, most: float = 1.2) -> bool:
    """Whether the last quarter is no larger than the second one, but for so much."""
    quarter = max(len(months) // 4, 1)
    sizes = [getattr(month, what) for month in months]
    return max(sizes[-quarter:]) <= most * max(sizes[quarter : 2 * quarter])
