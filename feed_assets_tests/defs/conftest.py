"""A Dagster of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as opened:
        yield opened


@pytest.fixture
def dagster(instance: dg.DagsterInstance, settings: Settings, store: Store) -> Dagster:
    return Dagster(instance, settings)
