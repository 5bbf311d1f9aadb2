"""What holds for every request: sizes, rates, who may read, what a browser may do, and the one thing that can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from feed_assets import catalog
from feed_assets.api.app import create_app
from feed_assets.api.asgi import takes_gzip
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.api.conftest import Client, Served, readers

TOKEN = "a-token-of-some-length"


def test_a_url_without_end_is_414(served: Served) -> None:
    for path in ("/rss?url=" + "x" * 20_000, "/api/articles?q=" + "x" * 20_000):
        answer = served.client.get(path)
        assert (answer.status_code, answer.headers["Content-Type"]) == (414, "application/problem+json")


def test_a_large_body_is_413_whether_it_is_announced_or_not(served: Served) -> None:
    assert served.client.request("GET", "/api/feeds", content=b"x" * 70_000).status_code == 413


def test_programs_in_browsers_may_read_and_nothing_else(served: Served) -> None:
    for path in ("/rss/news", "/api/feeds", "/nowhere", "/health"):
        assert served.client.get(path).headers["Access-Control-Allow-Origin"] == "*"
    asked = served.client.options("/api/feeds", headers={"Origin": "https://a.example", "Access-Control-Request-Method": "GET"})
    assert (asked.status_code, asked.headers["Access-Control-Allow-Methods"]) == (204, "GET, HEAD")


def test_pages_take_nothing_from_elsewhere(served: Served) -> None:
    for path in ("/", "/feeds/news", "/docs"):
        policy = served.client.get(path).headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    for path in ("/", "/rss/news", "/api/feeds", "/static/style.css"):
        assert served.client.get(path).headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        (b"gzip", True),
        (b"deflate, gzip;q=0.5", True),
        (b"*", True),
        (b"x-gzip", True),
        (b"gzip;q=0", False),
        (b"gzip; q=0.0", False),
        (b"br", False),
        (b"", False),
        (b"identity", False),
    ],
)
def test_who_takes_gzip(accepted: bytes, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


def test_packed_and_plain_say_the_same_under_names_of_their_own(served: Served) -> None:
    plain = served.client.get("/rss/long", headers={"Accept-Encoding": "identity"})
    packed = served.client.get("/rss/long", headers={"Accept-Encoding": "gzip"})
    assert (packed.headers["Content-Encoding"], plain.headers.get("Content-Encoding")) == ("gzip", None)
    assert packed.text == plain.text and packed.headers["ETag"] != plain.headers["ETag"]
    for accepted in ("gzip", "identity"):
        for tag in (plain.headers["ETag"], packed.headers["ETag"]):
            answer = served.client.get("/rss/long", headers={"Accept-Encoding": accepted, "If-None-Match": tag})
            assert answer.status_code == 304


def test_json_is_packed_for_those_who_take_it(served: Served) -> None:
    packed = served.client.get("/api/feeds", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and "accept-encoding" in packed.headers["Vary"].lower()
    assert packed.json() == served.client.get("/api/feeds", headers={"Accept-Encoding": "identity"}).json()


@pytest.fixture
def limited(settings: Settings, store: Store) -> Iterator[Client]:
    with Client(create_app(settings.model_copy(update={"api_rate_limit": 5}), readers(settings))) as running:
        yield running


def test_a_client_that_asks_too_often_is_told_when_to_come_back(limited: Client) -> None:
    statuses = [limited.get("/api/feeds").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    answer = limited.get("/rss/x")
    assert (answer.status_code, answer.headers["Content-Type"]) == (429, "application/problem+json")
    assert 1 <= int(answer.headers["Retry-After"]) <= 12


@pytest.fixture
def trusting(settings: Settings, store: Store) -> Iterator[Client]:
    catalog.add_feed(store, "https://news.example/feed", now=utc_now() - timedelta(hours=1), feed_id="news")
    with store.begin() as tx:
        tx.schedules.reschedule("news", at=utc_now() + timedelta(days=1), interval_seconds=None, reason="test")
    with Client(create_app(settings.model_copy(update={"api_token": TOKEN}), readers(settings))) as running:
        yield running


def test_who_has_the_token_may_ask_for_a_refresh(trusting: Client, store: Store) -> None:
    answer = trusting.post("/api/feeds/news/refresh", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.json()["feed_id"]) == (202, "news")
    with store.read() as tx:
        schedule = tx.schedules.get("news")
    assert schedule and schedule.next_run_at and schedule.next_run_at <= utc_now()


@pytest.mark.parametrize("header", [None, "Bearer wrong-token-of-length", "Basic abc", f"Bearer {TOKEN[:-1]}"])
def test_who_has_not_may_not(trusting: Client, store: Store, header: str | None) -> None:
    answer = trusting.post("/api/feeds/news/refresh", headers={"Authorization": header} if header else {})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    with store.read() as tx:
        schedule = tx.schedules.get("news")
    assert schedule and schedule.next_run_at and schedule.next_run_at > utc_now()


def test_an_unknown_or_disabled_feed_cannot_be_refreshed(trusting: Client, store: Store, settings: Settings) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert trusting.post("/api/feeds/nobody/refresh", headers=bearer).status_code == 404
    catalog.edit_feed(store, settings, "news", now=utc_now(), enabled=False)
    assert trusting.post("/api/feeds/news/refresh", headers=bearer).status_code == 409


def test_without_a_token_nothing_can_be_asked_for(served: Served) -> None:
    assert served.client.post("/api/feeds/news/refresh").status_code == 404
    assert "post" not in {way for ways in served.client.get("/openapi.json").json()["paths"].values() for way in ways}
