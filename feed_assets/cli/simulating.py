"""`feed-assets simulate`: what a cadence would cost and bring, before it is set."""

from __future__ import annotations

import csv
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from feed_assets.cli.context import opened
from feed_assets.cli.output import err, out, print_json, print_table
from feed_assets.errors import FeedAssetsError, UsageError
from feed_assets.settings import settings
from feed_assets.simulate import POLICIES, Limits, Score, Timeline, Trace, draw, match, read_timelines, score, simulate, timelines

_COLUMNS = ("policy", "polls per feed and day", "delay per item", "delay per feed", "median", "p90", "empty polls", "items lost")


def run_simulation(
    file: Annotated[Path | None, typer.Argument(help="CSV, perhaps gzipped, with the columns feed and published_at.")] = None,
    from_database: Annotated[bool, typer.Option("--from-database", help="Use the publication times of your own feeds.")] = False,
    policy: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(POLICIES)}; may be repeated. Default: all.")] = None,
    min_minutes: Annotated[float | None, typer.Option(min=1, help="Shortest interval. Default: MIN_INTERVAL_MINUTES.")] = None,
    max_minutes: Annotated[float | None, typer.Option(min=1, help="Longest interval. Default: MAX_INTERVAL_MINUTES.")] = None,
    target: Annotated[float | None, typer.Option(min=0.001, help="Effort. Default: TARGET_ARTICLES_PER_FETCH.")] = None,
    matched: Annotated[str | None, typer.Option("--match", help="Scale the effort until polls equal that policy's within 1 %.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write the polls as CSV: feed, polled_at. The warm-up is left out.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the scores as SVG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Run the real decision function, and the rules of other readers, over real publication times.

    The first fifth of each feed's time is warm-up, the rest is scored. Delays are in minutes, from publication to the first poll after it.
    """
    limits = _limits(min_minutes, max_minutes, target)
    wanted = list(dict.fromkeys(policy or (["adaptive"] if matched else POLICIES)))
    for name in (*wanted, *filter(None, [matched])):
        if name not in POLICIES:
            raise UsageError(f"there is no policy {name!r}; there are {', '.join(POLICIES)}")
    if matched and "adaptive" not in wanted:
        raise UsageError("--match scales the effort of the adaptive policy: add --policy adaptive, or leave --policy out")
    if matched == "adaptive":
        raise UsageError("--match names another policy than adaptive")
    feeds = _feeds(file, from_database)
    results: dict[str, tuple[list[Trace], Score]] = {}
    with _progress() as bar:
        for name in dict.fromkeys([*filter(None, [matched]), *wanted]):
            task = bar.add_task(name, total=len(feeds))
            if name == "adaptive" and matched:
                bar.update(task, total=None, description=f"adaptive, matching {matched}")
                results[name] = match(feeds, limits, results[matched][1].polls, done=partial(bar.advance, task))
            else:
                traces = simulate(name, feeds, limits, done=partial(bar.advance, task))
                results[name] = traces, score(name, traces, limits.target if name == "adaptive" else None)
    if trace:
        _write_trace(trace, results["adaptive" if "adaptive" in wanted else wanted[0]][0])
    scores = [found for _, found in results.values()]
    if plot:
        plot.write_text(draw(scores), "utf-8")
    _show(scores, matched, results[matched][1] if matched else None, as_json)


def _limits(min_minutes: float | None, max_minutes: float | None, target: float | None) -> Limits:
    current = settings()
    limits = Limits(
        current.min_interval_minutes if min_minutes is None else min_minutes,
        current.max_interval_minutes if max_minutes is None else max_minutes,
        current.target_articles_per_fetch if target is None else target,
    )
    if limits.min_minutes > limits.max_minutes:
        raise UsageError(f"--min-minutes {limits.min_minutes:g} is more than --max-minutes {limits.max_minutes:g}")
    return limits


def _feeds(file: Path | None, from_database: bool) -> list[Timeline]:
    if (file is None) != from_database:
        raise UsageError("name a CSV file with the columns feed and published_at, or use --from-database")
    if file is not None:
        return read_timelines(file)
    _, store = opened()
    with store.read() as tx:
        times = list(tx.items.publication_times())
    feeds = timelines(times)
    if feeds and (short := len({feed for feed, _ in times}) - len(feeds)):
        err.print(f"{short} feeds are left out: they have less than four days of dated items")
    if not feeds:
        raise FeedAssetsError("no feed in the database has four days of dated items yet; try again later, or name a CSV file")
    return feeds


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def _write_trace(path: Path, traces: list[Trace]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("feed", "polled_at"))
        for trace in traces:
            for moment in trace.polls:
                if moment >= trace.timeline.scored_from:
                    writer.writerow((trace.timeline.feed, datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")))


def _show(scores: list[Score], matched: str | None, other: Score | None, as_json: bool) -> None:
    ours = next((each for each in scores if each.policy == "adaptive"), None)
    against = _against(ours, other) if ours and other else None
    if as_json:
        rounded = [
            {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(each).items()} for each in scores
        ]
        print_json({"policies": rounded} | ({"match": {"policy": matched} | against} if against else {}))
        return
    print_table(_COLUMNS, (_row(each) for each in scores))
    first = scores[0]
    out.print(f"{first.feeds} feeds, {first.items} items in {first.feed_days:.0f} feed-days; delays in minutes")
    if ours and against:
        out.print(
            f"against {matched}, at {against['polls']:.3f} of its polls: {against['delay_mean_item']:.2f} of its delay per item, "
            f"{against['delay_mean_feed']:.2f} per feed (TARGET_ARTICLES_PER_FETCH {ours.target_articles_per_fetch:.3g})"
        )


def _against(ours: Score, other: Score) -> dict[str, float]:
    names = ("polls", "delay_mean_item", "delay_mean_feed", "delay_median", "delay_p90")
    return {name: round(getattr(ours, name) / getattr(other, name), 4) if getattr(other, name) else 0.0 for name in names}


def _row(each: Score) -> tuple[str, ...]:
    delays = (each.delay_mean_item, each.delay_mean_feed, each.delay_median, each.delay_p90)
    return (
        each.policy,
        f"{each.polls_per_feed_day:.1f}",
        *(f"{delay:.1f}" for delay in delays),
        f"{100 * each.empty_polls:.0f} %",
        str(each.lost_items),
    )
