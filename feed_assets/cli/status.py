"""`feed-assets status`: how everything is, once or again and again. overview.py has the facts, status_panel.py the looks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from feed_assets.cli.context import opened
from feed_assets.cli.output import encode, out, print_json
from feed_assets.cli.status_panel import lines, panel
from feed_assets.errors import StoreError
from feed_assets.overview import WINDOWS, Overview, ages, lag, lag_trouble, look, sensor_trouble
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings, is_up
from feed_assets.store import Totals
from feed_assets.urls import mask_password

Look = Callable[[], Overview]


def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds between two looks of --watch.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="For programs; with --watch, one object per line.")] = False,
) -> None:
    """How everything is: feeds by state, what is due, in flight, late or broken, how much is fetched, and who gives signs of life."""
    settings, store = opened()

    def now() -> Overview:
        return look(store, settings, utc_now())

    if watch:
        _watch(now, settings, interval, as_json)
    elif as_json:
        print_json(as_dict(now(), settings))
    elif out.is_terminal:
        out.print(panel(now(), settings))
    else:
        _print_lines(now(), settings)


def _watch(now: Look, settings: Settings, interval: float, as_json: bool) -> None:
    """Until Ctrl-C, which is how a watch ends and no failure."""
    try:
        if as_json or not out.is_terminal:
            for found in _again_and_again(now, interval):
                _print_one(found, settings, as_json)
        else:
            with Live(console=out, screen=False, auto_refresh=False, transient=False) as live:
                for found in _again_and_again(now, interval):
                    live.update(_shown(found, settings), refresh=True)
    except KeyboardInterrupt:
        return


def _again_and_again(now: Look, interval: float) -> Iterator[Overview | StoreError]:
    """A database that cannot be used for a while ends no watch."""
    while True:
        try:
            yield now()
        except StoreError as error:
            yield error
        time.sleep(interval)


def _shown(found: Overview | StoreError, settings: Settings) -> RenderableType:
    return Text(str(found), "red") if isinstance(found, StoreError) else panel(found, settings)


def _print_one(found: Overview | StoreError, settings: Settings, as_json: bool) -> None:
    if as_json:
        row = {"error_message": str(found)} if isinstance(found, StoreError) else as_dict(found, settings)
        print(json.dumps(row, ensure_ascii=False, default=encode))
    elif isinstance(found, StoreError):
        print(f"error: {found}")
    else:
        _print_lines(found, settings)
        print()
    sys.stdout.flush()


def _print_lines(found: Overview, settings: Settings) -> None:
    for line in lines(found, settings):
        out.print(line, markup=False, soft_wrap=True)


def as_dict(found: Overview, settings: Settings) -> dict[str, Any]:
    """The overview for programs."""
    queue = found.queue
    return {
        "at": found.at,
        "up": is_up(settings.home),
        "trouble": [
            each
            for each in (
                sensor_trouble(found.signals, found.at, settings),
                lag_trouble(queue, found.signals, found.at, settings),
            )
            if each
        ],
        "feeds": {"total": queue.feeds, "by_state": {state.value: feeds for state, feeds in found.states.items()}},
        "queue": {
            "due": queue.due,
            "oldest_due_at": queue.oldest_due_at,
            "lag_seconds": round(lag(queue, found.at), 1),
            "stuck": queue.stuck,
            "dead": queue.dead,
            "stale": len(found.stale),
            "stale_feeds": list(found.stale[:100]),
            "blocked_hosts": found.blocked_hosts,
        },
        "in_flight": [
            {"batch": batch.token, "feeds": batch.feeds, "since": batch.started_at or batch.queued_at, "alive_at": batch.alive_at}
            for batch in found.batches
        ],
        "coming_up": [
            {"feed_id": each.feed_id, "next_run_at": each.next_run_at, "next_run_reason": each.next_run_reason} for each in found.coming
        ],
        "throughput": [_rates(name, found.throughput[name]) for name in WINDOWS],
        "errors": [{"kind": kind, "feeds": feeds} for kind, feeds in found.errors.items()],
        "signs_of_life": {
            part: {"noted_at": found.signals[part].noted_at, "age_seconds": round(age, 1)}
            for part, age in ages(found.signals, found.at).items()
        },
        "database": {"url": mask_password(settings.store_url), "bytes": found.bytes, "articles": found.articles},
    }


def _rates(name: str, done: Totals) -> dict[str, Any]:
    seconds = WINDOWS[name].total_seconds()
    return {
        "window_seconds": round(seconds),
        "fetches": done.fetches,
        "fetches_per_minute": round(done.fetches * 60 / seconds, 2),
        "success": done.success,
        "not_modified": done.not_modified,
        "temporary_error": done.temporary_error,
        "permanent_error": done.permanent_error,
        "unauthorized": done.unauthorized,
        "articles_new": done.articles_inserted,
        "bytes": done.total_bytes,
    }
