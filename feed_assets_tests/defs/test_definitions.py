"""What the UI shows before anything ran: names, descriptions, columns, checks, automation."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from feed_assets.decide.health import CHECKS
from feed_assets.defs import build_definitions
from feed_assets.defs.resources import Pipeline
from feed_assets.store import open_store
from feed_assets_tests.conftest import make_settings

ASSETS = ("raw_items", "deduped_articles", "feed_stats", "cached_feed_xml")
TABLES = {"cached_feed_xml": "cached_feeds"}


@pytest.fixture
def definitions(tmp_path: Path) -> dg.Definitions:
    return build_definitions(Pipeline(make_settings(tmp_path)))


@pytest.mark.parametrize("name", ASSETS)
def test_every_asset_reads_well_in_the_ui(definitions: dg.Definitions, name: str) -> None:
    spec = definitions.resolve_asset_graph().get(dg.AssetKey(name))

    assert len(spec.description or "") > 40
    assert spec.group_name == "feeds"
    assert spec.owners
    assert "duckdb" in spec.kinds
    assert spec.code_version
    assert isinstance(spec.partitions_def, dg.DynamicPartitionsDefinition)
    assert spec.partitions_def.name == "feeds"


@pytest.mark.parametrize("name", ASSETS)
def test_the_columns_shown_are_columns_of_the_table(definitions: dg.Definitions, tmp_path: Path, name: str) -> None:
    spec = definitions.resolve_asset_graph().get(dg.AssetKey(name))
    shown = [column.name for column in spec.metadata["dagster/column_schema"].columns]
    store = open_store(f"duckdb:///{tmp_path / 'feeds.duckdb'}")
    with store.engine.begin() as connection:
        cursor = connection._raw.execute(f"SELECT * FROM {TABLES.get(name, name)} LIMIT 0")  # type: ignore[attr-defined]
        columns = {column[0] for column in cursor.description}

    assert shown and set(shown) <= columns


def test_lineage_runs_from_raw_items_to_the_served_xml(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()

    assert graph.get(dg.AssetKey("raw_items")).parent_keys == set()
    assert graph.get(dg.AssetKey("deduped_articles")).parent_keys == {dg.AssetKey("raw_items")}
    assert graph.get(dg.AssetKey("feed_stats")).parent_keys == {dg.AssetKey("deduped_articles")}
    assert graph.get(dg.AssetKey("cached_feed_xml")).parent_keys == {dg.AssetKey("deduped_articles")}


def test_every_health_check_is_an_asset_check(definitions: dg.Definitions) -> None:
    keys = {(key.asset_key.to_user_string(), key.name) for key in definitions.resolve_asset_graph().asset_check_keys}

    assert keys == {(check.asset, check.name) for check in CHECKS}


def test_sensor_and_housekeeping_are_on_by_default(definitions: dg.Definitions) -> None:
    repository = definitions.get_repository_def()
    sensor = repository.get_sensor_def("due_feeds_sensor")
    schedule = repository.get_schedule_def("housekeeping_schedule")

    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    assert {job.name for job in repository.get_all_jobs()} >= {"refresh_feeds", "housekeeping"}
