"""Events in Dagster: a run tells the webhooks, and materializes `feed_events`, on which others hang sensors of their own."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from feed_assets.defs.resources import IDLE_SECONDS, Pipeline
from feed_assets.defs.schemas import GROUP, OWNERS
from feed_assets.delivery import Told, backlog, deliver
from feed_assets.errors import FeedAssetsError
from feed_assets.settings import settings
from feed_assets.store import Backlog
from feed_assets.webhooks import listeners

EVENTS_TAG = "feed_assets/events"
_INTERVAL_SECONDS = 30  # a run costs seconds: what happens within this time is delivered by one
_SURELY_OVER = timedelta(minutes=10)  # a delivery ends by itself long before
_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dg.asset(
    name="feed_events",
    group_name=GROUP,
    owners=OWNERS,
    kinds={"webhook"},
    output_required=False,
    description="Events that webhooks (or, with DAGSTER_EVENTS, Dagster alone) were told of since the last materialization: new articles, "
    "feeds that were added, moved, fail, die and recover. The metadata has their number and the latest event id by type. "
    "Hang an `@asset_sensor` on it to act on them.",
)
def feed_events(context: dg.AssetExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> Iterator[dg.MaterializeResult[None]]:
    settings = pipeline.settings
    try:
        told = deliver(pipeline.store, settings, listeners(settings), clock=pipeline.clock)
    except FeedAssetsError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    for each in told:
        if each.trouble:
            context.log.warning(f"{each.receiver.name}: {each.trouble} ({each.failed} to be tried again, {each.dead} given up)")
    context.log.info(f"delivered {sum(each.count for each in told)} events to {len(told)} receivers")
    if any(each.count for each in told):
        yield dg.MaterializeResult(metadata=_metadata(told))


deliver_events = dg.define_asset_job(
    "deliver_events",
    selection=dg.AssetSelection.assets(feed_events),
    description="Tell webhooks what has happened: at least once, in order per feed.",
    executor_def=dg.in_process_executor,
)


@dg.sensor(
    name="events_sensor",
    job=deliver_events,
    minimum_interval_seconds=_INTERVAL_SECONDS if listeners(settings()) else IDLE_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Requests a run when a webhook has something to hear of, one at a time. Without webhooks it does nothing.",
)
def events_sensor(context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.RunRequest | dg.SkipReason:
    if not listeners(pipeline.settings):
        return dg.SkipReason("there are no webhooks; WEBHOOK_URLS and ALERT_URLS name them")
    if (run_id := _under_way(context.instance)) is not None:
        return dg.SkipReason(f"run {run_id} is delivering")
    found = backlog(pipeline.store, pipeline.settings, now=pipeline.clock())
    return dg.RunRequest(tags={EVENTS_TAG: str(found.due)}) if found.due else dg.SkipReason(_why_nothing(found))


def _under_way(instance: dg.DagsterInstance) -> str | None:
    """The run that delivers now. One that was killed does not count for ever; the recovery sensor ends it."""
    filters = dg.RunsFilter(job_name=deliver_events.name, statuses=_UNFINISHED, created_after=datetime.now(UTC) - _SURELY_OVER)
    return next((run.run_id for run in instance.get_runs(filters, limit=1)), None)


def _why_nothing(found: Backlog) -> str:
    then = f"; the next try is at {found.next_attempt_at:%Y-%m-%d %H:%M:%S} UTC" if found.next_attempt_at else ""
    return f"nothing is due: {found.pending} deliveries wait, {found.dead} were given up{then}"


def _metadata(told: Sequence[Told]) -> Mapping[str, Any]:
    types: Counter[str] = Counter()
    latest: dict[str, str] = {}
    seen: set[str] = set()
    for each in told:
        for kind, event_ids in each.delivered.items():
            types[kind] += len(set(event_ids) - seen)
            seen.update(event_ids)
            latest[kind] = event_ids[-1]
    rows = [f"| {each.receiver.name} | {each.count} | {each.failed} | {each.dead} |" for each in told]
    return {
        "events": len(seen),
        "by type": dg.MetadataValue.json({kind: count for kind, count in types.items() if count}),
        "latest event ids": dg.MetadataValue.json(latest),
        "receivers": dg.MetadataValue.md("\n".join(("| receiver | told | failed | given up |", "|---|---|---|---|", *rows))),
    }
