"""After a crash: runs that no process works on any more are ended, and their feeds are due again at once."""

from __future__ import annotations

import os

import dagster as dg

from feed_assets.defs.jobs import BATCH_TAG, PROCESS_TAG
from feed_assets.refresh import utc_now
from feed_assets.store import Store

_WORKED_ON = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def end_abandoned_runs(instance: dg.DagsterInstance, store: Store) -> int:
    """For whoever knows that no daemon and no run of this instance is alive; runs of a command line that still lives are left alone."""
    abandoned = [run for run in instance.get_runs(dg.RunsFilter(statuses=_WORKED_ON)) if not _lives(run)]
    for run in abandoned:
        instance.report_run_failed(run, "Its process was killed; `feed-assets up` found it on the next start.")
    with store.begin() as tx:
        for token in {run.tags[BATCH_TAG] for run in abandoned if BATCH_TAG in run.tags}:
            tx.schedules.release(token)
            tx.hosts.release(token, now=utc_now())
    return len(abandoned)


def _lives(run: dg.DagsterRun) -> bool:
    try:
        os.kill(int(run.tags[PROCESS_TAG]), 0)
    except (KeyError, ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
