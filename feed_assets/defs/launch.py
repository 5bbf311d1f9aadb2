"""A run in this process, through the Dagster job, so that its events are recorded: for the command line and tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from feed_assets.analysis import ArticleReport
from feed_assets.defs.analysis import analysis_config, analyze_job
from feed_assets.defs.build import build_definitions
from feed_assets.defs.jobs import BATCH_TAG, FEEDS_TAG, PROCESS_TAG, batch_config, refresh_feeds
from feed_assets.defs.partitions import PARTITIONS_NAME, partition_changes
from feed_assets.defs.resources import Pipeline
from feed_assets.errors import FeedAssetsError
from feed_assets.model import FeedReport
from feed_assets.settings import Settings

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run_in_process(
    settings: Settings,
    instance: dg.DagsterInstance,
    *,
    batch_id: str = "",
    feed_ids: Sequence[str] = (),
    replay: bool = False,
    on_report: Callable[[FeedReport], None] | None = None,
) -> None:
    """Refresh a claimed batch or these feeds, or replay them; `on_report` hears of each feed as it is done."""
    pipeline = Pipeline(settings, on_report)
    register_partitions(pipeline, instance)
    job = build_definitions(pipeline).resolve_job_def(refresh_feeds.name)
    result = job.execute_in_process(
        instance=instance,
        run_config=batch_config(batch_id=batch_id, feed_ids=feed_ids, replay=replay) | _QUIET,
        tags={BATCH_TAG: batch_id or "on demand", FEEDS_TAG: str(len(feed_ids)), PROCESS_TAG: str(os.getpid())},
        raise_on_error=False,
    )
    if not result.success:
        raise FeedAssetsError(_reason(result))


def analyze_in_process(
    settings: Settings,
    instance: dg.DagsterInstance,
    *,
    feed_ids: Sequence[str] = (),
    limit: int = 0,
    on_article: Callable[[ArticleReport], None] | None = None,
) -> None:
    """Have the articles of these feeds analysed, or of all; `on_article` hears of each one as it is done."""
    pipeline = Pipeline(settings, on_article=on_article)
    register_partitions(pipeline, instance)
    result = (
        build_definitions(pipeline)
        .resolve_job_def(analyze_job.name)
        .execute_in_process(
            instance=instance,
            run_config=analysis_config(feed_ids=feed_ids, limit=limit) | _QUIET,
            tags={PROCESS_TAG: str(os.getpid())},
            raise_on_error=False,
        )
    )
    if not result.success:
        raise FeedAssetsError(_reason(result))


def register_partitions(pipeline: Pipeline, instance: dg.DagsterInstance) -> None:
    """Bring Dagster's partitions in step with the feeds now, without waiting for the sensor."""
    with pipeline.store.read() as tx:
        live = tx.feeds.live_ids()
    while requests := partition_changes(live, instance.get_dynamic_partitions(PARTITIONS_NAME)):
        for request in requests:
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                instance.add_dynamic_partitions(PARTITIONS_NAME, list(request.partition_keys))
            else:
                for feed_id in request.partition_keys:
                    instance.delete_dynamic_partition(PARTITIONS_NAME, feed_id)


def _reason(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.user_failure_data and data.user_failure_data.description:
                return str(data.user_failure_data.description)
            if data.error:
                return _innermost(data.error)
    return f"the Dagster run {result.run_id} failed; its log has the reason"


def _innermost(error: Any) -> str:
    """Dagster wraps what was raised; the innermost error says what happened."""
    while error.cause is not None:
        error = error.cause
    return " ".join(error.message.split())[:500]
