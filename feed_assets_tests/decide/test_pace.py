"""The shape of a feed's publishing: flat without data, right with much, small to store, and never a reason to wait for ever."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.pace import DAY, Pace, learn, minutes_until, multiplier, shape

MONDAY = 4 * DAY  # 1970-01-05


def wait(
    pace: Pace, *, now: float = 100 * DAY, newest: float | None = None, per_day: float = 24, worth: float = 1, most: float = 1440
) -> float:
    return minutes_until(pace, now=now, newest=newest, per_day=per_day, worth=worth, power=0.4, most=most)


def taught(times: list[float], *, since: float, until: float) -> Pace:
    return learn((), times, since=since, until=until, newest=None, per_day=len(times) / ((until - since) / DAY))


def test_without_data_every_moment_is_alike() -> None:
    flat = shape(())
    for factors in (flat.slots, flat.hours, flat.weekdays, flat.ages, flat.minutes, flat.near):
        assert np.allclose(factors, 1)
    assert wait(()) == 60


def test_weekdays_are_learned_monday_first() -> None:
    mondays = [MONDAY + 7 * DAY * week + 3600 * hour for week in range(30) for hour in range(24)]
    factors = shape(taught(mondays, since=MONDAY, until=MONDAY + 210 * DAY)).weekdays
    assert factors[0] > 3 and max(factors[1:]) < 0.6
    assert sum(factors) == pytest.approx(7)


def test_the_minute_of_the_hour_is_learned() -> None:
    factors = shape(taught([MONDAY + 3600 * hour + 7 * 60 for hour in range(500)], since=MONDAY, until=MONDAY + 500 * 3600)).minutes
    assert factors.index(max(factors)) == 7 and max(factors) > 10


def test_an_even_feed_stays_flat_however_long_it_is_watched() -> None:
    chance = random.Random(1)
    times = sorted(MONDAY + chance.random() * 100 * DAY for _ in range(5000))
    known = shape(taught(times, since=MONDAY, until=MONDAY + 100 * DAY))
    assert all(0.75 < factor < 1.3 for factor in (*known.hours, *known.weekdays, *known.minutes))


def test_time_without_items_counts() -> None:
    pace = taught([MONDAY + DAY * day + 3600 * 10 for day in range(60)], since=MONDAY, until=MONDAY + 60 * DAY)
    assert multiplier(pace, MONDAY + 3600 * 3.0) < 0.2 < 3 < multiplier(pace, MONDAY + 3600 * 10.0)


def test_bursts_make_the_time_after_an_item_busier() -> None:
    bursts = [MONDAY + DAY * day + 120 * number + 977 * day for day in range(40) for number in range(5)]
    pace = taught(bursts, since=MONDAY, until=MONDAY + 40 * DAY)
    now = MONDAY + 50 * DAY
    assert wait(pace, now=now, newest=now - 60, per_day=5, worth=0.1) < wait(pace, now=now, newest=now - 3 * 3600, per_day=5, worth=0.1)


def test_a_regular_feed_foretells_one_item_and_not_a_flood() -> None:
    every_minute = [MONDAY + 60.0 * number for number in range(5000)]
    pace = taught(every_minute, since=MONDAY, until=MONDAY + 5000 * 60)
    now = MONDAY + 5000 * 60
    assert 4 <= wait(pace, now=now, newest=now, per_day=1440, worth=5) <= 8


def test_long_walks_end_where_short_steps_would() -> None:
    assert wait((), per_day=1, worth=0.5) == pytest.approx(720, abs=1)  # half a day, but for the sum of 720 small numbers
    assert wait((), per_day=1, worth=0.5, most=300) == 300
    assert wait((), per_day=1e-9, most=100_000) == 100_000


def test_what_is_stored_is_small_and_survives_json() -> None:
    chance = random.Random(2)
    pace = taught(sorted(MONDAY + chance.random() * 60 * DAY for _ in range(3000)), since=MONDAY, until=MONDAY + 60 * DAY)
    stored = json.dumps(pace)
    assert len(stored) < 4000
    assert tuple(json.loads(stored)) == pace


def test_a_pace_of_another_version_is_learned_anew() -> None:
    assert np.allclose(shape((1.0, 2.0, 3.0)).hours, 1)


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.floats(0, 10 * DAY), max_size=30),
    st.floats(0, 10 * DAY),
    st.none() | st.floats(-DAY, 20 * DAY),
    st.floats(0.001, 1e5),
    st.floats(0.001, 100),
)
def test_whatever_was_learned_the_wait_is_a_number_within_its_limit(
    times: list[float], until: float, newest: float | None, per_day: float, worth: float
) -> None:
    pace = learn((), times, since=0.0, until=until, newest=newest, per_day=per_day)
    assert all(math.isfinite(number) and number >= 0 for number in pace)
    assert 1 <= wait(pace, now=10 * DAY, newest=newest, per_day=per_day, worth=worth) <= 1440
