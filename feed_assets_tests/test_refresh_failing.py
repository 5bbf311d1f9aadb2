"""A refresh that fails: the state it leaves, how a feed dies and comes back, and that others do not suffer."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

import feed_assets.commit
import feed_assets.refresh
from feed_assets import catalog
from feed_assets.errors import UnknownFeed
from feed_assets.model import Entry, Outcome, ParsedFeed
from feed_assets.refresh import claim_due, refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import DATA, Rows, look, one_engine

HTML = b"<!doctype html><html><head><title>Welcome</title></head><body>Hello</body></html>"
MINUTE = timedelta(minutes=1)


def slow() -> None:
    time.sleep(0.5)


FAILURES = {
    "404": (Answer(404, b"no"), "permanent_error", "HTTP 404 Not Found"),
    "410": (Answer(410, b"no"), "permanent_error", "HTTP 410 Gone"),
    "401": (Answer(401, b"no"), "unauthorized", "HTTP 401 Unauthorized"),
    "HTML page": (Answer(200, HTML), "permanent_error", "this is not a feed but an HTML page"),
    "empty": (Answer(200, b""), "permanent_error", "the document is empty"),
    "500": (Answer(500, b"no"), "temporary_error", "HTTP 500 Internal Server Error"),
    "timeout": (Answer(200, b"", then=slow), "temporary_error", "timed out waiting for the server"),
    "not HTTP": (Answer(raw=b"hello\r\n"), "temporary_error", "the server does not answer in HTTP"),
}


def look_after_failures(store: Store, settings: Settings, clock: Clock, server: FeedServer, *, times: int) -> Rows:
    """A success at first, then 500 so many times, each when the feed is due again."""
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    server.fail("/feed", 500)
    for _ in range(times):
        clock.advance(hours=2)
        refresh_one(store, settings, clock)
    return look(store)


@pytest.mark.parametrize("kind", ["404", "500"])
def test_a_failure_keeps_everything_but_the_state(store: Store, settings: Settings, clock: Clock, server: FeedServer, kind: str) -> None:
    answer, status, error = FAILURES[kind]
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    refresh_one(store, settings, clock)
    before = look(store)
    server.answers["/feed"] = answer
    clock.advance(minutes=20)
    report = refresh_one(store, settings, clock)
    assert (report.outcome, report.news, report.stored) == (Outcome(status), False, True)
    after = look(store)
    assert after.only(*DATA) == before.only(*DATA)
    schedule = after.schedule()
    assert schedule["last_success_at"] == clock() - 20 * MINUTE
    assert schedule["last_fetched_at"] == clock()
    assert (schedule["last_status"], schedule["consecutive_errors"], schedule["etag"]) == (status, 1, '"1"')
    assert schedule["last_error"].startswith(error)
    assert (schedule["fetch_status"], schedule["lease_token"]) == ("idle", None)
    [attempt] = [row for row in after["fetch_history"] if row["outcome"] != "success"]
    assert (attempt["outcome"], attempt["error_message"], attempt["articles_new"]) == (status, schedule["last_error"], 0)
    assert len(after.events("feed.dead")) == (1 if kind == "404" else 0)


@one_engine
@pytest.mark.parametrize("kind", FAILURES)
def test_temporary_errors_are_tried_again_and_others_pause(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, kind: str
) -> None:
    server.answers["/feed"], status, error = FAILURES[kind]
    add(store, clock, server.base + "/feed")
    report = refresh_one(store, settings.model_copy(update={"request_timeout_seconds": 0.2}), clock)
    schedule = look(store).schedule()
    assert (schedule["last_status"], schedule["last_success_at"], report.outcome) == (status, None, Outcome(status))
    assert schedule["last_error"].startswith(error)
    if status == "temporary_error":
        assert MINUTE <= schedule["next_run_at"] - clock() <= 2 * MINUTE
    else:
        assert schedule["next_run_at"] is None
        assert error in schedule["next_run_reason"]


@one_engine
def test_a_refused_connection_is_a_temporary_error(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, "http://127.0.0.1:9/feed")
    refresh_one(store, settings, clock)
    assert (look(store).schedule()["last_status"], look(store).schedule()["last_error"]) == ("temporary_error", "connection refused")


@one_engine
def test_errors_in_a_row_wait_longer_and_longer(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.fail("/feed", 503))
    waits = []
    for _ in range(4):
        report = refresh_one(store, settings, clock)
        assert report.next_run_at
        waits.append(report.next_run_at - clock())
        clock.now = report.next_run_at
    assert waits == sorted(waits)
    assert waits[3] >= 8 * MINUTE


@one_engine
@pytest.mark.parametrize("value", ["7200", "Mon, 02 Mar 2026 14:00:00 GMT"])
def test_retry_after_is_obeyed(store: Store, settings: Settings, clock: Clock, server: FeedServer, value: str) -> None:
    add(store, clock, server.fail("/feed", 503, Retry_After=value))
    assert refresh_one(store, settings, clock).next_run_at == clock() + timedelta(hours=2)


def test_a_feed_is_dead_after_max_consecutive_errors(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    settings = settings.model_copy(update={"max_consecutive_errors": 3})
    rows = look_after_failures(store, settings, clock, server, times=2)
    assert rows.schedule()["next_run_at"] is not None
    assert rows.events("feed.dead") == []
    refresh_one(store, settings, clock)
    refresh_one(store, settings, clock)  # by hand: dead feeds are never due
    rows = look(store)
    assert rows.schedule()["next_run_at"] is None
    assert "HTTP 500" in rows.schedule()["next_run_reason"]
    assert [event["feed_id"] for event in rows.events("feed.dead")] == ["news"]
    clock.advance(days=30)
    assert claim_due(store, settings, now=clock())[0] == []


@one_engine
def test_one_strike_pauses_at_the_first_error(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.fail("/feed", 500), error_policy="one_strike")
    assert refresh_one(store, settings, clock).next_run_at is None
    assert len(look(store).events("feed.dead")) == 1


def test_a_success_after_errors_starts_afresh(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    assert look_after_failures(store, settings, clock, server, times=3).schedule()["consecutive_errors"] == 3
    server.publish("/feed", rss("two", "one"))
    clock.advance(hours=1)
    assert refresh_one(store, settings, clock).new == 1
    refresh_one(store, settings, clock)
    rows = look(store)
    schedule = rows.schedule()
    assert (schedule["consecutive_errors"], schedule["last_error"], schedule["last_status"]) == (0, None, "success")
    assert schedule["last_success_at"] == clock()
    assert schedule["next_run_at"] > clock()
    assert [(event["feed_id"], event["after_errors"]) for event in rows.events("feed.recovered")] == [("news", 3)]


@one_engine
def test_a_dead_feed_that_sync_brings_back_has_recovered(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.fail("/feed", 404))
    refresh_one(store, settings, clock)
    catalog.sync_feed(store, "news", now=clock())
    server.publish("/feed", rss("one"))
    refresh_one(store, settings, clock)
    rows = look(store)
    assert (len(rows.events("feed.dead")), len(rows.events("feed.recovered"))) == (1, 1)


@one_engine
def test_a_feed_that_fails_from_the_start_and_then_works_is_stored_whole(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.fail("/feed", 500))
    refresh_one(store, settings, clock)
    server.publish("/feed", rss("one", "two"))
    assert refresh_one(store, settings, clock).new == 2


@one_engine
def test_a_page_instead_of_a_feed_does_not_move_the_validators(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    refresh_one(store, settings, clock)
    before = look(store).schedule()
    server.publish("/feed", HTML, ETag='"page"')
    refresh_one(store, settings, clock)
    after = look(store).schedule()
    assert (after["etag"], after["body_sha256"]) == ('"1"', before["body_sha256"])


@one_engine
@pytest.mark.parametrize("stage", ["parse_document", "body_sha256"])
def test_a_bug_with_one_feed_does_not_hurt_the_others(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    right = getattr(feed_assets.refresh, stage)

    def wrong(document: Any, **more: Any) -> ParsedFeed | str:
        if b"id-bad" in (document if isinstance(document, bytes) else document.body):
            raise RuntimeError("boom")
        return right(document, **more)  # type: ignore[no-any-return]

    monkeypatch.setattr(feed_assets.refresh, stage, wrong)
    for name in ("good", "bad", "fine"):
        add(store, clock, server.publish(f"/{name}", rss(name)), name)
    reports = {report.feed_id: report for report in refresh_feeds(store, settings, ["good", "bad", "fine"], clock=clock)}
    assert {name: report.outcome for name, report in reports.items()} == {
        "good": Outcome.SUCCESS,
        "bad": Outcome.TEMPORARY_ERROR,
        "fine": Outcome.SUCCESS,
    }
    assert "boom" in str(reports["bad"].reason)
    assert look(store).column("deduped_articles", "headline") == ["fine", "good"]


@one_engine
def test_a_disabled_feed_is_not_fetched_and_says_so(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")), enabled=False)
    report = refresh_one(store, settings, clock)
    assert (report.stored, report.reason) == (False, "nothing stored: it is disabled")
    assert claim_due(store, settings, now=clock())[0] == []
    assert server.asked == []


@one_engine
@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "never there"])
def test_a_feed_that_is_not_there_is_an_error_of_the_caller(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, deleted: bool
) -> None:
    if deleted:
        add(store, clock, server.publish("/feed", rss("one")))
        catalog.delete_feed(store, "news", now=clock())
    with pytest.raises(UnknownFeed, match="there is no feed 'news'"):
        refresh_one(store, settings, clock)
    assert server.asked == []


def test_a_feed_that_cannot_be_stored_does_not_take_its_group_with_it(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("good", "bad", "fine"):
        add(store, clock, server.publish(f"/{name}", rss(f"A story of {name}")), name)
    sanitize = feed_assets.commit.headline

    def stumble(entry: Entry) -> str:
        if "bad" in entry.title:
            raise ValueError("a bug of ours")
        return sanitize(entry)

    monkeypatch.setattr(feed_assets.commit, "headline", stumble)
    reports = {report.feed_id: report for report in refresh_feeds(store, settings, ["good", "bad", "fine"], clock=clock)}
    assert {name: report.outcome.value for name, report in reports.items()} == {
        "good": "success",
        "bad": "temporary_error",
        "fine": "success",
    }
    assert "stumbled over this feed (ValueError: a bug of ours); please report it" in str(reports["bad"].reason)
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == ["A story of fine", "A story of good"]
    assert rows.schedule("bad")["consecutive_errors"] == 1 and rows.schedule("bad")["next_run_at"] > clock()
