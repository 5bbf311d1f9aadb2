"""What an engine has to offer. Tables are written once against this; DuckDB and Postgres implement it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

Row = dict[str, Any]


class Connection(Protocol):
    """One open transaction."""

    is_copied: bool  # whether readers keep copies of their own, and need to be told what has changed

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        """Run a named query and give its rows."""

    def measure(self, query: str, /, **parameters: Any) -> tuple[int, int | None]:
        """How many rows a named query would give, and the sum of their `bytes`, without bringing them here."""

    def run(self, query: str, /, **parameters: Any) -> None:
        """Run a named query for its effect."""

    def write(self, query: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        """Stage rows in bulk as `incoming`, run the named query over them, give the number staged."""

    def script(self, text: str) -> None:
        """Run statements that take no parameters (migrations)."""


class Engine(Protocol):
    name: str
    patience: float  # seconds to wait for others to let go, or for a server to answer

    def begin(self, *, read_only: bool = False) -> AbstractContextManager[Connection]:
        """A transaction: committed at the end of the block, rolled back by an exception."""

    def vacuum(self, *, thorough: bool = False) -> None:
        """Give space back; `thorough` whatever it costs, else if it is worth it."""

    def size(self) -> int:
        """Bytes on disk."""

    def backup(self, target: Path) -> int:
        """Copy everything as it is at one moment into a new file; gives its size in bytes."""

    def close(self) -> None: ...
