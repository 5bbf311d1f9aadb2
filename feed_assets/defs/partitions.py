"""A feed is a partition; its key is the feed's id."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

PARTITIONS_NAME = "feeds"
feeds_partitions = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)

PartitionsRequest = dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest


def partition_changes(live: Sequence[str], registered: Sequence[str]) -> list[PartitionsRequest]:
    """What to ask of Dagster so that its partitions are the live feeds: added, deleted and revived ones."""
    wanted, present = set(live), set(registered)
    requests: list[PartitionsRequest] = []
    if added := [feed_id for feed_id in live if feed_id not in present]:
        requests.append(feeds_partitions.build_add_request(added))
    if deleted := [feed_id for feed_id in registered if feed_id not in wanted]:
        requests.append(feeds_partitions.build_delete_request(deleted))
    return requests
