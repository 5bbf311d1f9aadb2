"""Versions: Python, and the packages that must fit each other."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata

from feed_assets import __version__
from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning

_PACKAGES = ("dagster", "dagster-webserver", "dagster-postgres", "sqlalchemy", "duckdb", "psycopg")
_INSTALL = "make clean, then make up: installs the versions of requirements.lock"
_OLDEST_PYTHON, _OLDEST_DUCKDB = (3, 11), (1, 4)
_DAGSTER = (1, 13)
_NEW_SQLALCHEMY = (2, 1)
_LIBRARIES_BEGAN = 16  # dagster-postgres 0.29.x goes with dagster 1.13.x


def check_versions(case: Case) -> Iterator[Finding]:
    found = {name: _installed(name) for name in _PACKAGES}
    on_postgres = bool(case.settings.dagster_database_url)
    wrong = list(judge_versions(found, sys.version_info[:2], dagster_on_postgres=on_postgres))
    told = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    yield from wrong or [ok("versions", f"feed_assets {__version__}, Python {platform.python_version()}, {told}")]


def judge_versions(found: Mapping[str, str | None], python: tuple[int, int], *, dagster_on_postgres: bool) -> Iterator[Finding]:
    """`found`: package -> its version, or None when it is not installed."""
    if python < _OLDEST_PYTHON:
        yield problem(
            "versions", f"Python is {_dotted(python)}", f"use Python {_dotted(_OLDEST_PYTHON)} or newer: make clean, then make up"
        )
    missing = [name for name, version in found.items() if version is None]
    if missing:
        yield problem("versions", f"not installed: {', '.join(missing)}", _INSTALL)
    versions = {name: _numbers(version) for name, version in found.items() if version is not None}
    yield from _dagster_set(found, versions)
    if versions.get("sqlalchemy", ()) >= _NEW_SQLALCHEMY:
        tell = problem if dagster_on_postgres else warning
        reason = f"SQLAlchemy is {found['sqlalchemy']}; dagster-postgres needs one before 2.1, or writing events to Postgres fails"
        yield tell("versions", reason, "pip install 'sqlalchemy<2.1'")
    if versions.get("duckdb", _OLDEST_DUCKDB) < _OLDEST_DUCKDB:
        yield problem("versions", f"DuckDB is {found['duckdb']}; {_dotted(_OLDEST_DUCKDB)} or newer is needed", "pip install 'duckdb>=1.4'")


def _dagster_set(found: Mapping[str, str | None], versions: Mapping[str, tuple[int, ...]]) -> Iterator[Finding]:
    core = versions.get("dagster")
    if core is None:
        return
    if core[:2] != _DAGSTER:
        remedy = f"pip install 'dagster~={_dotted(_DAGSTER)}.0', and what goes with it"
        yield problem("versions", f"Dagster is {found['dagster']}; feed_assets is made for {_dotted(_DAGSTER)}", remedy)
    if versions.get("dagster-webserver", core) != core:
        yield problem(
            "versions", f"dagster is {found['dagster']}, dagster-webserver {found['dagster-webserver']}: they must be the same", _INSTALL
        )
    library = (0, core[1] + _LIBRARIES_BEGAN, *core[2:])
    if versions.get("dagster-postgres", library) != library:
        reason = f"dagster is {found['dagster']}, dagster-postgres {found['dagster-postgres']}: {_dotted(library)} goes with it"
        yield problem("versions", reason, _INSTALL)


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
