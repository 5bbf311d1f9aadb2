"""What HTTP headers say about coming back: Retry-After, Cache-Control, Age, Expires."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from requests.structures import CaseInsensitiveDict

from feed_assets.model import FetchResult

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NO_CACHE = re.compile(r"(?:^|[\s,])no-(?:cache|store)\b", re.IGNORECASE)


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Retry-After, in seconds or as a date."""
    value = headers.get("Retry-After", "").strip()
    if _is_number(value):
        return timedelta(seconds=min(int(value[:12]), 10**9))
    moment = http_date(value)
    return max(moment - now, timedelta()) if moment else None


def max_age_seconds(headers: Mapping[str, str], now: datetime) -> int | None:
    """How long the answer stays fresh: max-age minus Age, else Expires. None when nothing useful is said."""
    control = headers.get("Cache-Control", "")
    if _NO_CACHE.search(control):
        return None
    if found := _MAX_AGE.search(control):
        age = headers.get("Age", "").strip()
        return max(int(found[1]) - (int(age[:12]) if _is_number(age) else 0), 0)
    expires = http_date(headers.get("Expires", ""))
    date = http_date(headers.get("Date", "")) or now
    return max(int((expires - date).total_seconds()), 0) if expires else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def with_hints(result: FetchResult) -> FetchResult:
    """A stored answer with what its headers said."""
    headers = CaseInsensitiveDict(result.headers)
    return replace(result, retry_after=retry_after(headers, result.fetched_at), max_age_seconds=max_age_seconds(headers, result.fetched_at))


def http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
