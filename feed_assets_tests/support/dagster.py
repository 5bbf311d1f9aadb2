"""A real Dagster instance and the real definitions over a test's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dagster as dg

from feed_assets.defs import build_definitions
from feed_assets.defs.jobs import batch_config, refresh_feeds
from feed_assets.defs.launch import register_partitions
from feed_assets.defs.resources import Pipeline
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over, and the event log that tells of it."""

    result: dg.ExecuteInProcessResult
    instance: dg.DagsterInstance

    @property
    def success(self) -> bool:
        return self.result.success

    @property
    def run_id(self) -> str:
        return self.result.run_id

    def logged(self, kind: dg.DagsterEventType) -> list[dg.DagsterEvent]:
        return [entry.get_dagster_event() for entry in self.instance.all_logs(self.run_id, of_type=kind)]


class Dagster:
    """What a person does in the UI and the daemon does by itself, as calls."""

    def __init__(self, instance: dg.DagsterInstance, settings: Settings, clock: Callable[[], datetime] = utc_now) -> None:
        self.instance = instance
        self.pipeline = Pipeline(settings, clock=clock)
        self.definitions = build_definitions(self.pipeline)

    def register(self) -> None:
        register_partitions(self.pipeline, self.instance)

    def evaluate(self, sensor: str) -> object:
        repository = self.definitions.get_repository_def()
        context = dg.build_sensor_context(
            instance=self.instance,
            instance_ref=self.instance.get_ref(),
            repository_def=repository,
            resources={"pipeline": self.pipeline},
        )
        return repository.get_sensor_def(sensor)(context)

    def tick(self) -> dg.SensorResult:
        """One evaluation of the sensor, with its partition requests carried out."""
        result = self.evaluate("due_feeds_sensor")
        assert isinstance(result, dg.SensorResult)
        for request in result.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions("feeds", list(request.partition_keys))
            else:
                for key in request.partition_keys:
                    self.instance.delete_dynamic_partition("feeds", key)
        return result

    def run(
        self,
        *,
        config: Mapping[str, Any] | None = None,
        partition_key: str | None = None,
        tags: Mapping[str, str] | None = None,
        assets: Sequence[str] | None = None,
    ) -> Ran:
        job = self.definitions.resolve_job_def(refresh_feeds.name)
        result = job.execute_in_process(
            instance=self.instance,
            run_config=dict(config or {}),
            partition_key=partition_key,
            tags=dict(tags or {}),
            asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
            raise_on_error=False,
        )
        return Ran(result, self.instance)

    def requested(self, request: dg.RunRequest) -> Ran:
        """Run what the sensor asked for."""
        return self.run(config=request.run_config, partition_key=request.partition_key, tags=request.tags)

    def refresh(self, *feed_ids: str) -> Ran:
        return self.run(config=batch_config(feed_ids=feed_ids))


def materialized(ran: Ran) -> dict[tuple[str, str], dg.AssetMaterialization]:
    """(asset, partition) -> what was said of it."""
    found = [event.step_materialization_data.materialization for event in ran.logged(dg.DagsterEventType.ASSET_MATERIALIZATION)]
    return {(each.asset_key.to_user_string(), str(each.partition)): each for each in found}


def evaluated(ran: Ran) -> dict[tuple[str, str], bool]:
    """(check, partition) -> verdict."""
    found = [event.asset_check_evaluation_data for event in ran.logged(dg.DagsterEventType.ASSET_CHECK_EVALUATION)]
    return {(each.check_name, str(each.partition)): each.passed for each in found}


def failure_of(ran: Ran) -> str:
    """The reason as the UI shows it."""
    event = next(event for event in ran.result.all_events if event.is_step_failure)
    data = event.step_failure_data.user_failure_data
    assert data is not None, event.step_failure_data.error
    return str(data.description)
