"""How fast a feed publishes: sane rates from little data, right ones from much, and slow forgetting."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.pace import multiplier
from feed_assets.decide.velocity import learn, missed
from feed_assets.model import Stats
from feed_assets_tests.decide.pace import NOW, watched


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


def hours(stats: Stats) -> list[float]:
    """The multiplier of each hour of a day on which all weekdays are alike."""
    return [multiplier(stats.pace, NOW.replace(hour=hour).timestamp()) for hour in range(24)]


def test_the_hour_multiplier_is_one_when_nothing_is_known() -> None:
    assert hours(Stats("news")) == pytest.approx([1.0] * 24)


def test_the_hour_multiplier_stays_near_one_when_data_is_thin() -> None:
    stats = learn(Stats("news"), [NOW - timedelta(hours=20), NOW - timedelta(hours=1)], now=NOW, new=2)
    assert all(0.4 < each < 2.5 for each in hours(stats))


def test_the_hour_multiplier_of_an_even_feed_is_near_one() -> None:
    assert hours(watched(6)) == pytest.approx([1.0] * 24, abs=0.25)


def test_a_busy_hour_is_learned() -> None:
    mornings = [NOW.replace(hour=9) - timedelta(days=day, minutes=-5 * n) for day in range(1, 29) for n in range(10)]
    stats = learn(Stats("news"), mornings, now=NOW, new=280)
    assert hours(stats)[9] > 4
    assert hours(stats)[3] < 0.3
    assert stats.hourly_distribution[9] > 100 and stats.hourly_distribution[3] == 0


def test_a_poll_that_brings_nothing_changes_nothing_that_was_learned() -> None:
    stats = watched(6)
    later = learn(stats, [], now=NOW + timedelta(minutes=20), new=0)
    assert (later.pace, later.articles_per_hour, later.learned_until) == (stats.pace, stats.articles_per_hour, stats.learned_until)
    assert later.last_successful_fetch == NOW + timedelta(minutes=20)


def test_how_often_a_feed_is_polled_does_not_change_what_is_learned() -> None:
    items = [NOW + timedelta(hours=hour, minutes=hour % 7) for hour in range(1, 72, 5)]
    often = seldom = watched(1)
    for step in range(1, 72 * 6 + 1):
        now = NOW + timedelta(minutes=10 * step)
        new = [item for item in items if now - timedelta(minutes=10) < item <= now]
        often = learn(often, new, now=now, new=len(new))
        if step % 36 == 0:
            new = [item for item in items if now - timedelta(hours=6) < item <= now]
            seldom = learn(seldom, new, now=now, new=len(new))
    assert often.articles_per_hour == pytest.approx(seldom.articles_per_hour, rel=0.02)
    assert often.hourly_distribution == pytest.approx(seldom.hourly_distribution, abs=0.1)


def test_items_that_are_added_with_old_dates_do_not_make_a_feed_look_busy() -> None:
    stats = watched(0.1)
    archive = [NOW - timedelta(days=20, minutes=n) for n in range(200)]
    assert learn(stats, archive, now=NOW + timedelta(hours=1), new=200).articles_per_hour == pytest.approx(0.1, rel=0.3)


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=NOW.tzinfo)), max_size=20),
    st.integers(-1000, 100_000),
)
def test_whatever_dates_come_the_statistics_are_numbers(published: list[datetime], hours: int) -> None:
    stats = learn(Stats("news"), published, now=NOW, new=len(published))
    stats = learn(stats, published, now=NOW + timedelta(hours=hours), new=len(published))
    assert math.isfinite(stats.articles_per_hour) and stats.articles_per_hour > 0
    assert math.isfinite(stats.current_hour_multiplier) and stats.current_hour_multiplier > 0
    assert all(math.isfinite(number) and number >= 0 for number in stats.pace)
    assert len(stats.hourly_distribution) == 24 and all(math.isfinite(count) and count >= 0 for count in stats.hourly_distribution)
    assert stats.newest_item_at is None or stats.newest_item_at <= NOW + timedelta(hours=max(hours, 0))
