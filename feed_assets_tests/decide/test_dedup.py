"""Which story an item belongs to: exact identity inside a feed, the canonical URL across feeds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from feed_assets.decide.dedup import Placed, item_key, to_article, without_old_news
from feed_assets.decide.dedup import place as place_one
from feed_assets.model import Entry, Feed, Item
from feed_assets_tests.decide.entries import compared, identified

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def item(guid: str, url: str | None = "https://news.example/one", title: str = "One") -> Item:
    return identified(Entry(guid=guid, url=url, title=title))


def place(feed_id: str, items: list[Item], remembered: dict[str, str], carried: dict[tuple[str, str], str] | None = None) -> list[Placed]:
    carried = {} if carried is None else carried
    return [place_one(feed_id, item, remembered, carried) for item in items]


def test_one_story_of_two_feeds_is_one_article() -> None:
    remembered: dict[str, str] = {}
    first = place("a", [item("1", "https://www.news.example/one?utm_source=a")], remembered)[0]
    second = place("b", [item("x", "http://news.example/one/")], remembered)[0]
    assert first.article_id == second.article_id


def test_different_stories_are_different_articles() -> None:
    placed = place("a", [item("1", "https://news.example/one"), item("2", "https://news.example/two")], {})
    assert len({story.article_id for story in placed}) == 2


def test_items_without_a_url_are_one_article_per_feed() -> None:
    remembered: dict[str, str] = {}
    one, other = place("a", [item("1", None)], remembered)[0], place("b", [item("1", None)], remembered)[0]
    assert one.article_id != other.article_id


def test_an_item_whose_url_changed_stays_the_article_that_it_was() -> None:
    remembered: dict[str, str] = {}
    before = place("a", [item("1", "https://news.example/old")], remembered)[0]
    after = place("a", [item("1", "https://news.example/new")], remembered)[0]
    assert after.article_id == before.article_id


def test_an_item_that_moved_to_the_url_of_another_stays_itself() -> None:
    remembered: dict[str, str] = {}
    first = place("a", [item("1", "https://news.example/one"), item("2", "https://news.example/two")], remembered)
    moved = place("a", [item("2", "https://news.example/one")], remembered)[0]
    assert moved.article_id == first[1].article_id


def test_items_of_one_feed_that_share_a_link_are_articles_of_their_own() -> None:
    placed = place("a", [item("1", title="Release 1"), item("2", title="Release 2")], {})
    assert len({story.article_id for story in placed}) == 2


def test_items_that_share_a_link_stay_apart_in_a_second_feed_too() -> None:
    remembered: dict[str, str] = {}
    carried: dict[tuple[str, str], str] = {}
    first = place("a", [item("1", title="Release 1"), item("2", title="Release 2")], remembered, carried)
    second = place("b", [item("x", title="Release 1"), item("y", title="Release 2")], remembered, carried)
    assert second[0].article_id == first[0].article_id
    assert second[1].article_id not in {story.article_id for story in first}


def test_the_article_is_the_same_whichever_worker_places_it() -> None:
    assert place("a", [item("1")], {})[0].article_id == place("a", [item("1")], {})[0].article_id


def test_a_placed_item_is_remembered_for_those_after_it() -> None:
    remembered: dict[str, str] = {}
    story = place("a", [item("1")], remembered)[0]
    assert {remembered[key] for key in story.keys} == {story.article_id}


def test_an_item_that_was_pruned_does_not_come_back_as_new() -> None:
    changes = compared([Entry(guid="old"), Entry(guid="new")])
    kept = without_old_news("a", changes, {item_key("a", changes.new[0].item_hash): "article"})
    assert [item.entry.guid for item in kept.new] == ["new"]


def test_an_item_that_another_feed_had_is_new_here() -> None:
    changes = compared([Entry(guid="1")])
    assert without_old_news("b", changes, {item_key("a", changes.new[0].item_hash): "article"}) == changes


def test_an_article_takes_its_date_from_the_entry_or_from_the_fetch() -> None:
    feed = Feed("a", "https://news.example/feed", "News")
    dated = replace(item("1").entry, published_at=datetime(2026, 3, 1, tzinfo=UTC))
    articles = [
        to_article(place("a", [identified(entry)], {})[0], feed, headline="One", content="text", fetched_at=NOW)
        for entry in (dated, item("1").entry)
    ]
    assert [article.published_at for article in articles] == [dated.published_at, NOW]
    assert (articles[0].source, articles[0].canonical_url, articles[0].fetched_at) == ("News", "https://news.example/one", NOW)
