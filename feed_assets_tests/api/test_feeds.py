"""`/api/feeds` and `/api/feeds/{id}`: the contract's columns, the next run and its reasons, no passwords."""

from __future__ import annotations

from datetime import datetime

import pytest
from fastapi.testclient import TestClient

from feed_assets_tests.api.conftest import Served
from feed_assets_tests.support.contract import FETCH_HISTORY_COLUMNS, OVERVIEW_COLUMNS
from feed_assets_tests.support.refreshing import table


def test_no_feeds_are_an_empty_list(client: TestClient) -> None:
    answer = client.get("/api/feeds")
    assert (answer.status_code, answer.json()) == (200, {"feeds": []})


def test_the_list_has_every_feed_that_is_not_deleted_with_the_contracts_columns(served: Served) -> None:
    feeds = served.client.get("/api/feeds").json()["feeds"]
    assert sorted(feed["feed_id"] for feed in feeds) == sorted(set(served.urls) - {"deleted"})
    assert all(set(feed) >= OVERVIEW_COLUMNS for feed in feeds)


def test_values_are_those_of_the_tables(served: Served) -> None:
    feed = served.client.get("/api/feeds/news").json()
    schedule, stats = (
        next(row for row in table(served.store, name) if row["feed_id"] == "news") for name in ("feed_schedules", "feed_stats")
    )
    assert (feed["url"], feed["enabled"], feed["last_status"], feed["fetch_status"]) == (served.urls["news"], True, "success", "idle")
    assert datetime.fromisoformat(feed["next_run_at"]) == schedule["next_run_at"]
    assert feed["articles_per_hour"] == stats["articles_per_hour"]
    assert feed["total_articles_fetched"] == 3
    assert isinstance(feed["hourly_distribution"], list)
    assert len(feed["hourly_distribution"]) == 24


def test_one_feed_has_its_next_run_with_reasons_and_its_latest_fetches(served: Served) -> None:
    feed = served.client.get("/api/feeds/news").json()
    assert set(feed) >= OVERVIEW_COLUMNS
    assert feed["next_run_reason"]
    assert feed["next_run_at"] > feed["last_fetched_at"]
    assert set(feed["history"][0]) >= FETCH_HISTORY_COLUMNS
    assert [(attempt["outcome"], attempt["articles_new"]) for attempt in feed["history"]] == [("success", 3)]


def test_the_list_and_the_single_feed_say_the_same(served: Served) -> None:
    for feed in served.client.get("/api/feeds").json()["feeds"]:
        single = served.client.get(f"/api/feeds/{feed['feed_id']}").json()
        assert {name: single[name] for name in feed} == feed


def test_a_failing_feed_says_why(served: Served) -> None:
    feed = served.client.get("/api/feeds/failing").json()
    assert (feed["last_status"], feed["next_run_at"], feed["history"][0]["status_code"]) == ("permanent_error", None, 410)
    assert "410" in feed["last_error"]


def test_a_password_is_masked(served: Served) -> None:
    single, everything = served.client.get("/api/feeds/private"), served.client.get("/api/feeds")
    assert single.json()["url"] == served.urls["private"].replace("hunter2", "***")
    assert "hunter2" not in single.text + everything.text


@pytest.mark.parametrize("name", ["deleted", "nowhere"])
def test_an_unknown_or_deleted_feed_is_404(served: Served, name: str) -> None:
    answer = served.client.get(f"/api/feeds/{name}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    assert name in answer.json()["detail"]


def test_the_openapi_description_explains_every_endpoint(served: Served) -> None:
    paths = served.client.get("/openapi.json").json()["paths"]
    assert set(paths) >= {"/rss", "/rss/{feed_id}", "/api/feeds", "/api/feeds/{feed_id}", "/health"}
    assert all(operation["description"] for methods in paths.values() for operation in methods.values())
    assert served.client.get("/docs").status_code == 200


def test_the_openapi_description_names_every_operation_once(served: Served) -> None:
    paths = served.client.get("/openapi.json").json()["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(names) == len(set(names))
