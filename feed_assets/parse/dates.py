"""Dates as publishers write them, in UTC; None when nobody can tell."""

from __future__ import annotations

import calendar
import time
from datetime import UTC, datetime
from typing import Any


def from_struct(value: time.struct_time | None) -> datetime | None:
    """From feedparser's struct_time, which is in UTC."""
    if value is None:
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def from_iso(value: Any) -> datetime | None:
    """From RFC 3339 text; a missing zone is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
