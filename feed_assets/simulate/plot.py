"""The scores as a picture: polls against delay, an SVG that any browser shows, in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10

from feed_assets.simulate.score import Score

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 460, 320, 60, 50, 40
_STYLE = """svg{font:13px system-ui,sans-serif;background:#fff;color:#222}text{fill:currentColor}.grid{stroke:currentColor;opacity:.15}
.dot{fill:#8a93a3}.ours{fill:#d4482b}.name{font-weight:600}@media(prefers-color-scheme:dark){svg{background:#16181d;color:#e6e6e6}}"""


def draw(scores: Sequence[Score]) -> str:
    """Two panels on logarithmic scales: the delay that an item has on average, and the one that a feed has. Lower left is better."""
    panels = (("mean delay per item, minutes", "delay_mean_item"), ("mean delay per feed, minutes", "delay_mean_feed"))
    width = 2 * (_WIDTH + _GAP) + _LEFT
    drawn = "".join(_panel(scores, title, name, _LEFT + number * (_WIDTH + _GAP + 20)) for number, (title, name) in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT + _TOP + 60}" role="img" aria-label="Polls against delay">'
        f"<style>{_STYLE}</style>{drawn}</svg>\n"
    )


def _panel(scores: Sequence[Score], title: str, name: str, left: float) -> str:
    across = _scale([each.polls_per_feed_day for each in scores], left, left + _WIDTH - 90)
    up = _scale([getattr(each, name) for each in scores], _TOP + _HEIGHT - 20, _TOP + 20)
    marks = [
        f'<text class="name" x="{left}" y="{_TOP - 20}">{title}</text>',
        f'<text x="{left + _WIDTH / 2 - 45}" y="{_TOP + _HEIGHT + 40}" text-anchor="middle">polls per feed and day</text>',
    ]
    for value in across.ticks:
        x = across.place(value)
        marks.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _HEIGHT}"/>')
        marks.append(f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{value:g}</text>')
    for value in up.ticks:
        y = up.place(value)
        marks.append(f'<line class="grid" x1="{left}" x2="{left + _WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        marks.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for each in scores:
        x, y = across.place(each.polls_per_feed_day), up.place(getattr(each, name))
        kind = "ours" if each.policy.startswith("adaptive") else "dot"
        marks.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
        marks.append(f'<text x="{x + 10:.1f}" y="{y + 4:.1f}">{escape(each.policy)}</text>')
    return "".join(marks)


class _scale:
    """Logarithms between two ends, with round numbers to show."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self._low, self._high = (log10(max(value, 0.01)) for value in (min(values) / 1.3, max(values) * 1.3))
        self._begin, self._end = begin, end

    def place(self, value: float) -> float:
        return self._begin + (log10(max(value, 0.01)) - self._low) / (self._high - self._low) * (self._end - self._begin)

    @property
    def ticks(self) -> list[float]:
        powers = range(floor(self._low), floor(self._high) + 1)
        return [step * 10.0**power for power in powers for step in (1, 2, 5) if self._low <= log10(step * 10.0**power) <= self._high]
