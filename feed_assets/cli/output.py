"""Tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from feed_assets.words import relative

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=_encode)
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


def _encode(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)
