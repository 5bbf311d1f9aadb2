"""A refresh that works: what it stores, what it leaves alone, and what it says."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta

import pytest

from feed_assets import catalog
from feed_assets.model import Outcome
from feed_assets.refresh import claim_due, refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import DATA, look, one_engine

MODIFIED = "Sun, 01 Mar 2026 10:00:00 GMT"


def test_a_first_refresh_stores_everything(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    url = server.publish("/feed", rss("one", "two"), ETag='W/"1"', Last_Modified=MODIFIED)
    add(store, clock, url, refresh_interval_minutes=30)
    [report] = refresh_feeds(store, settings, ["news"], clock=clock, run_id="run-1")
    assert (report.outcome, report.found, report.new, report.changed, report.news, report.stored) == (Outcome.SUCCESS, 2, 2, 0, True, True)
    assert [title for _, title, _ in report.titles] == ["one", "two"]

    rows = look(store)
    once = {"feeds", "feed_schedules", "feed_stats", "raw_fetches", "cached_feeds", "fetch_history"}
    assert {name: count for name, count in rows.counts().items() if name != "dedup_cache"} == dict.fromkeys(once, 1) | dict.fromkeys(
        ("raw_items", "deduped_articles", "article_sources", "events"), 2
    )
    assert rows.column("deduped_articles", "headline") == ["one", "two"]
    assert rows.column("article_sources", "article_id") == rows.column("deduped_articles", "article_id")
    assert "id-one" in rows.of("cached_feeds")["xml_content"]
    assert rows.of("feed_stats")["total_articles_fetched"] == 2
    assert rows.events("articles.new") == [{"feed_id": "news", "url": url, "count": 2, "titles": ["one", "two"]}]

    schedule = rows.schedule()
    assert (schedule["etag"], schedule["last_modified"]) == ('W/"1"', MODIFIED)
    assert (schedule["fetch_status"], schedule["lease_token"], schedule["locked_until"]) == ("idle", None, None)
    assert (schedule["last_status"], schedule["last_error"], schedule["consecutive_errors"]) == ("success", None, 0)
    assert schedule["last_fetched_at"] == schedule["last_success_at"] == clock()
    assert schedule["next_run_at"] == report.next_run_at == clock() + timedelta(minutes=30)
    assert (schedule["interval_seconds"], schedule["next_run_reason"]) == (1800, "every 30 min, as set for this feed")

    attempt = rows.of("fetch_history")
    assert (attempt["run_id"], attempt["outcome"], attempt["status_code"], attempt["error_message"]) == ("run-1", "success", 200, None)
    assert (attempt["articles_found"], attempt["articles_new"], attempt["fetch_time"]) == (2, 2, clock())
    assert {row["fetch_id"] for row in rows["raw_items"]} == {attempt["fetch_id"]} == {rows.of("raw_fetches")["fetch_id"]}


def test_the_raw_response_is_stored_as_it_came(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    body = rss("one").encode()
    add(store, clock, server.publish("/feed", gzip.compress(body), Content_Encoding="gzip", X_Mood="good"))
    report = refresh_one(store, settings, clock)
    with store.read() as tx:
        [(_, response)] = tx.items.bodies(tx.items.responses(["news"]))
        schedule = tx.schedules.get("news")
    assert (response.body, response.status_code, response.fetched_at) == (body, 200, clock())
    assert response.headers["X-Mood"] == "good"
    assert schedule and schedule.body_sha256 == report.data_version


@pytest.mark.parametrize("answer", ["304", "the same body", "other bytes, same items"])
def test_no_change_writes_nothing_but_the_attempt(store: Store, settings: Settings, clock: Clock, server: FeedServer, answer: str) -> None:
    headers = {"ETag": '"1"', "Last_Modified": MODIFIED} if answer == "304" else {}
    add(store, clock, server.publish("/feed", rss("one", "two"), **headers))
    refresh_one(store, settings, clock)
    before = look(store)
    if answer == "other bytes, same items":
        server.publish("/feed", rss("one", "two", extra="<lastBuildDate>Mon, 02 Mar 2026 12:00:00 GMT</lastBuildDate>"))
    clock.advance(minutes=20)
    report = refresh_one(store, settings, clock)
    assert (report.outcome.ok, report.new, report.changed, report.news) == (True, 0, 0, False)
    after = look(store)
    assert after.counts() == before.counts() | {"fetch_history": 2}
    assert after.only(*DATA) == before.only(*DATA)
    assert after.column("fetch_history", "fetch_time") == [clock() - timedelta(minutes=20), clock()]
    assert after.column("fetch_history", "status_code") == ([200, 304] if answer == "304" else [200, 200])
    assert after.column("fetch_history", "articles_new") == [0, 2]
    assert after.schedule()["last_success_at"] == clock()
    assert (after.schedule()["etag"], after.schedule()["last_modified"]) == (headers.get("ETag"), headers.get("Last_Modified"))


@one_engine
def test_validators_are_sent_as_long_as_the_publisher_gives_them(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    for _ in range(3):
        refresh_one(store, settings, clock)
    server.publish("/feed", rss("two"))
    for _ in range(2):
        refresh_one(store, settings, clock)
    assert [asked.headers.get("if-none-match") for asked in server.asked] == [None, '"1"', '"1"', '"1"', None]


def test_one_more_item_stores_one_more(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    before = look(store).of("cached_feeds")
    server.publish("/feed", rss("two", "one"))
    clock.advance(minutes=20)
    report = refresh_one(store, settings, clock)
    assert (report.found, report.new, report.changed) == (2, 1, 0)
    rows = look(store)
    assert rows.column("raw_items", "title") == ["one", "two"]
    assert rows.column("raw_items", "last_seen_at") == [clock(), clock()]
    assert rows.column("raw_items", "first_seen_at") == [clock() - timedelta(minutes=20), clock()]
    assert rows.counts()["raw_fetches"] == rows.counts()["deduped_articles"] == rows.counts()["article_sources"] == 2
    cached = rows.of("cached_feeds")
    assert (cached["updated_at"], cached["created_at"]) == (clock(), before["created_at"])
    assert "id-two" in cached["xml_content"] and cached["etag"] != before["etag"]
    assert rows.of("feed_stats")["total_articles_fetched"] == 2
    assert [event["count"] for event in rows.events("articles.new")] == [1, 1]


def test_a_changed_item_is_updated_and_not_new(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    document = rss("one", "two")
    add(store, clock, server.publish("/feed", document))
    refresh_one(store, settings, clock)
    before = look(store)
    server.publish("/feed", document.replace("<title>one", "<title>One, corrected").replace("About one", "About one, in truth"))
    clock.advance(minutes=20)
    report = refresh_one(store, settings, clock)
    assert (report.new, report.changed, report.news) == (0, 1, True)
    after = look(store)
    assert after.counts() == before.counts() | {"raw_fetches": 2, "fetch_history": 2}
    articles = {row["url"]: row for row in before["deduped_articles"]}
    changed = "https://news.example/one"
    articles[changed] |= {"headline": "One, corrected", "content": "About one, in truth"}
    assert {row["url"]: row for row in after["deduped_articles"]} == articles
    assert "One, corrected" in after.of("cached_feeds")["xml_content"]
    assert after.of("feed_stats")["total_articles_fetched"] == 2


@one_engine
def test_an_item_that_left_the_document_stays_and_is_known_when_it_comes_back(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("two", "one")))
    refresh_one(store, settings, clock)
    server.publish("/feed", rss("three", "two"))
    refresh_one(store, settings, clock)
    server.publish("/feed", rss("three", "one"))
    assert refresh_one(store, settings, clock).new == 0
    assert look(store).column("deduped_articles", "headline") == ["one", "three", "two"]


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one after the other"])
def test_a_story_of_two_feeds_is_one_article_with_two_sources(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, together: bool
) -> None:
    add(store, clock, server.publish("/first", rss("shared", "only first")), "first")
    add(store, clock, server.publish("/second", rss("shared", "only second").replace("About shared", "A copy")), "second")
    for batch in [["first", "second"]] if together else [["first"], ["second"]]:
        assert [report.new for report in refresh_feeds(store, settings, batch, clock=clock)] == [2] * len(batch)
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == ["only first", "only second", "shared"]
    [shared] = [row for row in rows["deduped_articles"] if row["headline"] == "shared"]
    carried_by = [row["feed_id"] for row in rows["article_sources"] if row["article_id"] == shared["article_id"]]
    assert sorted(carried_by) == ["first", "second"]
    assert together or (shared["feed_id"], shared["content"]) == ("first", "About shared")
    for feed_id in ("first", "second"):
        assert ">shared</title>" in rows.of("cached_feeds", feed_id)["xml_content"]


@one_engine
def test_the_same_guid_in_two_feeds_is_two_items(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/first", rss("one", base="https://a.example")), "first")
    add(store, clock, server.publish("/second", rss("one", base="https://b.example")), "second")
    list(refresh_feeds(store, settings, ["first", "second"], clock=clock))
    rows = look(store)
    assert rows.column("raw_items", "feed_id") == rows.column("article_sources", "feed_id") == ["first", "second"]


def test_a_feed_without_items_is_stored_and_served(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss()))
    report = refresh_one(store, settings, clock)
    assert (report.outcome, report.found, report.news) == (Outcome.SUCCESS, 0, True)
    rows = look(store)
    assert "<title>News</title>" in rows.of("cached_feeds")["xml_content"]
    assert [row["event_type"] for row in rows["events"]] == ["feed.added"]


@one_engine
def test_a_feed_without_polling_is_fetched_once_per_sync(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")), polling=False)
    for fetched in (1, 2):
        [batch], _ = claim_due(store, settings, now=clock())
        with store.begin() as tx:
            tx.schedules.release(batch.token)
        refresh_one(store, settings, clock)
        assert len(server.asked) == fetched
        assert look(store).schedule()["next_run_at"] is None
        clock.advance(days=30)
        assert claim_due(store, settings, now=clock())[0] == []
        catalog.sync_feed(store, "news", now=clock())


@one_engine
def test_an_adaptive_interval_stays_between_the_bounds(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    report = refresh_one(store, settings, clock)
    assert report.next_run_at
    assert timedelta(minutes=1) <= report.next_run_at - clock() <= timedelta(minutes=15)


@one_engine
def test_hints_of_the_publisher_slow_an_adaptive_feed_down(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), Cache_Control="max-age=7200"))
    report = refresh_one(store, settings, clock)
    assert report.next_run_at
    assert timedelta(hours=2) <= report.next_run_at - clock() <= timedelta(hours=2, minutes=1)
    assert "Cache-Control" in str(report.next_run_reason)


@one_engine
def test_no_hint_slows_a_feed_down_beyond_the_bound(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), Retry_After="999999999"))
    report = refresh_one(store, settings, clock)
    assert report.next_run_at
    assert report.next_run_at <= clock() + timedelta(minutes=settings.hint_max_minutes)


@one_engine
@pytest.mark.parametrize("name", ["X-Odd", "ETag", "Last-Modified"])
def test_odd_bytes_in_a_header_hurt_nobody(store: Store, settings: Settings, clock: Clock, server: FeedServer, name: str) -> None:
    body = rss("one").encode()
    add(store, clock, server.publish("/odd", body), "odd")
    server.answers["/odd"].raw = f"HTTP/1.1 200 OK\r\n{name}: a\x00b\xff\r\nContent-Length: {len(body)}\r\n\r\n".encode("latin-1") + body
    add(store, clock, server.publish("/feed", rss("two")))
    for new in (1, 0):
        reports = list(refresh_feeds(store, settings, ["odd", "news"], clock=clock))
        assert [(report.outcome.ok, report.new) for report in reports] == [(True, new), (True, new)]


def test_an_item_with_all_kinds_of_text_goes_through_both_engines(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    item = {
        "id": 'a\u0000\ud800\t"\\N',
        "url": "https://news.example/\u00fc?a=1&b=\u0000",
        "title": "\U0001f642 \u0000\ud800 \\N",
        "content_html": "x\u0000",
    }
    add(store, clock, server.publish("/feed", json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [item]})))
    assert refresh_one(store, settings, clock).new == 1
    assert look(store).column("deduped_articles", "headline") == ["\U0001f642 \\N"]
