"""How an overview looks: panels on a terminal, plain lines when piped. Shows what it is given and asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from feed_assets.model import FeedState
from feed_assets.overview import PARTS, WINDOWS, Overview, lag, lag_trouble, sensor_trouble
from feed_assets.settings import Settings, is_up
from feed_assets.urls import mask_password
from feed_assets.words import how_long, relative, size_of

_COLOURS = {
    FeedState.OK: "green",
    FeedState.NEW: "cyan",
    FeedState.QUEUED: "cyan",
    FeedState.FETCHING: "cyan",
    FeedState.FAILING: "yellow",
    FeedState.DEAD: "red",
    FeedState.PAUSED: "dim",
    FeedState.DISABLED: "dim",
}
_BAR = 50  # characters
Facts = list[tuple[str, str]]


def lines(found: Overview, settings: Settings) -> Iterator[str]:
    """A line per fact, its name first."""
    yield f"feeds         {found.queue.feeds}" + "".join(f", {feeds} {state.value}" for state, feeds in found.states.items() if feeds)
    for name, value in (*_queue(found), *_alive(found, settings), *_database(found, settings)):
        yield f"{name:<13} {value}"
    for name, fetches, per_minute, outcomes, new in _throughput(found):
        yield f"{'last ' + name:<13} {fetches} fetches ({per_minute} per minute): {outcomes}; {new} new articles"
    for kind, feeds in found.errors.items():
        yield f"error         {feeds} {'feed' if feeds == 1 else 'feeds'}: {kind}"
    for each in found.coming:
        yield f"next          {each.feed_id}: {relative(each.next_run_at, found.at)} ({each.next_run_reason or 'no reason noted'})"
    for reason in _trouble(found, settings):
        yield f"trouble       {reason}"


def panel(found: Overview, settings: Settings) -> RenderableType:
    """The same for eyes."""
    boxes: list[RenderableType] = [
        Panel(_facts(_queue(found)), title="queue", title_align="left", border_style="dim"),
        Panel(_facts((*_alive(found, settings), *_database(found, settings)[:1])), title="system", title_align="left", border_style="dim"),
        Panel(_throughput_table(found), title="fetches", title_align="left", border_style="dim"),
    ]
    if found.coming:
        coming = [(each.feed_id, f"{relative(each.next_run_at, found.at)}") for each in found.coming]
        boxes.append(Panel(_facts(coming), title="next", title_align="left", border_style="dim"))
    if found.errors:
        errors = [(str(feeds), kind) for kind, feeds in found.errors.items()]
        boxes.append(Panel(_facts(errors), title="feeds that fail", title_align="left", border_style="yellow"))
    trouble = [Text(f"! {reason}", style="bold red") for reason in _trouble(found, settings)]
    return Group(_feeds(found), Text(mask_password(settings.store_url), "dim"), *trouble, Columns(boxes))


def _feeds(found: Overview) -> RenderableType:
    """A bar of states, and what its colours mean."""
    there = {state: feeds for state, feeds in found.states.items() if feeds}
    total = max(found.queue.feeds, 1)
    bar = Text()
    for state, number in there.items():
        bar.append("━" * max(round(_BAR * number / total), 1), _COLOURS[state])
    legend = Text("  ").join(Text(f"{number} {state.value}", _COLOURS[state]) for state, number in there.items())
    feeds = f"{found.queue.feeds} {'feed' if found.queue.feeds == 1 else 'feeds'}"
    heading = Text.assemble((feeds, "bold"), (f"   {found.at:%Y-%m-%d %H:%M:%S} UTC", "dim"))
    return Group(heading, bar, legend) if there else Group(heading, Text("feed-assets feed add URL adds one", "dim"))


def _queue(found: Overview) -> Facts:
    queue = found.queue
    waiting = f", the oldest for {how_long(lag(queue, found.at))}" if queue.due else ""
    since = [batch.started_at or batch.queued_at for batch in found.batches]
    oldest = min((moment for moment in since if moment), default=None)
    flying = f"{sum(batch.feeds for batch in found.batches)} feeds in {len(found.batches)} batches" if found.batches else "nothing"
    named = f" ({', '.join(found.stale[:3])}{' ...' if len(found.stale) > 3 else ''})" if found.stale else ""
    return [
        ("due", f"{queue.due}{waiting}"),
        ("in flight", flying + (f", since {how_long((found.at - oldest).total_seconds())}" if oldest else "")),
        ("stale", f"{len(found.stale)}{named}"),
        ("dead", str(queue.dead)),
        ("stuck", str(queue.stuck)),
        ("hosts at rest", str(found.blocked_hosts)),
    ]


def _alive(found: Overview, settings: Settings) -> Facts:
    facts = [("up", "running" if is_up(settings.home) else "not running")]
    for part in PARTS:
        signal = found.signals.get(part)
        facts.append((part, relative(signal.noted_at, found.at) if signal else "never yet"))
    return facts


def _database(found: Overview, settings: Settings) -> Facts:
    kind = "postgres" if settings.store_url.startswith("postgres") else "duckdb"
    return [("database", f"{kind}, {size_of(found.bytes)}, {found.articles} articles"), ("at", mask_password(settings.store_url))]


def _throughput(found: Overview) -> Iterable[tuple[str, str, str, str, str]]:
    for name, window in WINDOWS.items():
        done = found.throughput[name]
        errors = done.temporary_error + done.permanent_error + done.unauthorized
        outcomes = f"{done.success} with a document, {done.not_modified} not modified, {errors} failed"
        yield name, str(done.fetches), f"{done.fetches * 60 / window.total_seconds():.1f}", outcomes, str(done.articles_inserted)


def _throughput_table(found: Overview) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("last")
    for name in ("fetches", "per min", "document", "same", "failed", "new"):
        table.add_column(name, justify="right")
    for name, window in WINDOWS.items():
        done = found.throughput[name]
        failed = done.temporary_error + done.permanent_error + done.unauthorized
        rate = f"{done.fetches * 60 / window.total_seconds():.1f}"
        cells = (str(done.fetches), rate, str(done.success), str(done.not_modified), str(failed), str(done.articles_inserted))
        table.add_row(name, *cells)
    return table


def _facts(facts: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in facts:
        table.add_row(Text(name, "dim"), Text(value))
    return table


def _trouble(found: Overview, settings: Settings) -> list[str]:
    reasons = sensor_trouble(found.signals, found.at, settings), lag_trouble(found.queue, found.signals, found.at, settings)
    return [reason for reason in reasons if reason]
