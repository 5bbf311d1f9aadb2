"""Runs: a sensor's batch, a click on a partition, a range, a replay; and what Dagster is told about each."""

from __future__ import annotations

import json

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.defs.jobs import batch_config
from feed_assets.refresh import refresh_feeds, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster, evaluated, failure_of, materialized
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import counts

ASSETS = ("raw_items", "deduped_articles", "feed_stats", "cached_feed_xml")
DOWNSTREAM = ("deduped_articles", "feed_stats", "cached_feed_xml")


@pytest.fixture
def news(store: Store, server: FeedServer, dagster: Dagster) -> str:
    """A healthy feed with two items, registered as a partition."""
    url = server.publish("/news", rss("Second story", "First story"), ETag='"1"')
    catalog.add_feed(store, url, now=utc_now(), feed_id="news", source_name="News")
    dagster.register()
    return "news"


def add_broken(store: Store, server: FeedServer, dagster: Dagster) -> str:
    url = server.fail("/broken", 404)
    catalog.add_feed(store, url, now=utc_now(), feed_id="broken")
    dagster.register()
    return "broken"


def test_a_batch_materializes_all_four_assets_of_a_feed_with_news(dagster: Dagster, news: str) -> None:
    (request,) = dagster.tick().run_requests or []

    result = dagster.requested(request)

    assert result.success
    assert set(materialized(result)) == {(asset, news) for asset in ASSETS}
    for asset in ASSETS:
        assert dagster.instance.get_materialized_partitions(dg.AssetKey(asset)) == {news}


def test_the_metadata_tells_what_people_want_to_know(dagster: Dagster, news: str) -> None:
    found = materialized(dagster.refresh(news))

    raw = found["raw_items", news].metadata
    assert (raw["new items"].value, raw["found"].value, raw["status"].value) == (2, 2, 200)
    assert raw["bytes"].value > 100
    assert "Second story" in str(raw["preview"].value) and "| title |" in str(raw["preview"].value)
    stats = found["feed_stats", news].metadata
    assert "next run" in stats and stats["why"].value
    assert str(found["cached_feed_xml", news].metadata["xml"].value).endswith("/rss/news")


def test_a_poll_without_news_writes_no_event_and_no_row_but_the_attempt(dagster: Dagster, store: Store, news: str) -> None:
    dagster.refresh(news)
    before = counts(store)

    again = dagster.refresh(news)

    assert again.success
    assert not materialized(again) and not evaluated(again)
    assert counts(store) == before | {"fetch_history": before["fetch_history"] + 1}


def test_a_healthy_first_fetch_passes_every_check(dagster: Dagster, news: str) -> None:
    verdicts = evaluated(dagster.refresh(news))

    assert set(verdicts.values()) == {True}
    assert {name for name, _ in verdicts} >= {"reachable", "dates_sane", "ids_unique", "xml_valid"}


def test_a_failing_feed_in_a_batch_fails_its_check_and_not_the_run(dagster: Dagster, store: Store, server: FeedServer, news: str) -> None:
    add_broken(store, server, dagster)
    (request,) = dagster.tick().run_requests or []

    result = dagster.requested(request)

    assert result.success
    assert evaluated(result)["reachable", "broken"] is False
    assert ("raw_items", news) in materialized(result)
    assert ("raw_items", "broken") not in materialized(result)


def test_health_is_reported_when_it_changes_and_not_again(dagster: Dagster, store: Store, server: FeedServer) -> None:
    broken = add_broken(store, server, dagster)
    assert evaluated(dagster.refresh(broken)) == {("reachable", broken): False, ("polled_in_time", broken): True}
    assert evaluated(dagster.refresh(broken)) == {}

    server.publish("/broken", rss("Back again"))

    assert evaluated(dagster.refresh(broken))["reachable", broken] is True


def test_a_partition_launched_by_hand_is_refreshed_due_or_not(dagster: Dagster, news: str, server: FeedServer) -> None:
    assert set(materialized(dagster.run(partition_key=news))) == {(asset, news) for asset in ASSETS}
    asked = len(server.asked)

    again = dagster.run(partition_key=news)

    assert len(server.asked) == asked + 1
    assert set(materialized(again)) == {(asset, news) for asset in ASSETS}, "what was asked for is answered, changed or not"


def test_a_partition_whose_feed_fails_fails_the_run_with_the_reason(dagster: Dagster, store: Store, server: FeedServer) -> None:
    broken = add_broken(store, server, dagster)

    result = dagster.run(partition_key=broken)

    assert not result.success
    assert "broken: HTTP 404 Not Found" in failure_of(result)


def test_a_range_of_partitions_is_one_run(dagster: Dagster, store: Store, server: FeedServer) -> None:
    for name in ("a", "b", "c"):
        catalog.add_feed(store, server.publish(f"/{name}", rss(f"Story of {name}")), now=utc_now(), feed_id=name)
    dagster.register()

    result = dagster.run(tags={"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "b"})

    assert result.success
    assert {partition for _, partition in materialized(result)} == {"a", "b"}
    assert [asked.path for asked in server.asked] == ["/a", "/b"] or [asked.path for asked in server.asked] == ["/b", "/a"]


def test_downstream_assets_alone_are_replayed_without_a_request(dagster: Dagster, news: str, server: FeedServer) -> None:
    dagster.refresh(news)
    asked = len(server.asked)

    result = dagster.run(partition_key=news, assets=DOWNSTREAM)

    assert result.success
    assert set(materialized(result)) == {(asset, news) for asset in DOWNSTREAM}
    assert len(server.asked) == asked


def test_a_replay_of_a_feed_never_fetched_says_so(dagster: Dagster, news: str, server: FeedServer) -> None:
    result = dagster.run(partition_key=news, assets=DOWNSTREAM)

    assert not result.success
    assert "nothing to replay" in failure_of(result)
    assert not server.asked


def test_an_unknown_feed_is_named(dagster: Dagster) -> None:
    result = dagster.run(config=batch_config(feed_ids=["nobody"]))

    assert not result.success
    assert "there is no feed 'nobody'" in failure_of(result)


def test_materializations_carry_the_versions_by_which_the_ui_tells_fresh_from_outdated(dagster: Dagster, news: str) -> None:
    found = materialized(dagster.refresh(news))

    tags = found["deduped_articles", news].tags or {}
    upstream = found["raw_items", news].tags or {}
    assert tags["dagster/input_data_version/raw_items"] == upstream["dagster/data_version"]
    assert tags["dagster/code_version"] and tags["dagster/input_event_pointer/raw_items"] == "NULL"


def test_passwords_in_feed_urls_stay_out_of_dagster(dagster: Dagster, store: Store, server: FeedServer) -> None:
    url = server.publish("/private", rss("Secret story")).replace("http://", "http://reader:s3cret@")
    catalog.add_feed(store, url, now=utc_now(), feed_id="private")
    broken = server.fail("/locked", 401).replace("http://", "http://reader:s3cret@")
    catalog.add_feed(store, broken, now=utc_now(), feed_id="locked")
    dagster.register()

    for feed_id in ("private", "locked"):
        dagster.run(partition_key=feed_id)

    logs = [str(record) for run in dagster.instance.get_runs() for record in dagster.instance.all_logs(run.run_id)]
    assert logs and not any("s3cret" in line for line in logs)


def test_runs_can_be_found_by_batch(dagster: Dagster, news: str) -> None:
    (request,) = dagster.tick().run_requests or []
    dagster.requested(request)

    (run,) = dagster.instance.get_runs(dg.RunsFilter(tags={"feed_assets/batch": str(request.run_key)}))
    assert json.loads(run.tags["feed_assets/feeds"]) == 1


def test_a_run_that_was_cut_short_before_it_told_dagster_is_made_good_by_the_next(
    dagster: Dagster, store: Store, settings: Settings, news: str
) -> None:
    list(refresh_feeds(store, settings, [news]))  # stored, and nobody told

    told = dagster.refresh(news)
    again = dagster.refresh(news)

    assert set(materialized(told)) == {(asset, news) for asset in ASSETS}
    assert not materialized(again)
