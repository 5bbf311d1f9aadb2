"""Rule 7: a feed follows permanent redirects after several fetches in a row, and no others."""

from __future__ import annotations

from itertools import pairwise

import pytest

from feed_assets.model import FeedReport
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

TOO_FEW = 2
ENOUGH = 4


def redirect(server: FeedServer, *statuses: int, to: str = "/new") -> str:
    """A chain of redirects from /old to `to`, one per status."""
    places = ["/old", *(f"/hop-{number}" for number in range(1, len(statuses))), to]
    for status, (place, following) in zip(statuses, pairwise(places), strict=True):
        server.answers[place] = Answer(status, b"", {"Location": server.base + following})
    return server.base + "/old"


def fetch(store: Store, settings: Settings, clock: Clock, times: int, feed_id: str = "news") -> FeedReport:
    for _ in range(times):
        clock.advance(hours=1)
        report = refresh_one(store, settings, clock, feed_id)
    return report


def url_of(store: Store, feed_id: str = "news") -> str:
    return str(look(store).of("feeds", feed_id)["url"])


def test_rule_07_a_permanent_redirect_is_followed_for_good_after_several_fetches(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    old = redirect(server, 301)
    new = server.publish("/new", rss("one"), ETag='"1"')
    add(store, clock, old)
    assert fetch(store, settings, clock, TOO_FEW).notice is None
    rows = look(store)
    assert (rows.of("feeds")["url"], rows.events("feed.moved")) == (old, [])
    fetch(store, settings, clock, ENOUGH - TOO_FEW)
    rows = look(store)
    assert rows.of("feeds")["url"] == new
    assert rows.events("feed.moved") == [{"feed_id": "news", "from": old, "to": new}]
    assert rows.schedule()["redirect_count"] == 0
    old_requests = sum(asked.path == "/old" for asked in server.asked)
    fetch(store, settings, clock, 1)
    assert sum(asked.path == "/old" for asked in server.asked) == old_requests < ENOUGH
    assert look(store).counts()["raw_items"] == 1


@one_engine
def test_rule_07_the_validators_stay_behind(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, redirect(server, 301))
    new = server.publish("/new", rss("one"), ETag='"1"', Last_Modified="whenever")
    while url_of(store) != new:
        assert len(server.asked) < 2 * ENOUGH
        report = fetch(store, settings, clock, 1)
    assert report.notice and new in report.notice
    schedule = look(store).schedule()
    assert (schedule["etag"], schedule["last_modified"], schedule["body_sha256"]) == (None, None, None)
    assert fetch(store, settings, clock, 1).status_code == 200
    assert not {"if-none-match", "if-modified-since"} & server.asked[-1].headers.keys()


@one_engine
@pytest.mark.parametrize("statuses", [(308,), (301, 308), (308, 301, 301)], ids=str)
def test_rule_07_every_hop_may_be_permanent(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, statuses: tuple[int, ...]
) -> None:
    add(store, clock, redirect(server, *statuses))
    new = server.publish("/new", rss("one"))
    fetch(store, settings, clock, ENOUGH)
    assert url_of(store) == new


@one_engine
@pytest.mark.parametrize("statuses", [(302,), (303,), (307,), (301, 302), (302, 301)], ids=str)
def test_rule_07_a_temporary_redirect_in_the_chain_never_moves_a_feed(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, statuses: tuple[int, ...]
) -> None:
    old = redirect(server, *statuses)
    add(store, clock, old)
    server.publish("/new", rss("one"))
    assert fetch(store, settings, clock, ENOUGH).outcome.ok
    assert (url_of(store), look(store).events("feed.moved")) == (old, [])


@one_engine
@pytest.mark.parametrize("between", ["the feed itself", "another place", "a temporary redirect"])
def test_rule_07_a_redirect_that_points_elsewhere_in_between_starts_the_count_again(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, between: str
) -> None:
    old = redirect(server, 301)
    add(store, clock, old)
    new, _ = server.publish("/new", rss("one")), server.publish("/other", rss("one"))
    fetch(store, settings, clock, TOO_FEW)
    if between == "the feed itself":
        server.publish("/old", rss("one"))
    else:
        redirect(server, 301 if between == "another place" else 302, to="/other" if between == "another place" else "/new")
    fetch(store, settings, clock, 1)
    redirect(server, 301)
    fetch(store, settings, clock, TOO_FEW)
    assert url_of(store) == old
    fetch(store, settings, clock, ENOUGH - TOO_FEW)
    assert url_of(store) == new


@one_engine
@pytest.mark.parametrize(
    "answer", [Answer(200, b"<!doctype html><title>Sold</title>"), Answer(404), Answer(500)], ids=["page", "404", "500"]
)
def test_rule_07_a_place_without_a_valid_feed_is_not_moved_to(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, answer: Answer
) -> None:
    old = redirect(server, 301)
    add(store, clock, old)
    server.answers["/new"] = answer
    assert not fetch(store, settings, clock, ENOUGH).outcome.ok
    assert (url_of(store), look(store).events("feed.moved")) == (old, [])


@one_engine
def test_rule_07_a_redirect_to_another_feed_is_reported_and_not_merged(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    old, new = redirect(server, 301), server.publish("/new", rss("one"))
    add(store, clock, old)
    add(store, clock, new, "other")
    report = fetch(store, settings, clock, ENOUGH)
    assert report.outcome.ok
    assert report.notice and "'other'" in report.notice
    rows = look(store)
    assert {row["feed_id"]: (row["url"], row["deleted_at"]) for row in rows["feeds"]} == {"news": (old, None), "other": (new, None)}
    assert rows.events("feed.moved") == []


def test_rule_07_of_two_feeds_that_move_to_one_place_one_moves_and_one_is_reported(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, redirect(server, 301), "a")
    server.answers["/older"] = Answer(308, b"", {"Location": "/new"})
    add(store, clock, server.base + "/older", "b")
    new = server.publish("/new", rss("one"))
    for _ in range(ENOUGH):
        clock.advance(hours=1)
        reports = list(refresh_feeds(store, settings, ["a", "b"], clock=clock))
    rows = look(store)
    assert [row["url"] for row in rows["feeds"]].count(new) == 1
    assert len(rows.events("feed.moved")) == 1
    [notice] = [report.notice for report in reports if report.notice]
    assert "delete one of the two" in notice
