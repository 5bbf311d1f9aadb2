"""The housekeeping job: prunes our tables and Dagster's empty runs, keeps what is history."""

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


def test_runs_that_left_nothing_behind_are_deleted_and_others_kept(
    dagster: Dagster, store: Store, settings: Settings, server: FeedServer
) -> None:
    catalog.add_feed(store, server.publish("/news", rss("A story"), ETag='"1"'), now=utc_now(), feed_id="news")
    dagster.register()
    with_news = dagster.refresh("news").run_id
    without = dagster.refresh("news").run_id

    keep_house(dagster, in_days=settings.dagster_retention_days + 1)

    left = {run.run_id for run in dagster.instance.get_runs()}
    assert with_news in left
    assert without not in left
