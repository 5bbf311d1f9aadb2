"""`/rss?url=` and `/rss/{feed_id}`: the document, its validators, conditional requests, and who gets none."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime

import feedparser
import pytest
from fastapi.testclient import TestClient
from httpx import Response

from feed_assets import catalog
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.api.conftest import Served
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import refresh_one, table

VALIDATORS = ("ETag", "Last-Modified", "Cache-Control")


def last_build_date(answer: Response) -> str:
    found = re.search("<lastBuildDate>(.*?)</lastBuildDate>", answer.text)
    assert found
    return found[1]


def both(client: TestClient, feed_id: str, url: str, **headers: str) -> list[Response]:
    """The answers by id and by URL."""
    return [client.get(f"/rss/{feed_id}", headers=headers), client.get("/rss", params={"url": url}, headers=headers)]


def assert_problem(answer: Response, status: int) -> None:
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.status_code == answer.json()["status"] == status
    assert set(answer.json()) == {"type", "title", "status", "detail"}


def test_a_feed_is_served_by_its_id_and_by_its_url(served: Served) -> None:
    by_id, by_url = both(served.client, "news", served.urls["news"])
    assert by_id.status_code == by_url.status_code == 200
    assert by_id.headers["Content-Type"] == by_url.headers["Content-Type"] == "application/rss+xml; charset=utf-8"
    assert by_id.content == by_url.content


def test_the_document_is_a_feed_that_reads_without_complaint(served: Served) -> None:
    document = feedparser.parse(served.client.get("/rss/news").content)
    assert not document.bozo
    assert document.version == "rss20"
    assert [entry.title for entry in document.entries] == ["one", "two & three", "four"]
    assert [entry.id for entry in document.entries] == ["id-one", "id-two & three", "id-four"]
    assert all(entry.link.startswith("https://news.example/") and entry.published_parsed for entry in document.entries)


@pytest.mark.parametrize("feed_id", ["news", "long", "private"])
def test_last_modified_and_last_build_date_are_exactly_updated_at(served: Served, feed_id: str) -> None:
    answer = served.client.get(f"/rss/{feed_id}")
    updated_at = next(row["updated_at"] for row in table(served.store, "cached_feeds") if row["feed_id"] == feed_id)
    assert parsedate_to_datetime(answer.headers["Last-Modified"]) == parsedate_to_datetime(last_build_date(answer)) == updated_at
    assert answer.headers["Last-Modified"] == last_build_date(answer)
    assert answer.headers["Last-Modified"].endswith(" GMT")


def test_the_etag_is_the_tables_and_is_strong(served: Served) -> None:
    etag = served.client.get("/rss/news", headers={"Accept-Encoding": "identity"}).headers["ETag"]
    assert etag in [row["etag"] for row in table(served.store, "cached_feeds") if row["feed_id"] == "news"]
    assert re.fullmatch('"[^"]+"', etag)


def test_a_document_may_be_kept_until_the_next_poll_but_no_longer_than_an_hour(served: Served) -> None:
    interval = next(row["interval_seconds"] for row in table(served.store, "feed_schedules") if row["feed_id"] == "news")
    assert served.client.get("/rss/news").headers["Cache-Control"] == f"public, max-age={min(interval, 3600)}"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '{} , W/"other"', "*"])
def test_if_none_match_with_the_current_etag_is_304(served: Served, form: str) -> None:
    full = served.client.get("/rss/news")
    for answer in both(served.client, "news", served.urls["news"], **{"If-None-Match": form.format(full.headers["ETag"])}):
        assert (answer.status_code, answer.content) == (304, b"")
        assert [answer.headers[name] for name in VALIDATORS] == [full.headers[name] for name in VALIDATORS]


def test_if_none_match_with_another_etag_decides_alone(served: Served) -> None:
    modified = served.client.get("/rss/news").headers["Last-Modified"]
    assert served.client.get("/rss/news", headers={"If-None-Match": '"other"', "If-Modified-Since": modified}).status_code == 200


@pytest.mark.parametrize(("seconds", "status"), [(0, 304), (1, 304), (-1, 200)])
def test_if_modified_since_compares_with_last_modified(served: Served, seconds: int, status: int) -> None:
    modified = parsedate_to_datetime(served.client.get("/rss/news").headers["Last-Modified"])
    since = format_datetime(modified + timedelta(seconds=seconds), usegmt=True)
    answers = both(served.client, "news", served.urls["news"], **{"If-Modified-Since": since})
    assert [answer.status_code for answer in answers] == [status, status]


@pytest.mark.parametrize("since", ["tomorrow", "", "Wed, 01 Mar 2090 10:00:00 -0000", "Sun, 99 Mar 2090 10:00:00 GMT"])
def test_a_date_that_cannot_be_read_gets_the_document(served: Served, since: str) -> None:
    assert served.client.get("/rss/news", headers={"If-Modified-Since": since}).status_code == 200


def test_head_gives_the_headers_without_the_body(served: Served) -> None:
    full = served.client.get("/rss/news")
    for head in (served.client.head("/rss/news"), served.client.head("/rss", params={"url": served.urls["news"]})):
        assert (head.status_code, head.content) == (200, b"")
        for name in (*VALIDATORS, "Content-Type", "Content-Length"):
            assert head.headers[name] == full.headers[name]


def test_the_document_is_compressed_for_those_who_ask(served: Served) -> None:
    with served.client.stream("GET", "/rss/long", headers={"Accept-Encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    plain = served.client.get("/rss/long", headers={"Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "accept-encoding" in packed.headers["Vary"].lower()
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content)


def test_an_unknown_feed_is_404(served: Served) -> None:
    for answer in both(served.client, "nowhere", "https://nowhere.example/feed"):
        assert_problem(answer, 404)
        assert "nowhere" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/rss/%F0%9F%98%80", "/rss?url=%FF", "/rss?url=", "/rss/" + "x" * 5000])
def test_a_name_that_no_feed_can_have_is_404(served: Served, path: str) -> None:
    assert_problem(served.client.get(path), 404)


@pytest.mark.parametrize("path", ["/rss/%00", "/rss?url=%00", "/api/feeds/%00"])
def test_a_name_with_a_null_character_is_404(served: Served, path: str) -> None:
    assert_problem(served.client.get(path), 404)


def test_a_feed_that_was_not_built_yet_is_404_and_says_so(served: Served) -> None:
    for answer in both(served.client, "later", served.urls["later"]):
        assert_problem(answer, 404)
        assert "yet" in answer.json()["detail"]


def test_a_feed_that_never_worked_is_404(served: Served) -> None:
    for answer in both(served.client, "failing", served.urls["failing"]):
        assert_problem(answer, 404)


def test_a_disabled_feed_is_403_even_for_a_client_that_has_it(served: Served) -> None:
    for answer in both(served.client, "disabled", served.urls["disabled"], **{"If-None-Match": "*"}):
        assert_problem(answer, 403)


def test_a_deleted_feed_is_404(served: Served) -> None:
    for answer in both(served.client, "deleted", served.urls["deleted"]):
        assert_problem(answer, 404)


def test_a_missing_parameter_is_400_and_named(served: Served) -> None:
    answer = served.client.get("/rss")
    assert_problem(answer, 400)
    assert "url" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/rss/news", "/rss?url=x", "/api/feeds", "/api/feeds/news", "/health"])
def test_nothing_can_be_written(served: Served, path: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert_problem(served.client.request(method, path), 405)


def test_an_unknown_path_is_a_problem_too(served: Served) -> None:
    assert_problem(served.client.get("/nowhere"), 404)


def test_a_password_in_the_feeds_url_is_not_served(served: Served) -> None:
    answer = served.client.get("/rss/private")
    assert answer.status_code == 200
    assert "hunter2" not in answer.text


def test_document_and_validators_stay_without_news_and_when_the_feed_fails(
    client: TestClient, store: Store, settings: Settings, clock: Clock, server: FeedServer, news_url: str
) -> None:
    before = client.get("/rss/news")
    clock.advance(hours=1)
    assert refresh_one(store, settings, clock).new == 0
    without_news = client.get("/rss/news")
    server.fail("/feed", 404)
    clock.advance(hours=1)
    assert not refresh_one(store, settings, clock).outcome.ok
    for after in (without_news, client.get("/rss/news")):
        assert (after.status_code, after.content) == (200, before.content)
        assert [after.headers[name] for name in VALIDATORS[:2]] == [before.headers[name] for name in VALIDATORS[:2]]


def test_news_moves_document_and_validators_together(
    client: TestClient, store: Store, settings: Settings, clock: Clock, server: FeedServer, news_url: str
) -> None:
    before = client.get("/rss/news")
    server.publish("/feed", rss("breaking", "one", "two"))
    fetched_at = clock.advance(hours=1, seconds=0.5)
    refresh_one(store, settings, clock)
    known = {"If-None-Match": before.headers["ETag"], "If-Modified-Since": before.headers["Last-Modified"]}
    for after in both(client, "news", news_url, **known):
        assert after.status_code == 200
        assert after.headers["ETag"] != before.headers["ETag"]
        assert parsedate_to_datetime(after.headers["Last-Modified"]) == fetched_at.replace(microsecond=0)
        assert after.headers["Last-Modified"] == last_build_date(after)
        assert "<title>breaking</title>" in after.text


def test_a_feed_that_is_enabled_or_added_again_is_served_again(
    client: TestClient, store: Store, settings: Settings, clock: Clock, news_url: str
) -> None:
    catalog.edit_feed(store, settings, "news", now=clock(), enabled=False)
    assert [answer.status_code for answer in both(client, "news", news_url)] == [403, 403]
    catalog.edit_feed(store, settings, "news", now=clock(), enabled=True)
    assert [answer.status_code for answer in both(client, "news", news_url)] == [200, 200]
    catalog.delete_feed(store, "news", now=clock())
    assert [answer.status_code for answer in both(client, "news", news_url)] == [404, 404]
    catalog.add_feed(store, news_url, now=clock())
    assert [answer.status_code for answer in both(client, "news", news_url)] == [200, 200]
