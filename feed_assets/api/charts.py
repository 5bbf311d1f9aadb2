"""Small pictures as SVG, drawn here: no script, and words for those who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

_OUTCOMES = {"success": "good", "not_modified": "same"}


def sparkline(values: Sequence[float] | None) -> Markup:
    """24 hours as a line of 96 x 20; flat when there is nothing."""
    numbers = list(values or [0.0] * 24)
    top = max(max(numbers), 1e-9)
    step = 96 / (len(numbers) - 1)
    points = " ".join(f"{place * step:.1f},{18 - 16 * number / top:.1f}" for place, number in enumerate(numbers))
    busiest = max(range(len(numbers)), key=numbers.__getitem__)
    words = f"busiest at {busiest}:00 UTC" if any(numbers) else "nothing yet"
    line = Markup('<polyline points="{}"/>').format(points)
    return Markup('<svg class="spark" viewBox="0 0 96 20" width="96" height="20" role="img" aria-label="{}">{}</svg>').format(words, line)


def hours(values: Sequence[float] | None) -> Markup:
    """Articles by hour of the day, as bars with a scale."""
    numbers = list(values or [0.0] * 24)
    top = max(max(numbers), 1e-9)
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="16" height="{:.1f}"><title>{}:00 UTC: {:.0f} articles</title></rect>').format(
            place * 20 + 2, 100 - 96 * number / top, 96 * number / top, place, number
        )
        for place, number in enumerate(numbers)
    )
    scale = Markup("").join(Markup('<text x="{}" y="116">{}</text>').format(hour * 20 + 10, hour) for hour in range(0, 24, 3))
    words = "Articles by hour of the day, UTC: " + ", ".join(f"{place}:00 {number:.0f}" for place, number in enumerate(numbers) if number)
    return Markup('<svg class="bars" viewBox="0 0 480 120" role="img" aria-label="{}">{}{}</svg>').format(words, bars, scale)


def attempts(history: Sequence[Mapping[str, Any]]) -> Markup:
    """The latest fetches from left to right, as high as they took long; colours say how they ended."""
    rows = list(reversed(history))
    top = max((row["duration_ms"] for row in rows), default=0) or 1
    width = 480 / max(len(rows), 30)
    bars = Markup("").join(
        Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>').format(
            _OUTCOMES.get(row["outcome"], "bad"),
            place * width + 0.5,
            98 - 90 * row["duration_ms"] / top,
            max(width - 1, 1),
            2 + 90 * row["duration_ms"] / top,
            f"{row['fetch_time']:%Y-%m-%d %H:%M:%S} UTC: {row['outcome']}, {row['articles_new']} new, {row['duration_ms']} ms",
        )
        for place, row in enumerate(rows)
    )
    failed = sum(row["outcome"] not in _OUTCOMES for row in rows)
    words = f"The latest {len(rows)} fetches, {failed} of them failed; the slowest took {top} ms"
    return Markup('<svg class="bars" viewBox="0 0 480 100" role="img" aria-label="{}">{}</svg>').format(escape(words), bars)
