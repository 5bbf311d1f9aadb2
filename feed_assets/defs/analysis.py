"""The analysis of articles, beside the refresh of feeds: an asset, a job and a sensor of their own, so that nothing waits for them."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from feed_assets.analysis import AnalysisReport, ArticleReport, Outlook, analyze_articles, analyzer_of, by_feed, outlook, version_of
from feed_assets.analyze import Analyzer
from feed_assets.defs.bulk import Context, leftover
from feed_assets.defs.partitions import feeds_partitions
from feed_assets.defs.reporting import Event, markdown_link
from feed_assets.defs.resources import IDLE_SECONDS, Pipeline
from feed_assets.defs.schemas import ANALYSIS, asset_spec
from feed_assets.errors import FeedAssetsError
from feed_assets.settings import Settings, settings

_PER_RUN = 500  # articles that one run of the sensor has analysed
_PARTITIONS_PER_BACKFILL_RUN = 25
_SHOWN = 10
_AT_WORK = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]


class AnalysisConfig(dg.Config):
    """What a run of the job is about: these feeds, or all; so many articles at most, or all that wait."""

    feed_ids: list[str] = Field(default_factory=list)
    limit: int = 0


@dg.multi_asset(
    name="analyze_partitions",
    specs=[asset_spec(ANALYSIS)],
    partitions_def=feeds_partitions,
    backfill_policy=dg.BackfillPolicy.multi_run(_PARTITIONS_PER_BACKFILL_RUN),
    description="Have the articles of some feeds analysed that this version of the analyzer has not analysed yet.",
)
def analysis_assets(context: dg.AssetExecutionContext, pipeline: dg.ResourceParam[Pipeline]) -> Iterator[Event]:
    feed_ids = list(context.partition_keys)
    yield from _analyze(context, pipeline, feed_ids, always=feed_ids)


# An op, for Dagster takes no run without partitions of an asset whose upstream has some. Its events are those of the asset all the same.
@dg.op(out={}, description="Have articles analysed that wait for it, of whatever feeds; what became of them is told per feed.")
def analyze(context: dg.OpExecutionContext, config: AnalysisConfig, pipeline: dg.ResourceParam[Pipeline]) -> Iterator[Event]:
    yield from _analyze(context, pipeline, config.feed_ids, limit=config.limit)


@dg.job(
    name="analyze_articles",
    description="Have articles analysed: those that wait when the sensor asks for it, or those of the feeds in its configuration.",
    executor_def=dg.in_process_executor,
)
def analyze_job() -> None:
    analyze()


def analysis_config(*, feed_ids: Sequence[str] = (), limit: int = 0) -> dict[str, Any]:
    return {"ops": {"analyze": {"config": {"feed_ids": list(feed_ids), "limit": limit}}}}


def analysis_version(settings: Settings) -> str:
    """The code version of the asset: another analyzer, prompt or model is another one."""
    try:
        version = version_of(analyzer_of(settings))
    except FeedAssetsError:  # polling goes on; the sensor and every run say what is wrong
        return "none"
    return f"{version.analyzer}-{version.prompt_version}"


@dg.sensor(
    name="analysis_sensor",
    job=analyze_job,
    minimum_interval_seconds=30 if settings().analyzer != "none" else IDLE_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Requests a run when articles wait to be analysed and the day's budget allows. Does nothing while ANALYZER is none.",
)
def analysis_sensor(context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[Pipeline]) -> dg.RunRequest | dg.SkipReason:
    if pipeline.settings.analyzer == "none":
        return dg.SkipReason("ANALYZER is none: articles are not analysed")
    try:
        found = outlook(pipeline.store, pipeline.settings, analyzer_of(pipeline.settings), now=pipeline.clock())
    except FeedAssetsError as error:
        return dg.SkipReason(str(error))
    if reason := _why_nothing(found, _is_at_work(context.instance, found)):
        return dg.SkipReason(reason)
    limit = min(_PER_RUN, found.queue.due, found.left if found.left is not None else _PER_RUN)
    return dg.RunRequest(run_key=secrets.token_hex(8), run_config=analysis_config(limit=limit))


def _analyze(
    context: Context, pipeline: Pipeline, feed_ids: Sequence[str], *, limit: int = 0, always: Sequence[str] = ()
) -> Iterator[Event]:
    done: list[ArticleReport] = []
    left: list[Event] = []
    store, settings, clock = pipeline.store, pipeline.settings, pipeline.clock
    try:
        analyzer = analyzer_of(settings)
        try:
            for article in analyze_articles(store, settings, analyzer, feed_ids=feed_ids or None, limit=limit or None, clock=clock):
                done.append(pipeline.analyzed(article))
        finally:  # what was stored is told, however this ends
            events = [_event(report, analyzer) for report in by_feed(store, analyzer, done, always=always)]
            left = leftover(context, events, checks_are_planned=False)
        yield from left
    except FeedAssetsError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    context.log.info(_summary(done))
    if done and all(article.status != "done" for article in done):
        raise dg.Failure(f"none of {len(done)} articles was analysed: {done[0].reason}", allow_retries=False)


def _is_at_work(instance: dg.DagsterInstance, found: Outlook) -> bool:
    """Whether a run is under way. One that has begun and holds no article has just come, is just going, or is dead."""
    filters = dg.RunsFilter(job_name=analyze_job.name, statuses=_AT_WORK)
    runs = [record.dagster_run for record in instance.get_run_records(filters)]
    return any(run.status is not dg.DagsterRunStatus.STARTED or found.queue.running for run in runs)


def _why_nothing(found: Outlook, at_work: bool) -> str | None:
    queue = found.queue
    counts = f"{queue.due} articles wait, {queue.running} are being analysed, {queue.later} will be tried again, {queue.failed} failed"
    if found.paused_until:
        return f"{counts}: the analyzer is left alone until {found.paused_until:%H:%M:%S} UTC; the last run has the reason"
    if not queue.due:
        then = f"; the next try is at {queue.next_attempt_at:%Y-%m-%d %H:%M:%S} UTC" if queue.next_attempt_at else ""
        return f"nothing to analyse: {counts}{then}"
    if found.left == 0:
        return (
            f"{counts}: today's budget is spent ({found.spent} requests, ANALYSIS_DAILY_BUDGET is {found.budget}); it goes on at 00:00 UTC"
        )
    return f"{counts}: a run is at work" if at_work else None


def _event(report: AnalysisReport, analyzer: Analyzer) -> dg.AssetMaterialization:
    done, failed = report.count("done"), report.count("failed")
    version = version_of(analyzer)
    tags = {
        "dagster/code_version": f"{version.analyzer}-{version.prompt_version}",
        "dagster/data_version": report.data_version,
        f"dagster/input_data_version/{ANALYSIS.upstream}": report.upstream_version,
        f"dagster/input_event_pointer/{ANALYSIS.upstream}": "NULL",
    }
    return dg.AssetMaterialization(
        ANALYSIS.name,
        partition=report.feed_id,
        description=f"{done} articles analysed, {failed} failed, {report.count('waiting')} to be tried again",
        metadata=_metadata(report),
        tags=tags,
    )


def _metadata(report: AnalysisReport) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {"analysed": report.count("done"), "failed": report.count("failed"), "waiting": report.count("waiting")}
    if report.average_score is not None:
        metadata["average score"] = round(report.average_score, 1)
    rows = [f"| {_told(article)} | {markdown_link(article.headline or 'Untitled', article.url)} |" for article in report.articles[:_SHOWN]]
    preview = "\n".join(("| score | article |", "|---|---|", *rows)) if rows else "_nothing waited_"
    return metadata | {"preview": dg.MetadataValue.md(preview)}


def _told(article: ArticleReport) -> str:
    return f"{article.score:g}" if article.score is not None else f"{article.status}: {markdown_link(article.reason or '', None)}"


def _summary(done: Sequence[ArticleReport]) -> str:
    counts = {status: sum(article.status == status for article in done) for status in ("done", "failed", "waiting")}
    return f"{counts['done']} articles analysed, {counts['failed']} failed, {counts['waiting']} to be tried again"
