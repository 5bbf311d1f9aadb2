"""`/metrics`: what Prometheus' own parser reads, with the numbers of the tables."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from feed_assets.refresh import claim_due, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.api.conftest import Client, Served
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one


def values(client: Client) -> dict[str, dict[str, float]]:
    """metric -> labels as text -> value."""
    answer = client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation and family.name.startswith("feed_assets_")
        for sample in family.samples:
            found.setdefault(sample.name, {})[",".join(f"{k}={v}" for k, v in sample.labels.items())] = sample.value
    return found


def test_feeds_by_state_and_what_is_due(served: Served) -> None:
    found = values(served.client)
    assert sum(found["feed_assets_feeds"].values()) == len(served.urls) - 1
    assert (found["feed_assets_feeds"]["state=ok"], found["feed_assets_feeds"]["state=dead"]) == (3, 1)
    assert found["feed_assets_queue_due"][""] >= 1 and found["feed_assets_queue_age_seconds"][""] > 0
    assert found["feed_assets_dead_feeds"][""] == 1
    assert found["feed_assets_articles_stored"][""] > 40


def test_fetches_are_counted_by_outcome_and_only_ever_grow(
    client: Client, store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two"), ETag='"1"'))
    refresh_one(store, settings, clock)
    refresh_one(store, settings, clock)
    server.fail("/feed", 500)
    refresh_one(store, settings, clock)
    found = values(client)
    fetches = found["feed_assets_fetches_total"]
    assert (fetches["outcome=success"], fetches["outcome=not_modified"], fetches["outcome=temporary_error"]) == (1, 1, 1)
    assert found["feed_assets_articles_total"]["result=inserted"] == found["feed_assets_articles_total"]["result=parsed"] == 2
    buckets = found["feed_assets_fetch_duration_seconds_bucket"]
    assert buckets["le=+Inf"] == found["feed_assets_fetch_duration_seconds_count"][""] == 3
    assert sorted(buckets.values()) == list(buckets.values())
    with store.begin() as tx:  # what housekeeping does
        assert tx.numbers.sum_up(utc_now() + timedelta(days=1)) == 3
        assert tx.numbers.sum_up(utc_now() + timedelta(days=1)) == 1
    assert values(client)["feed_assets_fetches_total"] == fetches


def test_a_copy_of_a_story_is_counted_as_deduplicated(
    client: Client, store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    item = "<item><title>x</title><link>https://news.example/story</link></item>"
    for name in ("a", "b"):
        add(store, clock, server.publish(f"/{name}", f"<rss version='2.0'><channel><title>{name}</title>{item}</channel></rss>"), name)
        refresh_one(store, settings, clock, name)
    articles = values(client)["feed_assets_articles_total"]
    assert (articles["result=inserted"], articles["result=deduplicated"]) == (1, 1)


def test_leases_and_heartbeats(client: Client, store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, "https://news.example/feed")
    claim_due(store, settings, now=utc_now() - timedelta(seconds=30), signal="sensor")
    found = values(client)
    assert found["feed_assets_in_flight_feeds"][""] == found["feed_assets_in_flight_batches"][""] == 1
    assert 29 < found["feed_assets_heartbeat_age_seconds"]["part=sensor"] < 60
    assert found["feed_assets_read_model_age_seconds"][""] < 5


@pytest.mark.parametrize("feeds", [0, 2])
def test_feeds_of_their_own_are_bounded(served: Served, feeds: int) -> None:
    settings = served.client.app.state.settings  # type: ignore[attr-defined]
    served.client.app.state.settings = settings.model_copy(update={"metrics_feeds": feeds})  # type: ignore[attr-defined]
    try:
        assert len(values(served.client).get("feed_assets_feed_articles_per_hour", {})) == feeds
    finally:
        served.client.app.state.settings = settings  # type: ignore[attr-defined]


def test_the_event_log_and_runs_are_shown_when_they_were_measured(client: Client, store: Store) -> None:
    assert "feed_assets_event_log_bytes" not in values(client)
    with store.begin() as tx:
        tx.numbers.signal("dagster_event_log_bytes", at=utc_now(), value=12345)
    assert values(client)["feed_assets_event_log_bytes"][""] == 12345
