"""Times and errors in the words of people: for terminals and pages."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((90, 1, "s"), (5400, 60, "min"), (129_600, 3600, "h"), (float("inf"), 86_400, "days"))
# What an error means to somebody who has never heard of HTTP. The beginning of the reason -> the words.
_MEANINGS = (
    ("HTTP 404", "The feed is not there any more. Has it moved? Try `feed-assets feed discover` with the site's address."),
    ("HTTP 410", "The publisher has closed this feed for good."),
    ("HTTP 401", "The publisher wants a name and a password: put them into the URL as https://name:password@..."),
    ("HTTP 403", "The publisher does not let us in. Perhaps the feed is for members, or robots are not welcome."),
    ("HTTP 429", "The publisher says that we ask too often. We wait as long as it asks for."),
    ("HTTP 5", "The publisher's server has a problem of its own. We try again, less and less often."),
    ("timed out", "The publisher's server does not answer in time. We try again, less and less often."),
    ("this is not a feed", "The address leads to something else than a feed now."),
    ("this is broken XML", "The publisher's document is damaged beyond reading."),
    ("the document is empty", "The publisher's server sends nothing."),
)


def relative(moment: datetime | None, now: datetime | None = None) -> str:
    """in 5 min, 3 h ago."""
    if moment is None:
        return "-"
    seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return f"in {how_long(seconds)}" if seconds > 0 else f"{how_long(seconds)} ago"


def how_long(seconds: float) -> str:
    """5 min, 3 h."""
    size = abs(seconds)
    unit, words = next((unit, words) for limit, unit, words in _UNITS if size < limit)
    return f"{size / unit:.0f} {words}"


def size_of(size: float) -> str:
    """12 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def in_words(reason: str | None) -> str:
    """What an error means and what to do about it; nothing when the reason says it all."""
    return next((words for start, words in _MEANINGS if reason and reason.startswith(start)), "")


def size(count: int | None) -> str:
    """Bytes as people say them: 12.3 MB."""
    if count is None:
        return "-"
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
