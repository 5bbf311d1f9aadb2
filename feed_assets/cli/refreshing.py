"""`feed-assets refresh` and `replay`: a run in this process, with a progress bar on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from feed_assets.cli.context import opened
from feed_assets.cli.output import err, print_json, print_table, progress_bar, say
from feed_assets.errors import FeedAssetsError, UnknownFeed, UsageError
from feed_assets.model import FeedReport
from feed_assets.refresh import claim_due, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets.words import relative

FeedIds = Annotated[list[str] | None, typer.Argument(help="Feeds by id.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


def refresh(
    feed_ids: FeedIds = None,
    due: Annotated[bool, typer.Option("--due", help="Those that are due now (the default).")] = False,
    every: Annotated[bool, typer.Option("--all", help="All that are enabled, due or not.")] = False,
    as_json: AsJson = False,
) -> None:
    """Refresh feeds now, in this process, through the Dagster job: events are recorded as in any run."""
    if sum((bool(feed_ids), due, every)) > 1:
        raise UsageError("say either --due, --all or which feeds")
    settings, store = opened()
    if feed_ids or every:
        wanted = list(feed_ids or _enabled(store))
        known_feeds(store, wanted)
        reports = _run(settings, len(wanted), lambda hear: _launch(settings, hear, feed_ids=wanted)) if wanted else []
    else:
        reports = _refresh_due(settings, store)
    _tell(reports, as_json, named=bool(feed_ids))


def replay(
    feed_ids: FeedIds = None,
    every: Annotated[bool, typer.Option("--all", help="All feeds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build articles and XML again from stored responses; makes no request."""
    if bool(feed_ids) == every:
        raise UsageError("say either --all or which feeds")
    settings, store = opened()
    wanted = list(feed_ids or _live(store))
    known_feeds(store, wanted)
    reports = _run(settings, len(wanted), lambda hear: _launch(settings, hear, feed_ids=wanted, replay=True)) if wanted else []
    _tell(reports, as_json, named=bool(feed_ids))


Hear = Callable[[FeedReport], None]


def _refresh_due(settings: Settings, store: Store) -> list[FeedReport]:
    """Batch after batch, until nothing is due."""
    reports: list[FeedReport] = []
    while True:
        batches, queue = claim_due(store, settings, now=utc_now())
        if not batches:
            if queue.due:
                err.print(f"{queue.due} more are due, but {queue.batches} batches are running (MAX_BATCHES_IN_FLIGHT)")
            return reports
        for batch in batches:

            def work(hear: Hear, token: str = batch.token) -> None:
                _launch(settings, hear, batch_id=token)

            reports += _run(settings, len(batch.feed_ids), work)


def _run(settings: Settings, total: int, work: Callable[[Hear], None]) -> list[FeedReport]:
    reports: list[FeedReport] = []
    with progress_bar() as progress:
        bar = progress.add_task("feeds", total=total)

        def hear(report: FeedReport) -> None:
            reports.append(report)
            progress.update(bar, advance=1, description=report.feed_id)

        work(hear)
    return reports


def _launch(settings: Settings, hear: Hear, *, batch_id: str = "", feed_ids: Sequence[str] = (), replay: bool = False) -> None:
    import dagster as dg  # three seconds that other commands do without

    from feed_assets.defs.instance import prepare_dagster_home
    from feed_assets.defs.launch import run_in_process

    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    prepare_dagster_home(settings)
    with dg.DagsterInstance.get() as instance:
        run_in_process(settings, instance, batch_id=batch_id, feed_ids=feed_ids, replay=replay, on_report=hear)


def _tell(reports: Sequence[FeedReport], as_json: bool, *, named: bool) -> None:
    failed = [report for report in reports if not report.outcome.ok]
    if as_json:
        print_json([_row(report) for report in reports])
    elif reports:
        print_table(
            ("feed", "outcome", "found", "new", "changed", "next run"),
            (
                (r.feed_id, r.outcome.value, str(r.found), str(r.new), str(r.changed), relative(r.next_run_at))
                for r in sorted(reports, key=lambda r: r.feed_id)
            ),
        )
    else:
        say("nothing to do: no feed is due" if not named else "nothing to do")
    if failed and (named or len(failed) == len(reports)):
        raise FeedAssetsError("; ".join(f"{report.feed_id}: {report.reason}" for report in failed))
    for report in failed:
        err.print(f"{report.feed_id}: {report.reason}", markup=False, soft_wrap=True)


def _row(report: FeedReport) -> dict[str, object]:
    return {
        "feed_id": report.feed_id,
        "outcome": report.outcome.value,
        "error_message": report.reason,
        "status_code": report.status_code,
        "articles_found": report.found,
        "articles_new": report.new,
        "articles_changed": report.changed,
        "bytes": report.bytes_received,
        "duration_ms": report.duration_ms,
        "next_run_at": report.next_run_at,
        "next_run_reason": report.next_run_reason,
    }


def _enabled(store: Store) -> list[str]:
    with store.read() as tx:
        return [feed.feed_id for feed in tx.feeds.live() if feed.enabled]


def _live(store: Store) -> list[str]:
    with store.read() as tx:
        return tx.feeds.live_ids()


def known_feeds(store: Store, feed_ids: Sequence[str]) -> None:
    live = set(_live(store))
    for feed_id in feed_ids:
        if feed_id not in live:
            raise UnknownFeed(feed_id)
