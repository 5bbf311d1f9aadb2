"""The `feed-assets` command: puts the commands together and turns errors into exit codes."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from feed_assets import __version__
from feed_assets.cli import analyzing, database, events, feed, refreshing, root_domain
from feed_assets.cli.context import close_all, opened
from feed_assets.cli.doctor.command import doctor
from feed_assets.cli.output import be_quiet, out, print_json, print_table
from feed_assets.cli.ports import free_port
from feed_assets.cli.simulating import run_simulation
from feed_assets.cli.status import status
from feed_assets.cli.up import up
from feed_assets.errors import FeedAssetsError
from feed_assets.logs import configure_logging
from feed_assets.settings import describe_settings
from feed_assets.store import open_readers

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Polls RSS, Atom and JSON feeds politely and shows each as a partition of a Dagster asset graph.",
    epilog="Start with: feed-assets up --demo",
)
app.add_typer(feed.app, name="feed")
app.add_typer(root_domain.app, name="root-domain")
app.add_typer(events.app, name="events")
app.add_typer(database.app, name="db")
app.command(epilog="Example: feed-assets up --demo --port 3001")(up)
app.command(epilog="Example: feed-assets refresh --all")(refreshing.refresh)
app.command(epilog="Example: feed-assets replay bbc-world")(refreshing.replay)
app.command(epilog="Example: feed-assets analyze bbc-world --limit 20")(analyzing.analyze)
app.command("simulate", epilog="Example: feed-assets simulate --from-database --max-minutes 60")(run_simulation)
app.command(epilog="Example: feed-assets status --watch")(status)
app.command(epilog="Example: feed-assets doctor")(doctor)


@app.command(epilog="Example: feed-assets serve --port 8081")
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: API_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: API_PORT.")] = None,
) -> None:
    """Serve the HTTP API."""
    import uvicorn

    from feed_assets.api.app import create_app

    current, _ = opened()  # brings the schema up to date
    store = open_readers(current.store_url, memory_mb=current.api_memory_mb, most_articles=current.api_articles)
    configure_logging(current)
    address, number = host or current.api_host, current.api_port if port is None else port
    free_port(address, number, "--port")
    uvicorn.run(
        create_app(current, store),
        host=address,
        port=number,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=3,
    )


@app.command(epilog="Example: feed-assets config --json")
def config(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Every setting with its value, where that comes from, and what it does."""
    rows = describe_settings()
    if as_json:
        print_json(rows)
    else:
        columns = ("setting", "value", "source", "description")
        print_table(columns, ([str(row[name]) for name in columns] for row in rows))


def _quiet_first(arguments: list[str]) -> list[str]:
    """--quiet belongs to all commands, so it is taken from wherever it stands (before a `--`)."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    named = [each for each in arguments[:end] if each in ("--quiet", "-q")]
    return named[:1] + [each for each in arguments[:end] if each not in named] + arguments[end:]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"feed_assets {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say only what was asked for and what went wrong; may stand anywhere.")
    ] = False,
) -> None:
    be_quiet(quiet)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a name shows its numbers
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(args=_quiet_first(sys.argv[1:]))
    except FeedAssetsError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            sys.exit(0)
        place = f": {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{place}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        close_all()


if __name__ == "__main__":
    main()
