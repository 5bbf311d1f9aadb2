"""Named SQL from sql/: the loader, and the place where the files are found. Knows nothing of any engine's driver."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_INCLUDED = re.compile(r"(?<=[\s(])@([a-z]\w*)")


@cache
def sql_folder() -> Path:
    """`sql/` lies beside the package in a checkout and inside it in an installed wheel."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "sql", package.parent / "sql"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError("the sql/ folder is missing from this installation")


@cache
def load_queries(engine: str, placeholder: str) -> dict[str, str]:
    """All queries by name, with `:name` spelled as the driver wants it (`placeholder` has one `{}`)."""
    queries: dict[str, str] = {}
    for path in (*sorted((sql_folder() / "queries").glob("*.sql")), sql_folder() / engine / "queries.sql"):
        pieces = _HEADER.split(path.read_text("utf-8"))
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
            statement = "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip().rstrip(";")
            queries[name] = _PARAMETER.sub(lambda found: placeholder.format(found[1]), statement)
    return {name: _whole(statement, queries) for name, statement in queries.items()}


def _whole(statement: str, queries: dict[str, str]) -> str:
    """With the queries that it builds on in the place of their `@name`."""
    return _INCLUDED.sub(lambda found: f"({_whole(queries[found[1]], queries)})", statement)


@cache
def load_migrations(engine: str) -> list[tuple[int, str, str]]:
    """(number, name, SQL) in order; files are called NNN_what_it_does.sql."""
    migrations = []
    for path in sorted((sql_folder() / engine).glob("[0-9][0-9][0-9]_*.sql")):
        number, _, name = path.stem.partition("_")
        migrations.append((int(number), name, path.read_text("utf-8")))
    return migrations
