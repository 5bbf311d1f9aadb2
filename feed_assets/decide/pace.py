"""The shape of a feed's publishing: how much likelier than on average an item is at this time of day, weekday, minute of the hour,
and this long after the newest one. Learned from publication times and from the time that was watched, items or not.

Each factor is what was observed over what was expected, both with a few imagined items, so that thin data stays near flat.
The state is a short tuple of numbers that is stored with the statistics: every worker decides alike. docs/cadence.md tells more.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

Pace = tuple[float, ...]
Array = Any  # np.ndarray; spelled out, its shape and type would say nothing that the names here do not

DAY = 86_400.0
_SLOTS, _WEEKDAYS, _MINUTES, _AGES = 96, 7, 60, 14  # quarters of an hour in a day, days of the week, minutes of an hour, ages
_SLOT = DAY / _SLOTS
_HALF_LIFE_DAYS = 365.0
_ROUNDED = 4  # digits behind the point that are stored

# How many imagined items pull a factor towards what is less sure.
_NARROW_HOURS, _WIDE_HOURS = 0.25, 2.0
_TO_WIDE, _TO_FLAT = 0.7, 1.0  # time of day: the narrow kernel to the wide one, and that to flat
_WEEKDAY_TO_FLAT = 8.0
_MINUTE_TO_FIVE, _FIVE_TO_FLAT = 1.5, 10.0  # minute of the hour: single minutes to groups of five, and those to flat
_AGE_TO_FLAT = 30.0
_LEAST = 0.02  # no moment is held to be less likely than this

_AGES_BEGIN = (60.0 * np.exp(np.linspace(0.0, np.log(14 * 1440.0), _AGES - 1))).tolist()  # seconds: a minute to two weeks
_NEAR = 64  # minutes
_LENGTHS = (_SLOTS, _SLOTS, _WEEKDAYS, _WEEKDAYS, _MINUTES, 1, _AGES, _AGES)
_SIZE = sum(_LENGTHS)
_PARTS = tuple(slice(end - length, end) for end, length in zip(accumulate(_LENGTHS), _LENGTHS, strict=True))


def _kernel(hours: float) -> Array:
    apart = np.abs(np.arange(_SLOTS)[:, None] - np.arange(_SLOTS)[None, :])
    return np.exp(-0.5 * (np.minimum(apart, _SLOTS - apart) * 24.0 / _SLOTS / hours) ** 2)


_NARROW, _WIDE = _kernel(_NARROW_HOURS), _kernel(_WIDE_HOURS)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Factors around 1, ready to be multiplied."""

    slots: Array  # by quarter of an hour of the day, UTC
    hours: tuple[float, ...]
    weekdays: tuple[float, ...]  # Monday first
    ages: tuple[float, ...]
    minutes: tuple[float, ...]  # of the hour
    near: tuple[float, ...]  # by minute of the day: time of day and minute of the hour together
    far: Array  # the same, for long walks


@lru_cache(maxsize=64)
def shape(pace: Pace) -> Shape:
    slots, slots_expected, days, days_expected, minutes, minutes_expected, ages, ages_expected = _parts(_state(pace))
    wide = (_WIDE @ slots + _TO_FLAT) / (_WIDE @ slots_expected + _TO_FLAT)
    time = np.maximum(_normal((_NARROW @ slots + _TO_WIDE * wide) / (_NARROW @ slots_expected + _TO_WIDE)), _LEAST)
    fives = (minutes.reshape(12, 5).sum(axis=1) + _FIVE_TO_FLAT) / (minutes_expected / 12 + _FIVE_TO_FLAT)
    minute = np.maximum(_normal((minutes + _MINUTE_TO_FIVE * fives.repeat(5)) / (minutes_expected / _MINUTES + _MINUTE_TO_FIVE)), _LEAST)
    daily = time.repeat(1440 // _SLOTS) * np.tile(minute, 24)
    return Shape(
        slots=time,
        hours=tuple(time.reshape(24, -1).mean(axis=1).tolist()),
        weekdays=tuple(_normal((days + _WEEKDAY_TO_FLAT) / (days_expected + _WEEKDAY_TO_FLAT)).tolist()),
        ages=tuple(((ages + _AGE_TO_FLAT) / (ages_expected + _AGE_TO_FLAT)).tolist()),
        minutes=tuple(minute.tolist()),
        near=tuple(daily.tolist()),
        far=daily,
    )


def learn(pace: Pace, published: Sequence[float], *, since: float, until: float, newest: float | None, per_day: float) -> Pace:
    """The pace after watching from `since` to `until` (unix seconds), in which items were published at these times.

    `newest` is the item before them; `per_day` what was expected.
    """
    before, state = shape(pace), _state(pace)
    weekdays = np.array(before.weekdays)
    state *= 0.5 ** (max(until - since, 0.0) / DAY / _HALF_LIFE_DAYS)
    slots, slots_expected, days, days_expected, minutes, minutes_expected, ages, ages_expected = _parts(state)
    items = np.sort(np.asarray(published, dtype=float))
    timeline = np.concatenate(([-np.inf if newest is None else newest], items))  # the item before each moment
    if until > since:
        quarters = np.arange((since // _SLOT + 1) * _SLOT, until, _SLOT)
        edges = np.unique(np.concatenate(([since], quarters, items[(items > since) & (items < until)], [until])))
        start, expected = edges[:-1], np.diff(edges) * (per_day / DAY)
        middle = start + np.diff(edges) / 2
        slot, weekday = _slot(middle), _weekday(middle)
        slots_expected += np.bincount(slot, expected * weekdays[weekday], _SLOTS)
        days_expected += np.bincount(weekday, expected * before.slots[slot], _WEEKDAYS)
        minutes_expected += expected.sum()
        age = middle - timeline[np.maximum(np.searchsorted(timeline, start, side="right") - 1, 0)]
        ages_expected += np.bincount(_age(age), expected * before.slots[slot] * weekdays[weekday], _AGES)
    if len(items):
        slots += np.bincount(_slot(items), minlength=_SLOTS)
        days += np.bincount(_weekday(items), minlength=_WEEKDAYS)
        minutes += np.bincount((items % 3600 // 60).astype(int), minlength=_MINUTES)
        ages += np.bincount(_age(items - timeline[:-1]), minlength=_AGES)
    rounded: Array = np.round(state, _ROUNDED)
    return tuple(rounded.tolist())


def hourly(pace: Pace) -> tuple[float, ...]:
    """Articles by hour of the day, UTC."""
    counts: Array = np.round(_parts(_state(pace))[0].reshape(24, -1).sum(axis=1), 2)
    return tuple(counts.tolist())


def multiplier(pace: Pace, now: float) -> float:
    """How much busier than average this hour is."""
    known = shape(pace)
    return known.hours[int(now % DAY // 3600)] * known.weekdays[int(now // DAY + 3) % 7]


def minutes_until(pace: Pace, *, now: float, newest: float | None, per_day: float, worth: float, power: float, most: float) -> float:
    """How many minutes from now so many items are to be expected that a poll is worth it; `most` at the most.

    At an average moment `worth` items are; at one that is m times as busy, worth * m ** power: where more will come, waiting pays.
    The age of the newest item foretells one more item at the most, and only as long as that has probably not come.
    """
    known = shape(pace)
    minute, age = int(now // 60), now - newest if newest is not None else math.inf
    expected, per_minute = 0.0, per_day / 1440
    for walked in range(int(min(most, _NEAR))):  # most walks end soon: then this is faster than arrays
        usual = known.near[(minute + walked) % 1440] * known.weekdays[((minute + walked) // 1440 + 3) % 7] * per_minute
        more = usual * (known.ages[bisect_right(_AGES_BEGIN, age + 60.0 * walked)] - 1)
        coming = max(usual + math.exp(-expected) * (more if more < 0 else -math.expm1(-more)), _LEAST * per_minute)
        expected += coming
        if expected >= worth * (coming / per_minute / known.minutes[(minute + walked) % 60]) ** power:
            return float(walked + 1)
    walked = _NEAR
    while walked < most:
        of_day = (minute + walked) % 1440
        stretch = min(4 * walked, 1440 - of_day)  # never past midnight
        usuals = known.far[of_day : of_day + stretch] * (known.weekdays[((minute + walked) // 1440 + 3) % 7] * per_minute)
        ages = np.searchsorted(_AGES_BEGIN, age + 60.0 * np.arange(walked, walked + stretch), side="right")
        mores = usuals * (np.take(known.ages, ages) - 1)
        comings = usuals + math.exp(-expected) * np.where(mores < 0, mores, -np.expm1(-mores))
        np.maximum(comings, _LEAST * per_minute, out=comings)
        reached = expected + comings.cumsum()
        enough = reached >= worth * (comings / (per_minute * np.take(known.minutes, np.arange(of_day, of_day + stretch) % 60))) ** power
        place = int(enough.argmax())
        if enough[place]:
            return min(float(walked + place + 1), most)
        walked, expected = walked + stretch, float(reached[-1])
    return most


def _state(pace: Pace) -> Array:
    """A pace of another version of this code is forgotten: it is learned anew within days."""
    return np.array(pace) if len(pace) == _SIZE else np.zeros(_SIZE)


def _parts(state: Array) -> list[Array]:
    return [state[part] for part in _PARTS]


def _normal(factors: Array) -> Array:
    return factors * (len(factors) / factors.sum())


def _slot(moments: Array) -> Array:
    return (moments % DAY // _SLOT).astype(int)


def _weekday(moments: Array) -> Array:
    """Monday is 0; the epoch began on a Thursday."""
    return ((moments // DAY + 3) % 7).astype(int)


def _age(ages: Array) -> Array:
    return np.searchsorted(_AGES_BEGIN, ages, side="right")
