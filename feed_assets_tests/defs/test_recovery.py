"""After a crash: what nobody works on is ended and due again; what lives is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.defs.jobs import BATCH_TAG, PROCESS_TAG
from feed_assets.defs.recovery import Recovered, end_abandoned_runs, recover
from feed_assets.holding import DEAD_AFTER
from feed_assets.refresh import claim, claim_due, refresh_feeds, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.rows import look

Status = dg.DagsterRunStatus


@pytest.fixture
def clock() -> Clock:
    """From now on: Dagster has no other clock than the machine's."""
    return Clock(utc_now())


@pytest.fixture
def dagster(instance: dg.DagsterInstance, settings: Settings, store: Store, clock: Clock) -> Dagster:
    catalog.add_feed(store, "http://127.0.0.1:1/feed", now=clock(), feed_id="news")
    return Dagster(instance, settings, clock)


def claimed(dagster: Dagster) -> str:
    ((batch,), _) = claim_due(dagster.pipeline.store, dagster.pipeline.settings, now=dagster.pipeline.clock())
    return batch.token


def begun(dagster: Dagster, token: str, run_id: str | None = None) -> None:
    with dagster.pipeline.store.begin() as tx:
        tx.schedules.start(token, now=dagster.pipeline.clock(), lease=timedelta(minutes=10))
        tx.batches.open(token, run_id=run_id, now=dagster.pipeline.clock())


def a_run(dagster: Dagster, status: dg.DagsterRunStatus, **tags: str) -> str:
    job = dagster.definitions.resolve_job_def("refresh_feeds")
    return dagster.instance.create_run_for_job(job, status=status, tags={"x": "y"} | tags).run_id


def status_of(dagster: Dagster, run_id: str) -> dg.DagsterRunStatus:
    run = dagster.instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def is_due(dagster: Dagster) -> bool:
    with dagster.pipeline.store.read() as tx:
        return tx.schedules.queue(dagster.pipeline.clock()).due == 1


def found(dagster: Dagster) -> Recovered:
    return recover(dagster.pipeline, dagster.instance)


def test_a_batch_that_shows_signs_of_life_is_left_alone(dagster: Dagster, clock: Clock) -> None:
    token = claimed(dagster)
    run_id = a_run(dagster, Status.STARTED, **{BATCH_TAG: token})
    begun(dagster, token, run_id)
    clock.advance(seconds=DEAD_AFTER.total_seconds() - 1)

    assert found(dagster) == Recovered()
    assert not is_due(dagster) and status_of(dagster, run_id) == Status.STARTED


def test_a_batch_without_a_sign_of_life_is_given_back_and_its_run_ended(dagster: Dagster, clock: Clock, store: Store) -> None:
    token = claimed(dagster)
    run_id = a_run(dagster, Status.STARTED, **{BATCH_TAG: token})
    begun(dagster, token, run_id)
    clock.advance(seconds=DEAD_AFTER.total_seconds() + 1)

    recovered = found(dagster)

    assert (recovered.feeds, recovered.runs, len(recovered.batches)) == (1, 1, 1)
    assert is_due(dagster) and status_of(dagster, run_id) == Status.FAILURE
    with store.read() as tx:
        assert tx.batches.in_flight() == []
    assert found(dagster) == Recovered()


def test_a_batch_whose_run_failed_is_given_back_long_before_its_lease_ends(dagster: Dagster, clock: Clock) -> None:
    token = claimed(dagster)
    begun(dagster, token, a_run(dagster, Status.FAILURE, **{BATCH_TAG: token}))
    clock.advance(seconds=31)

    assert found(dagster).feeds == 1
    assert is_due(dagster)


def test_feeds_whose_run_ended_before_it_began_are_given_back_at_once(dagster: Dagster) -> None:
    a_run(dagster, Status.CANCELED, **{BATCH_TAG: claimed(dagster)})

    assert found(dagster).feeds == 1
    assert is_due(dagster)


def test_feeds_that_were_claimed_without_a_run_are_given_back_after_two_minutes(dagster: Dagster, clock: Clock) -> None:
    claimed(dagster)
    clock.advance(seconds=119)
    assert found(dagster).feeds == 0
    clock.advance(seconds=2)
    assert found(dagster).feeds == 1


def test_feeds_whose_run_waits_in_the_queue_stay_claimed_for_it_however_long(dagster: Dagster, clock: Clock, settings: Settings) -> None:
    token = claimed(dagster)
    a_run(dagster, Status.NOT_STARTED, **{BATCH_TAG: token})
    for _ in range(5):
        clock.advance(seconds=settings.lease_seconds / 2)
        assert found(dagster).feeds == 0
    assert not is_due(dagster)


def test_a_claim_by_hand_that_died_before_its_run_is_given_back(dagster: Dagster, clock: Clock, store: Store, settings: Settings) -> None:
    claim(store, settings, ["news"], clock, 0)
    clock.advance(minutes=3)

    assert found(dagster).feeds == 1


def test_a_lease_that_ran_out_leaves_no_feed_in_flight(dagster: Dagster, clock: Clock, store: Store, settings: Settings) -> None:
    token = claimed(dagster)
    a_run(dagster, Status.STARTED, **{BATCH_TAG: token})
    begun(dagster, token)
    with store.begin() as tx:
        tx.batches.close(token)
    clock.advance(seconds=settings.lease_seconds)

    recovered = found(dagster)

    assert recovered.feeds + recovered.expired == 1
    assert look(store).schedule()["fetch_status"] == "idle"


def test_a_worker_that_was_held_to_be_dead_cannot_write_any_more(dagster: Dagster, clock: Clock, store: Store) -> None:
    token = claimed(dagster)
    begun(dagster, token)
    clock.advance(minutes=5)
    found(dagster)
    with store.begin() as tx:
        assert tx.schedules.fence(token, ["news"]) == set()


def test_a_clock_that_is_set_back_leaves_no_feed_waiting(dagster: Dagster, clock: Clock, store: Store) -> None:
    with store.begin() as tx:
        schedule = tx.schedules.get("news")
        assert schedule is not None
        later = clock() + timedelta(hours=9)
        tx.schedules.save([type(schedule)("news", last_fetched_at=later, next_run_at=later + timedelta(minutes=5), interval_seconds=300)])

    assert found(dagster).clock == 1
    assert look(store).schedule()["next_run_at"] == clock() + timedelta(minutes=5)
    assert found(dagster).clock == 0


def test_a_batch_from_a_time_before_the_clock_was_set_back_is_given_its_ninety_seconds(dagster: Dagster, clock: Clock) -> None:
    begun(dagster, claimed(dagster))
    clock.advance(hours=-9)
    assert found(dagster).feeds == 0
    clock.advance(seconds=DEAD_AFTER.total_seconds() + 1)
    assert found(dagster).feeds == 1


def test_feeds_overdue_for_twice_their_interval_are_named(dagster: Dagster, clock: Clock, settings: Settings) -> None:
    clock.advance(minutes=2 * settings.max_interval_minutes - 1)
    assert found(dagster).stale == ()
    clock.advance(minutes=2)
    assert found(dagster).stale == ("news",)
    assert "1 feeds are overdue" in str(found(dagster))


def test_a_feed_that_is_left_waiting_turns_red_once_and_green_when_it_is_polled(
    dagster: Dagster, settings: Settings, store: Store, clock: Clock
) -> None:
    def told() -> list[tuple[str | None, bool]]:
        result = dagster.evaluate("recovery_sensor")
        assert isinstance(result, dg.SensorResult)
        for event in result.asset_events:
            dagster.instance.report_runless_asset_event(event)  # as the daemon does
        return [(each.partition, each.passed) for each in result.asset_events if isinstance(each, dg.AssetCheckEvaluation)]

    assert told() == []
    clock.advance(hours=2)
    assert told() == [("news", False)]
    assert told() == []
    (report,) = refresh_feeds(store, settings, ["news"], clock=clock)
    assert {check.name: check.passed for check in report.checks if check.changed}["polled_in_time"]
    clock.advance(seconds=1)
    assert told() == []


def test_the_sensor_says_what_it_gave_back(dagster: Dagster, clock: Clock) -> None:
    claimed(dagster)
    clock.advance(minutes=3)

    said = [dagster.evaluate("recovery_sensor") for _ in range(2)]

    first, second = (str(each.skip_reason and each.skip_reason.skip_message) for each in said if isinstance(each, dg.SensorResult))
    assert "gave back 1 feeds of 1 dead batches" in first and "no run was requested" in first
    assert second == "nothing to recover"


def test_on_start_a_run_whose_process_was_killed_is_ended_and_its_feeds_are_due_at_once(dagster: Dagster, clock: Clock) -> None:
    token = claimed(dagster)
    run_id = a_run(dagster, Status.STARTED, **{BATCH_TAG: token})

    assert end_abandoned_runs(dagster.instance, dagster.pipeline.store, clock()) == 1

    assert status_of(dagster, run_id) == Status.FAILURE
    assert is_due(dagster)


def test_on_start_a_run_of_a_command_that_lives_is_left_alone(dagster: Dagster, store: Store) -> None:
    a_run(dagster, Status.STARTED, **{PROCESS_TAG: str(os.getpid())})

    assert end_abandoned_runs(dagster.instance, store, utc_now()) == 0


def test_on_start_a_run_of_a_command_that_died_is_ended_with_what_it_held(dagster: Dagster, clock: Clock, store: Store) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    run_id = a_run(dagster, Status.STARTED, **{PROCESS_TAG: str(gone.pid)})
    begun(dagster, claim(store, dagster.pipeline.settings, ["news"], clock, 0), run_id)

    assert end_abandoned_runs(dagster.instance, store, clock()) == 1
    assert is_due(dagster)
