"""The housekeeping job: prunes our tables and Dagster's runs, and says so in the UI."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import counts


def keep_house(dagster: Dagster, *, in_days: int) -> dg.ExecuteInProcessResult:
    dagster.pipeline.clock = lambda: utc_now() + timedelta(days=in_days)
    job = dagster.definitions.resolve_job_def("housekeeping")
    return job.execute_in_process(instance=dagster.instance)


def test_old_responses_go_and_articles_stay(dagster: Dagster, store: Store, settings: Settings, server: FeedServer) -> None:
    catalog.add_feed(store, server.publish("/news", rss("A story")), now=utc_now(), feed_id="news")
    dagster.register()
    dagster.refresh("news")
    server.publish("/news", rss("Another story", "A story"))
    dagster.refresh("news")

    assert keep_house(dagster, in_days=settings.raw_retention_days + 1).success

    after = counts(store)
    assert (after["raw_fetches"], after["deduped_articles"], after["cached_feeds"]) == (1, 2, 1), "the latest response stays, for replays"


def test_the_job_tells_what_it_did_and_runs_that_are_too_many_go(
    dagster: Dagster, store: Store, settings: Settings, server: FeedServer
) -> None:
    catalog.add_feed(store, server.publish("/news", rss("A story")), now=utc_now(), feed_id="news")
    dagster.register()
    old = [dagster.refresh("news").run_id for _ in range(3)]

    kept = keep_house(dagster, in_days=settings.dagster_retention_days + 1)

    assert kept.success
    assert {run.run_id for run in dagster.instance.get_runs()} == {kept.run_id}, "the others are old, and this one is going on"
    assert dagster.instance.get_materialized_partitions(dg.AssetKey("raw_items")) == {"news"}
    said = {event.step_key: event for event in kept.all_node_events if event.is_successful_output}
    metadata = {step: {name: value.value for name, value in event.step_output_data.metadata.items()} for step, event in said.items()}
    assert metadata["prune_runs"]["runs"] == len(old)
    assert metadata["recalculate_stats"]["feeds"] == 0, "of one item nothing is to be learned"
    assert metadata["give_space_back"]["bytes_after"] > 0
    assert set(metadata["prune_tables"]) >= {"raw_fetches", "raw_items", "deduped_articles", "dedup_cache", "events"}
