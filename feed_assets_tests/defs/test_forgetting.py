"""Old runs go from Dagster's storage, and what the UI shows of each partition stays: on SQLite and on Postgres."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as db
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.compute_log_manager import ComputeIOType
from dagster._core.storage.event_log.schema import AssetEventTagsTable, SqlEventLogStorageTable
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from dagster._core.storage.runs.schema import RunTagsTable

from feed_assets import catalog
from feed_assets.decide.health import CHECKS
from feed_assets.defs import forgetting
from feed_assets.defs.assets import refresh_assets
from feed_assets.defs.forgetting import Forgotten, forget, outdated_runs
from feed_assets.defs.partitions import feeds_partitions
from feed_assets.defs.reporting import ASSET_NAMES
from feed_assets.refresh import utc_now
from feed_assets.store import Store
from feed_assets_tests.conftest import ENGINES
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database
from feed_assets_tests.support.feed_server import FeedServer, rss

FEEDS = ("ants", "bees", "cats")
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
of_duckdb = pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)


@pytest.fixture(params=ENGINES)
def instance(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Dagster with its own storage in SQLite files, and in Postgres."""
    home = tmp_path / "dagster"
    home.mkdir()
    if request.param == "duckdb":
        with dg.DagsterInstance.local_temp(str(home)) as opened:
            yield opened
        return
    url = new_postgres_database()
    with dg.DagsterInstance.local_temp(str(home), overrides={"storage": {"postgres": {"postgres_url": url}}}) as opened:
        yield opened
    drop_postgres_database(url)


@pytest.fixture
def runs(dagster: Dagster, store: Store, server: FeedServer) -> list[str]:
    """The first brought three feeds, the others news of one of them; all checks were evaluated in the first."""
    for name in FEEDS:
        catalog.add_feed(store, server.publish(f"/{name}", rss("One")), now=utc_now(), feed_id=name)
    dagster.register()
    ran = [dagster.refresh(*FEEDS).run_id]
    for title in ("Two", "Three"):
        server.publish("/ants", rss(title, "One"))
        ran.append(dagster.refresh("ants").run_id)
    return ran


def keep(instance: dg.DagsterInstance, most: int, before: datetime = LONG_AGO) -> Forgotten:
    return sum(forget(instance, before=before, most=most, pause=lambda _: None), Forgotten())


def left(instance: dg.DagsterInstance) -> set[str]:
    return {run.run_id for run in instance.get_runs()}


def shown(dagster: Dagster) -> dict[Any, Any]:
    """What the UI says of each partition of each asset, and of each check."""
    instance = dagster.instance
    graph = dg.Definitions(assets=[refresh_assets], resources={"pipeline": dagster.pipeline}).resolve_asset_graph()
    said: dict[Any, Any] = {}
    for name in ASSET_NAMES:
        key = dg.AssetKey(name)
        cached = get_and_update_asset_status_cache_value(instance, key, feeds_partitions, dynamic_partitions_loader=instance)
        assert cached is not None
        said[name] = (
            sorted(instance.get_materialized_partitions(key)),
            sorted(cached.deserialize_materialized_partition_subsets(feeds_partitions).get_partition_keys()),
        )
        resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        for feed in FEEDS:
            asked = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[feed])
            newest = instance.fetch_materializations(asked, limit=1).records[0]
            assert newest.asset_materialization is not None
            said[name, feed] = (
                newest.run_id,
                newest.asset_materialization.metadata,
                newest.asset_materialization.tags,
                resolver.get_status(key, feed),
                instance.event_log_storage.get_latest_tags_by_partition(
                    key, dg.DagsterEventType.ASSET_MATERIALIZATION, ["dagster/data_version"], asset_partitions=[feed]
                ),
            )
            assert said[name, feed][3] is StaleStatus.FRESH
    for check in CHECKS:
        key = dg.AssetCheckKey(dg.AssetKey(check.asset), check.name)
        for row in instance.event_log_storage.get_asset_check_partition_info([key]):
            said[check.name, row.partition_key] = (row.latest_execution_status, row.latest_planned_run_id)
    assert len(said) >= len(ASSET_NAMES) * (1 + len(FEEDS)) + len(CHECKS)
    return said


def rows_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    event = SqlEventLogStorageTable.c
    with instance.event_log_storage.index_connection() as connection:
        return sorted(str(kind) for kind in connection.execute(db.select(event.dagster_event_type).where(event.run_id == run_id)).scalars())


@of_duckdb
def test_old_runs_go_and_each_partition_and_check_looks_as_before(
    dagster: Dagster, instance: dg.DagsterInstance, runs: list[str], store: Store, server: FeedServer
) -> None:
    before = shown(dagster)

    gone = keep(instance, 1)

    assert (gone.runs, left(instance)) == (2, {runs[2]})
    assert shown(dagster) == before
    assert rows_of(instance, runs[0]) == ["ASSET_MATERIALIZATION"] * 2 * len(ASSET_NAMES), "the newest of bees and cats"
    assert rows_of(instance, runs[1]) == []
    with instance.event_log_storage.index_connection() as connection:
        strays = AssetEventTagsTable.c.event_id.not_in(db.select(SqlEventLogStorageTable.c.id))
        assert connection.execute(db.select(db.func.count()).where(strays)).scalar() == 0
    with instance.run_storage.connect() as connection:  # type: ignore[attr-defined]
        assert set(connection.execute(db.select(RunTagsTable.c.run_id)).scalars()) <= {runs[2]}
    files = {path.stem for path in Path(instance.root_directory).rglob("history/runs/*.db")} - {"index"}
    assert files <= {runs[2]}

    # What was kept of the first run goes once there is something newer.
    for name in ("bees", "cats"):
        server.publish(f"/{name}", rss("Two", "One"))
    newer = dagster.refresh("bees", "cats").run_id
    keep(instance, 1)
    assert rows_of(instance, runs[0]) == []
    assert rows_of(instance, runs[2]) == ["ASSET_MATERIALIZATION"] * len(ASSET_NAMES)
    assert {said[0] for place, said in shown(dagster).items() if place in {(a, "bees") for a in ASSET_NAMES}} == {newer}
    assert keep(instance, 1) == Forgotten(), "there is nothing more to forget"


@of_duckdb
def test_without_the_private_names_only_runs_that_brought_nothing_of_the_newest_go(
    dagster: Dagster, instance: dg.DagsterInstance, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shown(dagster)
    monkeypatch.setattr(forgetting, "_PRIVATE_NAMES_ARE_THERE", False)
    assert keep(instance, 0).runs == 1
    assert left(instance) == {runs[0], runs[2]}
    assert shown(dagster) == before


@of_duckdb
def test_a_storage_that_is_built_in_another_way_is_pruned_through_the_public_api(
    dagster: Dagster, instance: dg.DagsterInstance, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        raise AttributeError("index_connection")

    monkeypatch.setattr(forgetting, "_forget_events", gone)
    assert keep(instance, 0).runs == 1
    assert left(instance) == {runs[0], runs[2]}


def test_runs_go_by_age_and_by_number_and_those_in_flight_never(instance: dg.DagsterInstance) -> None:
    ids: dict[str, str] = {}
    for status in [
        each for each in dg.DagsterRunStatus if each is not dg.DagsterRunStatus.QUEUED
    ]:  # a queued one needs a code location, and is no different
        run = dg.DagsterRun(job_name="refresh_feeds", status=status)
        instance.add_run(run)
        ids[status.value] = run.run_id
    over = {ids[name] for name in ("SUCCESS", "FAILURE", "CANCELED")}
    later = utc_now() + timedelta(days=1)
    assert outdated_runs(instance, before=LONG_AGO, most=3) == []
    assert set(outdated_runs(instance, before=later, most=3)) == over
    assert outdated_runs(instance, before=LONG_AGO, most=2) == [min(over, key=list(ids.values()).index)]
    assert keep(instance, 0, before=later).runs == 3
    assert left(instance) == set(ids.values()) - over


def test_logs_of_runs_and_of_old_ticks_go(instance: dg.DagsterInstance) -> None:
    run = dg.DagsterRun(job_name="refresh_feeds", status=dg.DagsterRunStatus.SUCCESS)
    instance.add_run(run)
    manager = instance.compute_log_manager
    old, young = ["repository", "recovery_sensor", "old"], ["repository", "recovery_sensor", "young"]
    logs = {}
    for key in ([run.run_id, "compute_logs", "step"], old, young):
        with manager.open_log_stream(key, ComputeIOType.STDERR) as stream:
            assert stream is not None
            stream.write("said")
        logs[key[2]] = Path(manager.get_captured_local_path(key, "err"))  # type: ignore[attr-defined]
    week = time.time() - 8 * 86_400
    os.utime(logs["old"], (week, week))
    assert keep(instance, 0) == Forgotten(runs=1, tick_logs=1)
    assert {name for name, path in logs.items() if path.exists()} == {"young"}


@pytest.mark.parametrize("instance", ["duckdb"], indirect=True)
def test_sqlite_files_give_space_back(instance: dg.DagsterInstance) -> None:
    index = Path(instance.event_log_storage.path_for_shard("index"))  # type: ignore[attr-defined]
    with instance.event_log_storage.index_connection() as connection:
        rows = [{"run_id": "gone", "event": "x" * 10_000, "dagster_event_type": "RUN_SUCCESS"}] * 300
        connection.execute(SqlEventLogStorageTable.insert(), rows)
        connection.execute(SqlEventLogStorageTable.delete())
    keep(instance, 0)
    assert index.stat().st_size < 1_000_000
