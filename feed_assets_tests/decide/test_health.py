"""Per-feed checks: what a document or a failed fetch says about a feed's health."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from feed_assets.decide.health import CHECKS, compared, document_checks, late, late_no_more, reachable
from feed_assets.model import CheckResult, Entry, FetchResult, Outcome, ParsedFeed
from feed_assets_tests.decide.entries import compared as compared_entries
from feed_assets_tests.decide.pace import NOW

RESULT = FetchResult("news", "https://news.example/feed", NOW, Outcome.SUCCESS, status_code=200)


def checks(*entries: Entry, stored: tuple[Entry, ...] = ()) -> dict[str, bool]:
    parsed = ParsedFeed("rss20", "T", None, "", None, entries)
    changes = compared_entries(entries, stored)
    return {check.name: check.passed for check in document_checks(parsed, changes, len(stored), RESULT)}


def entry(guid: str, published_at: datetime | None = None) -> Entry:
    return Entry(guid=guid, published_at=published_at)


def test_a_healthy_document_passes_every_check() -> None:
    assert set(checks(entry("1", NOW), entry("2"), stored=(entry("2"),)).values()) == {True}


def test_a_first_document_passes_every_check() -> None:
    assert set(checks(entry("1")).values()) == {True}


def test_an_empty_first_document_passes_every_check() -> None:
    assert set(checks().values()) == {True}


def test_items_that_vanish_are_told() -> None:
    assert [name for name, passed in checks(stored=(entry("1"),)).items() if not passed] == ["items_not_vanished"]


def test_a_document_without_a_known_item_means_that_some_were_missed() -> None:
    assert [name for name, passed in checks(entry("2"), stored=(entry("1"),)).items() if not passed] == ["overlap_with_previous_fetch"]


def test_a_changed_item_is_overlap() -> None:
    assert checks(Entry(guid="1", title="edited"), stored=(entry("1"),))["overlap_with_previous_fetch"]


def test_ids_that_repeat_are_told() -> None:
    assert [name for name, passed in checks(entry("1"), entry("1")).items() if not passed] == ["ids_unique"]


@pytest.mark.parametrize(
    ("published_at", "sane"),
    [
        (NOW, True),
        (None, True),
        (NOW + timedelta(hours=12), True),
        (NOW + timedelta(days=2), False),
        (datetime(1970, 1, 1, tzinfo=UTC), False),
        (datetime(1995, 1, 1, tzinfo=UTC), True),
    ],
)
def test_dates_in_the_future_or_before_the_web_are_told(published_at: datetime | None, sane: bool) -> None:
    assert checks(entry("1", published_at))["dates_sane"] is sane


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_feed_is_reachable_when_it_answered(outcome: Outcome) -> None:
    reason = None if outcome.ok else "HTTP 503"
    check = reachable(FetchResult("news", "https://news.example/feed", NOW, outcome, reason))
    assert (check.passed, check.reason) == (outcome.ok, reason or "answered")


@pytest.mark.parametrize(("before", "told"), [({}, [True]), ({"polled_in_time": True}, []), ({"polled_in_time": False}, [True])])
def test_a_feed_that_was_new_or_late_is_told_to_be_polled(before: dict[str, bool], told: list[bool]) -> None:
    assert [check.passed for check in late_no_more(before)] == told


def test_every_check_that_is_made_is_declared_for_dagster() -> None:
    assert {"reachable", "xml_valid", late("news").name, *checks(entry("1"))} == {check.name for check in CHECKS}


@pytest.mark.parametrize(("before", "changed"), [({}, True), ({"reachable": True}, True), ({"reachable": False}, False)])
def test_only_a_new_verdict_is_marked_as_changed(before: dict[str, bool], changed: bool) -> None:
    (check,) = compared([CheckResult("reachable", False, "HTTP 503")], before)
    assert (check.passed, check.reason, check.changed) == (False, "HTTP 503", changed)


def test_a_check_that_was_not_made_again_keeps_its_verdict() -> None:
    checks = compared([CheckResult("reachable", True, "answered")], {"reachable": True, "ids_unique": False})
    assert [(check.name, check.passed, check.changed) for check in checks] == [("reachable", True, False), ("ids_unique", False, False)]
