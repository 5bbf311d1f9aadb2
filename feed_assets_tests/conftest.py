"""Fixtures: everything real (HTTP on loopback, DuckDB files, Postgres, Dagster instances) but the clock."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from feed_assets.settings import PREFIX, Settings, load_settings
from feed_assets.settings import settings as process_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.databases import drop_postgres_database, new_database
from feed_assets_tests.support.feed_server import FeedServer

ENGINES = ("duckdb", "postgres")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the developer's machine reaches a test."""
    import os

    for name in list(os.environ):
        if (name.startswith(PREFIX) and not name.endswith("TEST_POSTGRES_URL")) or name == "DAGSTER_HOME":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    process_settings.cache_clear()


@pytest.fixture(autouse=True)
def no_name_leaves_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are not of this machine do not resolve, and nobody is asked."""
    real = socket.getaddrinfo

    def local_only(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or "localhost"
        if name != "localhost" and ":" not in name and not re.fullmatch(r"[0-9][0-9a-fA-Fx.]*", name):
            raise socket.gaierror(socket.EAI_NONAME, "no name is looked up in tests")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database on each engine with all tables and no rows."""
    url = new_database(request.param, tmp_path)
    yield url
    if request.param == "postgres":
        drop_postgres_database(url)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = open_store(database_url)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return make_settings(tmp_path, DATABASE_URL=database_url)


def make_settings(home: Path, **values: Any) -> Settings:
    """Settings for tests: loopback is allowed, nothing waits for long."""
    quick = {
        "HOME": home,
        "ALLOW_PRIVATE_NETWORKS": "true",
        "DOMAIN_DELAY_SECONDS": 0,
        "REQUEST_TIMEOUT_SECONDS": 2,
        "JOB_TIMEOUT_SECONDS": 4,
    }
    return load_settings({PREFIX + name: str(value) for name, value in (quick | values).items()}, dotenv=None)


@pytest.fixture
def server() -> Iterator[FeedServer]:
    running = FeedServer()
    yield running
    running.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many tests ran on each engine, and what could not be tested here."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)}
    for reason in sorted(each for each in reasons if "NOT TESTED" in each):
        terminalreporter.write_line(reason.removeprefix("Skipped: "), red=True)
    ran: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", []):
        if getattr(report, "when", "") == "call":
            ran.update(engine for engine in ENGINES if engine in report.nodeid.lower().rpartition("[")[2])
    terminalreporter.write_line(f"tests on DuckDB: {ran['duckdb']}, tests on Postgres: {ran['postgres']}")
