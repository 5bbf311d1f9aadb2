"""`feed-assets feed ...`: the catalog from the command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from feed_assets import catalog
from feed_assets.cli.context import opened
from feed_assets.cli.output import err, out, print_facts, print_json, print_table
from feed_assets.discover import Found, look_at, try_well_known_paths
from feed_assets.errors import NotAFeed, UnknownFeed, UsageError
from feed_assets.model import ErrorPolicy, FeedState, Outcome
from feed_assets.parse import FeedLink, plain_text
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.settings import settings as current_settings
from feed_assets.store import Store
from feed_assets.urls import mask_password
from feed_assets.words import relative

app = typer.Typer(no_args_is_help=True, help="Add, list, change and remove feeds.")

FeedId = Annotated[str, typer.Argument(help="The feed's id, as `feed list` shows it.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


class Switch(StrEnum):
    on = "on"
    off = "off"


@app.command(epilog="Example: feed-assets feed add https://example.com/feed.xml --name Example --interval 30")
def add(
    url: Annotated[str, typer.Argument(help="Where the feed is, with http:// or https://.", show_default=False)],
    feed_id: Annotated[str | None, typer.Option("--id", help="Its id and partition key. Default: made from the URL.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the source. Default: the host.")] = None,
    interval: Annotated[int | None, typer.Option(help="Fixed interval in minutes, 1 to 10080. Default: adaptive.")] = None,
    priority: Annotated[int, typer.Option(help="Higher comes first when much is due.")] = 0,
    group: Annotated[str | None, typer.Option(help="A group to list it under.")] = None,
    no_polling: Annotated[bool, typer.Option("--no-polling", help="Fetch once per `sync` only.")] = False,
    disabled: Annotated[bool, typer.Option("--disabled", help="Do not fetch yet.")] = False,
    no_root_domain: Annotated[bool, typer.Option("--no-root-domain", help="Belongs to no site.")] = False,
    no_fetch: Annotated[bool, typer.Option("--no-fetch", help="Add it unseen; do not look at what is there.")] = False,
    enforce_domain: Annotated[bool, typer.Option("--enforce-domain", help="Keep only items that link to the feed's own site.")] = False,
    error_policy: Annotated[ErrorPolicy, typer.Option(help="`one_strike` pauses the feed at the first error.")] = ErrorPolicy.BACKOFF,
) -> None:
    """Add a feed, or the feed that a page names. What comes back counts as its first fetch: no second request is made for it."""
    options: dict[str, Any] = {
        "refresh_interval_minutes": interval,
        "priority": priority,
        "feed_group": group,
        "polling": not no_polling,
        "enabled": not disabled,
        "enforce_feed_domain": enforce_domain,
        "error_policy": error_policy.value,
    }
    if name is not None:
        options["source_name"] = name
    if no_root_domain:
        options["root_domain"] = None
    settings, store = opened()
    url = catalog.check_url(url)
    catalog.refuse_known(store, url, feed_id)
    found = None
    if not (no_fetch or disabled):
        url, found = _look_for_feed(settings, store, url)
        if found.parsed is not None and (title := _name(found.parsed.title)):
            options.setdefault("source_name", title)
    feed = catalog.add_feed(store, url, now=utc_now(), feed_id=feed_id, first=found.result if found else None, **options)
    out.print(f"added {feed.feed_id} ({mask_password(feed.url)})", markup=False, soft_wrap=True)
    if found is not None and found.parsed is not None:
        out.print(f"{feed.source_name}: {found.parsed.found} items, {found.parsed.format}; stored at the next tick", markup=False)
    elif found is not None:
        err.print(f"but its first fetch failed: {found.reason}", markup=False, soft_wrap=True)


def _name(title: str) -> str | None:
    """A feed's own title as the name of its source."""
    return "".join(character for character in plain_text(title) if character.isprintable())[:200].strip() or None


def _look_for_feed(settings: Settings, store: Store, url: str) -> tuple[str, Found]:
    """What is at the URL; for a page that names one feed, that feed. A page with several, or with none, is refused."""
    found = look_at(url, settings, utc_now)
    if found.parsed is not None or found.result.outcome is not Outcome.SUCCESS:
        return url, found
    if not found.links:
        raise NotAFeed(f"not added: {found.reason}, and it names no feed; `feed-assets feed discover {url} --guess` looks further")
    if len(found.links) > 1:
        raise NotAFeed("not added: this is a page that names several feeds; add one of: " + ", ".join(link.url for link in found.links))
    link = found.links[0]
    out.print(f"this is a page; its feed is {link.url}", markup=False, soft_wrap=True)
    catalog.refuse_known(store, link.url)
    return link.url, look_at(link.url, settings, utc_now)


@app.command(epilog="Example: feed-assets feed discover https://example.com --guess")
def discover(
    url: Annotated[str, typer.Argument(help="A page, or a feed.", show_default=False)],
    guess: Annotated[bool, typer.Option("--guess", help="Also try the paths where many sites have feeds; one request each.")] = False,
    as_json: AsJson = False,
) -> None:
    """The feeds that a page names."""
    settings = current_settings()
    url = catalog.check_url(url)
    found = look_at(url, settings, utc_now)
    links = [FeedLink(found.result.url, found.parsed.title, found.parsed.format)] if found.parsed else list(found.links)
    if guess and found.parsed is None:
        known = {link.url for link in links}
        links += [link for link in try_well_known_paths(url, settings, utc_now) if link.url not in known]
    if as_json:
        print_json([{"url": link.url, "title": link.title, "format": link.format} for link in links])
    elif links:
        print_table(("url", "title", "format"), ((link.url, link.title, link.format) for link in links))
    if not links:
        raise NotAFeed(f"no feed found at {mask_password(url)}: {found.reason or 'nothing is there'}")


@app.command(name="list", epilog="Example: feed-assets feed list --dead")
def list_feeds(
    status: Annotated[FeedState | None, typer.Option(help="Only feeds in this state.")] = None,
    due: Annotated[bool, typer.Option("--due", help="Only feeds whose next run has come.")] = False,
    dead: Annotated[bool, typer.Option("--dead", help="Only feeds that died; `feed sync` revives them.")] = False,
    domain: Annotated[str | None, typer.Option(help="Only feeds of this root domain.")] = None,
    group: Annotated[str | None, typer.Option(help="Only feeds of this group.")] = None,
    as_json: AsJson = False,
) -> None:
    """All feeds with their state, or those that the options name."""
    _, store = opened()
    now = utc_now()
    with store.read() as tx:
        rows = [
            row
            for row in tx.feeds.overview()
            if (status is None or catalog.state_of(row) == status)
            and (not due or (row["enabled"] and row["next_run_at"] is not None and row["next_run_at"] <= now))
            and (not dead or catalog.state_of(row) == FeedState.DEAD)
            and (domain is None or row["root_domain"] == domain.lower())
            and (group is None or row["feed_group"] == group)
        ]
    if as_json:
        print_json([_shown(row) for row in rows])
        return
    print_table(
        ("id", "source", "state", "enabled", "polling", "root domain", "last fetch", "next run", "articles/h", "last error"),
        (
            (
                row["feed_id"],
                row["source_name"],
                catalog.state_of(row),
                "yes" if row["enabled"] else "no",
                "yes" if row["polling"] else "no",
                row["root_domain"] or "-",
                relative(row["last_fetched_at"]),
                relative(row["next_run_at"]),
                f"{row['articles_per_hour']:.2f}" if row["articles_per_hour"] is not None else "-",
                row["last_error"] or "",
            )
            for row in rows
        ),
    )


@app.command()
def show(feed_id: FeedId, as_json: AsJson = False) -> None:
    """One feed: configuration, state, pace, and its latest fetches."""
    _, store = opened()
    with store.read() as tx:
        row = next(iter(tx.feeds.overview(feed_id)), None)
        history = tx.items.history(feed_id, rows=10)
        facts = tx.items.facts(feed_id)
    if row is None:
        raise UnknownFeed(feed_id)
    if as_json:
        print_json(_shown(row) | {"items": facts, "history": history})
        return
    told = ("identity_mode", "identity_reason", "reading")
    print_facts(
        {"state": catalog.state_of(row)}
        | {name: value for name, value in _shown(row).items() if name not in told}
        | reading_facts(row, facts)
    )
    out.print()
    columns = ("fetch_time", "outcome", "status_code", "articles_found", "articles_new", "bytes", "duration_ms", "error_message")
    print_table(columns, ([_cell(attempt[name]) for name in columns] for attempt in history))


@app.command(epilog="Example: feed-assets feed edit example-com --interval 60 --name 'Example News'")
def edit(
    feed_id: FeedId,
    url: Annotated[str | None, typer.Option(help="New place; starts afresh.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the source.")] = None,
    interval: Annotated[int | None, typer.Option(help="Fixed interval in minutes, 1 to 10080.")] = None,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="No fixed interval.")] = False,
    priority: Annotated[int | None, typer.Option(help="Higher comes first when much is due.")] = None,
    group: Annotated[str | None, typer.Option(help="A group to list it under; '' for none.")] = None,
    error_policy: Annotated[ErrorPolicy | None, typer.Option(help="`backoff` or `one_strike`.")] = None,
    enforce_domain: Annotated[
        bool | None, typer.Option("--enforce-domain/--no-enforce-domain", help="Keep only the site's own links.")
    ] = None,
) -> None:
    """Change a feed."""
    if adaptive and interval is not None:
        raise UsageError("--adaptive and --interval exclude each other")
    wanted: dict[str, Any] = {
        "url": url,
        "source_name": name,
        "refresh_interval_minutes": interval,
        "priority": priority,
        "feed_group": group,
        "error_policy": error_policy.value if error_policy else None,
        "enforce_feed_domain": enforce_domain,
    }
    changes = {column: value for column, value in wanted.items() if value is not None}
    if adaptive:
        changes["refresh_interval_minutes"] = None
    if group == "":
        changes["feed_group"] = None
    if not changes:
        raise UsageError("nothing to change; `feed-assets feed edit --help` lists what can be")
    _change(feed_id, **changes)
    out.print(f"changed {feed_id}: {', '.join(changes)}", markup=False)


@app.command()
def enable(feed_id: FeedId) -> None:
    """Fetch a feed again."""
    _change(feed_id, enabled=True)
    out.print(f"enabled {feed_id}", markup=False)


@app.command()
def disable(feed_id: FeedId) -> None:
    """Do not fetch a feed until it is enabled again; its articles stay."""
    _change(feed_id, enabled=False)
    out.print(f"disabled {feed_id}", markup=False)


@app.command()
def polling(feed_id: FeedId, switch: Annotated[Switch, typer.Argument(help="on: at intervals. off: once per `sync`.")]) -> None:
    """Whether a feed is fetched again and again, or only when asked."""
    _change(feed_id, polling=switch is Switch.on)
    out.print(f"polling of {feed_id} is {switch.value}", markup=False)


@app.command()
def delete(feed_id: FeedId) -> None:
    """Remove a feed; its articles stay, and adding its URL again brings it back."""
    _, store = opened()
    catalog.delete_feed(store, feed_id, now=utc_now())
    out.print(f"deleted {feed_id}", markup=False)


@app.command()
def sync(feed_id: FeedId) -> None:
    """Fetch a feed at the next tick, whatever it was waiting for; revives dead feeds."""
    _, store = opened()
    catalog.sync_feed(store, feed_id, now=utc_now())
    out.print(f"{feed_id} is due now", markup=False)


@app.command(name="import", epilog="Example: feed-assets feed import feeds.yaml")
def import_file(path: Annotated[Path, typer.Argument(help="A YAML file with `feeds:`, or an OPML list.", show_default=False)]) -> None:
    """Add the feeds of a file; those that are there already stay as they are."""
    _, store = opened()
    result = catalog.import_feeds(store, catalog.read_feeds_file(path), now=utc_now())
    for name, reason in result.rejected:
        err.print(f"not imported: {name}: {reason}", markup=False, soft_wrap=True)
    out.print(f"{len(result.added)} added, {len(result.unchanged)} there already, {len(result.rejected)} rejected")
    if result.rejected:
        raise typer.Exit(1)


def reading_facts(row: dict[str, Any], facts: dict[str, Any]) -> dict[str, str]:
    """How the feed's documents are read: identity, duplicates, and what was dropped, in words."""
    mode, reading = row["identity_mode"] or "id", row["reading"] or {}
    told = {"identity": _IDENTITY[mode] + (f" ({row['identity_reason']})" if row["identity_reason"] else "")}
    if reading:
        encoding = reading["encoding"]
        told["last document"] = (
            f"{reading['format']}, {encoding}, read {reading['read']}: {reading['found']} entries, {reading['kept']} kept"
        )
        dropped = [f"{reading[name]} {words}" for name, words in _DROPPED.items() if reading.get(name)]
        told["dropped"] = "; ".join(dropped) or "nothing"
        noticed = [f"{reading[name]} {words}" for name, words in _NOTICED.items() if reading.get(name)]
        if noticed:
            told["noticed"] = "; ".join(noticed)
    told["duplicates"] = (
        f"{facts['shared_articles']} of {facts['items']} items are stories that another feed had first"
        if facts["items"]
        else "no items stored yet"
    )
    return told


_IDENTITY = {
    "id": "by the publisher's ids, else links, else texts",
    "link": "by links, because its ids cannot be trusted",
    "title": "by titles, because neither its ids nor its links can be trusted",
}
_DROPPED = {
    "over_limit": "beyond MAX_ARTICLES_PER_FEED, the oldest",
    "off_domain": "that link to another site (enforce_feed_domain)",
    "copies": "that say the same again",
    "old_news": "that were stored once and pruned since",
}
_NOTICED = {
    "repeated_ids": "repeat the id of another",
    "renamed": "came back with another id",
    "undated": "have no date: when they were first seen counts",
}


def _change(feed_id: str, **changes: Any) -> None:
    settings, store = opened()
    catalog.edit_feed(store, settings, feed_id, now=utc_now(), **changes)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"url": mask_password(row["url"])}


def _cell(value: Any) -> str:
    return "" if value is None else relative(value) if hasattr(value, "tzinfo") else str(value)
