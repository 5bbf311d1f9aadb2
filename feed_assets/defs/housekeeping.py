"""Housekeeping, visible in the UI: prune our tables and Dagster's runs, put the statistics right, give space back."""

from dataclasses import asdict
from datetime import timedelta

import dagster as dg

from feed_assets.defs.forgetting import Forgotten, forget
from feed_assets.defs.resources import Pipeline
from feed_assets.housekeeping import prune, recalculate, summed


@dg.op(description="Delete rows past their retention, portion by portion.")
def prune_tables(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    gone = summed(prune(pipeline.store, pipeline.settings, now=pipeline.clock()))
    context.log.info("pruned: " + ", ".join(f"{count} {table}" for table, count in gone.items()))
    context.add_output_metadata(dict(gone))


@dg.op(
    description="Delete finished runs that are too old or too many, with their events; the newest materialization of each partition "
    "and the newest verdict of each check stay."
)
def prune_runs(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    settings = pipeline.settings
    before = pipeline.clock() - timedelta(days=settings.dagster_retention_days)
    gone = sum(forget(context.instance, before=before, most=settings.dagster_max_runs), Forgotten())
    context.log.info(f"pruned {gone.runs} Dagster runs that ended before {before:%Y-%m-%d} or were more than {settings.dagster_max_runs}")
    context.add_output_metadata(asdict(gone))


@dg.op(
    description="Learn the pace of each feed again from its stored items, so that nothing drifts. Feeds that are being fetched are left."
)
def recalculate_stats(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    feeds = sum(recalculate(pipeline.store, pipeline.settings, now=pipeline.clock()))
    context.log.info(f"recalculated the statistics of {feeds} feeds")
    context.add_output_metadata({"feeds": feeds})


@dg.op(description="Give space back to the disk, after everything was pruned.", ins={"after": dg.In(dg.Nothing)})
def give_space_back(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> None:
    before = pipeline.store.size()
    pipeline.store.vacuum()
    after = pipeline.store.size()
    context.log.info(f"the database has {after:,} bytes; it had {before:,}")
    context.add_output_metadata({"bytes_before": before, "bytes_after": after})


@dg.job(
    description="Prune what is past its retention, in our tables and in Dagster's; statistics; space.", executor_def=dg.in_process_executor
)
def housekeeping() -> None:
    give_space_back(after=[prune_tables(), recalculate_stats()])
    prune_runs()


housekeeping_schedule = dg.ScheduleDefinition(
    name="housekeeping_schedule", job=housekeeping, cron_schedule="17 3 * * *", default_status=dg.DefaultScheduleStatus.RUNNING
)
