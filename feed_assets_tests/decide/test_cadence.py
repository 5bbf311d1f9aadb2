"""When to fetch a feed next: fixed or adaptive, slowed by hints, backing off from errors, and always with a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.cadence import Policy, next_run
from feed_assets.decide.velocity import learn
from feed_assets.model import ErrorPolicy, Feed, FetchResult, Hints, NextRun, Outcome, Stats
from feed_assets.settings import PREFIX, load_settings
from feed_assets_tests.decide.pace import NOW, watched

FEED = Feed("news", "https://news.example/feed", "News")
QUIET = watched(0.01)
STEADY = watched(60)


def policy(**values: Any) -> Policy:
    return Policy.of(load_settings({PREFIX + name: str(value) for name, value in values.items()}, dotenv=None))


def came(outcome: Outcome = Outcome.SUCCESS, **values: Any) -> FetchResult:
    return FetchResult(FEED.feed_id, FEED.url, NOW, outcome, **values)


def failed(**values: Any) -> FetchResult:
    return came(Outcome.TEMPORARY_ERROR, **{"reason": "timed out waiting for the server"} | values)


def following(feed: Feed = FEED, result: FetchResult | None = None, stats: Stats = QUIET, errors: int = 0, **limits: Any) -> NextRun:
    return next_run(feed, result or came(), stats, errors, policy(**limits))


def minutes(run: NextRun) -> float:
    assert run.at is not None and run.interval_seconds is not None
    assert run.at - NOW == pytest.approx(timedelta(seconds=run.interval_seconds), abs=timedelta(seconds=1))
    return run.interval_seconds / 60


def hinted(hints: Hints, stats: Stats = STEADY) -> Stats:
    return replace(stats, feed_hints=hints)


@pytest.mark.parametrize("interval", [1, 60, 10_080])
def test_a_fixed_interval_is_kept_exactly(interval: int) -> None:
    run = following(replace(FEED, refresh_interval_minutes=interval))
    assert minutes(run) == interval
    assert "as set for this feed" in run.reason


def test_an_adaptive_feed_is_polled_for_about_five_new_articles() -> None:
    assert 3.5 <= minutes(following(stats=STEADY)) <= 6.5


def test_a_higher_target_polls_less_often() -> None:
    assert minutes(following(stats=STEADY, TARGET_ARTICLES_PER_FETCH=10)) > 1.5 * minutes(following(stats=STEADY))


def test_a_very_busy_feed_is_polled_at_the_shortest_interval() -> None:
    busy = watched(20_000, days=0.2)
    assert 1 <= minutes(following(stats=busy)) < 1.5
    assert 15 <= minutes(following(stats=busy, PROFILE="polite")) < 15.5


def test_a_quiet_feed_is_polled_at_the_longest_interval() -> None:
    recent = replace(QUIET, newest_item_at=NOW)
    assert 13 <= minutes(following(stats=recent)) <= 15
    assert 20 * 60 <= minutes(following(stats=recent, PROFILE="polite", TARGET_ARTICLES_PER_FETCH=100)) <= 24 * 60


def test_a_slower_feed_is_polled_for_fewer_articles() -> None:
    def expected(per_hour: float) -> float:
        even = replace(Stats("news"), articles_per_hour=per_hour, newest_item_at=NOW)
        return per_hour * minutes(following(stats=even, MAX_INTERVAL_MINUTES=1440)) / 60

    rates = (0.05, 0.5, 6, 60)
    assert [expected(rate) for rate in rates] == sorted(expected(rate) for rate in rates)
    assert expected(0.05) < 0.3 and expected(6) < 2


def test_the_moment_is_chosen_by_the_minute_at_which_a_publisher_publishes() -> None:
    hourly = [NOW - timedelta(hours=hour, minutes=-17) for hour in range(1, 24 * 20)]
    stats = learn(Stats("news"), hourly, now=NOW, new=len(hourly))
    at = following(stats=stats, MAX_INTERVAL_MINUTES=1440, TARGET_ARTICLES_PER_FETCH=5).at
    assert at is not None and at.minute == 18, "just after it"


def test_the_night_of_a_feed_that_publishes_by_day_is_slept_through() -> None:
    days = [
        NOW.replace(hour=hour, minute=minute) - timedelta(days=day) for day in range(1, 29) for hour in range(8, 18) for minute in (5, 35)
    ]
    evening, morning = NOW.replace(hour=19), NOW.replace(hour=8)
    by_day = learn(Stats("news"), days, now=evening, new=len(days))
    asleep, awake = (
        next_run(FEED, replace(came(), fetched_at=now), by_day, 0, policy(MAX_INTERVAL_MINUTES=1440)).interval_seconds
        for now in (evening, morning)
    )
    assert asleep is not None and awake is not None and asleep > 4 * awake


def test_a_burst_is_noticed_at_once() -> None:
    bursts = [NOW - timedelta(days=day, minutes=3 * n) for day in range(1, 28) for n in range(5)]
    stats = learn(Stats("news"), bursts, now=NOW - timedelta(hours=1), new=len(bursts))
    calm = following(stats=stats, MAX_INTERVAL_MINUTES=1440)
    burst = following(stats=learn(stats, [NOW - timedelta(minutes=1)], now=NOW, new=1), MAX_INTERVAL_MINUTES=1440)
    assert minutes(burst) < minutes(calm) / 2


def test_a_feed_of_which_nothing_is_known_is_polled_at_the_longest_interval() -> None:
    assert 13 <= minutes(following(stats=Stats("news"))) <= 15


def test_dormant_feeds_slow_down_step_by_step_in_both_profiles() -> None:
    for profile in ("news", "polite"):
        silent = [
            minutes(following(stats=replace(QUIET, newest_item_at=NOW - timedelta(days=days)), PROFILE=profile)) for days in (1, 8, 31, 91)
        ]
        assert silent == sorted(silent)
        assert silent[1] > 1.4 * silent[0] and silent[2] > 1.4 * silent[1] and silent[3] > 1.4 * silent[2]


def test_dormancy_is_named_as_the_reason() -> None:
    assert "nothing new for 31 days" in following(stats=replace(QUIET, newest_item_at=NOW - timedelta(days=31))).reason


def test_a_304_is_followed_like_a_success() -> None:
    assert following(result=came(Outcome.NOT_MODIFIED)) == following(result=came())


def test_jitter_is_the_same_on_every_worker() -> None:
    assert following() == following()


def test_jitter_spreads_feeds_and_never_goes_past_the_clamp() -> None:
    recent = replace(QUIET, newest_item_at=NOW)
    runs = [minutes(following(replace(FEED, feed_id=f"feed-{number}"), stats=recent)) for number in range(100)]
    assert len(set(runs)) > 50
    assert min(runs) >= 13 and max(runs) <= 15


@pytest.mark.parametrize(
    ("hints", "max_age", "expected", "name"),
    [
        (Hints(ttl_minutes=60), None, 60, "RSS ttl"),
        (Hints(update_period_seconds=7200), None, 120, "sy:updatePeriod"),
        (Hints(), 1800, 30, "Cache-Control"),
        (Hints(ttl_minutes=60, update_period_seconds=7200), 1800, 120, "sy:updatePeriod"),
    ],
)
def test_hints_slow_a_feed_down_and_the_slowest_is_named(hints: Hints, max_age: int | None, expected: float, name: str) -> None:
    run = following(result=came(max_age_seconds=max_age), stats=hinted(hints))
    assert expected <= minutes(run) <= expected * 1.02, "spread a little, and never sooner than was asked"
    assert name in run.reason


def test_a_hint_shorter_than_the_interval_changes_nothing() -> None:
    assert following(result=came(max_age_seconds=1), stats=hinted(Hints(ttl_minutes=1), QUIET)) == following()


@pytest.mark.parametrize("hints", [Hints(ttl_minutes=10**6), Hints(update_period_seconds=365 * 86_400)])
def test_a_hint_is_bounded(hints: Hints) -> None:
    assert minutes(following(stats=hinted(hints))) == 1440
    assert minutes(following(stats=hinted(hints), HINT_MAX_MINUTES=90)) == 90


def test_a_year_of_max_age_is_bounded() -> None:
    assert minutes(following(result=came(max_age_seconds=365 * 86_400))) == 1440


def test_hours_that_the_publisher_skips_are_waited_out() -> None:
    run = following(stats=hinted(Hints(skip_hours=(12, 13))))
    assert run.at == NOW.replace(hour=14)
    assert "skipHours" in run.reason


def test_days_that_the_publisher_skips_are_waited_out() -> None:
    run = following(stats=hinted(Hints(skip_days=("monday",))))
    assert run.at == (NOW + timedelta(days=1)).replace(hour=0)


def test_skipping_everything_is_bounded() -> None:
    everything = Hints(
        skip_hours=tuple(range(24)), skip_days=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    )
    assert 1440 <= minutes(following(stats=hinted(everything))) <= 1440 + 15


def test_hints_together_are_bounded_too() -> None:
    both = Hints(ttl_minutes=10**6, skip_hours=tuple(range(24)))
    assert minutes(following(stats=hinted(both))) <= 1440 + 15


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.builds(
        Hints,
        ttl_minutes=st.none() | st.integers(0, 10**6),
        update_period_seconds=st.none() | st.integers(0, 10**8),
        skip_hours=st.lists(st.integers(0, 23), max_size=24).map(tuple),
        skip_days=st.lists(st.sampled_from(["monday", "tuesday", "sunday"]), max_size=3).map(tuple),
    ),
    st.none() | st.integers(0, 10**9),
)
def test_hints_never_make_a_feed_faster(hints: Hints, max_age: int | None) -> None:
    assert minutes(following(result=came(max_age_seconds=max_age), stats=hinted(hints))) >= minutes(following(stats=STEADY))


def test_retry_after_on_a_success_is_waited_out() -> None:
    assert minutes(following(result=came(retry_after=timedelta(hours=2)))) == 120
    assert following(result=came(retry_after=timedelta(seconds=1))) == following()


def test_retry_after_on_a_success_is_bounded() -> None:
    assert minutes(following(result=came(retry_after=timedelta(days=365)))) <= 1440


def test_retry_after_on_an_error_is_waited_out_and_bounded() -> None:
    assert minutes(following(result=failed(status_code=503, retry_after=timedelta(hours=3)))) == 180
    assert minutes(following(result=failed(status_code=503, retry_after=timedelta(days=365)))) == 1440


def test_retry_after_never_shortens_the_backoff() -> None:
    short = failed(status_code=503, retry_after=timedelta(seconds=1))
    assert following(result=short, errors=5).at == following(result=failed(status_code=503), errors=5).at


def test_a_429_without_retry_after_waits_an_hour_at_least() -> None:
    assert minutes(following(result=failed(status_code=429))) >= 60


def test_a_429_with_retry_after_waits_as_long_as_it_says() -> None:
    assert minutes(following(result=failed(status_code=429, retry_after=timedelta(minutes=10)))) == 10


def test_backoff_doubles_up_to_its_cap() -> None:
    pauses = [minutes(following(result=failed(), errors=errors)) for errors in range(9)]
    expected = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pauses == pytest.approx(expected, rel=0.1)


def test_backoff_never_goes_past_its_cap() -> None:
    pauses = [minutes(following(replace(FEED, feed_id=f"feed-{number}"), failed(), errors=8)) for number in range(50)]
    assert max(pauses) <= 60


def test_backoff_differs_between_feeds() -> None:
    pauses = {following(replace(FEED, feed_id=f"feed-{number}"), failed(), errors=6).at for number in range(50)}
    assert len(pauses) > 25


def test_errors_are_counted_and_named() -> None:
    run = following(result=failed(), errors=2)
    assert run.consecutive_errors == 3
    assert "error 3 of 10" in run.reason and "timed out" in run.reason


def test_a_success_forgets_the_errors() -> None:
    assert following(errors=9).consecutive_errors == 0


def test_a_feed_is_dead_after_the_last_allowed_error_and_not_before() -> None:
    alive, dead = following(result=failed(), errors=8), following(result=failed(), errors=9)
    assert alive.at is not None and not alive.died
    assert (dead.at, dead.interval_seconds, dead.died, dead.consecutive_errors) == (None, None, True, 10)
    assert "dead after 10 errors" in dead.reason and "timed out" in dead.reason and "feed sync news" in dead.reason


@pytest.mark.parametrize("outcome", [Outcome.PERMANENT_ERROR, Outcome.UNAUTHORIZED])
def test_a_permanent_error_pauses_at_once(outcome: Outcome) -> None:
    run = following(result=came(outcome, reason="HTTP 410 Gone"))
    assert (run.at, run.interval_seconds, run.died) == (None, None, True)
    assert "HTTP 410 Gone" in run.reason and "feed sync news" in run.reason


def test_one_strike_pauses_at_the_first_temporary_error() -> None:
    run = following(replace(FEED, error_policy=ErrorPolicy.ONE_STRIKE.value), failed())
    assert (run.at, run.died) == (None, True)
    assert "one_strike" in run.reason and "timed out" in run.reason


def test_one_strike_changes_nothing_for_a_feed_that_works() -> None:
    assert following(replace(FEED, error_policy=ErrorPolicy.ONE_STRIKE.value)) == following()


@pytest.mark.parametrize("result", [came(), came(Outcome.NOT_MODIFIED), failed()], ids=["success", "304", "error"])
def test_without_polling_one_fetch_is_all(result: FetchResult) -> None:
    run = following(replace(FEED, polling=False, refresh_interval_minutes=5), result)
    assert (run.at, run.interval_seconds, run.died) == (None, None, False)
    assert "polling is off" in run.reason


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(
    outcome=st.sampled_from(Outcome),
    errors=st.integers(0, 12),
    polling=st.booleans(),
    error_policy=st.sampled_from(["backoff", "one_strike"]),
    interval=st.none() | st.integers(1, 10_080),
    rate=st.floats(0, 1e6),
    status=st.sampled_from([None, 200, 304, 404, 429, 503]),
    wait=st.none() | st.integers(0, 10**6),
)
def test_there_is_always_a_reason_and_never_a_next_run_in_the_past(
    outcome: Outcome, errors: int, polling: bool, error_policy: str, interval: int | None, rate: float, status: int | None, wait: int | None
) -> None:
    feed = replace(FEED, polling=polling, error_policy=error_policy, refresh_interval_minutes=interval)
    result = came(outcome, status_code=status, retry_after=None if wait is None else timedelta(seconds=wait))
    run = following(feed, result, replace(QUIET, articles_per_hour=rate), errors)
    assert run.reason.strip() and "\n" not in run.reason
    assert run.at is None or run.at >= NOW + timedelta(minutes=1)
    assert (run.at is None) == (run.interval_seconds is None)
    assert not run.died or run.at is None
