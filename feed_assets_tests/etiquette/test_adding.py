"""Rule 9: adding a feed costs one GET, whatever is there; `feed discover` asks no more than it must."""

from __future__ import annotations

from datetime import timedelta

import pytest

from feed_assets.model import FeedReport
from feed_assets.refresh import claim_due, refresh, refresh_feeds, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets.urls import host_of
from feed_assets_tests.support.command_line import Run, assert_failed
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import table
from feed_assets_tests.support.rows import look, one_engine

TEN_MINUTES = timedelta(minutes=10)
FEED_LINK = '<link rel="alternate" type="application/{kind}+xml" title="{title}" href="{href}">'
RSS = FEED_LINK.format(kind="rss", title="All news", href="/feed")
ATOM = FEED_LINK.format(kind="atom", title="Comments", href="comments.atom")


def page(*links: str) -> str:
    return f"<!doctype html><html><head><title>Site</title>{''.join(links)}</head><body>Hello</body></html>"


def refresh_due(store: Store, settings: Settings) -> list[FeedReport]:
    """What the next tick would do."""
    batches, _ = claim_due(store, settings, now=utc_now())
    return [report for batch in batches for report in refresh(store, settings, batch.token)]


def paths(server: FeedServer) -> list[str]:
    return [asked.path for asked in server.asked]


def test_rule_09_adding_a_feed_costs_one_get(store: Store, settings: Settings, server: FeedServer, run: Run) -> None:
    added = run("feed", "add", server.publish("/feed", rss("one", "two"), ETag='"1"'), "--id", "news")
    assert (added.code, added.err, paths(server)) == (0, "", ["/feed"])
    [report] = refresh_due(store, settings)
    assert (report.new, report.status_code, paths(server)) == (2, 200, ["/feed"])
    rows = look(store)
    assert (rows.schedule()["etag"], rows.of("feeds")["source_name"], rows.counts()["raw_fetches"]) == ('"1"', "News", 1)
    assert table(store, "first_responses") == []
    [again] = refresh_feeds(store, settings, ["news"])
    assert (again.status_code, len(server.asked)) == (304, 2)


@one_engine
@pytest.mark.parametrize(("status", "outcome"), [(404, "permanent_error"), (503, "temporary_error"), (401, "unauthorized")])
def test_rule_09_adding_a_url_that_fails_costs_one_get(
    store: Store, settings: Settings, server: FeedServer, run: Run, status: int, outcome: str
) -> None:
    added = run("feed", "add", server.fail("/feed", status, Retry_After="7200"), "--id", "news")
    assert added.code == 0
    assert f"HTTP {status}" in added.err
    [report] = refresh_due(store, settings)
    assert (report.outcome, report.status_code, paths(server)) == (outcome, status, ["/feed"])
    schedule = look(store).schedule()
    assert (schedule["last_status"], schedule["consecutive_errors"]) == (outcome, 1)
    if status == 503:
        assert schedule["interval_seconds"] == 7200


@one_engine
def test_rule_09_a_page_with_one_feed_adds_that_feed_with_one_get_each(
    store: Store, settings: Settings, server: FeedServer, run: Run
) -> None:
    url = server.publish("/feed", rss("one"))
    added = run("feed", "add", server.publish("/", page(RSS)), "--id", "news")
    assert (added.code, paths(server)) == (0, ["/", "/feed"])
    assert f"its feed is {url}" in added.out
    [report] = refresh_due(store, settings)
    assert (report.new, look(store).of("feeds")["url"], len(server.asked)) == (1, url, 2)


@one_engine
def test_rule_09_a_page_with_several_feeds_names_them_and_adds_none(store: Store, server: FeedServer, run: Run) -> None:
    added = run("feed", "add", server.publish("/blog/", page(RSS, ATOM)))
    assert_failed(added, 1, f"{server.base}/feed", f"{server.base}/blog/comments.atom")
    assert (paths(server), table(store, "feeds")) == (["/blog/"], [])


@one_engine
def test_rule_09_a_page_without_a_feed_is_not_added(store: Store, server: FeedServer, run: Run) -> None:
    added = run("feed", "add", server.publish("/", page()))
    assert_failed(added, 1, "names no feed", "--guess")
    assert (paths(server), table(store, "feeds")) == (["/"], [])


@one_engine
@pytest.mark.parametrize("option", ["--no-fetch", "--disabled"])
def test_rule_09_a_feed_that_is_added_unseen_costs_nothing(
    store: Store, settings: Settings, server: FeedServer, run: Run, option: str
) -> None:
    assert run("feed", "add", server.publish("/feed", rss("one")), option).code == 0
    assert (paths(server), table(store, "first_responses")) == ([], [])
    reports = refresh_due(store, settings)
    assert [report.new for report in reports] == ([1] if option == "--no-fetch" else [])
    assert paths(server) == (["/feed"] if option == "--no-fetch" else [])


@one_engine
def test_rule_09_what_is_there_already_is_not_asked_again(server: FeedServer, run: Run) -> None:
    url = server.publish("/feed", rss("one"))
    run("feed", "add", url, "--id", "news")
    assert_failed(run("feed", "add", url), 1, "'news'")
    assert_failed(run("feed", "add", server.publish("/other", rss("one")), "--id", "news"), 1, "'news'")
    assert paths(server) == ["/feed"]


@one_engine
def test_rule_09_a_feed_that_comes_back_costs_one_get(store: Store, settings: Settings, server: FeedServer, run: Run) -> None:
    url = server.publish("/feed", rss("one"))
    run("feed", "add", url, "--id", "news")
    refresh_due(store, settings)
    run("feed", "delete", "news")
    run("feed", "add", url)
    assert [report.outcome.ok for report in refresh_due(store, settings)] == [True]
    assert paths(server) == ["/feed", "/feed"]


@one_engine
def test_rule_09_the_first_answer_is_not_taken_for_that_of_another_url(
    store: Store, settings: Settings, server: FeedServer, run: Run
) -> None:
    run("feed", "add", server.publish("/wrong", rss("wrong"), ETag='"wrong"'), "--id", "news")
    run("feed", "edit", "news", "--url", server.publish("/right", rss("right")))
    refresh_due(store, settings)
    assert paths(server) == ["/wrong", "/right"]
    rows = look(store)
    assert (rows.column("raw_items", "title"), rows.schedule()["etag"]) == (["right"], None)


@one_engine
def test_rule_09_the_first_answer_is_stored_though_another_batch_has_the_host(
    store: Store, settings: Settings, server: FeedServer, run: Run
) -> None:
    url = server.publish("/feed", rss("one"))
    run("feed", "add", url, "--id", "news")
    with store.begin() as tx:
        tx.hosts.reserve("another batch", {host_of(url): utc_now()}, now=utc_now(), lease=TEN_MINUTES)
    assert [report.new for report in refresh_due(store, settings)] == [1]
    assert paths(server) == ["/feed"]


@one_engine
def test_rule_09_an_old_first_answer_does_not_count(store: Store, settings: Settings, server: FeedServer, run: Run) -> None:
    run("feed", "add", server.publish("/feed", rss("one")), "--id", "news")
    server.publish("/feed", rss("two", "one"))
    an_hour_on = utc_now() + 6 * TEN_MINUTES
    [report] = refresh_feeds(store, settings, ["news"], clock=lambda: an_hour_on)
    assert (report.new, len(server.asked)) == (2, 2)


@one_engine
def test_rule_09_discover_asks_once_and_lists_what_the_page_names(server: FeedServer, run: Run) -> None:
    url = server.publish("/blog/", page(RSS, ATOM))
    found = run("feed", "discover", url, "--json")
    assert found.code == 0
    assert found.json() == [
        {"url": f"{server.base}/feed", "title": "All news", "format": "RSS"},
        {"url": f"{server.base}/blog/comments.atom", "title": "Comments", "format": "Atom"},
    ]
    lines = run("feed", "discover", url).out.splitlines()
    assert [line.split()[0] for line in lines] == ["url", f"{server.base}/feed", f"{server.base}/blog/comments.atom"]
    assert paths(server) == ["/blog/", "/blog/"]


@one_engine
def test_rule_09_a_feed_that_a_page_names_twice_keeps_its_first_place(server: FeedServer, run: Run) -> None:
    found = run("feed", "discover", server.publish("/blog/", page(RSS, ATOM, RSS)), "--json").json()
    assert [link["title"] for link in found] == ["All news", "Comments"]


@one_engine
@pytest.mark.parametrize("guess", [[], ["--guess"]], ids=["plain", "guess"])
def test_rule_09_discover_of_a_feed_is_that_feed(server: FeedServer, run: Run, guess: list[str]) -> None:
    url = server.publish("/feed", rss("one"))
    [found] = run("feed", "discover", url, "--json", *guess).json()
    assert (found["url"], found["title"], paths(server)) == (url, "News", ["/feed"])


@one_engine
def test_rule_09_discover_guesses_only_when_asked_and_each_place_once(server: FeedServer, run: Run) -> None:
    url = server.publish("/about", page())
    server.publish("/feed.xml", rss("one"))
    nothing = run("feed", "discover", url)
    assert_failed(nothing, 1, "no feed found")
    assert paths(server) == ["/about"]
    server.asked.clear()
    [found] = run("feed", "discover", url, "--guess", "--json").json()
    assert (found["url"], found["title"]) == (f"{server.base}/feed.xml", "News")
    assert len(paths(server)) == len(set(paths(server)))
    assert {"/about", "/feed", "/feed.xml", "/atom.xml"} <= set(paths(server))


@one_engine
def test_rule_09_discover_that_finds_nothing_says_so_in_json_too(server: FeedServer, run: Run) -> None:
    ran = run("feed", "discover", server.publish("/", page()), "--json")
    assert (ran.code, ran.json()) == (1, [])
    assert ran.err.startswith("error: no feed found")


@one_engine
def test_rule_09_discover_adds_nothing(store: Store, server: FeedServer, run: Run) -> None:
    run("feed", "discover", server.publish("/feed", rss("one")))
    assert (table(store, "feeds"), table(store, "first_responses")) == ([], [])
