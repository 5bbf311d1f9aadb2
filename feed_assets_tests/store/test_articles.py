"""What is made of the items: articles and who carried them, memory, statistics, published XML and events."""

from __future__ import annotations

from dataclasses import asdict, replace

from feed_assets.model import Hints, Stats
from feed_assets.store import CachedFeed, Edition, Memory, Store, Transaction
from feed_assets_tests.store.builders import DAY, MINUTE, NOW, make_article, make_item, save_items, store_story
from feed_assets_tests.store.reading import decoded, only_row, rows_of

STATS = Stats(
    "news",
    articles_per_hour=1.25,
    hourly_distribution=tuple(n / 10 for n in range(24)),
    current_hour_multiplier=0.5,
    avg_articles_per_fetch=3.75,
    total_articles_fetched=5_000_000_000,
    last_fetch_time=NOW,
    last_successful_fetch=NOW - DAY,
    observed_articles=12.5,
    observed_hours=10.0,
    newest_item_at=NOW - MINUTE,
    feed_hints=Hints(max_age_seconds=60, ttl_minutes=5, update_period_seconds=3600, skip_hours=(0, 23), skip_days=("Sunday",)),
    updated_at=NOW,
)
CACHED = CachedFeed("news", "<channel>", ["a", "b"], "<rss>é</rss>", '"v1"', NOW, NOW)


def test_an_article_is_stored_with_all_its_columns(store: Store) -> None:
    article = make_article(url=None, canonical_url=None)
    with store.begin() as tx:
        tx.articles.save([article])
    assert only_row(store, "deduped_articles") == asdict(article) | {"group_id": None}


def test_the_feed_that_brought_an_article_may_update_it_and_its_dates_stay(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save([make_article("a")])
    with store.begin() as tx:
        tx.articles.save([make_article("a", headline="Better", content="more", url="https://x.example/", published_at=NOW + DAY)])
    row = only_row(store, "deduped_articles")
    assert (row["headline"], row["content"], row["url"]) == ("Better", "more", "https://x.example/")
    assert (row["published_at"], row["fetched_at"]) == (NOW, NOW)


def test_another_feed_cannot_change_an_article(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save([make_article("a", "first")])
        tx.articles.save([make_article("a", "second", headline="Other words", content="other")])
    row = only_row(store, "deduped_articles")
    assert (row["feed_id"], row["headline"], row["content"]) == ("first", "Headline a", "text")


def test_of_two_feeds_that_bring_a_story_at_once_the_first_has_it(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save([make_article("a", "first"), make_article("a", "second")])
    assert only_row(store, "deduped_articles")["feed_id"] == "first"


def test_every_feed_that_carried_a_story_is_a_source_of_it(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save_sources([("a", "first", "hash-1"), ("a", "second", "hash-2")])
        tx.articles.save_sources([("a", "second", "hash-2"), ("a", "second", "hash-2")])
    sources = sorted((row["article_id"], row["feed_id"], row["item_hash"]) for row in rows_of(store, "article_sources"))
    assert sources == [("a", "first", "hash-1"), ("a", "second", "hash-2")]


def test_an_item_belongs_to_one_story_at_a_time(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save_sources([("a", "news", "hash")])
        tx.articles.save_sources([("b", "news", "hash")])
    assert only_row(store, "article_sources")["article_id"] == "b"


def test_the_item_that_brought_a_story_into_a_feed_can_be_asked_for(tx: Transaction) -> None:
    tx.articles.save_sources([("a", "first", "hash-1"), ("a", "second", "hash-2"), ("b", "first", "hash-3")])
    assert tx.articles.carried(["a", "a", "unknown"]) == {("a", "first"): "hash-1", ("a", "second"): "hash-2"}
    assert tx.articles.carried([]) == {}


def test_what_is_remembered_leads_to_its_article_in_any_feed(tx: Transaction) -> None:
    tx.articles.remember([Memory("h1", "first", "a", NOW, NOW + DAY), Memory("h2", "second", "b", NOW, NOW + DAY)])
    assert tx.articles.remembered(["h1", "h2", "h2", "unknown"]) == {"h1": "a", "h2": "b"}


def test_remembering_again_lasts_longer_and_keeps_the_article(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.remember([Memory("h", "first", "a", NOW, NOW + DAY)])
        tx.articles.remember([Memory("h", "second", "b", NOW + DAY, NOW + 2 * DAY)])
    row = only_row(store, "dedup_cache")
    assert (row["article_id"], row["feed_id"], row["created_at"], row["expires_at"]) == ("a", "first", NOW, NOW + 2 * DAY)


def test_the_same_memory_may_come_twice_at_once(tx: Transaction) -> None:
    tx.articles.remember([Memory("h", "first", "a", NOW, NOW + DAY), Memory("h", "second", "a", NOW, NOW + DAY)])
    assert tx.articles.remembered(["h"]) == {"h": "a"}


def test_the_latest_items_come_newest_first_up_to_the_limit_of_each_feed(tx: Transaction) -> None:
    for name, minutes in (("old", 0), ("newest", 9), ("middle", 5)):
        store_story(tx, name, "a", at=NOW + minutes * MINUTE)
    store_story(tx, "single", "b")
    store_story(tx, "unasked", "c")
    latest = tx.articles.latest(["a", "b", "nobody"], items=2)
    assert {feed_id: [item.article_id for item in items] for feed_id, items in latest.items()} == {
        "a": ["newest", "middle"],
        "b": ["single"],
    }


def test_items_of_the_same_moment_are_always_in_the_same_order(tx: Transaction) -> None:
    for name in "bca":
        store_story(tx, name)
    assert [item.article_id for item in tx.articles.latest(["news"], items=2)["news"]] == ["a", "b"]


def test_a_published_item_joins_the_article_with_what_this_feed_wrote(tx: Transaction) -> None:
    tx.articles.save([make_article("a", "first", headline="Clean title", content="clean")])
    own = make_item("x", url="https://second.example/x", author="Ann", categories=("one",))
    save_items(tx, ("second", "f1", NOW, own), ("first", "f2", NOW, make_item("x")))
    tx.articles.save_sources([("a", "second", "hash-x"), ("a", "first", "hash-x")])
    latest = tx.articles.latest(["first", "second"], items=10)
    (item,) = latest["second"]
    assert (item.feed_id, item.article_id, item.guid, item.url) == ("second", "a", "guid-x", "https://second.example/x")
    assert (item.headline, item.content, item.author, item.extra) == ("Clean title", "clean", "Ann", {"categories": ["one"]})
    assert (latest["first"][0].url, latest["first"][0].extra) == ("https://news.example/a", {})


def test_an_item_without_guid_is_published_under_its_hash(tx: Transaction) -> None:
    item = make_item("x")
    save_items(tx, ("news", "f1", NOW, replace(item, entry=replace(item.entry, guid=None))))
    tx.articles.save([make_article("a")])
    tx.articles.save_sources([("a", "news", "hash-x")])
    assert tx.articles.latest(["news"], items=1)["news"][0].guid == "hash-x"


def test_statistics_come_back_as_they_were_saved(tx: Transaction) -> None:
    tx.articles.save_stats([STATS, Stats("bare", updated_at=NOW)])
    assert tx.articles.stats("news") == STATS
    assert tx.articles.stats("bare") == Stats("bare", updated_at=NOW)
    assert tx.articles.stats("nobody") is None


def test_saving_statistics_again_replaces_them(tx: Transaction) -> None:
    tx.articles.save_stats([STATS])
    tx.articles.save_stats([Stats("news", updated_at=NOW + DAY)])
    assert tx.articles.stats("news") == Stats("news", updated_at=NOW + DAY)


def test_a_published_document_comes_back_as_it_was_saved(tx: Transaction) -> None:
    tx.articles.save_cached([CACHED])
    assert tx.articles.cached("news") == CACHED
    assert tx.articles.cached("nobody") is None


def test_a_new_edition_replaces_the_document_and_keeps_when_the_first_was_made(tx: Transaction) -> None:
    tx.articles.save_cached([CACHED])
    newer = replace(CACHED, item_refs=[], xml_content="<rss/>", etag='"v2"', created_at=NOW + DAY, updated_at=NOW + DAY)
    tx.articles.save_cached([newer])
    assert tx.articles.cached("news") == replace(newer, created_at=NOW)
    assert tx.articles.editions(["news", "nobody"]) == {"news": Edition('"v2"', NOW, NOW + DAY)}


def test_an_event_is_stored_once_and_waits_for_delivery(store: Store) -> None:
    with store.begin() as tx:
        tx.articles.save_events([("e1", "articles.new", {"count": 3, "titles": ["é", '"q"']}, NOW)])
        tx.articles.save_events([("e1", "feed.dead", {}, NOW + DAY)])
    row = only_row(store, "events")
    assert (row["event_type"], row["created_at"], row["delivered_at"]) == ("articles.new", NOW, None)
    assert decoded(row["payload"]) == {"count": 3, "titles": ["é", '"q"']}
