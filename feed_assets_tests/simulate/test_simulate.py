"""Policies over publication times: what is counted, that it is the same each time, and that the adaptive one is worth having."""

from __future__ import annotations

import gzip
import itertools
import random
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feed_assets.errors import FeedAssetsError
from feed_assets.simulate import POLICIES, CannotMatch, Limits, Timeline, Trace, draw, match, read_timelines, score, simulate, timelines
from feed_assets.simulate.run import poll

START = datetime(2026, 3, 2, tzinfo=UTC)
WIDE = Limits(1, 1440, 1.0)


def office(feed: str, per_day: int, *, days: int = 20, seed: int = 1) -> Timeline:
    """A feed that publishes between eight and six on weekdays, often on the hour."""
    chance = random.Random(f"{feed}/{seed}")
    times = []
    for day in range(days):
        date = START + timedelta(days=day)
        for _ in range(per_day if date.weekday() < 5 else 0):
            minute = chance.choice((0, 0, chance.randrange(60)))
            times.append((date + timedelta(hours=chance.randrange(8, 18), minutes=minute, seconds=chance.randrange(20))).timestamp())
    return Timeline(feed, tuple(sorted(times)))


FEEDS = [office("busy", 60), office("steady", 12), office("quiet", 1)]


def test_delay_is_from_publication_to_the_first_poll_at_or_after_it() -> None:
    feed = Timeline("a", tuple(float(day * 86_400) for day in range(11)))
    polls = tuple(day * 86_400 + late for day, late in enumerate((0, 60, 60, 0, 120, 60, 60, 60, 60, 60, 60)))
    found = score("x", [Trace(feed, tuple(map(float, polls)))])
    assert (found.items, found.polls, found.feed_days) == (9, 9, 8)
    assert found.delay_mean_item == found.delay_mean_feed == pytest.approx((1 * 7 + 0 + 2) / 9)
    assert (found.empty_polls, found.polls_per_feed_day) == (0, 9 / 8)


def test_a_fixed_interval_waits_half_of_it_on_average() -> None:
    chance = random.Random(3)
    even = Timeline("even", tuple(sorted(START.timestamp() + chance.random() * 20 * 86_400 for _ in range(2000))))
    found = score("fixed60", [poll("fixed60", even, WIDE)])
    assert found.polls_per_feed_day == pytest.approx(24, rel=0.01)
    assert found.delay_mean_item == pytest.approx(30, rel=0.05)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_polls_until_the_last_item_and_the_same_way_each_time(policy: str) -> None:
    trace = poll(policy, FEEDS[1], WIDE)
    assert trace == poll(policy, FEEDS[1], WIDE)
    assert trace.polls[-2] < FEEDS[1].end <= trace.polls[-1]
    assert all(earlier < later for earlier, later in zip(trace.polls, trace.polls[1:], strict=False))


def test_processes_give_what_one_process_gives() -> None:
    assert simulate("adaptive", FEEDS, WIDE, workers=2) == simulate("adaptive", FEEDS, WIDE, workers=1)


def test_the_adaptive_policy_keeps_to_its_limits() -> None:
    polls = poll("adaptive", FEEDS[0], Limits(5, 30, 1.0)).polls
    gaps = [later - earlier for earlier, later in itertools.pairwise(polls)]
    assert min(gaps) >= 5 * 60 and max(gaps) <= 30 * 60


def test_items_that_scroll_out_of_the_document_are_lost() -> None:
    flood = Timeline("flood", tuple(START.timestamp() + 30.0 * number for number in range(5 * 2880)))
    assert score("fixed60", [poll("fixed60", flood, WIDE)]).lost_items > 0
    assert score("fixed15", [poll("fixed15", flood, WIDE)]).lost_items == 0


@pytest.mark.parametrize("other", ["ema", "commafeed", "miniflux"])
def test_at_as_many_polls_the_adaptive_policy_waits_less_than_each_other_one(other: str) -> None:
    theirs = score(other, simulate(other, FEEDS, WIDE, workers=1))
    _, ours = match(FEEDS, WIDE, theirs.polls, workers=1)
    assert ours.polls == pytest.approx(theirs.polls, rel=0.01)
    assert ours.delay_mean_item < 0.8 * theirs.delay_mean_item
    assert ours.delay_mean_feed < theirs.delay_mean_feed


def test_what_the_limits_do_not_allow_cannot_be_matched() -> None:
    with pytest.raises(CannotMatch, match="wider --min-minutes and --max-minutes"):
        match(FEEDS[2:], Limits(600, 1440, 1.0), 100_000, workers=1)


def test_feeds_too_short_to_be_scored_are_left_out() -> None:
    rows = [(feed, START + timedelta(days=day)) for feed, days in (("short", 3), ("long", 5)) for day in range(days + 1)]
    assert [timeline.feed for timeline in timelines(rows)] == ["long"]


@pytest.mark.parametrize("name", ["times.csv", "times.csv.gz"])
def test_a_file_is_read_in_any_order_with_and_without_zones(tmp_path: Path, name: str) -> None:
    text = "feed,published_at\na,2026-03-09T00:00:00\na,2026-03-02T01:00:00+01:00\na,2026-03-05T00:00:00Z\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert [timeline.times[0] for timeline in read_timelines(path)] == [START.timestamp()]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no column feed and no column published_at"),
        ("feed,date\na,2026-03-02\n", "no column published_at"),
        ("feed,published_at\na,yesterday\n", "line 2: 'yesterday' is not a time"),
        ("feed,published_at\na,2026-03-02\n", "no feed with at least 3.8 days"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(FeedAssetsError, match=reason):
        read_timelines(path)


def test_the_picture_is_svg_with_every_policy() -> None:
    scores = [score(name, simulate(name, FEEDS[2:], WIDE, workers=1)) for name in ("adaptive", "fixed60")]
    picture = draw(scores)
    assert ET.fromstring(picture).tag.endswith("svg")
    assert picture.count(">adaptive<") == picture.count(">fixed60<") == 2
