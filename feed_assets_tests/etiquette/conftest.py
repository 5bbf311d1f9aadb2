"""Databases that are migrated once, the command line over a test's own database, and host names of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from feed_assets_tests.store.conftest import database_url, migrated_duckdb, migrated_postgres, store
from feed_assets_tests.support.command_line import Ran, Run, run_here
from feed_assets_tests.support.feed_server import FeedServer
from feed_assets_tests.support.names import resolve_examples

__all__ = ["database_url", "migrated_duckdb", "migrated_postgres", "store"]

LOOPBACK = {"ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "0", "REQUEST_TIMEOUT_SECONDS": "2", "JOB_TIMEOUT_SECONDS": "4"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], database_url: str, tmp_path: Path) -> Run:
    """`feed-assets` with the test's own database; keyword arguments are settings."""

    def command(*arguments: str, **variables: str) -> Ran:
        return run_here(capsys, arguments, {"HOME": str(tmp_path / "home"), "DATABASE_URL": database_url, **LOOPBACK, **variables})

    return command


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names under example.com and example.org are this machine."""
    resolve_examples(monkeypatch)


@pytest.fixture
def second_server() -> Iterator[FeedServer]:
    running = FeedServer()
    yield running
    running.close()
