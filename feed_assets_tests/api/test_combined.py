"""Documents of many feeds: all of them, a site's, a group's."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parsedate_to_datetime

import feedparser
import pytest

from feed_assets import catalog
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.api.conftest import Client
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one, table


@pytest.fixture
def many(client: Client, store: Store, settings: Settings, clock: Clock, server: FeedServer) -> Client:
    add(
        store,
        clock,
        server.publish("/loud", rss(*(f"loud story number {n}" for n in range(60)))),
        "loud",
        feed_group="news/world",
        root_domain="a.example",
    )
    add(store, clock, server.publish("/quiet", rss("a quiet story")), "quiet", feed_group="news/world", root_domain="a.example")
    add(store, clock, server.publish("/other", rss("another story")), "other", feed_group="music", root_domain="b.example")
    for name in ("loud", "quiet", "other"):
        refresh_one(store, settings, clock, name)
        clock.advance(minutes=1)
    return client


def titles(client: Client, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    parsed = feedparser.parse(answer.content)
    assert not parsed.bozo
    return [entry.title for entry in parsed.entries]


def test_the_loud_feed_does_not_drown_out_the_quiet_ones(many: Client) -> None:
    found = titles(many, "/rss/all")
    assert len(found) == 50 and {"a quiet story", "another story"} <= set(found)


def test_a_site_and_a_group_have_their_own(many: Client) -> None:
    assert "another story" not in titles(many, "/rss/site/a.example") and "a quiet story" in titles(many, "/rss/site/A.example")
    assert titles(many, "/rss/group/music") == ["another story"]
    assert "a quiet story" in titles(many, "/rss/group/news/world")


@pytest.mark.parametrize("path", ["/rss/site/nowhere.example", "/rss/group/nothing"])
def test_what_has_no_feed_is_404(many: Client, path: str) -> None:
    assert many.get(path).status_code == 404


def test_they_have_the_manners_of_the_others(many: Client, store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    first = many.get("/rss/all")
    newest = max(row["updated_at"] for row in table(store, "cached_feeds"))
    assert parsedate_to_datetime(first.headers["Last-Modified"]) == newest
    again = many.get("/rss/all", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    server.publish("/quiet", rss("breaking", "a quiet story"))
    clock.advance(hours=1)
    refresh_one(store, settings, clock, "quiet")
    after = many.get("/rss/all", headers={"If-None-Match": first.headers["ETag"]})
    assert after.status_code == 200 and "breaking" in after.text
    assert parsedate_to_datetime(after.headers["Last-Modified"]) > parsedate_to_datetime(first.headers["Last-Modified"])


def test_a_disabled_feed_is_left_out(many: Client, store: Store, settings: Settings, clock: Clock) -> None:
    catalog.edit_feed(store, settings, "quiet", now=clock() + timedelta(seconds=1), enabled=False)
    assert "a quiet story" not in titles(many, "/rss/all")


def test_without_any_feed_there_is_an_empty_document(client: Client) -> None:
    assert titles(client, "/rss/all") == []


@pytest.mark.parametrize("name", ["all", "site", "group"])
def test_no_feed_can_have_the_name_of_a_combined_document(store: Store, clock: Clock, name: str) -> None:
    with pytest.raises(Exception, match="is taken"):
        add(store, clock, "https://news.example/feed", name)
    assert catalog.add_feed(store, f"https://{name}/feed", now=clock()).feed_id == f"{name}-2"
