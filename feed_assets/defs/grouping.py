"""The asset about all feeds: stories that several publishers tell, and the sensor that has them looked for."""

from datetime import timedelta

import dagster as dg

from feed_assets.defs.reporting import markdown_link
from feed_assets.defs.resources import Pipeline
from feed_assets.defs.schemas import STORIES, asset_spec
from feed_assets.errors import FeedAssetsError
from feed_assets.settings import Settings
from feed_assets.store import Group, GroupingQueue
from feed_assets.stories import find_stories, is_due, waiting

_TOP = 10  # stories in the preview
_LONGEST_RUN = timedelta(minutes=10)  # one that was requested longer ago is waited for no more
_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]


@dg.multi_asset(
    name="group_articles", specs=[asset_spec(STORIES, by_feed=False)], description="Find the stories of the articles that wait."
)
def headline_groups(context: dg.AssetExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.MaterializeResult[None]:
    now = pipeline.clock()
    try:
        report = find_stories(pipeline.store, pipeline.settings, now=now)
    except FeedAssetsError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    with pipeline.store.read() as tx:
        top = tx.groups.top(now - timedelta(hours=pipeline.settings.grouping_window_hours), limit=_TOP)
    return dg.MaterializeResult(
        asset_key=STORIES.name,
        metadata={
            "articles examined": report.examined,
            "articles compared with": report.window,
            "groups founded": len(report.founded),
            "groups grown": len(report.grown),
            "groups merged": report.merged,
            "top stories": dg.MetadataValue.md(_table(top, pipeline.settings.site_url)),
        },
    )


group_headlines = dg.define_asset_job(
    "group_headlines",
    selection=dg.AssetSelection.assets(headline_groups),
    description="Group the articles that several publishers tell about one story.",
    executor_def=dg.in_process_executor,
)


@dg.sensor(
    name="grouping_sensor",
    job=group_headlines,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Has stories looked for when enough articles wait for it, or any for long enough.",
)
def grouping_sensor(context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.RunRequest | dg.SkipReason:
    now = pipeline.clock()
    with pipeline.store.read() as tx:
        queue = waiting(tx, pipeline.settings, now=now)
    if not is_due(queue, pipeline.settings, now=now):
        return dg.SkipReason(_why_not(queue, pipeline.settings))
    unfinished = dg.RunsFilter(job_name=group_headlines.name, statuses=_UNFINISHED, created_after=now - _LONGEST_RUN)
    if context.instance.get_runs_count(unfinished):
        return dg.SkipReason(f"{queue.waiting} articles wait; a run is at it")
    return dg.RunRequest(tags={"feed_assets/articles": str(queue.waiting)})


def _why_not(queue: GroupingQueue, settings: Settings) -> str:
    if not queue.waiting:
        return f"no article waits; all {queue.known} of the last {settings.grouping_window_hours} h were compared"
    last = f"{queue.last_run_at:%Y-%m-%d %H:%M:%S} UTC" if queue.last_run_at else "never"
    return (
        f"{queue.waiting} articles wait; a run follows at {settings.grouping_threshold_articles} (GROUPING_THRESHOLD_ARTICLES), "
        f"or {settings.grouping_interval_minutes:g} min (GROUPING_INTERVAL_MINUTES) after the last one, which was {last}"
    )


def _table(groups: list[Group], site_url: str) -> str:
    if not groups:
        return "_no story is told by several publishers_"
    rows = [
        f"| {each.sources} | {each.articles} | {each.last_at:%Y-%m-%d %H:%M} | "
        f"{markdown_link(each.headline, f'{site_url}/stories/{each.group_id}')} |"
        for each in groups
    ]
    return "\n".join(("| sources | articles | last told (UTC) | story |", "|---|---|---|---|", *rows))
