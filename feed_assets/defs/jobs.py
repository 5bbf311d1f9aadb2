"""The job that sensor, backfills and the command line run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from feed_assets.defs.assets import refresh_assets

BATCH_TAG = "feed_assets/batch"
FEEDS_TAG = "feed_assets/feeds"
PROCESS_TAG = "feed_assets/process"  # of a run in the process of a command

# Without checks: a batch would plan each of them once for all feeds, and the UI would wait for verdicts that only come when they
# change. The step writes evaluations per feed all the same.
refresh_feeds = dg.define_asset_job(
    "refresh_feeds",
    selection=dg.AssetSelection.assets(refresh_assets).without_checks(),
    description="Refresh feeds: a batch claimed by the sensor, or the partitions it is launched for.",
    executor_def=dg.in_process_executor,
)


def batch_config(*, batch_id: str = "", feed_ids: Sequence[str] = (), replay: bool = False) -> dict[str, Any]:
    return {"ops": {"refresh": {"config": {"batch_id": batch_id, "feed_ids": list(feed_ids), "replay": replay}}}}
