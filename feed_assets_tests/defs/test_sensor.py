"""The sensor: partitions in step with the feeds, one run per batch, and a reason when there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.defs.partitions import partition_changes
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster


@pytest.fixture
def three_feeds(store: Store) -> list[str]:
    return [catalog.add_feed(store, f"http://127.0.0.1:1/{name}", now=utc_now(), feed_id=name).feed_id for name in ("a", "b", "c")]


def with_batches_of(settings: Settings, size: int) -> Settings:
    return settings.model_copy(update={"batch_size": size})


def test_a_tick_claims_what_is_due_as_one_batch(dagster: Dagster, three_feeds: list[str], store: Store) -> None:
    result = dagster.tick()

    (request,) = result.run_requests or []
    assert request.partition_key is None
    assert request.tags["feed_assets/feeds"] == "3"
    token = request.tags["feed_assets/batch"]
    assert request.run_config["ops"]["refresh"]["config"]["batch_id"] == token
    with store.read() as tx:
        rows = tx.feeds.overview()
    assert {(row["fetch_status"], row["lease_token"]) for row in rows} == {("queued", token)}


def test_a_batch_size_of_one_gives_each_feed_a_run_with_its_partition(
    instance: dg.DagsterInstance, settings: Settings, store: Store, three_feeds: list[str]
) -> None:
    single = Dagster(instance, with_batches_of(settings, 1))

    result = single.tick()

    requests = result.run_requests or []
    assert [request.partition_key for request in requests] == ["a", "b"]  # MAX_BATCHES_IN_FLIGHT is 2
    assert len({request.run_key for request in requests}) == 2


def test_partitions_follow_the_feeds(dagster: Dagster, store: Store, three_feeds: list[str]) -> None:
    dagster.tick()
    assert sorted(dagster.instance.get_dynamic_partitions("feeds")) == three_feeds

    catalog.delete_feed(store, "b", now=utc_now())
    dagster.tick()
    assert sorted(dagster.instance.get_dynamic_partitions("feeds")) == ["a", "c"]

    catalog.add_feed(store, "http://127.0.0.1:1/b", now=utc_now())
    dagster.tick()
    assert sorted(dagster.instance.get_dynamic_partitions("feeds")) == three_feeds


def test_a_tick_without_feeds_says_how_to_add_one(dagster: Dagster) -> None:
    result = dagster.tick()

    assert not result.run_requests
    assert "feed add" in str(result.skip_reason.skip_message if result.skip_reason else "")


def test_a_tick_with_nothing_due_says_when_the_next_is(dagster: Dagster, three_feeds: list[str]) -> None:
    dagster.tick()
    result = dagster.tick()

    assert not result.run_requests
    message = str(result.skip_reason.skip_message if result.skip_reason else "")
    assert "nothing is due" in message and "3 in 1 running batches" in message


def test_backpressure_stops_claiming_and_says_so(
    instance: dg.DagsterInstance, settings: Settings, store: Store, three_feeds: list[str]
) -> None:
    single = Dagster(instance, with_batches_of(settings, 1))
    single.tick()

    result = single.tick()

    assert not result.run_requests
    assert "MAX_BATCHES_IN_FLIGHT is 2" in str(result.skip_reason.skip_message if result.skip_reason else "")


def test_disabled_and_deleted_feeds_are_never_claimed(dagster: Dagster, store: Store, settings: Settings, three_feeds: list[str]) -> None:
    catalog.edit_feed(store, settings, "a", now=utc_now(), enabled=False)
    catalog.delete_feed(store, "b", now=utc_now())

    (request,) = dagster.tick().run_requests or []

    with store.read() as tx:
        held = [row["feed_id"] for row in tx.feeds.overview() if row["lease_token"] == request.run_key]
    assert held == ["c"]


def test_higher_priority_goes_first(instance: dg.DagsterInstance, settings: Settings, store: Store, three_feeds: list[str]) -> None:
    with store.begin() as tx:
        feed = tx.feeds.get("c")
        assert feed is not None
        tx.feeds.update([replace(feed, priority=9)], now=utc_now())
    single = Dagster(instance, with_batches_of(settings, 1))

    assert [request.partition_key for request in single.tick().run_requests or []] == ["c", "a"]


def test_a_tick_follows_the_feeds_file_and_polls_on_when_it_is_broken(
    instance: dg.DagsterInstance, settings: Settings, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds: [{id: a, url: 'http://127.0.0.1:1/a'}]")
    single = Dagster(instance, settings.model_copy(update={"feeds_file": str(file), "batch_size": 1}))
    assert [request.partition_key for request in single.tick().run_requests or []] == ["a"]

    file.write_text("feeds: [")
    catalog.add_feed(store, "http://127.0.0.1:1/b", now=utc_now(), feed_id="b")
    assert [request.partition_key for request in single.tick().run_requests or []] == ["b"]


def test_very_many_partitions_are_registered_over_several_ticks_the_claimed_ones_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feed_assets.defs.partitions.MOST_AT_ONCE", 2)
    (added,) = partition_changes(["a", "b", "c", "d"], ["a"], first={"d"})
    assert isinstance(added, dg.AddDynamicPartitionsRequest)
    assert list(added.partition_keys) == ["d", "b"]
    (deleted,) = partition_changes([], ["a", "b", "c"])
    assert list(deleted.partition_keys) == ["a", "b"]
