"""When feeds published: from a file or from rows, and which part of it counts."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from feed_assets.errors import FeedAssetsError

WARM_UP = 0.2  # of each feed's span, in which a policy may learn and is not scored
LEAST_DAYS = 3.0  # feeds that would be scored over less than this are left out


@dataclass(frozen=True, slots=True)
class Timeline:
    """The publication times of one feed, in order, as unix seconds."""

    feed: str
    times: tuple[float, ...]

    @property
    def scored_from(self) -> float:
        return self.times[0] + WARM_UP * (self.end - self.times[0])

    @property
    def end(self) -> float:
        return self.times[-1]

    @property
    def scored_days(self) -> float:
        return (self.end - self.scored_from) / 86_400


def timelines(rows: Iterable[tuple[str, datetime]]) -> list[Timeline]:
    """The feeds that are long enough to be scored, by name."""
    times: dict[str, list[float]] = defaultdict(list)
    for feed, moment in rows:
        times[feed].append(moment.timestamp())
    every = [Timeline(feed, tuple(sorted(published))) for feed, published in sorted(times.items())]
    return [timeline for timeline in every if timeline.scored_days >= LEAST_DAYS]


def read_timelines(path: Path) -> list[Timeline]:
    """From a CSV file, perhaps gzipped, with the columns `feed` and `published_at` (ISO 8601; without a zone it is UTC)."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8", newline="") as file:
            found = timelines(_rows(path, file))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise FeedAssetsError(f"{path} cannot be read: {error}") from None
    if not found:
        raise FeedAssetsError(f"{path} has no feed with at least {LEAST_DAYS / (1 - WARM_UP):.1f} days between its first and last item")
    return found


def _rows(path: Path, file: TextIO) -> Iterable[tuple[str, datetime]]:
    reader = csv.DictReader(file)
    if missing := {"feed", "published_at"} - set(reader.fieldnames or ()):
        raise FeedAssetsError(f"{path} has no column {' and no column '.join(sorted(missing))}; its first line must name them")
    for row in reader:
        try:
            moment = datetime.fromisoformat(row["published_at"])
        except (TypeError, ValueError):
            raise FeedAssetsError(f"{path}, line {reader.line_num}: {row['published_at']!r} is not a time in ISO 8601") from None
        yield row["feed"], moment if moment.tzinfo else moment.replace(tzinfo=UTC)
