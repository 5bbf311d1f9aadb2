"""Processes killed at random while a press publishes: every item is stored exactly once. `benchmarks/chaos.py` does it for minutes."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from pathlib import Path

import pytest

from feed_assets_tests.support.chaos import installation

KILLS, PAUSE = 6, 3.0


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_whatever_is_killed_every_item_is_stored_exactly_once(engine: str, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"python -m benchmarks.chaos --kills {KILLS} --engine {engine} --seed {seed}")  # shown when the test fails
    with installation(tmp_path, engine, feeds=12, seed=seed, pause=0.5) as it:
        time.sleep(12)
        it.rage(KILLS, PAUSE, print)
        ids = it.stop_publishing()
        verdict = it.settle(ids, 240)
        assert len(ids) > 30 and it.kills.total() >= KILLS
        assert verdict.well, verdict


def test_two_daemons_on_one_database_ask_for_no_feed_twice_within_its_interval(tmp_path: Path) -> None:
    with installation(tmp_path, "postgres", feeds=20, seed=1, pause=0.5, daemons=2) as it:
        deadline = time.monotonic() + 240
        while min((len(it.asked()[feed]) for feed in range(20)), default=0) < 2 and time.monotonic() < deadline:
            it.keep_running()
            time.sleep(2)
        asked = it.asked()
        with it.store.engine.begin() as connection:
            rows = connection._raw.execute("SELECT run_id FROM fetch_history").fetchall()  # type: ignore[attr-defined]
    assert all(len(moments) >= 2 for moments in asked.values()) and len(asked) == 20
    closest = min(later - earlier for moments in asked.values() for earlier, later in pairwise(moments))
    assert closest >= 60
    assert len({row["run_id"] for row in rows}) >= 2  # more than one run did the work
