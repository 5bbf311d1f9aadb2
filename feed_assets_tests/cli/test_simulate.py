"""`feed-assets simulate`: a table for people, JSON for programs, a trace, a picture, and one line for what cannot be."""

from __future__ import annotations

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feed_assets.store import Store
from feed_assets_tests.store.builders import make_item, put, save_items
from feed_assets_tests.support.command_line import Run, assert_failed

START = datetime(2026, 3, 2, tzinfo=UTC)


def moments(days: int = 12, per_day: int = 20) -> list[datetime]:
    chance = random.Random(days)
    return sorted(START + timedelta(days=chance.random() * days) for _ in range(days * per_day))


@pytest.fixture
def timelines(tmp_path: Path) -> str:
    path = tmp_path / "timelines.csv"
    path.write_text("feed,published_at\n" + "".join(f"news,{moment.isoformat()}\n" for moment in moments()))
    return str(path)


def test_every_policy_is_compared_by_default(bare: Run, timelines: str) -> None:
    ran = bare("simulate", timelines)
    assert ran.code == 0
    names = [line.split()[0] for line in ran.out.splitlines()]
    assert names[:8] == ["policy", "adaptive", "ema", "fixed15", "fixed30", "fixed60", "commafeed", "miniflux"]
    assert "1 feeds, " in ran.out


def test_json_has_every_figure_of_the_policies_asked_for(bare: Run, timelines: str) -> None:
    found = bare("simulate", timelines, "--policy", "fixed60", "--policy", "adaptive", "--json").json()
    fixed, adaptive = found["policies"]
    assert (fixed["policy"], adaptive["policy"]) == ("fixed60", "adaptive")
    assert fixed["polls_per_feed_day"] == pytest.approx(24, rel=0.02)
    assert set(fixed) >= {"delay_mean_item", "delay_mean_feed", "delay_median", "delay_p90", "empty_polls", "lost_items"}


def test_match_brings_the_polls_within_a_percent(bare: Run, timelines: str) -> None:
    found = bare("simulate", timelines, "--match", "fixed60", "--min-minutes", "1", "--max-minutes", "1440", "--json").json()
    assert found["match"]["policy"] == "fixed60"
    assert found["match"]["polls"] == pytest.approx(1, abs=0.01)


def test_the_trace_has_every_poll_after_the_warm_up(bare: Run, timelines: str, tmp_path: Path) -> None:
    trace = tmp_path / "polls.csv"
    found = bare("simulate", timelines, "--policy", "fixed60", "--trace", str(trace), "--json").json()
    rows = list(csv.DictReader(trace.open()))
    assert len(rows) == found["policies"][0]["polls"]
    assert {row["feed"] for row in rows} == {"news"}
    assert all(datetime.fromisoformat(row["polled_at"]).tzinfo for row in rows)


def test_the_picture_is_written(bare: Run, timelines: str, tmp_path: Path) -> None:
    picture = tmp_path / "cadence.svg"
    assert bare("simulate", timelines, "--policy", "fixed60", "--policy", "adaptive", "--plot", str(picture)).code == 0
    assert picture.read_text().startswith("<svg")


def test_the_same_input_gives_the_same_figures(bare: Run, timelines: str) -> None:
    assert bare("simulate", timelines, "--json").out == bare("simulate", timelines, "--json").out


def test_ones_own_feeds_can_be_simulated(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, "news")
        late = timedelta(minutes=5)
        save_items(tx, *(("news", "fetch", at + late, make_item(str(n), published_at=at)) for n, at in enumerate(moments())))
    ran = both("simulate", "--from-database", "--policy", "adaptive", "--json")
    assert ran.json()["policies"][0]["feeds"] == 1


def test_a_database_without_history_says_so(run: Run) -> None:
    assert_failed(run("simulate", "--from-database"), 1, "four days of dated items")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("name a CSV file", "--from-database")),
        (("{file}", "--from-database"), ("name a CSV file",)),
        (("{file}", "--policy", "guess"), ("no policy 'guess'", "adaptive")),
        (("{file}", "--match", "adaptive"), ("another policy",)),
        (("{file}", "--match", "ema", "--policy", "fixed15"), ("--policy adaptive",)),
        (("{file}", "--min-minutes", "90", "--max-minutes", "30"), ("--min-minutes 90",)),
    ],
)
def test_what_makes_no_sense_is_bad_usage(bare: Run, timelines: str, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_failed(bare("simulate", *(each.format(file=timelines) for each in arguments)), 2, *words)


def test_a_file_that_is_not_there_fails_in_one_line(bare: Run, tmp_path: Path) -> None:
    assert_failed(bare("simulate", str(tmp_path / "none.csv")), 1, "none.csv cannot be read")
