"""A feed is a partition; its key is the feed's id."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import dagster as dg

PARTITIONS_NAME = "feeds"
feeds_partitions = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)

PartitionsRequest = dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest


# Dagster takes tens of thousands at a time well, and hundreds of thousands not at all.
MOST_AT_ONCE = 20_000


def partition_changes(live: Sequence[str], registered: Sequence[str], first: Collection[str] = ()) -> list[PartitionsRequest]:
    """What to ask of Dagster so that its partitions are the live feeds: added, deleted and revived ones.

    Of very many the rest follows with the next call; those in `first` are needed now.
    """
    wanted, present = set(live), set(registered)
    requests: list[PartitionsRequest] = []
    added = [feed_id for feed_id in live if feed_id not in present]
    if len(added) > MOST_AT_ONCE:
        added.sort(key=lambda feed_id: feed_id not in first)
    if added:
        requests.append(feeds_partitions.build_add_request(added[:MOST_AT_ONCE]))
    if deleted := [feed_id for feed_id in registered if feed_id not in wanted]:
        requests.append(feeds_partitions.build_delete_request(deleted[:MOST_AT_ONCE]))
    return requests
