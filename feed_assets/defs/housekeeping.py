"""Housekeeping, visible in the UI: prune our tables, and Dagster's runs that left nothing behind."""

from datetime import datetime, timedelta

import dagster as dg

from feed_assets.decide.dedup import item_key
from feed_assets.defs.resources import Pipeline

_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_RUNS_AT_ONCE = 1000


@dg.op(description="Delete rows past their retention and give space back.")
def prune_tables(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    with pipeline.store.begin() as tx:
        gone = tx.housekeeping.prune(pipeline.settings, now=pipeline.clock(), item_key=item_key)
    pipeline.store.vacuum()
    context.log.info("pruned: " + ", ".join(f"{count} {table}" for table, count in gone.items()))
    context.add_output_metadata(dict(gone))


@dg.op(
    description="Delete finished runs past their retention that materialized nothing; runs with materializations are the feeds' history."
)
def prune_runs(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    before = pipeline.clock() - timedelta(days=pipeline.settings.dagster_retention_days)
    deleted = sum(_delete_if_empty(context.instance, run_id) for run_id in _finished_runs(context.instance, before))
    context.log.info(f"pruned {deleted} Dagster runs that finished before {before:%Y-%m-%d}")
    context.add_output_metadata({"runs": deleted})


@dg.job(description="Prune what is past its retention, in our tables and in Dagster's.", executor_def=dg.in_process_executor)
def housekeeping() -> None:
    prune_tables()
    prune_runs()


housekeeping_schedule = dg.ScheduleDefinition(
    name="housekeeping_schedule", job=housekeeping, cron_schedule="17 3 * * *", default_status=dg.DefaultScheduleStatus.RUNNING
)


def _finished_runs(instance: dg.DagsterInstance, before: datetime) -> list[str]:
    filters = dg.RunsFilter(statuses=_FINISHED, updated_before=before)
    return [record.dagster_run.run_id for record in instance.get_run_records(filters, limit=_RUNS_AT_ONCE, ascending=True)]


def _delete_if_empty(instance: dg.DagsterInstance, run_id: str) -> bool:
    if instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        return False
    instance.delete_run(run_id)
    return True
