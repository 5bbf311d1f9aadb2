"""`/api/articles`, `/api/item`, `/api/site`: filters, pages that do not shift, every carrier, and turns between feeds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from feed_assets.store import Store
from feed_assets_tests.api.conftest import Client
from feed_assets_tests.store.builders import NOW, make_article, make_feed, make_item, put, save_items

HOUR = timedelta(hours=1)


def story(tx: Any, name: str, *feeds: str, hours: float = 0, **columns: Any) -> None:
    """An article that these feeds carry, the first of them first."""
    at = NOW - hours * HOUR
    url = columns.pop("url", f"https://{feeds[0]}.example/{name}")
    canonical = url.replace("http://", "https://")
    article = make_article(name, feeds[0], published_at=at, fetched_at=at, url=url, canonical_url=canonical, **columns)
    tx.articles.save([article])
    for feed_id in feeds:
        save_items(tx, (feed_id, "fetch", at, make_item(name, author=feed_id.title(), categories=("news",))))
        tx.articles.save_sources([(name, feed_id, f"hash-{name}")])


@pytest.fixture
def press(client: Client, store: Store) -> Client:
    with store.begin() as tx:
        put(tx, make_feed("wire", root_domain="news.example"), make_feed("paper", root_domain="news.example"), "blog")
        for number in range(12):
            story(tx, f"w{number:02}", "wire", hours=number, headline=f"Wire story {number}", source="Wire")
        story(tx, "p1", "paper", hours=20, headline="A paper's own", source="Paper")
        story(tx, "both", "wire", "paper", hours=2.5, headline="Told by both", source="Wire")
        story(tx, "b1", "blog", hours=1.5, headline="100% of a blog_post", source="Blog")
    return client


def ids(client: Client, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return [article["article_id"] for article in answer.json()["articles"]]


def test_articles_come_newest_first_with_their_columns(press: Client) -> None:
    answer = press.get("/api/articles?limit=3").json()
    assert [article["article_id"] for article in answer["articles"]] == ["w00", "w01", "b1"]
    assert set(answer["articles"][0]) == {
        "article_id", "url", "canonical_url", "headline", "source", "feed_id", "published_at", "published_at_estimated", "content",
        "fetched_at", "group_id", "analysis",
    }  # fmt: skip
    assert datetime.fromisoformat(answer["articles"][0]["published_at"]) == NOW


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("feed=paper", ["both", "p1"]),
        ("source=Blog", ["b1"]),
        ("since=2026-03-02T11:00:00Z", ["w00", "w01"]),
        ("since=2026-03-02T11:00:00", ["w00", "w01"]),
        ("fetched_since=2026-03-02T12:30:00%2B01:00", ["w00"]),
        ("q=WIRE+11", ["w11"]),
        ("q=100%25", ["b1"]),
        ("q=blog_post", ["b1"]),
        ("q=l_g", []),
        ("q=own+paper", ["p1"]),
        ("feed=nobody", []),
        ("feed=paper&since=&q=&limit=2", ["both", "p1"]),
        ("q=own&feed=", ["p1"]),
        ("feed=wire&q=both&source=Wire", ["both"]),
    ],
)
def test_filters_can_be_combined(press: Client, query: str, expected: list[str]) -> None:
    assert ids(press, f"/api/articles?{query}") == expected


def test_pages_do_not_shift_when_articles_are_added_in_between(press: Client, store: Store) -> None:
    everything = ids(press, "/api/articles?limit=500")
    page = press.get("/api/articles?limit=4").json()
    seen = [article["article_id"] for article in page["articles"]]
    with store.begin() as tx:
        story(tx, "late", "wire", hours=-1, headline="Breaking")
    while page["next"]:
        page = press.get(f"/api/articles?limit=4&after={page['next']}").json()
        seen += [article["article_id"] for article in page["articles"]]
    assert seen == everything
    assert ids(press, "/api/articles?limit=1") == ["late"]


def test_a_date_in_the_future_does_not_stay_on_top(press: Client, store: Store) -> None:
    with store.begin() as tx:
        later = datetime(2099, 1, 1, tzinfo=UTC)
        tx.articles.save([make_article("future", "wire", published_at=later, fetched_at=NOW - 3 * HOUR, headline="From the future")])
    assert ids(press, "/api/articles?limit=4")[:3] == ["w00", "w01", "b1"]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=x",
        "since=yesterday",
        "after=nonsense",
        "after=%FF",
        "since=0001-01-01T00:00:00%2B14:00",
        "since=1767225600",
        "fetched_since=-1.5",
    ],
)
def test_what_cannot_be_asked_is_400_and_names_the_parameter(press: Client, query: str) -> None:
    answer = press.get(f"/api/articles?{query}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert query.partition("=")[0] in answer.json()["detail"] or "calendar" in answer.json()["detail"]


@pytest.mark.parametrize(
    "spelled", ["https://wire.example/both", "http://www.wire.example/both?utm_source=x", "https://wire.example/both/#top"]
)
def test_an_item_is_found_by_any_spelling_of_its_url_with_every_carrier(press: Client, spelled: str) -> None:
    item = press.get(f"/api/item?url={quote(spelled, safe='')}").json()
    assert (item["article_id"], item["headline"]) == ("both", "Told by both")
    assert [source["feed_id"] for source in item["sources"]] == ["paper", "wire"]
    assert item["sources"][0]["author"] == "Paper" and item["sources"][0]["categories"] == ["news"]


def test_an_item_that_nobody_has_is_404(press: Client) -> None:
    answer = press.get("/api/item?url=https://wire.example/nothing")
    assert answer.status_code == 404 and "https://wire.example/nothing" in answer.json()["detail"]


def test_a_site_gives_its_feeds_turns_and_each_url_once(press: Client) -> None:
    answer = press.get("/api/site?root=News.example&limit=5").json()
    assert (answer["root"], answer["feeds"]) == ("news.example", ["paper", "wire"])
    assert [article["article_id"] for article in answer["articles"]] == ["both", "w00", "p1", "w01", "w02"]
    assert press.get("/api/site?root=nowhere.example").status_code == 404
