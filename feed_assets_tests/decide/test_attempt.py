"""What one attempt makes of a feed: validators, success and error state, news, and the checks that are run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from feed_assets.decide.attempt import Attempt, Decision, decide
from feed_assets.decide.cadence import Policy
from feed_assets.model import Claim, Entry, Feed, FetchResult, Hints, Outcome, ParsedFeed, Schedule, Stats
from feed_assets.settings import load_settings
from feed_assets_tests.decide.entries import compared
from feed_assets_tests.decide.pace import NOW

FEED = Feed("news", "https://news.example/feed", "News")
YESTERDAY = NOW - timedelta(days=1)
BEFORE = Schedule(
    "news", next_run_at=NOW, last_fetched_at=YESTERDAY, last_success_at=YESTERDAY, etag='"old"', last_modified="then", body_sha256="old"
)
DOCUMENT = ParsedFeed("rss20", "T", None, "", None, (Entry(guid="1"),), hints=Hints(ttl_minutes=60))


def decided(
    outcome: Outcome = Outcome.SUCCESS,
    parsed: ParsedFeed | None = None,
    *,
    before: Schedule = BEFORE,
    feed: Feed = FEED,
    stored: tuple[Entry, ...] = (),
    first: bool = False,
    **result: Any,
) -> Decision:
    attempt = Attempt(Claim(FEED, before, Stats("news")), FetchResult("news", FEED.url, NOW, outcome, **result), parsed, "new")
    changes = compared(parsed.entries if parsed else (), stored)
    return decide(attempt, feed, changes, stored_before=len(stored), first=first, policy=Policy.of(load_settings({}, dotenv=None)))


def test_a_success_saves_validators_byte_for_byte() -> None:
    schedule = decided(parsed=DOCUMENT, headers={"ETag": 'W/"é"', "Last-Modified": "whenever"}).schedule
    assert (schedule.etag, schedule.last_modified, schedule.body_sha256) == ('W/"é"', "whenever", "new")


def test_a_success_without_validators_forgets_the_old_ones() -> None:
    schedule = decided(parsed=DOCUMENT).schedule
    assert (schedule.etag, schedule.last_modified) == (None, None)


def test_a_304_keeps_the_validators_that_it_does_not_repeat() -> None:
    schedule = decided(Outcome.NOT_MODIFIED, headers={"etag": '"newer"'}).schedule
    assert (schedule.etag, schedule.last_modified, schedule.body_sha256) == ('"newer"', "then", "old")


def test_a_success_clears_the_error_and_moves_the_times() -> None:
    schedule = decided(before=replace(BEFORE, consecutive_errors=3, last_error="HTTP 503", last_status="temporary_error")).schedule
    assert (schedule.consecutive_errors, schedule.last_error, schedule.last_status) == (0, None, "success")
    assert schedule.last_fetched_at == schedule.last_success_at == NOW


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.ok])
def test_a_failed_fetch_never_moves_the_last_success_or_the_validators(outcome: Outcome) -> None:
    schedule = decided(outcome, reason="HTTP 503", headers={"ETag": '"error page"'}).schedule
    assert (schedule.last_success_at, schedule.last_fetched_at, schedule.etag, schedule.body_sha256) == (YESTERDAY, NOW, '"old"', "old")
    assert (schedule.last_status, schedule.last_error, schedule.consecutive_errors) == (outcome.value, "HTTP 503", 1)


def test_the_next_run_counts_from_the_fetch_and_keeps_its_reason() -> None:
    decision = decided(feed=replace(FEED, refresh_interval_minutes=30))
    assert decision.schedule.next_run_at == NOW + timedelta(minutes=30)
    assert (decision.schedule.interval_seconds, decision.schedule.next_run_reason) == (1800, decision.next_run.reason)


def test_new_items_are_news() -> None:
    assert decided(parsed=DOCUMENT).news


def test_a_document_with_known_items_only_is_no_news() -> None:
    assert not decided(parsed=DOCUMENT, stored=DOCUMENT.entries).news


def test_a_first_document_is_news_even_when_it_is_empty() -> None:
    assert decided(parsed=replace(DOCUMENT, entries=()), first=True).news


def test_a_304_is_no_news_and_checks_only_that_the_feed_was_reached_in_time() -> None:
    decision = decided(Outcome.NOT_MODIFIED)
    assert not decision.news
    assert [(check.name, check.passed) for check in decision.checks] == [("reachable", True), ("polled_in_time", True)]


def test_hints_of_a_document_are_kept_for_the_polls_after_it() -> None:
    decision = decided(parsed=DOCUMENT)
    assert decision.stats.feed_hints.ttl_minutes == 60
    assert 3600 <= (decision.schedule.interval_seconds or 0) <= 3660


def test_items_that_vanish_fail_their_check() -> None:
    decision = decided(parsed=replace(DOCUMENT, entries=()), stored=DOCUMENT.entries)
    assert ("items_not_vanished", False) in [(check.name, check.passed) for check in decision.checks]


def test_an_undated_first_document_does_not_look_like_a_burst() -> None:
    many = replace(DOCUMENT, entries=tuple(Entry(guid=str(number)) for number in range(100)))
    assert decided(parsed=many, first=True).stats.articles_per_hour < 1
