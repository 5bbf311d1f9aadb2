"""How much of a document is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def newest(dates: Sequence[datetime | None], limit: int) -> list[int]:
    """The places of the newest entries, in the document's order; undated ones give way to dated ones."""
    if len(dates) <= limit:
        return list(range(len(dates)))
    by_date = sorted(range(len(dates)), key=lambda place: (dates[place] or _BEGINNING, -place), reverse=True)
    return sorted(by_date[:limit])
