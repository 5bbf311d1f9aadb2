"""After a crash: abandoned runs are ended and their feeds are due again; runs that live are left alone."""

from __future__ import annotations

import os
import subprocess
import sys

import dagster as dg

from feed_assets import catalog
from feed_assets.defs.jobs import BATCH_TAG, PROCESS_TAG
from feed_assets.defs.recovery import end_abandoned_runs
from feed_assets.refresh import claim_due, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster


def claimed(store: Store, settings: Settings) -> str:
    catalog.add_feed(store, "http://127.0.0.1:1/feed", now=utc_now(), feed_id="news")
    ((batch,), _) = claim_due(store, settings, now=utc_now())
    return batch.token


def started(dagster: Dagster, **tags: str) -> str:
    run = dagster.instance.create_run_for_job(
        dagster.definitions.resolve_job_def("refresh_feeds"), status=dg.DagsterRunStatus.STARTED, tags={"x": "y"} | tags
    )
    return run.run_id


def test_a_run_whose_process_was_killed_is_ended_and_its_feeds_are_due_at_once(dagster: Dagster, store: Store, settings: Settings) -> None:
    run_id = started(dagster, **{BATCH_TAG: claimed(store, settings)})

    assert end_abandoned_runs(dagster.instance, store) == 1

    run = dagster.instance.get_run_by_id(run_id)
    assert run is not None and run.status == dg.DagsterRunStatus.FAILURE
    with store.read() as tx:
        assert tx.schedules.queue(utc_now()).due == 1


def test_a_run_of_a_command_that_lives_is_left_alone(dagster: Dagster, store: Store) -> None:
    started(dagster, **{PROCESS_TAG: str(os.getpid())})

    assert end_abandoned_runs(dagster.instance, store) == 0


def test_a_run_of_a_command_that_died_is_ended(dagster: Dagster, store: Store) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    started(dagster, **{PROCESS_TAG: str(gone.pid)})

    assert end_abandoned_runs(dagster.instance, store) == 1
