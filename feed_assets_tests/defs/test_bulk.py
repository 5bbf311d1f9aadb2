"""Events in bulk: the same in the log as yielded ones, on both storages of Dagster, and yielded where that is not possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.defs import bulk
from feed_assets.defs.jobs import batch_config
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import open_store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.dagster import Dagster, Ran, evaluated, materialized
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database
from feed_assets_tests.support.feed_server import FeedServer, rss

FEEDS = ("cats", "dogs", "fish")
DOWNSTREAM = ("deduped_articles", "feed_stats", "cached_feed_xml")


@pytest.fixture(params=["sqlite", "postgres"])
def instance(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Dagster with its storage on either; the feeds are on DuckDB here."""
    home = tmp_path / "dagster"
    home.mkdir()
    url = new_postgres_database() if request.param == "postgres" else None
    try:
        with dg.DagsterInstance.local_temp(str(home), {"storage": {"postgres": {"postgres_url": url}}} if url else None) as opened:
            yield opened
    finally:
        if url:
            drop_postgres_database(url)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path, DATABASE_URL=f"duckdb:///{tmp_path / 'feeds.duckdb'}")


@pytest.fixture
def dagster(server: FeedServer, settings: Settings, instance: dg.DagsterInstance) -> Dagster:
    for name in FEEDS:
        url = server.publish(f"/{name}", rss(f"All about {name}", f"More about {name}", f"More about {name}"))
        catalog.add_feed(open_store(settings.store_url), url, now=utc_now(), feed_id=name)
    dagster = Dagster(instance, settings)
    dagster.register()
    return dagster


def log_of(ran: Ran) -> list[Any]:
    """What the log says of a run's feeds, but for times and the run's own id."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_CHECK_EVALUATION}
    found = []
    for entry in ran.instance.all_logs(ran.run_id, of_type=kinds):
        event = entry.get_dagster_event()
        data = event.step_materialization_data.materialization if event.is_step_materialization else event.asset_check_evaluation_data
        metadata = {name: value for name, value in data.metadata.items() if name != "next run"}
        tags = getattr(data, "tags", None)
        about = (event.event_type_value, event.step_key, event.job_name, event.step_kind_value, entry.level, sorted(event.logging_tags))
        found.append(repr((about, data.asset_key, data.partition, data.description, metadata, tags)))
    return sorted(found)


def test_a_run_tells_of_each_feed_and_each_check(dagster: Dagster, instance: dg.DagsterInstance) -> None:
    ran = dagster.refresh(*FEEDS)

    assert ran.success
    assert set(materialized(ran)) == {(asset, name) for asset in ("raw_items", *DOWNSTREAM) for name in FEEDS}
    assert (evaluated(ran)["ids_unique", "cats"], evaluated(ran)["reachable", "cats"]) == (False, True)
    for asset in ("raw_items", *DOWNSTREAM):
        key = dg.AssetKey(asset)
        latest = instance.get_latest_materialization_event(key)
        assert latest is not None and latest.run_id == ran.run_id
        assert instance.get_materialized_partitions(key) == set(FEEDS)
        assert len(instance.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION)) == len(FEEDS)
        assert instance.get_latest_materialization_code_versions([key])[key]


def test_events_in_bulk_say_what_yielded_ones_say(dagster: Dagster, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster.refresh(*FEEDS)
    replay = batch_config(feed_ids=FEEDS, replay=True)
    dagster.run(config=replay)

    in_bulk = dagster.run(config=replay)
    monkeypatch.setattr(bulk, "_PRIVATE_NAMES_ARE_THERE", False)
    yielded = dagster.run(config=replay)

    assert in_bulk.success and yielded.success
    assert len(log_of(in_bulk)) >= len(FEEDS) * len(DOWNSTREAM)
    assert [line.replace(in_bulk.run_id, "") for line in log_of(in_bulk)] == [line.replace(yielded.run_id, "") for line in log_of(yielded)]
    assert not in_bulk.result.get_asset_materialization_events() and yielded.result.get_asset_materialization_events()


def test_a_storage_that_is_built_in_another_way_gets_each_event_by_itself(dagster: Dagster, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise AttributeError("_event_to_row")

    monkeypatch.setattr(bulk, "_insert", gone)

    ran = dagster.refresh(*FEEDS)

    assert ran.success
    assert set(materialized(ran)) == {(asset, name) for asset in ("raw_items", *DOWNSTREAM) for name in FEEDS}
    assert evaluated(ran)["reachable", "dogs"] is True


def test_a_checked_partition_keeps_one_row_for_what_was_planned(dagster: Dagster, instance: dg.DagsterInstance) -> None:
    """A person launches assets with their checks: Dagster plans these, and the verdict goes into the plan's row."""
    job = dagster.definitions.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(instance=instance, partition_key="cats", raise_on_error=False)

    assert result.success
    key = dg.AssetCheckKey(dg.AssetKey("raw_items"), "reachable")
    rows = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert [row.status.value for row in rows] == ["SUCCEEDED"]
