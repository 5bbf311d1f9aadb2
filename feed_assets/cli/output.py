"""Tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from feed_assets.words import relative

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
_quiet = False

Thing = TypeVar("Thing")


def be_quiet(quiet: bool = True) -> None:
    """From now on say only what was asked for, and what went wrong."""
    global _quiet
    _quiet = quiet


def say(text: str) -> None:
    """What was done, for people: not with --quiet."""
    if not _quiet:
        out.print(text, markup=False, soft_wrap=True)


def progress_bar() -> Progress:
    """On a terminal only, and gone when it is done."""
    return Progress(console=err, transient=True, disable=_quiet or not err.is_terminal)


def with_progress(things: Sequence[Thing], label: str) -> Iterator[Thing]:
    """The things one by one, with a bar that says how many are done."""
    with progress_bar() as progress:
        yield from progress.track(things, description=label)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=encode)
    sys.stdout.write("\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    if not out.is_terminal:  # piped: one line per row, however long
        out.width = 10_000
    out.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Names and values, one per line."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        shown = relative(value) if isinstance(value, datetime) else "-" if value is None else str(value)
        out.print(f"{name:<{width}}  {shown}", markup=False, soft_wrap=True)


def encode(value: Any) -> Any:
    """What JSON has no type for."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
