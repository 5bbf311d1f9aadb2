"""The catalog on both engines: add, edit, delete, bring back, sync and import, and what each does to the schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from feed_assets import catalog
from feed_assets.errors import DuplicateFeed, FeedNotReady, UnknownFeed, UsageError
from feed_assets.feeds_files import read_feeds_file
from feed_assets.model import Feed, Schedule
from feed_assets.settings import Settings, load_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.conftest import ENGINES
from feed_assets_tests.store.reading import decoded
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.databases import drop_postgres_database, new_database
from feed_assets_tests.support.refreshing import add, table

URL = "https://news.example.com/feed.xml"


@pytest.fixture(scope="module", params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database per engine for all tests here: most are shorter than a migration."""
    url = new_database(request.param, tmp_path_factory.mktemp("catalog"))
    opened = open_store(url)
    yield opened
    opened.close()
    if request.param == "postgres":
        drop_postgres_database(url)


@pytest.fixture
def store(database: Store) -> Store:
    with database.engine.begin() as connection:
        for name in ("feeds", "feed_schedules", "events"):
            connection._raw.execute(f"DELETE FROM {name}")  # type: ignore[attr-defined]
    return database


@pytest.fixture
def settings() -> Settings:
    return load_settings({}, dotenv=None)


def schedule_of(store: Store, feed_id: str = "news") -> Schedule:
    with store.read() as tx:
        schedule = tx.schedules.get(feed_id)
    assert schedule is not None
    return schedule


def feed_of(store: Store, feed_id: str = "news") -> Feed:
    with store.read() as tx:
        feed = tx.feeds.get(feed_id)
    assert feed is not None
    return feed


def stands(store: Store, feed_id: str = "news", **state: Any) -> None:
    """Put a feed where fetches would have brought it."""
    schedule = replace(schedule_of(store, feed_id), **state)
    with store.begin() as tx:
        tx.schedules.save([schedule])


def fetched(store: Store, at: datetime, *, minutes: int = 15) -> None:
    stands(store, last_fetched_at=at, last_success_at=at, last_status="success", next_run_at=at + timedelta(minutes=minutes),
           interval_seconds=minutes * 60, next_run_reason="adaptive", etag='"e"', last_modified="m", body_sha256="b")  # fmt: skip


def died(store: Store, at: datetime) -> None:
    stands(store, last_fetched_at=at, last_status="temporary_error", last_error="HTTP 503", consecutive_errors=10, next_run_at=None,
           next_run_reason="dead after 10 errors in a row")  # fmt: skip


def due(store: Store, now: datetime) -> list[str]:
    """What a sensor would claim now; the claim is given back."""
    with store.begin() as tx:
        claimed = tx.schedules.claim_due("test", now=now, lease=timedelta(minutes=1), limit=100)
        tx.schedules.release("test")
    return sorted(claimed)


def edit(store: Store, settings: Settings, clock: Clock, feed_id: str = "news", **changes: Any) -> Feed:
    return catalog.edit_feed(store, settings, feed_id, now=clock(), **changes)


# Adding


def test_a_new_feed_is_due_at_once(store: Store, clock: Clock) -> None:
    assert due(store, clock()) == []
    add(store, clock, URL)
    assert due(store, clock()) == ["news"]
    assert schedule_of(store).next_run_reason == "new feed"


def test_a_new_feed_has_sensible_columns(store: Store, clock: Clock) -> None:
    feed = catalog.add_feed(store, f"  {URL} ", now=clock())
    assert feed == feed_of(store, feed.feed_id)
    assert feed == Feed("news-example-com", URL, "news.example.com", "example.com", created_at=clock(), updated_at=clock())


def test_options_of_a_new_feed_are_stored(store: Store, clock: Clock) -> None:
    options = {
        "source_name": "News", "root_domain": None, "enabled": False, "polling": False, "refresh_interval_minutes": 10_080, "priority": -5,
        "feed_group": "g", "enforce_feed_domain": True, "error_policy": "one_strike",
    }  # fmt: skip
    add(store, clock, URL, **options)
    feed = feed_of(store)
    assert {name: getattr(feed, name) for name in options} == options


def test_a_disabled_feed_is_not_due(store: Store, clock: Clock) -> None:
    add(store, clock, URL, enabled=False)
    assert due(store, clock()) == []


def test_a_url_that_is_there_already_is_refused_with_its_feed(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    with pytest.raises(DuplicateFeed, match="as feed 'news'"):
        add(store, clock, f" {URL} ", "other")
    assert [row["feed_id"] for row in table(store, "feeds")] == ["news"]


def test_an_id_that_is_there_already_is_refused_with_its_url(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    with pytest.raises(DuplicateFeed, match=r"'news' already, at https://news\.example\.com/feed\.xml"):
        add(store, clock, "https://other.example/feed")
    assert feed_of(store).url == URL


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "news.example/feed", "//news.example/feed", "ftp://news.example/feed", "file:///etc/passwd", "javascript:alert(1)",
        "feed:news.example",
        "https://", "https:///feed", "https://:80/", "http://[::1", "http://news.example:99999/", "http://news.example:port/",
        "https://news example/feed", "https://news.example/a b", "https://news.example/\x00", "https://news.example/a\nb", "https://news.example/\ud800",
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_fetched_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        catalog.check_url(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://news.example",
        "https://news.example/Feed?a=1&b=2",
        "http://127.0.0.1:8000/",
        "http://[::1]:80/feed",
        "https://füße.example/ö",
    ],
)
def test_a_url_that_can_be_fetched_is_taken_as_it_is(url: str) -> None:
    assert catalog.check_url(f" {url}\n") == url


def test_spellings_that_are_the_same_to_every_server_become_one() -> None:
    assert catalog.check_url("HTTPS://Ann:Secret@News.EXAMPLE/Feed?a=B#top") == "https://Ann:Secret@news.example/Feed?a=B"


def test_a_url_without_a_scheme_is_told_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"it has no scheme; write http:// or https:// in front"):
        catalog.check_url("news.example/feed")


def test_ids_follow_the_rules(store: Store, clock: Clock) -> None:
    for bad in ("", "News", "a b", "a/b", "-a", "a-", ".a", "ä", "a\n", "a" * 101):
        with pytest.raises(UsageError, match="cannot be an id"):
            add(store, clock, URL, bad)
    for number, good in enumerate(("a", "7", "a.b_c-d", "a" * 100)):
        assert add(store, clock, f"{URL}?{number}", good) == good


def test_options_out_of_range_are_refused(store: Store, clock: Clock) -> None:
    bad: list[dict[str, Any]] = [
        {"refresh_interval_minutes": 0}, {"refresh_interval_minutes": 10_081}, {"refresh_interval_minutes": 1.5},
        {"refresh_interval_minutes": True},
        {"priority": "high"}, {"priority": True}, {"priority": 10**10}, {"error_policy": "forgive"}, {"enabled": "yes"}, {"polling": None},
        {"source_name": "two\nlines"}, {"root_domain": " "}, {"feed_group": 5}, {"nonsense": 1}, {"created_at": "today"},
    ]  # fmt: skip
    for options in bad:
        with pytest.raises(UsageError):
            add(store, clock, URL, **options)
    assert table(store, "feeds") == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.example.com/blog/feed.xml", "example-com-blog"),
        ("https://feeds.example.com/", "example-com"),
        ("https://example.com/News/World.rss", "example-com-news-world"),
        ("https://example.com/feed?cat=7", "example-com-cat-7"),
        ("http://127.0.0.1:8000/feed", "127-0-0-1"),
        ("https://example.com/" + "long/" * 50, "example-com-" + "-".join(["long"] * 10)[:48].strip("-")),
        ("https://日本.example/", "example"),
    ],
)
def test_a_slug_is_a_readable_id(url: str, expected: str) -> None:
    assert catalog.slug(url, set()) == expected


def test_a_slug_that_is_taken_gets_a_number() -> None:
    assert catalog.slug("https://example.com/feed", {"example-com", "example-com-2"}) == "example-com-3"


@pytest.mark.parametrize("url", ["https://日本/", "http://[::1]/", "https://e.example/?" + "&=" * 100, "https://_._/"])
def test_a_slug_is_always_a_valid_id(url: str) -> None:
    assert re.fullmatch("[a-z0-9]([a-z0-9._-]*[a-z0-9])?", catalog.slug(url, set()))


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://blog.example.co.uk/feed", "example.co.uk"),
        ("https://www.example.com/feed", "example.com"),
        ("http://127.0.0.1/feed", None),
        ("http://intranet/feed", None),
    ],
)
def test_the_root_domain_is_the_registrable_one(url: str, domain: str | None) -> None:
    assert catalog.domain_of(url) == domain


# Editing


def test_a_new_interval_counts_from_the_last_fetch(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock() - timedelta(minutes=30), minutes=45)
    edit(store, settings, clock, refresh_interval_minutes=60)
    schedule = schedule_of(store)
    assert (schedule.next_run_at, schedule.interval_seconds) == (clock() + timedelta(minutes=30), 3600)
    assert schedule.next_run_reason == "the interval was set to 60 min"
    edit(store, settings, clock, refresh_interval_minutes=10)
    assert due(store, clock()) == ["news"]


def test_back_to_adaptive_waits_for_the_longest_interval_at_most(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL, refresh_interval_minutes=10_080)
    fetched(store, clock(), minutes=10_080)
    edit(store, settings, clock, refresh_interval_minutes=None)
    assert schedule_of(store).next_run_at == clock() + timedelta(minutes=settings.max_interval_minutes)


def test_a_new_name_leaves_the_schedule_alone(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock())
    before = schedule_of(store)
    clock.advance(minutes=1)
    edit(store, settings, clock, source_name="Other", priority=3)
    assert schedule_of(store) == before
    feed = feed_of(store)
    assert (feed.source_name, feed.priority, feed.updated_at, feed.created_at) == ("Other", 3, clock(), clock() - timedelta(minutes=1))


def test_a_new_interval_neither_revives_a_dead_feed_nor_hurries_a_failing_one(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    died(store, clock())
    edit(store, settings, clock, refresh_interval_minutes=5)
    assert schedule_of(store).next_run_at is None
    later = clock() + timedelta(minutes=32)
    stands(store, consecutive_errors=6, next_run_at=later)
    edit(store, settings, clock, refresh_interval_minutes=1)
    assert schedule_of(store).next_run_at == later


def test_a_new_url_starts_afresh(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock() - timedelta(minutes=1))
    stands(store, consecutive_errors=4)
    edit(store, settings, clock, url="https://news.example/new.xml")
    schedule = schedule_of(store)
    assert (schedule.etag, schedule.last_modified, schedule.body_sha256, schedule.consecutive_errors) == (None, None, None, 0)
    assert due(store, clock()) == ["news"]


def test_a_new_url_together_with_a_new_interval_is_due_at_once(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock())
    edit(store, settings, clock, url="https://news.example/new.xml", refresh_interval_minutes=60)
    assert due(store, clock()) == ["news"]


def test_a_new_url_brings_its_root_domain(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL, enforce_feed_domain=True)
    edit(store, settings, clock, url="https://blog.example.org/feed")
    assert feed_of(store).root_domain == "example.org"


def test_the_url_of_another_feed_is_refused(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    add(store, clock, "https://other.example/feed", "other")
    with pytest.raises(DuplicateFeed, match="as feed 'other'"):
        edit(store, settings, clock, url="https://other.example/feed")
    assert feed_of(store).url == URL


def test_bad_values_are_refused_and_change_nothing(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    before = table(store, "feeds"), table(store, "feed_schedules")
    for changes in ({"url": "nonsense"}, {"refresh_interval_minutes": 0}, {"error_policy": "x"}, {"source_name": ""}):
        with pytest.raises(UsageError):
            edit(store, settings, clock, **changes)
    assert (table(store, "feeds"), table(store, "feed_schedules")) == before


def test_polling_off_pauses_and_polling_on_is_due_at_once(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock())
    edit(store, settings, clock, polling=False)
    assert (schedule_of(store).next_run_at, schedule_of(store).next_run_reason) == (None, "polling is off")
    edit(store, settings, clock, polling=True)
    assert due(store, clock()) == ["news"]


def test_a_feed_that_was_disabled_goes_on_where_it_stood(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock(), minutes=15)
    edit(store, settings, clock, enabled=False)
    assert due(store, clock() + timedelta(hours=1)) == []
    edit(store, settings, clock, enabled=True)
    assert due(store, clock() + timedelta(minutes=14)) == []
    assert due(store, clock() + timedelta(minutes=15)) == ["news"]


def test_enabling_a_dead_feed_revives_it(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL, enabled=False)
    died(store, clock())
    edit(store, settings, clock, enabled=True)
    assert due(store, clock()) == ["news"]
    assert schedule_of(store).consecutive_errors == 0


# Deleting and coming back


def test_a_deleted_feed_is_never_due_and_keeps_its_row(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    catalog.delete_feed(store, "news", now=clock())
    assert due(store, clock() + timedelta(days=365)) == []
    assert feed_of(store).deleted_at == clock()
    with store.read() as tx:
        assert tx.feeds.live_ids() == []


def test_a_deleted_feed_is_unknown_to_everything(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    catalog.delete_feed(store, "news", now=clock())
    with pytest.raises(UnknownFeed, match="there is no feed 'news'"):
        catalog.delete_feed(store, "news", now=clock())
    with pytest.raises(UnknownFeed):
        catalog.sync_feed(store, "news", now=clock())
    with pytest.raises(UnknownFeed):
        edit(store, settings, clock, priority=1)


def test_a_deleted_feed_comes_back_under_its_old_id(store: Store, clock: Clock) -> None:
    add(store, clock, URL, priority=5)
    fetched(store, clock())
    catalog.delete_feed(store, "news", now=clock())
    created = clock()
    clock.advance(days=1)
    assert catalog.add_feed(store, URL, now=clock()).feed_id == "news"
    feed, schedule = feed_of(store), schedule_of(store)
    assert (feed.deleted_at, feed.created_at, feed.priority) == (None, created, 0)
    assert (schedule.etag, schedule.body_sha256, schedule.consecutive_errors) == (None, None, 0)
    assert due(store, clock()) == ["news"]


def test_the_id_of_a_deleted_feed_may_be_asked_for_by_name(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    catalog.delete_feed(store, "news", now=clock())
    assert add(store, clock, "https://other.example/feed", "news") == "news"
    assert (feed_of(store).url, feed_of(store).deleted_at) == ("https://other.example/feed", None)


def test_a_slug_never_takes_the_id_of_a_deleted_feed(store: Store, clock: Clock) -> None:
    first = catalog.add_feed(store, "https://example.com/feed", now=clock())
    catalog.delete_feed(store, first.feed_id, now=clock())
    assert catalog.add_feed(store, "https://example.com/rss", now=clock()).feed_id == "example-com-2"


# Sync


def test_sync_makes_a_feed_due_now(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    fetched(store, clock())
    assert due(store, clock()) == []
    catalog.sync_feed(store, "news", now=clock())
    assert due(store, clock()) == ["news"]
    assert schedule_of(store).etag == '"e"'


def test_sync_revives_a_dead_feed(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    died(store, clock())
    catalog.sync_feed(store, "news", now=clock())
    assert due(store, clock()) == ["news"]
    assert schedule_of(store).consecutive_errors == 0


def test_sync_of_a_feed_without_polling_is_one_fetch(store: Store, clock: Clock) -> None:
    add(store, clock, URL, polling=False)
    stands(store, next_run_at=None, next_run_reason="fetched once; polling is off")
    catalog.sync_feed(store, "news", now=clock())
    assert due(store, clock()) == ["news"]


def test_sync_of_a_disabled_feed_is_refused_with_what_to_do(store: Store, clock: Clock) -> None:
    add(store, clock, URL, enabled=False)
    with pytest.raises(FeedNotReady, match="feed-assets feed enable news"):
        catalog.sync_feed(store, "news", now=clock())


def test_sync_of_an_unknown_feed_is_refused(store: Store, clock: Clock) -> None:
    with pytest.raises(UnknownFeed, match="there is no feed 'nobody'"):
        catalog.sync_feed(store, "nobody", now=clock())


# Import


def test_an_import_adds_what_is_not_there_and_a_second_one_nothing(store: Store, clock: Clock) -> None:
    rows = [
        {"id": "a", "url": "https://a.example/feed", "priority": 3},
        {"feed_id": "b", "url": "https://b.example/feed"},
        {"url": "https://c.example/"},
    ]
    first = catalog.import_feeds(store, rows, now=clock())
    assert (first.added, first.unchanged, first.rejected) == (("a", "b", "c-example"), (), ())
    assert feed_of(store, "a").priority == 3
    assert due(store, clock()) == ["a", "b", "c-example"]
    before = table(store, "feeds"), table(store, "feed_schedules")
    clock.advance(hours=1)
    second = catalog.import_feeds(store, rows, now=clock())
    assert (second.added, second.unchanged, second.rejected) == ((), ("a", "b", "c-example"), ())
    assert (table(store, "feeds"), table(store, "feed_schedules")) == before


def test_bad_rows_are_reported_one_by_one_and_the_rest_is_imported(store: Store, clock: Clock) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "url": "https://a.example/feed"}, {"id": "no-url"}, {"id": "bad-url", "url": "nonsense"}, {"id": "Bad Id", "url": "https://b.example/"},
        {"url": "https://c.example/", "refresh_interval_minutes": 0}, {"url": "https://d.example/", "colour": "red"},
        {"url": "https://e.example/", "enabled": "perhaps"}, {"id": "z", "url": "https://z.example/feed"},
    ]  # fmt: skip
    imported = catalog.import_feeds(store, rows, now=clock())
    assert imported.added == ("a", "z")
    assert [name for name, _ in imported.rejected] == [
        "no-url",
        "nonsense",
        "https://b.example/",
        "https://c.example/",
        "https://d.example/",
        "https://e.example/",
    ]
    assert all(reason and "\n" not in reason for _, reason in imported.rejected)
    assert due(store, clock()) == ["a", "z"]


def test_a_url_twice_in_one_import_is_one_feed(store: Store, clock: Clock) -> None:
    imported = catalog.import_feeds(store, [{"url": URL, "id": "a"}, {"url": URL, "id": "b"}], now=clock())
    assert (imported.added, imported.unchanged) == (("a",), ("a",))


def test_urls_that_make_the_same_slug_get_ids_of_their_own(store: Store, clock: Clock) -> None:
    imported = catalog.import_feeds(store, [{"url": "https://example.com/feed"}, {"url": "https://example.com/rss"}], now=clock())
    assert imported.added == ("example-com", "example-com-2")


def test_an_id_that_is_a_number_in_the_file_is_an_id(store: Store, clock: Clock) -> None:
    assert catalog.import_feeds(store, [{"id": 2024, "url": URL}], now=clock()).added == ("2024",)


def test_an_id_that_is_a_number_in_the_file_never_overwrites_a_feed(store: Store, clock: Clock) -> None:
    add(store, clock, URL, "2024")
    catalog.import_feeds(store, [{"id": 2024, "url": "https://other.example/feed"}], now=clock())
    assert feed_of(store, "2024").url == URL


def test_a_row_whose_id_belongs_to_another_url_is_reported(store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    imported = catalog.import_feeds(store, [{"id": "news", "url": "https://other.example/feed"}], now=clock())
    assert feed_of(store).url == URL
    assert [name for name, _ in imported.rejected] == ["https://other.example/feed"]


@pytest.mark.parametrize("row", [{"id": "news", "url": URL}, {"url": URL}], ids=["with its id", "without an id"])
def test_an_import_brings_a_deleted_feed_back_under_its_old_id(row: dict[str, Any], store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    catalog.delete_feed(store, "news", now=clock())
    assert catalog.import_feeds(store, [row], now=clock()).added == ("news",)


# Following a file


def follow(store: Store, settings: Settings, clock: Clock, *rows: dict[str, Any], prune: bool = False) -> catalog.Imported:
    return catalog.follow_file(store, settings, rows, now=clock(), prune=prune)


def test_following_a_file_adds_changes_and_then_leaves_everything_as_it_is(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL, priority=1, source_name="By hand")
    rows = ({"id": "news", "url": URL, "priority": 5}, {"id": "other", "url": "https://other.example/feed"})
    done = follow(store, settings, clock, *rows)
    assert (done.added, done.changed, done.unchanged, done.rejected) == (("other",), ("news",), (), ())
    assert (feed_of(store).priority, feed_of(store).source_name) == (5, "By hand")  # what the file does not name stays
    before = table(store, "feeds"), table(store, "feed_schedules"), table(store, "events")
    clock.advance(hours=1)
    again = follow(store, settings, clock, *rows)
    assert (again.added, again.changed, again.unchanged) == ((), (), ("news", "other"))
    assert (table(store, "feeds"), table(store, "feed_schedules"), table(store, "events")) == before


def test_a_new_url_in_the_file_moves_the_feed_and_makes_it_due(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    clock.advance(hours=1)
    assert follow(store, settings, clock, {"id": "news", "url": "https://moved.org/feed"}).changed == ("news",)
    assert (feed_of(store).url, feed_of(store).root_domain) == ("https://moved.org/feed", "moved.org")
    assert due(store, clock()) == ["news"]


def test_pruning_removes_what_the_file_does_not_have(store: Store, settings: Settings, clock: Clock) -> None:
    for name in ("a", "b"):
        add(store, clock, f"https://{name}.example/feed", name)
    assert follow(store, settings, clock, {"url": "https://a.example/feed"}).removed == ()
    assert follow(store, settings, clock, {"url": "http://www.a.example/feed/"}, prune=True).removed == ("b",)
    assert feed_of(store, "b").deleted_at == clock()


def test_nothing_is_removed_when_a_row_is_not_right(store: Store, settings: Settings, clock: Clock) -> None:
    add(store, clock, URL)
    done = follow(store, settings, clock, {"id": "news", "url": "nonsense"}, prune=True)
    assert (len(done.rejected), done.removed, feed_of(store).deleted_at) == (1, (), None)


def test_a_row_may_not_take_the_url_of_another_feed(store: Store, settings: Settings, clock: Clock) -> None:
    for name in ("a", "b"):
        add(store, clock, f"https://{name}.example/feed", name)
    done = follow(store, settings, clock, {"id": "a", "url": "https://b.example/feed"})
    assert done.rejected == (("https://b.example/feed", "https://b.example/feed is there already, as feed 'b'"),)
    assert feed_of(store, "a").url == "https://a.example/feed"


@pytest.mark.parametrize(
    "spelling", ["http://news.example.com/feed.xml", "https://www.news.example.com/feed.xml/", "https://NEWS.example.com:443/feed%2Exml"]
)
def test_another_spelling_of_a_url_is_the_feed_that_is_there(spelling: str, store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    assert catalog.import_feeds(store, [{"url": spelling}], now=clock()).unchanged == ("news",)
    with pytest.raises(DuplicateFeed, match=r"'news' at https://news\.example\.com/feed\.xml"):
        catalog.refuse_known(store, spelling)
    catalog.refuse_known(store, spelling, respelled=False)


@pytest.mark.parametrize(
    "other", ["https://me:pass@news.example.com/feed.xml", "https://news.example.com/feed.xml?page=2", "https://example.com/feed.xml"]
)
def test_what_may_well_be_another_feed_is_one(other: str, store: Store, clock: Clock) -> None:
    add(store, clock, URL)
    assert len(catalog.import_feeds(store, [{"url": other}], now=clock()).added) == 1


# Restore


def test_a_restored_feed_is_as_it_was_and_due(store: Store, clock: Clock) -> None:
    before = catalog.add_feed(store, URL, now=clock(), feed_id="news", priority=4)
    catalog.delete_feed(store, "news", now=clock())
    clock.advance(days=3)
    catalog.restore_feed(store, "news", now=clock())
    assert replace(feed_of(store), updated_at=None) == replace(before, updated_at=None)
    assert due(store, clock()) == ["news"]


def test_only_a_deleted_feed_whose_place_is_free_can_be_restored(store: Store, clock: Clock) -> None:
    with pytest.raises(UnknownFeed):
        catalog.restore_feed(store, "nobody", now=clock())
    add(store, clock, URL)
    with pytest.raises(FeedNotReady):
        catalog.restore_feed(store, "news", now=clock())
    catalog.delete_feed(store, "news", now=clock())
    catalog.add_feed(store, URL, now=clock(), feed_id="another")
    with pytest.raises(DuplicateFeed, match="another"):
        catalog.restore_feed(store, "news", now=clock())


def test_each_feed_that_is_added_is_told_once(store: Store, clock: Clock) -> None:
    add(store, clock, "https://me:secret@news.example.com/feed.xml")
    catalog.import_feeds(store, [{"id": "b", "url": "https://b.example/"}, {"id": "news", "url": URL}], now=clock())
    told = [(row["event_type"], decoded(row["payload"])) for row in table(store, "events")]
    assert sorted(told, key=str) == sorted(
        [
            ("feed.added", {"feed_id": "news", "url": "https://me:***@news.example.com/feed.xml", "source_name": "news.example.com"}),
            ("feed.added", {"feed_id": "b", "url": "https://b.example/", "source_name": "b.example"}),
        ],
        key=str,
    )


def test_feeds_are_listed_in_the_order_of_their_file(store: Store, clock: Clock) -> None:
    names = ["z", "m", "a", "q"]
    catalog.import_feeds(store, [{"id": name, "url": f"https://{name}.example/"} for name in names], now=clock())
    with store.read() as tx:
        assert [feed.feed_id for feed in tx.feeds.listed()] == names


def test_the_starter_list_is_imported_whole(store: Store, clock: Clock) -> None:
    rows = read_feeds_file(Path(__file__).parents[1] / "feeds.yaml")
    imported = catalog.import_feeds(store, rows, now=clock())
    assert len(imported.added) == len(rows) > 10
    assert imported.rejected == ()


def test_an_id_that_stands_twice_in_a_file_at_different_urls_is_told(store: Store, settings: Settings, clock: Clock) -> None:
    rows = [{"id": "q", "url": "https://q.example/"}, {"id": "q", "url": "https://q2.example/"}]
    done = follow(store, settings, clock, *rows)
    assert done.added == ("q",)
    assert [reason for _, reason in done.rejected] == ["the file has 'q' twice, at different URLs"]
    assert feed_of(store, "q").url == "https://q.example/"
