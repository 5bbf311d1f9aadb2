"""`feed-assets feed ...`: the catalog from the command line."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from feed_assets import catalog
from feed_assets.cli.context import opened
from feed_assets.cli.feed_facts import reading_facts
from feed_assets.cli.feeds_files import export_file, import_file
from feed_assets.cli.output import err, out, print_facts, print_json, print_table, say
from feed_assets.cli.root_domain import checked_domain
from feed_assets.discover import Found, look_at, try_well_known_paths
from feed_assets.errors import FeedAssetsError, NotAFeed, UnknownFeed, UsageError
from feed_assets.model import ErrorPolicy, Feed, FeedState, Outcome
from feed_assets.parse import FeedLink, plain_text
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.settings import settings as current_settings
from feed_assets.store import Store
from feed_assets.urls import mask_password
from feed_assets.words import relative

app = typer.Typer(no_args_is_help=True, help="Add, list, change and remove feeds.")


def _complete_id(typed: str) -> list[str]:
    """For the shell, when somebody presses tab."""
    try:
        with opened()[1].read() as tx:
            return [feed_id for feed_id in tx.feeds.live_ids() if feed_id.startswith(typed)]
    except FeedAssetsError:
        return []


FeedId = Annotated[str, typer.Argument(help="The feed's id, as `feed list` shows it.", show_default=False, autocompletion=_complete_id)]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


class Switch(StrEnum):
    on = "on"
    off = "off"


app.command("import", epilog="Example: feed-assets feed import feeds.yaml")(import_file)
app.command("export", epilog="Example: feed-assets feed export feeds.opml")(export_file)


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
    another: Annotated[bool, typer.Option("--another", help="Although a feed is there whose URL is only spelled otherwise.")] = False,
    as_json: AsJson = False,
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
    catalog.refuse_known(store, url, feed_id, respelled=not another)
    found = None
    if not (no_fetch or disabled):
        url, found = _look_for_feed(settings, store, url, respelled=not another)
        if found.parsed is not None and (title := _name(found.parsed.title)):
            options.setdefault("source_name", title)
    feed = catalog.add_feed(store, url, now=utc_now(), feed_id=feed_id, first=found.result if found else None, **options)
    if as_json:
        print_json(_added(feed, found))
        return
    say(f"added {feed.feed_id} ({mask_password(feed.url)})")
    if found is not None and found.parsed is not None:
        for name, value in {name: value for name, value in _added(feed, found).items() if name in _TOLD_OF_ADDED}.items():
            say(f"  {name.replace('_', ' '):<10} {value}")
    elif found is not None:
        err.print(f"but its first fetch failed: {found.reason}", markup=False, soft_wrap=True)


_TOLD_OF_ADDED = ("title", "items", "format", "next_fetch")


def _added(feed: Feed, found: Found | None) -> dict[str, Any]:
    """What was added, and what was seen there."""
    parsed = found.parsed if found else None
    again = f"every {feed.refresh_interval_minutes} min" if feed.refresh_interval_minutes else "as often as it publishes"
    if not feed.enabled:
        again = "never while it is disabled"
    elif not feed.polling:
        again = "only after `feed sync`"
    return {
        "feed_id": feed.feed_id,
        "url": mask_password(feed.url),
        "source_name": feed.source_name,
        "title": _name(parsed.title) if parsed else None,
        "items": parsed.found if parsed else None,
        "format": parsed.format if parsed else None,
        "next_fetch": f"what came just now is stored at the next tick; then {again}" if parsed else f"at the next tick; then {again}",
        "error_message": found.reason if found and not parsed else None,
    }


def _name(title: str) -> str | None:
    """A feed's own title as the name of its source."""
    return "".join(character for character in plain_text(title) if character.isprintable())[:200].strip() or None


def _look_for_feed(settings: Settings, store: Store, url: str, *, respelled: bool) -> tuple[str, Found]:
    """What is at the URL; for a page that names one feed, that feed. A page with several, or with none, is refused."""
    found = look_at(url, settings, utc_now)
    if found.parsed is not None or found.result.outcome is not Outcome.SUCCESS:
        return url, found
    if not found.links:
        raise NotAFeed(f"not added: {found.reason}, and it names no feed; `feed-assets feed discover {url} --guess` looks further")
    if len(found.links) > 1:
        raise NotAFeed("not added: this is a page that names several feeds; add one of: " + ", ".join(link.url for link in found.links))
    link = found.links[0]
    say(f"this is a page; its feed is {link.url}")
    catalog.refuse_known(store, link.url, respelled=respelled)
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
    group: Annotated[str | None, typer.Option(help="Only feeds of this group, and of the groups in it.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Feeds that were deleted instead; `feed restore` brings them back.")] = False,
    as_json: AsJson = False,
) -> None:
    """All feeds with their state, or those that the options name."""
    _, store = opened()
    now = utc_now()
    if deleted:
        _list_deleted(store, as_json)
        return
    with store.read() as tx:
        rows = [
            row
            for row in tx.feeds.overview()
            if (status is None or catalog.state_of(row) == status)
            and (not due or (row["enabled"] and row["next_run_at"] is not None and row["next_run_at"] <= now))
            and (not dead or catalog.state_of(row) == FeedState.DEAD)
            and (domain is None or row["root_domain"] == domain.lower())
            and (group is None or f"{row['feed_group']}/".startswith(f"{group}/"))
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


def _list_deleted(store: Store, as_json: bool) -> None:
    with store.read() as tx:
        gone = [feed for feed in tx.feeds.everything() if feed.deleted_at is not None]
    if as_json:
        print_json([_shown(asdict(feed)) for feed in gone])
    else:
        rows = ((feed.feed_id, feed.source_name, mask_password(feed.url), relative(feed.deleted_at)) for feed in gone)
        print_table(("id", "source", "url", "deleted"), rows)


@app.command(epilog="Example: feed-assets feed show bbc-world")
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
    root_domain: Annotated[str | None, typer.Option(help="The site it belongs to; '' for none.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether it is fetched at all.")] = None,
    polling: Annotated[bool | None, typer.Option("--polling/--no-polling", help="Whether it is fetched without being asked to.")] = None,
) -> None:
    """Change any column of a feed."""
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
        "root_domain": checked_domain(root_domain) if root_domain else root_domain,
        "enabled": enabled,
        "polling": polling,
    }
    changes = {column: value for column, value in wanted.items() if value is not None}
    if adaptive:
        changes["refresh_interval_minutes"] = None
    changes |= {column: None for column in ("feed_group", "root_domain") if changes.get(column) == ""}
    if not changes:
        raise UsageError("nothing to change; `feed-assets feed edit --help` lists what can be")
    _change(feed_id, **changes)
    say(f"changed {feed_id}: {', '.join(changes)}")


@app.command(epilog="Example: feed-assets feed enable bbc-world")
def enable(feed_id: FeedId) -> None:
    """Fetch a feed again."""
    _change(feed_id, enabled=True)
    say(f"enabled {feed_id}")


@app.command(epilog="Example: feed-assets feed disable bbc-world")
def disable(feed_id: FeedId) -> None:
    """Do not fetch a feed until it is enabled again; its articles stay."""
    _change(feed_id, enabled=False)
    say(f"disabled {feed_id}")


@app.command(epilog="Example: feed-assets feed polling bbc-world off")
def polling(feed_id: FeedId, switch: Annotated[Switch, typer.Argument(help="on: at intervals. off: once per `sync`.")]) -> None:
    """Whether a feed is fetched again and again, or only when asked."""
    _change(feed_id, polling=switch is Switch.on)
    say(f"polling of {feed_id} is {switch.value}")


@app.command(epilog="Example: feed-assets feed delete bbc-world")
def delete(feed_id: FeedId) -> None:
    """Remove a feed; its articles stay, and `feed restore`, or adding its URL again, brings it back."""
    _, store = opened()
    catalog.delete_feed(store, feed_id, now=utc_now())
    say(f"deleted {feed_id}")


@app.command(epilog="Example: feed-assets feed restore bbc-world")
def restore(feed_id: FeedId) -> None:
    """Bring a deleted feed back, with its history and under its old id."""
    _, store = opened()
    feed = catalog.restore_feed(store, feed_id, now=utc_now())
    say(f"restored {feed_id} ({mask_password(feed.url)})")


@app.command(epilog="Example: feed-assets feed sync bbc-world")
def sync(feed_id: FeedId) -> None:
    """Fetch a feed at the next tick, whatever it was waiting for; revives dead feeds."""
    _, store = opened()
    catalog.sync_feed(store, feed_id, now=utc_now())
    say(f"{feed_id} is due now")


def _change(feed_id: str, **changes: Any) -> None:
    settings, store = opened()
    catalog.edit_feed(store, settings, feed_id, now=utc_now(), **changes)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"url": mask_password(row["url"])}


def _cell(value: Any) -> str:
    return "" if value is None else relative(value) if hasattr(value, "tzinfo") else str(value)
