"""All definitions put together."""

from __future__ import annotations

import dagster as dg

from feed_assets.defs.analysis import analysis_assets, analysis_sensor, analysis_version, analyze_job
from feed_assets.defs.assets import refresh_assets
from feed_assets.defs.events import deliver_events, events_sensor, feed_events
from feed_assets.defs.grouping import group_headlines, grouping_sensor, headline_groups
from feed_assets.defs.housekeeping import housekeeping, housekeeping_schedule
from feed_assets.defs.jobs import refresh_feeds
from feed_assets.defs.recovery import recovery_sensor
from feed_assets.defs.resources import Pipeline
from feed_assets.defs.sensors import due_feeds_sensor


def build_definitions(pipeline: Pipeline | None = None) -> dg.Definitions:
    pipeline = pipeline or Pipeline()
    version = analysis_version(pipeline.settings)
    analysis = analysis_assets.map_asset_specs(lambda spec: spec.replace_attributes(code_version=version))
    return dg.Definitions(
        assets=[refresh_assets, analysis, headline_groups, feed_events],
        jobs=[refresh_feeds, analyze_job, group_headlines, deliver_events, housekeeping],
        sensors=[due_feeds_sensor, analysis_sensor, grouping_sensor, events_sensor, recovery_sensor],
        schedules=[housekeeping_schedule],
        resources={"pipeline": pipeline},
    )
