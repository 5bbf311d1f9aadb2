"""Rules 1, 2, 3 and 16: validators are the publisher's own words, stored with what they stand for, and not trusted for ever."""

from __future__ import annotations

from typing import Any

import pytest

import feed_assets.commit
import feed_assets.refresh
from feed_assets import catalog
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

MODIFIED = "Sun, 01 Mar 2026 10:00:00 GMT"
LATER = "Mon, 02 Mar 2026 11:00:00 GMT"
CONDITIONS = ("if-none-match", "if-modified-since")


def conditions(server: FeedServer) -> tuple[str | None, str | None]:
    """What the last request was conditional on."""
    etag, modified = (server.asked[-1].headers.get(name) for name in CONDITIONS)
    return etag, modified


@one_engine
@pytest.mark.parametrize(
    ("etag", "modified"),
    [
        ('"plain"', MODIFIED),
        ('W/"weak"', "sunday, whenever"),
        ("unquoted", "2026-03-01T10:00:00Z"),
        ('"a, b";x', "0"),
        ('"caf\u00e9--gzip"', "Sun,  1 Mar 2026 10:00:00 +0000"),
    ],
)
def test_rule_01_validators_go_back_byte_for_byte(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, etag: str, modified: str
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag=etag, Last_Modified=modified))
    assert refresh_one(store, settings, clock).status_code == 200
    assert refresh_one(store, settings, clock).status_code == 304
    assert conditions(server) == (etag, modified)


def test_rule_01_validators_survive_both_engines(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='W/"caf\u00e9"', Last_Modified="whenever"))
    refresh_one(store, settings, clock)
    refresh_one(store, settings, clock)
    assert conditions(server) == ('W/"caf\u00e9"', "whenever")


@one_engine
def test_rule_01_validators_are_never_invented(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    for _ in range(2):
        refresh_one(store, settings, clock)
        assert conditions(server) == (None, None)


@one_engine
def test_rule_02_each_validator_is_updated_on_its_own_on_200_and_304(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.base + "/feed")
    body = rss("one").encode()
    answers: list[tuple[Answer, tuple[str | None, str | None]]] = [
        (Answer(200, body, {"ETag": '"1"', "Last-Modified": MODIFIED}), ('"1"', MODIFIED)),
        (Answer(304), ('"1"', MODIFIED)),
        (Answer(304, b"", {"ETag": '"2"'}), ('"2"', MODIFIED)),
        (Answer(304, b"", {"Last-Modified": LATER}), ('"2"', LATER)),
        (Answer(200, body, {"Last-Modified": MODIFIED}), (None, MODIFIED)),
        (Answer(200, rss("two").encode(), {"ETag": '"3"'}), ('"3"', None)),
    ]
    for answer, sent_next in answers:
        server.answers["/feed"] = answer
        assert refresh_one(store, settings, clock).outcome.ok
        server.answers["/feed"] = Answer(500)
        refresh_one(store, settings, clock)
        assert conditions(server) == sent_next


def test_rule_02_a_new_url_starts_without_validators(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"', Last_Modified=MODIFIED))
    refresh_one(store, settings, clock)
    catalog.edit_feed(store, settings, "news", now=clock(), url=server.publish("/moved", rss("one"), ETag='"1"'))
    assert refresh_one(store, settings, clock).status_code == 200
    assert (server.asked[-1].path, conditions(server)) == ("/moved", (None, None))


def test_rule_03_validators_are_stored_with_the_items_or_not_at_all(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"', Last_Modified=MODIFIED))

    def crash(**_: Any) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(feed_assets.commit, "compose_rss", crash)
        with pytest.raises(RuntimeError, match="power cut"):
            refresh_one(store, settings, clock)
    rows = look(store)
    assert (rows.schedule()["etag"], rows.schedule()["last_modified"], rows["raw_items"]) == (None, None, [])
    assert refresh_one(store, settings, clock).new == 1
    assert conditions(server) == (None, None)


@one_engine
def test_rule_03_a_page_that_is_no_feed_brings_no_validators(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", "<!doctype html><title>Be right back</title>", ETag='"page"'))
    assert not refresh_one(store, settings, clock).outcome.ok
    assert look(store).schedule()["etag"] is None
    server.publish("/feed", rss("one"), ETag='"1"')
    assert refresh_one(store, settings, clock).new == 1
    assert conditions(server) == (None, None)


def test_rule_16_a_server_that_says_304_for_ever_is_asked_without_conditions_after_a_week(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"stuck"'))
    assert refresh_one(store, settings, clock).new == 1
    server.publish("/feed", rss("two", "one"), ETag='"stuck"')
    for _ in range(2):
        clock.advance(days=3)
        assert refresh_one(store, settings, clock).status_code == 304
        assert conditions(server) == ('"stuck"', None)
    clock.advance(days=2)
    report = refresh_one(store, settings, clock)
    assert (conditions(server), report.status_code, report.new) == ((None, None), 200, 1)
    clock.advance(days=3)
    refresh_one(store, settings, clock)
    assert conditions(server) == ('"stuck"', None)


@one_engine
@pytest.mark.parametrize("days", [0.1, 8], ids=["without validators", "after a week"])
def test_rule_16_the_same_body_is_not_parsed_and_writes_nothing_beyond_the_attempt(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch, days: float
) -> None:
    add(store, clock, server.publish("/feed", rss("one"), **({"ETag": '"1"'} if days > 7 else {})))
    refresh_one(store, settings, clock)
    before = look(store)
    monkeypatch.setattr(feed_assets.refresh, "parse_document", lambda *_, **__: pytest.fail("parsed again"))
    clock.advance(days=days)
    report = refresh_one(store, settings, clock)
    assert (report.status_code, report.news, report.new, conditions(server)) == (200, False, 0, (None, None))
    after = look(store)
    assert len(after["fetch_history"]) == 2
    attempt = {"fetch_history", "feed_schedules", "feed_stats"}
    assert {name for name in after.tables if after[name] != before[name]} == attempt
