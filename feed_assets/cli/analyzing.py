"""`feed-assets analyze`: a run in this process, with a progress bar on a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from feed_assets.analysis import AnalysisReport, ArticleReport, Outlook, analyzer_of, by_feed, outlook
from feed_assets.cli.context import opened
from feed_assets.cli.output import err, print_json, print_table, progress_bar, say
from feed_assets.cli.refreshing import AsJson, FeedIds, known_feeds
from feed_assets.errors import FeedAssetsError, UsageError
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.words import relative


def analyze(
    feed_ids: FeedIds = None,
    every: Annotated[bool, typer.Option("--all", help="All feeds (the default).")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="So many articles at most, the newest first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Have articles analysed now, in this process, through the Dagster job: those that ANALYZER has not analysed yet."""
    if feed_ids and every:
        raise UsageError("say either --all or which feeds")
    settings, store = opened()
    analyzer = analyzer_of(settings)
    if feed_ids:
        known_feeds(store, feed_ids)
    before = outlook(store, settings, analyzer, now=utc_now(), feed_ids=feed_ids)
    expected = min(each for each in (before.queue.due, limit, before.left) if each is not None)
    articles: list[ArticleReport] = []
    error: FeedAssetsError | None = None
    try:
        if expected:
            _run(settings, feed_ids or (), limit or 0, expected, articles)
    except FeedAssetsError as reason:
        error = reason
    _tell(by_feed(store, analyzer, articles), as_json, before, reasons=error is None)
    if error is not None:
        raise error
    after = outlook(store, settings, analyzer, now=utc_now(), feed_ids=feed_ids)
    if after.queue.due and after.left == 0:
        err.print(f"{after.queue.due} more wait, but today's budget is spent ({after.spent} requests, ANALYSIS_DAILY_BUDGET)")


def _run(settings: Settings, feed_ids: Sequence[str], limit: int, expected: int, articles: list[ArticleReport]) -> None:
    """`articles` are filled as they are done."""
    import dagster as dg  # three seconds that other commands do without

    from feed_assets.defs.instance import prepare_dagster_home
    from feed_assets.defs.launch import analyze_in_process

    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    prepare_dagster_home(settings)
    with progress_bar() as progress, dg.DagsterInstance.get() as instance:
        bar = progress.add_task("articles", total=expected)

        def hear(article: ArticleReport) -> None:
            articles.append(article)
            progress.update(bar, advance=1)

        analyze_in_process(settings, instance, feed_ids=feed_ids, limit=limit, on_article=hear)


def _tell(reports: Sequence[AnalysisReport], as_json: bool, found: Outlook, *, reasons: bool) -> None:
    if as_json:
        print_json([_row(report) for report in reports])
    elif reports:
        columns = ("feed", "analysed", "failed", "waiting", "average score")
        rows = ([str(value) if value is not None else "-" for value in list(_row(report).values())[:5]] for report in reports)
        print_table(columns, rows)
    else:
        say(f"nothing to do: {_why_nothing(found)}")
    for report in reports if reasons else ():
        if reason := next((article.reason for article in report.articles if article.reason), None):
            err.print(f"{report.feed_id}: {reason}", markup=False, soft_wrap=True)


def _why_nothing(found: Outlook) -> str:
    if found.queue.due:
        return f"{found.queue.due} articles wait, but today's budget is spent"
    later = f"; {found.queue.later} will be tried again, the next {relative(found.queue.next_attempt_at)}" if found.queue.later else ""
    return f"no article waits to be analysed{later}"


def _row(report: AnalysisReport) -> dict[str, object]:
    score = report.average_score
    return {
        "feed_id": report.feed_id,
        "analyzed": report.count("done"),
        "failed": report.count("failed"),
        "waiting": report.count("waiting"),
        "average_score": None if score is None else round(score, 1),
        "errors": sorted({article.reason for article in report.articles if article.reason}),
    }
