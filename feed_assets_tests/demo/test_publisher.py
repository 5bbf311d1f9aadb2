"""The demo publisher over real HTTP: formats, growth with the clock, every fault, conditional GET, gzip, the log, and the process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from feed_assets import catalog
from feed_assets.demo import DEMO_FEEDS, DemoFeed, Publisher, demo_urls
from feed_assets.demo.render import CONTENT_TYPES
from feed_assets.errors import NotAFeed
from feed_assets.model import Outcome, ParsedFeed
from feed_assets.parse import parse_document
from feed_assets.refresh import refresh_feeds
from feed_assets.store import Store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock

HEALTHY = [feed for feed in DEMO_FEEDS if feed.fault is None]
BY_FAULT = {feed.fault: feed.name for feed in DEMO_FEEDS if feed.fault}


@pytest.fixture(scope="module")
def press_clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def press(press_clock: Clock) -> Iterator[Publisher]:
    with Publisher(clock=press_clock) as running:
        yield running


def get(url: str, **headers: str) -> requests.Response:
    return requests.get(url, headers={name.replace("_", "-"): value for name, value in headers.items()}, timeout=5, allow_redirects=False)


def parsed(answer: requests.Response) -> ParsedFeed:
    return parse_document(answer.content, url=answer.url, headers=answer.headers, max_entries=100)


def test_there_are_at_least_25_feeds_in_four_formats() -> None:
    formats = Counter(feed.format for feed in DEMO_FEEDS)
    assert sum(formats.values()) >= 25
    assert set(formats) == {"rss", "atom", "rdf", "json"}
    assert len({feed.name for feed in DEMO_FEEDS}) == len(DEMO_FEEDS)


def test_every_feed_has_a_url_that_is_known_before_the_start(press: Publisher) -> None:
    port = urlsplit(press.urls["ticker"]).port
    assert port is not None
    assert press.urls == demo_urls(port)
    assert set(press.urls) == {feed.name for feed in DEMO_FEEDS}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 without set-up")
def test_the_feeds_are_spread_over_several_loopback_hosts(press: Publisher) -> None:
    hosts = Counter(urlsplit(url).hostname for url in press.urls.values())
    assert len(hosts) >= 8
    assert all(str(host).startswith("127.") for host in hosts)


@pytest.mark.parametrize("feed", HEALTHY, ids=lambda feed: feed.name)
def test_a_healthy_feed_parses_and_grows_when_the_clock_advances(press: Publisher, press_clock: Clock, feed: DemoFeed) -> None:
    first = get(press.urls[feed.name])
    before = parsed(first)
    press_clock.advance(seconds=feed.every.total_seconds())
    after = parsed(get(press.urls[feed.name]))
    assert first.headers["Content-Type"] == CONTENT_TYPES[feed.format]
    assert before.title == feed.title
    assert all(entry.title and entry.url and entry.content and entry.published_at for entry in before.entries)
    assert len({entry.url for entry in before.entries}) == len(before.entries) == 20
    fresh = [entry for entry in after.entries if entry.url not in {old.url for old in before.entries}]
    assert len(fresh) == feed.burst
    assert all(press_clock() - feed.every < entry.published_at <= press_clock() for entry in fresh if entry.published_at)


@pytest.mark.parametrize("name", ["ticker", "harbour", "agora", "museum"])
def test_a_feed_says_the_same_as_long_as_the_clock_stands(press: Publisher, name: str) -> None:
    assert get(press.urls[name]).content == get(press.urls[name]).content


def test_feeds_on_one_wire_carry_the_same_stories_under_their_own_ids_and_links(press: Publisher) -> None:
    north, south = (parsed(get(press.urls[name])).entries for name in ("wire-north", "wire-south"))
    assert [entry.title for entry in north] == [entry.title for entry in south]
    assert not {entry.guid for entry in north} & {entry.guid for entry in south}
    assert not {entry.url for entry in north} & {entry.url for entry in south}


def test_a_story_leads_to_a_page(press: Publisher) -> None:
    link = parsed(get(press.urls["ticker"])).entries[0].url
    assert link is not None
    page = get(link)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html")


@pytest.mark.parametrize("status", [404, 410, 401, 429, 500])
def test_a_feed_with_a_bad_status_answers_with_it(press: Publisher, status: int) -> None:
    assert get(press.urls[BY_FAULT[str(status)]]).status_code == status


def test_the_busy_feed_asks_to_come_back_later(press: Publisher) -> None:
    assert get(press.urls["busy"]).headers["Retry-After"] == "120"


@pytest.mark.parametrize(("name", "status"), [("gone-temporarily", 302), ("gone-for-good", 301)])
def test_a_moved_feed_redirects_to_a_working_one(press: Publisher, name: str, status: int) -> None:
    assert get(press.urls[name]).status_code == status
    followed = requests.get(press.urls[name], timeout=5)
    assert [hop.status_code for hop in followed.history] == [status]
    assert len(parsed(followed).entries) == 20


@pytest.mark.parametrize("name", ["garbled", "homepage"])
def test_a_document_that_is_no_feed_does_not_parse(press: Publisher, name: str) -> None:
    answer = get(press.urls[name])
    assert answer.status_code == 200
    with pytest.raises(NotAFeed):
        parsed(answer)


def test_the_sleepy_feed_never_answers(press: Publisher) -> None:
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.get(press.urls["sleepy"], timeout=0.3)


def test_the_flaky_feed_fails_in_one_minute_of_three(press: Publisher, press_clock: Clock) -> None:
    statuses = []
    for _ in range(6):
        statuses.append(get(press.urls["flaky"]).status_code)
        press_clock.advance(minutes=1)
    assert Counter(statuses) == {200: 4, 500: 2}


def test_an_unknown_path_is_404(press: Publisher) -> None:
    assert get(press.urls["ticker"] + "-of-nowhere").status_code == 404


@pytest.mark.parametrize("name", ["ticker", "harbour", "agora", "museum"])
def test_a_conditional_get_is_answered_with_304_until_there_is_news(press: Publisher, press_clock: Clock, name: str) -> None:
    etag = get(press.urls[name]).headers["ETag"]
    unchanged = get(press.urls[name], If_None_Match=etag)
    press_clock.advance(hours=1)
    changed = get(press.urls[name], If_None_Match=etag)
    assert (unchanged.status_code, unchanged.content, unchanged.headers["ETag"]) == (304, b"", etag)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != etag


def test_bodies_are_compressed_for_those_who_ask(press: Publisher) -> None:
    packed = get(press.urls["ticker"], Accept_Encoding="gzip")
    plain = get(press.urls["ticker"], Accept_Encoding="identity")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"])


def test_the_log_has_every_request_with_its_status(press: Publisher) -> None:
    seen = len(press.log)
    etag = get(press.urls["ticker"]).headers["ETag"]
    get(press.urls["ticker"], If_None_Match=etag)
    get(press.urls["missing"])
    host, other = (str(urlsplit(press.urls[name]).hostname) for name in ("ticker", "missing"))
    assert press.log[seen:] == [(host, "/feeds/ticker", 200), (host, "/feeds/ticker", 304), (other, "/feeds/missing", 404)]


def test_the_log_has_a_request_that_is_kept_waiting(press: Publisher) -> None:
    seen = len(press.log)
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.get(press.urls["sleepy"], timeout=0.3)
    assert [path for _, path, _ in press.log[seen:]] == ["/feeds/sleepy"]


def test_closing_does_not_wait_for_a_client_that_is_kept_waiting() -> None:
    publisher = Publisher()
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.get(publisher.urls["sleepy"], timeout=0.2)
    started = time.monotonic()
    publisher.close()
    assert time.monotonic() - started < 10
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(publisher.urls["ticker"], timeout=1)


def test_a_refresh_of_all_feeds_ends_as_each_fault_says(press: Publisher, press_clock: Clock, store: Store, database_url: str) -> None:
    while press_clock().minute % 3 == 0:  # the minute in which the flaky feed fails
        press_clock.advance(minutes=1)
    settings = make_settings(Path.cwd(), DATABASE_URL=database_url, REQUEST_TIMEOUT_SECONDS=0.5, JOB_TIMEOUT_SECONDS=1)
    catalog.import_feeds(store, [{"id": name, "url": url} for name, url in press.urls.items()], now=press_clock())
    reports = {report.feed_id: report for report in refresh_feeds(store, settings, list(press.urls), clock=press_clock)}
    expected = {
        "404": Outcome.PERMANENT_ERROR,
        "410": Outcome.PERMANENT_ERROR,
        "html": Outcome.PERMANENT_ERROR,
        "broken-xml": Outcome.PERMANENT_ERROR,
        "401": Outcome.UNAUTHORIZED,
        "429": Outcome.TEMPORARY_ERROR,
        "500": Outcome.TEMPORARY_ERROR,
        "timeout": Outcome.TEMPORARY_ERROR,
    }
    assert {name: report.outcome for name, report in reports.items()} == {
        feed.name: expected.get(str(feed.fault), Outcome.SUCCESS) for feed in DEMO_FEEDS
    }
    assert reports["busy"].next_run_at is not None
    assert reports["busy"].next_run_at >= press_clock() + timedelta(seconds=120)
    assert all(report.new == 20 for report in reports.values() if report.outcome.ok)


def test_the_publisher_runs_as_a_process_writes_its_log_and_stops_at_ctrl_c(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "press.jsonl"
    command = [sys.executable, "-m", "feed_assets.demo", str(port), str(log)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        url = demo_urls(port)["homepage"]
        wait_until_answered(url)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
    line = json.loads(log.read_text().splitlines()[-1])
    assert (line["path"], line["status"], line["address"]) == ("/feeds/homepage", 200, urlsplit(url).hostname)
    assert line["at"].endswith("+00:00")


def wait_until_answered(url: str) -> None:
    deadline = time.monotonic() + 15
    while True:
        try:
            requests.get(url, timeout=2)
            return
        except requests.exceptions.ConnectionError:
            assert time.monotonic() < deadline, f"{url} did not answer"
            time.sleep(0.05)
