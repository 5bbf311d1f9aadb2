"""After a crash: batches that nobody works on any more are ended, and their feeds are due again at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from feed_assets.decide.health import POLLED_IN_TIME, late
from feed_assets.defs.checks import evaluation
from feed_assets.defs.events import deliver_events
from feed_assets.defs.instance import event_log_size
from feed_assets.defs.jobs import BATCH_TAG, PROCESS_TAG, refresh_feeds
from feed_assets.defs.resources import Pipeline
from feed_assets.holding import DEAD_AFTER
from feed_assets.store import InFlight, Store

_WAITING = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING]
_WORKED_ON = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_UNREQUESTED = timedelta(minutes=2)  # from a claim to its run: a tick that takes longer was killed
_SLOW_START = timedelta(minutes=3)  # from a run's start to its first sign of life, which comes after its imports
_TOLD_AT_ONCE = 50  # feeds whose check turns red: an event of a sensor costs some 20 ms
_ABANDONED = timedelta(minutes=10)  # a run without a batch: it has not begun, or is telling Dagster what it did


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found and put right."""

    batches: Sequence[str] = ()  # batches of dead runs, with the reason
    runs: int = 0  # runs that were ended because nobody works on them
    feeds: int = 0  # that were given back
    expired: int = 0  # feeds whose lease had run out
    clock: int = 0  # feeds that waited for a clock that was set back
    stale: Sequence[str] = ()  # feeds that nobody has asked for twice their interval
    newly_stale: Sequence[str] = ()  # of these, some that Dagster was not told of yet

    def __str__(self) -> str:
        names = ", ".join(self.stale[:5]) + (" ..." if len(self.stale) > 5 else "")
        parts = [
            f"gave back {self.feeds} feeds of {len(self.batches)} dead batches ({'; '.join(self.batches)})" if self.batches else "",
            f"ended {self.runs} runs that nobody worked on" if self.runs else "",
            f"gave back {self.expired} feeds whose lease had run out" if self.expired else "",
            f"moved {self.clock} feeds that were waiting for a clock that was set back" if self.clock else "",
            f"{len(self.stale)} feeds are overdue for twice their interval ({names}): more batches or workers are needed"
            if self.stale
            else "",
        ]
        return ". ".join(part for part in parts if part) or "nothing to recover"


def recover(pipeline: Pipeline, instance: dg.DagsterInstance) -> Recovered:
    """Give back what no living run works on. Whatever is wrongly held to be dead cannot write any more, so nothing is stored twice."""
    store, now = pipeline.store, pipeline.clock()
    with store.read() as tx:
        in_flight = tx.batches.in_flight()
    dead, runs = {}, 0
    for batch in in_flight:
        run = _run_of(batch, instance)
        reason = _why_dead(batch, run, now)
        if reason is None:
            _extend(pipeline, batch, run, now)
            continue
        dead[batch.token] = reason
        runs += _end(instance, run, reason)
    alive = {batch.run_id for batch in in_flight if batch.token not in dead}
    started = [
        record
        for job in (refresh_feeds, deliver_events)
        for record in instance.get_run_records(dg.RunsFilter(job_name=job.name, statuses=[dg.DagsterRunStatus.STARTED]))
    ]
    for record in started:
        if record.dagster_run.run_id not in alive and _older(record, now, _ABANDONED):
            runs += _end(instance, record, "nobody works on it any more")
    sizes = event_log_size(instance)
    with store.begin() as tx:
        tx.numbers.signal("recovery", at=now)
        for name, value in sizes.items():
            tx.numbers.signal(name, at=now, value=value)
        feeds = 0
        for token in dead:
            feeds += tx.schedules.release(token)
            tx.hosts.release(token, now=now)
            tx.batches.close(token)
        stale = tx.schedules.stale(now, usual=timedelta(minutes=pipeline.settings.max_interval_minutes))
        return Recovered(
            batches=tuple(f"{token}: {reason}" for token, reason in dead.items()),
            runs=runs,
            feeds=feeds,
            expired=len(tx.schedules.expire(now)),
            clock=len(tx.schedules.mend_clock(now)),
            stale=tuple(stale),
            newly_stale=tuple(tx.schedules.fail_check(POLLED_IN_TIME, stale, most=_TOLD_AT_ONCE)),
        )


@dg.sensor(
    name="recovery_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Gives back the feeds of runs that died, ends runs that nobody works on, and tells which feeds are overdue. Runs nothing.",
)
def recovery_sensor(context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.SensorResult:
    found = recover(pipeline, context.instance)
    context.log.info(str(found))
    red = [evaluation(feed_id, late(feed_id)) for feed_id in found.newly_stale]
    return dg.SensorResult(skip_reason=str(found), asset_events=red)


def end_abandoned_runs(instance: dg.DagsterInstance, store: Store, now: datetime) -> int:
    """For whoever knows that no daemon and no run of this instance is alive; runs of a command line that still lives are left alone."""
    abandoned = [run for run in instance.get_runs(dg.RunsFilter(statuses=_WORKED_ON)) if not _lives(run)]
    for run in abandoned:
        instance.report_run_failed(run, "Its process was killed; `feed-assets up` found it on the next start.")
    ended = {run.run_id for run in abandoned}
    with store.begin() as tx:
        tokens = {run.tags[BATCH_TAG] for run in abandoned if BATCH_TAG in run.tags}
        tokens |= {batch.token for batch in tx.batches.in_flight() if batch.run_id in ended}
        for token in tokens:
            tx.schedules.release(token)
            tx.hosts.release(token, now=now)
            tx.batches.close(token)
    return len(abandoned)


def _why_dead(batch: InFlight, run: dg.RunRecord | None, now: datetime) -> str | None:
    """Why nobody works on this batch, or None when somebody does or soon will."""
    if batch.alive_at is not None:
        silent = now - batch.alive_at
        if run is not None and run.dagster_run.is_finished and silent > DEAD_AFTER / 3:  # it may be giving back its leases just now
            return f"its run ended ({run.dagster_run.status.value.lower()})"
        return f"no sign of life for {silent.total_seconds():.0f} s" if silent > DEAD_AFTER else None
    if run is None:
        return "no run was requested for it" if batch.queued_at and now - batch.queued_at > _UNREQUESTED else None
    if run.dagster_run.is_finished:
        return f"its run ended before it began ({run.dagster_run.status.value.lower()})"
    if run.dagster_run.status in _WAITING:
        return None
    return "its run never began to work" if _older(run, now, _SLOW_START) else None


def _run_of(batch: InFlight, instance: dg.DagsterInstance) -> dg.RunRecord | None:
    filters = dg.RunsFilter(run_ids=[batch.run_id]) if batch.run_id else dg.RunsFilter(tags={BATCH_TAG: batch.token})
    return next(iter(instance.get_run_records(filters, limit=1)), None)


def _extend(pipeline: Pipeline, batch: InFlight, run: dg.RunRecord | None, now: datetime) -> None:
    """What a batch cannot say itself: its run still waits for its turn; or the clock was set back, and its next sign of life counts."""
    if batch.alive_at is None and run is not None:
        with pipeline.store.begin() as tx:
            tx.schedules.renew(batch.token, now=now, lease=timedelta(seconds=pipeline.settings.lease_seconds))
    elif batch.alive_at is not None and batch.alive_at - now > DEAD_AFTER:
        with pipeline.store.begin() as tx:
            tx.batches.keep_alive(batch.token, now=now)


def _end(instance: dg.DagsterInstance, run: dg.RunRecord | None, reason: str) -> int:
    if run is None or run.dagster_run.is_finished:
        return 0
    instance.report_run_failed(run.dagster_run, f"The recovery sensor ended this run: {reason}.")
    return 1


def _older(run: dg.RunRecord, now: datetime, age: timedelta) -> bool:
    return now - datetime.fromtimestamp(run.start_time or run.create_timestamp.timestamp(), UTC) > age


def _lives(run: dg.DagsterRun) -> bool:
    try:
        os.kill(int(run.tags[PROCESS_TAG]), 0)
    except (KeyError, ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
