"""`feed-assets status`: the same facts for people, for programs, and again and again."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX
from feed_assets.store import Store, Totals
from feed_assets_tests.store.builders import claim_due, make_feed, put, save_schedule
from feed_assets_tests.support.command_line import Run

MINUTE = timedelta(minutes=1)
COMMAND = [sys.executable, "-m", "feed_assets.cli.main", "status", "--watch", "--interval", "0.2"]


@pytest.fixture
def busy(stored: Store) -> Store:
    """Feeds in every state that matters: dead for two reasons, failing, stale, in flight, waiting, fine."""
    now = utc_now()
    with stored.begin() as tx:
        old = {name: make_feed(name, created_at=now - timedelta(days=1)) for name in ("late", "gone", "shut", "slow", "fine")}
        put(tx, make_feed("urgent", priority=9, created_at=now), due=now - MINUTE)
        assert claim_due(tx, "batch-1", now=now) == ["urgent"]
        put(tx, *old.values(), make_feed("off", enabled=False), due=now - timedelta(hours=2))
        save_schedule(tx, "gone", last_status="permanent_error", last_error="HTTP 410 Gone: the feed is not there any more")
        save_schedule(tx, "shut", last_status="unauthorized", last_error="HTTP 403 Forbidden: the publisher does not let us in")
        error = {"last_status": "temporary_error", "last_error": "timed out waiting for the server", "consecutive_errors": 2}
        save_schedule(tx, "slow", next_run_at=now + MINUTE, interval_seconds=60, **error)
        save_schedule(tx, "fine", next_run_at=now + 2 * MINUTE, last_status="success", last_success_at=now, last_fetched_at=now)
        tx.numbers.add("a", Totals(success=2, not_modified=3, articles_inserted=4), at=now - MINUTE)
        tx.numbers.add("b", Totals(temporary_error=5, articles_inserted=1), at=now - 30 * MINUTE)
        tx.numbers.add("c", Totals(success=60), at=now - timedelta(hours=20))
        tx.numbers.add("d", Totals(success=1000), at=now - timedelta(days=2))
        tx.numbers.signal("sensor", at=now - timedelta(hours=3))
    return stored


def test_status_of_no_feeds_is_all_zeros(both: Run) -> None:
    found = both("status", "--json").json()
    assert found["feeds"] == {"total": 0, "by_state": dict.fromkeys(found["feeds"]["by_state"], 0)}
    assert (found["queue"]["due"], found["in_flight"], found["errors"], found["coming_up"], found["trouble"]) == (0, [], [], [], [])
    assert [window["fetches"] for window in found["throughput"]] == [0, 0, 0]
    assert (found["up"], found["signs_of_life"]) == (False, {})
    assert found["database"]["bytes"] > 10_000
    assert both("status").out.splitlines()[0] == "feeds         0"


def test_status_counts_feeds_by_state_and_tells_who_is_late(both: Run, busy: Store) -> None:
    found = both("status", "--json").json()
    states = {state: feeds for state, feeds in found["feeds"]["by_state"].items() if feeds}
    assert states == {"queued": 1, "new": 1, "dead": 2, "failing": 1, "ok": 1, "disabled": 1}
    queue = found["queue"]
    assert (queue["due"], queue["dead"], queue["stale"], queue["stale_feeds"]) == (1, 2, 1, ["late"])
    assert 7195 < queue["lag_seconds"] < 7300
    assert [(batch["batch"], batch["feeds"], batch["alive_at"]) for batch in found["in_flight"]] == [("batch-1", 1, None)]
    assert [each["feed_id"] for each in found["coming_up"]] == ["late", "slow", "fine"]
    assert found["signs_of_life"]["sensor"]["age_seconds"] > 10_000
    assert len(found["trouble"]) == 2


def test_status_counts_errors_by_kind(both: Run, busy: Store) -> None:
    found = {row["kind"]: row["feeds"] for row in both("status", "--json").json()["errors"]}
    assert found == {"gone (404, 410)": 1, "not let in (401, 403)": 1, "timeout": 1}


def test_status_tells_what_was_done_in_the_last_minutes_hour_and_day(both: Run, busy: Store) -> None:
    windows = both("status", "--json").json()["throughput"]
    assert [(each["window_seconds"], each["fetches"], each["articles_new"]) for each in windows] == [
        (300, 5, 4),
        (3600, 10, 5),
        (86_400, 70, 5),
    ]
    assert (windows[0]["fetches_per_minute"], windows[1]["temporary_error"]) == (1.0, 5)


def test_piped_status_is_plain_lines_that_begin_with_a_name(both: Run, busy: Store) -> None:
    ran = both("status")
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    assert "feeds         7, 1 ok, 1 new, 1 queued, 1 failing, 2 dead, 1 disabled" in ran.out
    assert "due           1, the oldest for 2 h" in ran.out
    assert "in flight     1 feeds in 1 batches, since " in ran.out
    assert "stale         1 (late)" in ran.out
    assert "last 5 min    5 fetches (1.0 per minute): 2 with a document, 3 not modified, 0 failed; 4 new articles" in ran.out
    assert "trouble       the sensor does not look for due feeds" in ran.out


def test_a_watch_prints_an_object_per_line_until_it_is_interrupted(both: Run, empty_url: str, tmp_path: Path) -> None:
    variables = os.environ | {f"{PREFIX}HOME": str(tmp_path / "home"), f"{PREFIX}DATABASE_URL": empty_url}
    with subprocess.Popen([*COMMAND, "--json"], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        seen = [json.loads(watching.stdout.readline()) for _ in range(3)]
        watching.send_signal(signal.SIGINT)
        _, complaint = watching.communicate(timeout=10)
    assert seen[0]["at"] < seen[1]["at"] < seen[2]["at"]
    assert (watching.returncode, complaint) == (0, "")


def test_a_watch_on_a_terminal_updates_in_place_and_ends_quietly(run: Run, tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    variables = os.environ | {f"{PREFIX}HOME": str(tmp_path / "home"), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"}
    with subprocess.Popen(COMMAND, env=variables, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as watching:
        os.close(terminal)
        seen, deadline = "", time.monotonic() + 20
        while seen.count("0 feeds") < 3 and time.monotonic() < deadline:
            seen += os.read(main, 65536).decode("utf-8", "replace")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0
    os.close(main)
    assert seen.count("0 feeds") >= 3
    assert "\x1b[1A" in seen  # the cursor goes up: in place
    assert "Traceback" not in seen


def test_a_watch_outlives_a_database_that_is_away(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, away, looks = tmp_path / "home" / "feeds.duckdb", tmp_path / "away", iter(range(3))

    def pause(seconds: float) -> None:
        number = next(looks)
        if number == 0:
            path.rename(away)
            path.write_text("This is a letter. " * 500)
        elif number == 1:
            away.replace(path)
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    ran = run("status", "--watch", "--json")
    first, second, third = (json.loads(line) for line in ran.out.splitlines())
    assert (ran.code, ran.err) == (0, "")
    assert "feeds" in first and "feeds" in third
    assert "feeds.duckdb" in second["error_message"]


def test_an_interval_that_makes_no_sense_is_bad_usage(bare: Run) -> None:
    assert bare("status", "--interval", "0").code == 2
