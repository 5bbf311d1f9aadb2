"""How fast a feed publishes: sane rates from little data, right ones from much, and slow forgetting."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.velocity import hour_multiplier, learn, missed
from feed_assets.model import Stats
from feed_assets_tests.decide.pace import NOW, watched

FLAT = (0.0,) * 24


@pytest.mark.parametrize("per_hour", [0.1, 1, 6, 60])
def test_the_rate_of_a_steady_feed_is_found(per_hour: float) -> None:
    assert watched(per_hour).articles_per_hour == pytest.approx(per_hour, rel=0.2)


def test_the_first_document_already_gives_a_rate() -> None:
    week = [NOW - timedelta(hours=hour) for hour in range(0, 7 * 24, 2)]
    assert learn(Stats("news"), week, now=NOW, new=len(week)).articles_per_hour == pytest.approx(0.5, rel=0.1)


def test_old_items_of_the_first_document_do_not_make_a_feed_look_busy() -> None:
    archive = [NOW - timedelta(days=400 + day) for day in range(100)]
    assert learn(Stats("news"), archive, now=NOW, new=100).articles_per_hour < 0.05


def test_a_feed_without_items_is_slow_but_not_without_any_pace() -> None:
    assert 0 < learn(Stats("news"), [], now=NOW, new=0).articles_per_hour < 0.05


def test_one_item_does_not_make_a_feed_busy() -> None:
    assert learn(Stats("news"), [NOW - timedelta(seconds=5)], now=NOW, new=1).articles_per_hour < 2


def test_a_feed_that_falls_silent_is_forgotten_slowly() -> None:
    busy = watched(6, until=NOW - timedelta(days=30))
    after_a_day = watched(0, days=1, until=NOW - timedelta(days=29), before=busy)
    after_a_month = watched(0, days=30, before=busy)
    assert after_a_day.articles_per_hour > 4
    assert after_a_month.articles_per_hour < 1


def test_a_feed_that_wakes_up_is_noticed_within_days() -> None:
    quiet = watched(0.02, days=30, until=NOW - timedelta(days=3))
    assert watched(10, days=3, before=quiet).articles_per_hour > 2


def test_the_newest_item_is_remembered_and_the_future_is_not_believed() -> None:
    stats = learn(Stats("news"), [NOW - timedelta(days=2), NOW + timedelta(days=9)], now=NOW, new=2)
    assert stats.newest_item_at == NOW - timedelta(days=2)
    later = learn(stats, [], now=NOW + timedelta(hours=1), new=0)
    assert later.newest_item_at == NOW - timedelta(days=2)


def test_totals_count_what_was_new() -> None:
    stats = learn(learn(Stats("news"), [NOW], now=NOW, new=1), [NOW] * 3, now=NOW + timedelta(hours=1), new=3)
    assert (stats.total_articles_fetched, stats.last_fetch_time, stats.last_successful_fetch) == (
        4,
        NOW + timedelta(hours=1),
        NOW + timedelta(hours=1),
    )


def test_a_failed_fetch_teaches_nothing() -> None:
    stats = watched(6)
    after = missed(stats, now=NOW + timedelta(hours=5))
    assert after.articles_per_hour == stats.articles_per_hour
    assert (after.last_fetch_time, after.last_successful_fetch) == (NOW + timedelta(hours=5), NOW)


def test_a_clock_that_jumps_back_does_no_harm() -> None:
    assert 0 < learn(watched(6), [], now=NOW - timedelta(days=1), new=0).articles_per_hour < 10


def test_the_hour_multiplier_is_one_when_nothing_is_known() -> None:
    assert [hour_multiplier(FLAT, hour) for hour in range(24)] == [1.0] * 24


def test_the_hour_multiplier_stays_near_one_when_data_is_thin() -> None:
    stats = learn(Stats("news"), [NOW], now=NOW, new=1)
    assert all(0.75 < hour_multiplier(stats.hourly_distribution, hour) < 1.4 for hour in range(24))


def test_the_hour_multiplier_of_an_even_feed_is_near_one() -> None:
    profile = watched(6).hourly_distribution
    assert all(hour_multiplier(profile, hour) == pytest.approx(1, abs=0.1) for hour in range(24))


def test_a_busy_hour_is_learned() -> None:
    mornings = [NOW.replace(hour=9) - timedelta(days=day, minutes=-5 * n) for day in range(30) for n in range(10)]
    stats = learn(Stats("news"), mornings, now=NOW, new=300)
    assert hour_multiplier(stats.hourly_distribution, 9) > 2
    assert hour_multiplier(stats.hourly_distribution, 3) < 0.6


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=NOW.tzinfo)), max_size=20),
    st.integers(-1000, 100_000),
)
def test_whatever_dates_come_the_statistics_are_numbers(published: list[datetime], hours: int) -> None:
    stats = learn(Stats("news"), published, now=NOW, new=len(published))
    stats = learn(stats, published, now=NOW + timedelta(hours=hours), new=len(published))
    assert math.isfinite(stats.articles_per_hour) and stats.articles_per_hour > 0
    assert 0.25 <= stats.current_hour_multiplier <= 4
    assert len(stats.hourly_distribution) == 24 and all(math.isfinite(count) and count >= 0 for count in stats.hourly_distribution)
    assert stats.newest_item_at is None or stats.newest_item_at <= NOW + timedelta(hours=max(hours, 0))
