"""`feed-assets db`: the schema, what is past its retention, and the space it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from feed_assets.cli.backing_up import backup
from feed_assets.cli.context import opened
from feed_assets.cli.output import print_json, print_table, progress_bar, say
from feed_assets.housekeeping import outdated, prune, summed
from feed_assets.refresh import utc_now
from feed_assets.settings import settings
from feed_assets.store import Outdated, connect
from feed_assets.words import size

app = typer.Typer(no_args_is_help=True, help="Look after the database.")
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
app.command(epilog="Example: feed-assets db backup feeds-monday.duckdb")(backup)


@app.command(epilog="Example: feed-assets db migrate")
def migrate() -> None:
    """Bring the database's schema up to date. Every command does this by itself; this one says what it did."""
    applied = connect(settings().store_url).migrate()
    say(f"applied {', '.join(applied)}" if applied else "the schema is up to date")


@app.command("prune", epilog="Example: feed-assets db prune --dry-run")
def prune_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete what is past its retention, as the nightly job `housekeeping` does. Dagster's runs are pruned by that job only."""
    current, store = opened()
    now = utc_now()
    found = [each for each in outdated(store, current, now=now) if each.rows]
    if not dry_run and found:
        gone = summed(_with_bar(prune(store, current, now=now), found))
        bytes_of = {each.table: each.bytes for each in found}
        found = [Outdated(table, rows, bytes_of.get(table)) for table, rows in gone.items() if rows]
    if as_json:
        print_json([{"table": each.table, "rows": each.rows, "bytes": each.bytes, "deleted": not dry_run} for each in found])
    elif found:
        heading = "would be deleted" if dry_run else "deleted"
        print_table(("table", heading, "size"), ((each.table, f"{each.rows:,}", size(each.bytes)) for each in found))
    else:
        say("nothing is past its retention")


@app.command(epilog="Example: feed-assets db vacuum")
def vacuum(as_json: AsJson = False) -> None:
    """Give space back to the disk: a DuckDB file is written anew, Postgres gets a VACUUM ANALYZE. Takes as much space again meanwhile."""
    _, store = opened()
    before = store.size()
    store.vacuum(thorough=True)
    after = store.size()
    if as_json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        say(f"{size(before)} before, {size(after)} after")


def _with_bar(portions: Iterator[tuple[str, int]], found: list[Outdated]) -> Iterator[tuple[str, int]]:
    with progress_bar() as progress:
        bar = progress.add_task("pruning", total=sum(each.rows for each in found))
        for table, rows in portions:
            progress.update(bar, advance=rows, description=table)
            yield table, rows
