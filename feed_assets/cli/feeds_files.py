"""`feed-assets feed import` and `feed export`: lists of feeds as OPML and as YAML."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from feed_assets import catalog
from feed_assets.cli.context import opened
from feed_assets.cli.output import err, print_json, say, with_progress
from feed_assets.errors import UsageError
from feed_assets.feeds_files import is_opml, read_feeds_file, to_opml, to_yaml
from feed_assets.refresh import utc_now


class Format(StrEnum):
    opml = "opml"
    yaml = "yaml"


def import_file(
    path: Annotated[Path, typer.Argument(help="A YAML file with `feeds:`, or an OPML list.", show_default=False)],
    prune: Annotated[bool, typer.Option("--prune", help="Also delete the feeds that the file does not have.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Add the feeds of a file. Of a YAML file, the columns that it names are also applied to feeds that are there already; importing it
    again changes nothing."""
    settings, store = opened()
    rows = read_feeds_file(path)
    now, told = utc_now(), with_progress(rows, "feeds")
    if prune or not is_opml(path):
        result = catalog.follow_file(store, settings, told, now=now, prune=prune)
    else:
        result = catalog.import_feeds(store, told, now=now)
    if as_json:
        rejected = [{"row": name, "error_message": reason} for name, reason in result.rejected]
        lists = {name: list(getattr(result, name)) for name in ("added", "changed", "unchanged", "removed")}
        print_json(lists | {"rejected": rejected})
    else:
        for name, reason in result.rejected:
            err.print(f"not imported: {name}: {reason}", markup=False, soft_wrap=True)
        parts = {"added": result.added, "changed": result.changed, "there already": result.unchanged, "removed": result.removed}
        shown = [f"{len(ids)} {what}" for what, ids in parts.items() if ids or what in ("added", "there already")]
        say(", ".join([*shown, f"{len(result.rejected)} rejected"]))
        if prune and result.rejected:
            err.print("nothing was removed, because not every row could be read")
    if result.rejected:
        raise typer.Exit(1)


def export_file(
    path: Annotated[Path | None, typer.Argument(help="Where to write it. Default: standard output.", show_default=False)] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Default: what the file's name says, else OPML.")] = None,
    group: Annotated[str | None, typer.Option(help="Only feeds of this group, and of the groups in it.")] = None,
    public: Annotated[bool, typer.Option("--public", help="For others: OPML without passwords and without our own columns.")] = False,
) -> None:
    """Write all feeds as OPML for other readers, or as YAML. Importing the file anywhere gives the same feeds, groups and order."""
    _, store = opened()
    chosen = form or (Format.yaml if path is not None and path.suffix.lower() in (".yaml", ".yml") else Format.opml)
    with store.read() as tx:
        feeds = [feed for feed in tx.feeds.listed() if group is None or f"{feed.feed_group}/".startswith(f"{group}/")]
    if public and chosen is Format.yaml:
        raise UsageError("a YAML list is never without our own columns; say --format opml with --public")
    text = to_yaml(feeds) if chosen is Format.yaml else to_opml(feeds, private=not public)
    if path is None:
        typer.echo(text, nl=False)
        return
    path.write_text(text, "utf-8")
    say(f"wrote {len(feeds)} feeds to {path}")
