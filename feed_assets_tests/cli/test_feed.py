"""`feed-assets feed ...` on both engines: what each command does to the catalog, and what `--json` looks like."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import Store
from feed_assets_tests.store.builders import make_feed, put, save_schedule
from feed_assets_tests.support.command_line import Run, assert_failed
from feed_assets_tests.support.contract import OVERVIEW_COLUMNS
from feed_assets_tests.support.feed_server import FeedServer, rss


@pytest.fixture
def run(both: Run) -> Run:
    return both


@pytest.fixture
def news(both: Run, stored: Store) -> Run:
    """With a feed `news` in the catalog."""
    catalog.add_feed(stored, "https://news.example/feed", now=utc_now(), feed_id="news")
    return both


def show(run: Run, feed_id: str = "news") -> dict[str, Any]:
    found: dict[str, Any] = run("feed", "show", feed_id, "--json").json()
    return found


def test_an_added_feed_is_listed_and_due_at_once(run: Run) -> None:
    added = run("feed", "add", "https://news.example/blog/feed.xml", "--no-fetch")
    (feed,) = run("feed", "list", "--json").json()
    assert (added.code, added.err) == (0, "")
    assert added.out == "added news-example-blog (https://news.example/blog/feed.xml)\n"
    assert set(feed) >= OVERVIEW_COLUMNS
    assert (feed["feed_id"], feed["url"], feed["source_name"]) == (
        "news-example-blog",
        "https://news.example/blog/feed.xml",
        "news.example",
    )
    assert (feed["enabled"], feed["polling"], feed["fetch_status"], feed["error_policy"]) == (True, True, "idle", "backoff")
    age = datetime.now(UTC) - datetime.fromisoformat(feed["next_run_at"])
    assert timedelta() <= age < timedelta(minutes=1)


def test_no_feeds_are_an_empty_json_list(run: Run) -> None:
    assert run("feed", "list", "--json").json() == []


def test_every_option_of_add_lands_in_its_column(run: Run) -> None:
    options = "--id wire --name Wire --interval 30 --priority 7 --group press --no-polling --disabled --no-root-domain --enforce-domain"
    assert run("feed", "add", "https://news.bbc.co.uk/feed", *options.split(), "--error-policy", "one_strike").code == 0
    expected = {
        "source_name": "Wire",
        "refresh_interval_minutes": 30,
        "priority": 7,
        "feed_group": "press",
        "polling": False,
        "enabled": False,
        "root_domain": None,
        "enforce_feed_domain": True,
        "error_policy": "one_strike",
    }
    feed = show(run, "wire")
    assert {name: feed[name] for name in expected} == expected


def test_the_root_domain_is_that_of_the_site(run: Run) -> None:
    run("feed", "add", "https://news.bbc.co.uk/feed", "--id", "bbc")
    assert show(run, "bbc")["root_domain"] == "bbc.co.uk"


def test_show_gives_one_object_with_its_history(news: Run) -> None:
    feed = show(news)
    assert set(feed) >= OVERVIEW_COLUMNS | {"history"}
    assert feed["history"] == []


def test_show_for_people_has_state_and_columns(news: Run) -> None:
    ran = news("feed", "show", "news")
    facts = dict(line.split(maxsplit=1) for line in ran.out.splitlines() if len(line.split()) == 2)
    assert (ran.code, facts["state"], facts["feed_id"], facts["url"]) == (0, "new", "news", "https://news.example/feed")


def test_show_explains_identity_duplicates_and_what_was_dropped(ready: Run, server: FeedServer) -> None:
    url = server.publish("/feed", rss("one", "two", "three"))
    assert ready("feed", "add", url, "--id", "news").code == 0
    assert ready("refresh", "news", MAX_ARTICLES_PER_FEED="2").code == 0
    told = ready("feed", "show", "news").out
    assert "by the publisher's ids, else links, else texts" in told
    assert "rss20, utf-8, read as it is: 3 entries, 2 kept" in told
    assert "1 beyond MAX_ARTICLES_PER_FEED, the oldest" in told
    assert "0 of 2 items are stories that another feed had first" in told
    shown = show(ready)
    assert (shown["identity_mode"], shown["reading"]["over_limit"], shown["items"]["own_articles"]) == ("id", 1, 2)


def test_the_list_for_people_has_one_line_per_feed(news: Run) -> None:
    news("feed", "add", "https://other.example/feed", "--id", "other", "--name", "A name of many words " * 10, "--disabled")
    lines = news("feed", "list").out.splitlines()
    assert len(lines) == 3
    assert [line.split()[0] for line in lines] == ["id", "news", "other"]
    assert "disabled" in lines[2]


@pytest.mark.parametrize("name", ["[/red]", "[news] of the day"])
def test_a_name_in_brackets_is_shown_as_it_is(run: Run, name: str) -> None:
    run("feed", "add", "https://news.example/feed", "--name", name)
    ran = run("feed", "list")
    assert ran.code == 0
    assert name in ran.out


EDITS: list[tuple[list[str], str, Any]] = [
    (["--name", "Better"], "source_name", "Better"),
    (["--interval", "45"], "refresh_interval_minutes", 45),
    (["--adaptive"], "refresh_interval_minutes", None),
    (["--priority", "3"], "priority", 3),
    (["--group", "press"], "feed_group", "press"),
    (["--error-policy", "one_strike"], "error_policy", "one_strike"),
    (["--enforce-domain"], "enforce_feed_domain", True),
    (["--no-enforce-domain"], "enforce_feed_domain", False),
    (["--root-domain", "other.org"], "root_domain", "other.org"),
    (["--root-domain", ""], "root_domain", None),
    (["--group", ""], "feed_group", None),
    (["--disabled"], "enabled", False),
    (["--enabled"], "enabled", True),
    (["--no-polling"], "polling", False),
    (["--polling"], "polling", True),
    (["--url", "https://new.example/feed"], "url", "https://new.example/feed"),
]


def test_edit_changes_its_column_and_nothing_else(news: Run) -> None:
    before = show(news)
    for option, column, value in EDITS:
        assert news("feed", "edit", "news", *option).out == f"changed news: {column}\n"
        after = show(news)
        assert after[column] == value != before[column]
        assert {name for name in after if after[name] != before[name]} <= {column, "updated_at", "next_run_at", "next_run_reason"}
        before = after


def test_disable_and_enable_switch_a_feed(news: Run) -> None:
    assert news("feed", "disable", "news").out == "disabled news\n"
    assert show(news)["enabled"] is False
    assert news("feed", "enable", "news").out == "enabled news\n"
    assert show(news)["enabled"] is True


def test_polling_off_leaves_no_next_run_and_sync_gives_one(news: Run) -> None:
    assert news("feed", "polling", "news", "off").code == 0
    paused = show(news)
    assert (paused["polling"], paused["next_run_at"]) == (False, None)
    assert news("feed", "sync", "news").code == 0
    assert show(news)["next_run_at"] is not None
    news("feed", "polling", "news", "off")
    assert news("feed", "polling", "news", "on").code == 0
    assert show(news)["polling"] is True


def test_sync_of_a_disabled_feed_says_what_to_do_first(news: Run) -> None:
    news("feed", "disable", "news")
    assert_failed(news("feed", "sync", "news"), 1, "feed-assets feed enable news")


def test_a_deleted_feed_is_gone_and_comes_back_under_its_old_id(news: Run) -> None:
    assert news("feed", "delete", "news").out == "deleted news\n"
    assert news("feed", "list", "--json").json() == []
    assert_failed(news("feed", "show", "news"), 1, "news")
    assert_failed(news("feed", "delete", "news"), 1, "news")
    assert news("feed", "add", "https://news.example/feed").out.startswith("added news (")
    assert show(news)["deleted_at"] is None


def test_import_of_yaml_adds_feeds_and_applies_the_columns_that_it_names(news: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text(
        "feeds:\n"
        "  - {id: news, url: 'https://news.example/feed', source_name: Renamed}\n"
        "  - {id: wire, url: 'https://wire.example/feed', source_name: Wire, priority: 4, refresh_interval_minutes: 60, enabled: false}\n"
        "  - {url: 'https://third.example/feed'}\n"
    )
    ran = news("feed", "import", str(file))
    feeds = {feed["feed_id"]: feed for feed in news("feed", "list", "--json").json()}
    assert (ran.code, ran.out, ran.err) == (0, "2 added, 1 changed, 0 there already, 0 rejected\n", "")
    assert set(feeds) == {"news", "wire", "third-example"}
    assert feeds["news"]["source_name"] == "Renamed"
    assert [feeds["wire"][name] for name in ("source_name", "priority", "refresh_interval_minutes", "enabled")] == ["Wire", 4, 60, False]
    assert news("feed", "import", str(file)).out == "0 added, 3 there already, 0 rejected\n"


def test_import_takes_the_good_rows_and_names_the_bad_ones(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text(
        "feeds:\n"
        "  - {id: good, url: 'https://good.example/feed'}\n"
        "  - {id: bad, url: 'ftp://bad.example/feed'}\n"
        "  - {id: slow, url: 'https://slow.example/feed', refresh_interval_minutes: 0}\n"
        "  - {id: odd, url: 'https://odd.example/feed', colour: red}\n"
    )
    ran = run("feed", "import", str(file))
    assert (ran.code, ran.out) == (1, "1 added, 0 there already, 3 rejected\n")
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["not imported"] * 3
    assert all(word in ran.err for word in ("ftp", "10080", "colour"))
    assert [feed["feed_id"] for feed in run("feed", "list", "--json").json()] == ["good"]


def test_import_names_a_url_that_cannot_be_split(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {url: 'https://[broken.example/feed'}\n")
    ran = run("feed", "import", str(file))
    assert (ran.code, ran.out) == (1, "0 added, 0 there already, 1 rejected\n")
    assert "not a URL" in ran.err


def test_import_finds_a_feed_whose_id_yaml_reads_as_a_number(run: Run, tmp_path: Path) -> None:
    run("feed", "add", "https://news.example/2024", "--id", "2024")
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {id: 2024, url: 'https://elsewhere.example/feed'}\n")
    assert run("feed", "import", str(file)).out.startswith("0 added, ")
    assert show(run, "2024")["url"] == "https://elsewhere.example/feed"


def test_import_reads_opml(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.opml"
    file.write_text(
        "<?xml version='1.0'?><opml version='2.0'><head><title>Mine</title></head><body><outline text='Press'>"
        "<outline type='rss' text='News' xmlUrl='https://news.example/feed'/></outline></body></opml>"
    )
    assert run("feed", "import", str(file)).code == 0
    assert [feed["url"] for feed in run("feed", "list", "--json").json()] == ["https://news.example/feed"]


def test_a_list_can_be_narrowed_down(run: Run, stored: Store) -> None:
    later = utc_now() + timedelta(hours=1)
    with stored.begin() as tx:
        put(tx, make_feed("fine", root_domain="a.example"), make_feed("gone", root_domain="b.example"), due=later)
        put(tx, make_feed("off", enabled=False, feed_group="others"), "new", due=utc_now())
        save_schedule(tx, "fine", last_status="success", last_success_at=later, next_run_at=later)
        save_schedule(tx, "gone", last_status="permanent_error", last_error="HTTP 410 Gone")

    def ids(*options: str) -> list[str]:
        return [row["feed_id"] for row in run("feed", "list", *options, "--json").json()]

    assert ids() == ["fine", "gone", "new", "off"]
    assert (ids("--dead"), ids("--due"), ids("--status", "ok"), ids("--status", "disabled")) == (["gone"], ["new"], ["fine"], ["off"])
    assert (ids("--domain", "B.example"), ids("--group", "others")) == (["gone"], ["off"])
    dead = run("feed", "list", "--dead").out.splitlines()
    assert len(dead) == 2 and "HTTP 410 Gone" in dead[1]
    assert run("feed", "list", "--status", "asleep").code == 2


def test_sync_of_a_deleted_feed_fails_and_a_restored_one_is_due(news: Run) -> None:
    news("feed", "delete", "news")
    assert_failed(news("feed", "sync", "news"), 1, "there is no feed 'news'")
    (gone,) = news("feed", "list", "--deleted", "--json").json()
    assert (gone["feed_id"], gone["deleted_at"] is not None) == ("news", True)
    assert "news" in news("feed", "list", "--deleted").out.splitlines()[1]
    assert news("feed", "restore", "news").out == "restored news (https://news.example/feed)\n"
    assert [feed["feed_id"] for feed in news("feed", "list", "--due", "--json").json()] == ["news"]
    assert_failed(news("feed", "restore", "news"), 1, "is not deleted")
    assert_failed(news("feed", "restore", "nowhere"), 1, "nowhere")


def test_sync_revives_a_dead_feed(news: Run, stored: Store) -> None:
    with stored.begin() as tx:
        save_schedule(tx, "news", last_status="permanent_error", last_error="HTTP 410 Gone", consecutive_errors=1)
    assert [feed["feed_id"] for feed in news("feed", "list", "--dead", "--json").json()] == ["news"]
    assert news("feed", "sync", "news").code == 0
    revived = show(news)
    assert (revived["consecutive_errors"], revived["next_run_reason"]) == (0, "sync was asked for")
    assert news("feed", "list", "--dead", "--json").json() == []


def test_discover_names_the_feeds_of_a_page_and_add_takes_the_only_one(run: Run, server: FeedServer) -> None:
    feed = server.publish("/news.xml", rss("one"))
    page = server.publish("/", f"<html><head><link rel='alternate' type='application/rss+xml' title='News' href='{feed}'></head></html>")
    (found,) = run("feed", "discover", page, "--json").json()
    assert (found["url"], found["title"]) == (feed, "News")
    assert feed in run("feed", "discover", page).out
    assert_failed(run("feed", "discover", server.fail("/gone", 404)), 1, "no feed found")
    assert run("feed", "add", page, "--id", "news").out.startswith(f"this is a page; its feed is {feed}\nadded news ({feed})\n")
