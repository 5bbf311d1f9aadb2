"""The sensor: keeps partitions in step with the feeds, claims what is due, requests a run per batch."""

import dagster as dg

from feed_assets.defs.jobs import BATCH_TAG, FEEDS_TAG, batch_config, refresh_feeds
from feed_assets.defs.partitions import PARTITIONS_NAME, partition_changes
from feed_assets.defs.resources import Pipeline
from feed_assets.refresh import Batch, claim_due
from feed_assets.settings import settings
from feed_assets.store import Queue


@dg.sensor(
    name="due_feeds_sensor",
    job=refresh_feeds,
    minimum_interval_seconds=settings().sensor_interval_seconds,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Claims the feeds whose refresh is due and requests one run per batch.",
)
def due_feeds_sensor(context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.SensorResult:
    for line in pipeline.follow_feeds_file():
        context.log.warning(line)
    with pipeline.store.read() as tx:
        live = tx.feeds.live_ids()
    batches, queue = claim_due(pipeline.store, pipeline.settings, now=pipeline.clock(), signal="sensor")
    claimed = {feed_id for batch in batches for feed_id in batch.feed_ids}
    partitions = partition_changes(live, context.instance.get_dynamic_partitions(PARTITIONS_NAME), first=claimed)
    return dg.SensorResult(
        run_requests=[_run_request(batch, by_partition=pipeline.settings.batch_size == 1) for batch in batches],
        dynamic_partitions_requests=partitions,
        skip_reason=None if batches else _why_nothing(queue, pipeline.settings.max_batches_in_flight),
    )


def _run_request(batch: Batch, *, by_partition: bool) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=batch.token,
        partition_key=batch.feed_ids[0] if by_partition else None,
        run_config=batch_config(batch_id=batch.token),
        tags={BATCH_TAG: batch.token, FEEDS_TAG: str(len(batch.feed_ids))},
    )


def _why_nothing(queue: Queue, most: int) -> str:
    if not queue.feeds:
        return "there are no feeds yet; `feed-assets feed add URL` adds one"
    counts = f"{queue.feeds} feeds, {queue.due} due, {queue.in_flight} in {queue.batches} running batches, {queue.dead} dead"
    if queue.due and queue.batches >= most:
        return f"{counts}: waiting for a batch to finish (MAX_BATCHES_IN_FLIGHT is {most})"
    then = f"; the next is due at {queue.next_run_at:%Y-%m-%d %H:%M:%S} UTC" if queue.next_run_at else ""
    return f"nothing is due: {counts}{then}"
