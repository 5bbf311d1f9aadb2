"""`feed-assets db backup`: a copy of the database while everything goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feed_assets.cli.output import say
from feed_assets.settings import settings
from feed_assets.store import connect


def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy goes; there must be no such file yet.")],
) -> None:
    """Copy the database as it is at one moment; nothing needs to be stopped. On Postgres, says which command does that."""
    size = connect(settings().store_url).backup(file)  # as it is: a backup before an upgrade has the schema of before
    say(f"wrote {file} ({size / 1_000_000:,.1f} MB)")
