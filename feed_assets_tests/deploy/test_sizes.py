"""The configuration of Dagster for each size: a real instance takes it, and it says what docs/scaling.md says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from feed_assets_tests.support.containers import ROOT
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database

LAPTOP, SERVER, CLUSTER = ".", "deploy", "deploy/celery"


@pytest.fixture(params=[LAPTOP, SERVER, CLUSTER])
def instance(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    if request.param == CLUSTER:
        pytest.importorskip("dagster_celery", reason="NOT TESTED: Celery is not installed; pip install 'feed-assets[celery]'")
    database = new_postgres_database()
    monkeypatch.setenv("FEED_ASSETS_DAGSTER_DATABASE_URL", database)
    for name in ("CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"):
        monkeypatch.setenv(name, "redis://127.0.0.1/0")
    shutil.copy(ROOT / request.param / "dagster.yaml", tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as made:
        assert type(made.run_launcher).__name__ == ("CeleryRunLauncher" if request.param == CLUSTER else "DefaultRunLauncher")
        assert ("Postgres" in type(made.event_log_storage).__name__) == (request.param != LAPTOP)
        yield made
    drop_postgres_database(database)


def test_dagster_takes_the_configuration_of_each_size(instance: dg.DagsterInstance) -> None:
    assert instance.get_runs_count() == 0  # its storage works
    queue = instance.get_concurrency_config().run_queue_config
    assert queue is not None
    (backfills,) = (limit["limit"] for limit in queue.tag_concurrency_limits if limit["key"] == "dagster/backfill")
    assert 0 < backfills < queue.max_concurrent_runs, "a backfill leaves room for the batches of the sensor"
    assert instance.run_monitoring_enabled and instance.run_retries_enabled and instance.run_retries_max_retries == 0
    assert not instance.telemetry_enabled and not instance.nux_enabled


@pytest.mark.parametrize("folder", [LAPTOP, SERVER, CLUSTER])
def test_no_size_leaves_slots_taken_or_ticks_for_ever(folder: str) -> None:
    document = yaml.safe_load((ROOT / folder / "dagster.yaml").read_text("utf-8"))

    assert document["run_monitoring"]["free_slots_after_run_end_seconds"] > 0  # or a cancelled run could hold a pool for ever
    assert document["retention"]["sensor"]["purge_after_days"]["skipped"] == 1
    assert document["run_monitoring"].get("max_resume_run_attempts", 0) == 0  # feeds of a dead run are due again: no run resumes
