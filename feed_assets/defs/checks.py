"""Per-feed asset checks; the verdicts come with the feed's report, evaluations are written when a verdict changes."""

from __future__ import annotations

import dagster as dg

from feed_assets.decide.health import CHECKS
from feed_assets.defs.partitions import feeds_partitions
from feed_assets.model import CheckResult

ASSET_OF_CHECK = {check.name: check.asset for check in CHECKS}


def check_specs() -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(check.name, asset=check.asset, description=check.description, partitions_def=feeds_partitions) for check in CHECKS
    ]


def evaluation(feed_id: str, check: CheckResult) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(ASSET_OF_CHECK[check.name]),
        check_name=check.name,
        passed=check.passed,
        severity=dg.AssetCheckSeverity.ERROR if check.name == "xml_valid" else dg.AssetCheckSeverity.WARN,
        description=check.reason,
        partition=feed_id,
    )
