"""Events in Dagster: a run when something is due, a reason when not, and an asset that others can listen to."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from feed_assets.defs.events import EVENTS_TAG
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.webhook_receiver import WebhookReceiver


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    running = WebhookReceiver()
    yield running
    running.close()


@pytest.fixture
def telling(instance: dg.DagsterInstance, settings: Settings, receiver: WebhookReceiver) -> Dagster:
    """With a webhook whose URL is a secret."""
    return Dagster(instance, settings.model_copy(update={"webhook_urls": f"{receiver.base}/hook-hunter2"}))


def happen(store: Store, *names: str) -> None:
    with store.begin() as tx:
        tx.articles.save_events((name, "feed.dead", {"feed_id": "news"}, utc_now()) for name in names)


def run_delivery(dagster: Dagster) -> dg.ExecuteInProcessResult:
    return dagster.definitions.resolve_job_def("deliver_events").execute_in_process(instance=dagster.instance)


def skipped(answer: object) -> str:
    assert isinstance(answer, dg.SkipReason)
    return str(answer.skip_message)


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_without_webhooks_the_sensor_opens_no_database_and_says_why(instance: dg.DagsterInstance, settings: Settings) -> None:
    dagster = Dagster(instance, settings.model_copy(update={"database_url": "postgresql://127.0.0.1:1/nowhere"}))
    assert "WEBHOOK_URLS" in skipped(dagster.evaluate("events_sensor"))


def test_events_are_delivered_by_a_run_and_told_as_an_asset(telling: Dagster, store: Store, receiver: WebhookReceiver) -> None:
    assert "nothing is due" in skipped(telling.evaluate("events_sensor"))
    happen(store, "e1", "e2")
    request = telling.evaluate("events_sensor")
    assert isinstance(request, dg.RunRequest) and request.tags[EVENTS_TAG] == "2"

    result = run_delivery(telling)

    assert result.success and receiver.event_ids == ["e1", "e2"]
    (event,) = result.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey("feed_events")
    metadata = event.materialization.metadata
    assert (metadata["events"].value, metadata["by type"].value) == (2, {"feed.dead": 2})
    assert metadata["latest event ids"].value == {"feed.dead": "e2"}
    assert "nothing is due: 0 deliveries wait" in skipped(telling.evaluate("events_sensor"))
    assert "hunter2" not in str(telling.instance.all_logs(result.run_id)) + str(metadata)


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_a_run_that_could_tell_nobody_materializes_nothing_and_shows_no_secret(
    telling: Dagster, store: Store, receiver: WebhookReceiver
) -> None:
    happen(store, "e1")
    receiver.close()
    result = run_delivery(telling)
    assert result.success and not result.get_asset_materialization_events()
    logs = str(telling.instance.all_logs(result.run_id))
    assert "connection refused" in logs and "hunter2" not in logs
    assert "the next try is at" in skipped(telling.evaluate("events_sensor"))


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_one_run_delivers_at_a_time(telling: Dagster, store: Store) -> None:
    happen(store, "e1")
    job = telling.definitions.resolve_job_def("deliver_events")
    run = telling.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert run.run_id in skipped(telling.evaluate("events_sensor"))
    telling.instance.report_run_failed(run)
    assert isinstance(telling.evaluate("events_sensor"), dg.RunRequest)


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_dagster_can_listen_without_webhooks(instance: dg.DagsterInstance, settings: Settings, store: Store) -> None:
    dagster = Dagster(instance, settings.model_copy(update={"dagster_events": True}))
    happen(store, "e1")
    assert isinstance(dagster.evaluate("events_sensor"), dg.RunRequest)
    assert len(run_delivery(dagster).get_asset_materialization_events()) == 1
    assert "nothing is due" in skipped(dagster.evaluate("events_sensor"))


def test_the_asset_and_the_sensor_read_well_in_the_ui(tmp_path_factory: pytest.TempPathFactory) -> None:
    from feed_assets.defs import build_definitions
    from feed_assets.defs.resources import Pipeline

    definitions = build_definitions(Pipeline(make_settings(tmp_path_factory.mktemp("home"))))
    spec = definitions.resolve_asset_graph().get(dg.AssetKey("feed_events"))
    assert (spec.group_name, bool(spec.owners), spec.partitions_def) == ("feeds", True, None)
    assert len(spec.description or "") > 40
    sensor = definitions.get_repository_def().get_sensor_def("events_sensor")
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
