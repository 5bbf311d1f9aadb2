"""What is due and in which order, how attempts end, and the counts of the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from feed_assets.model import Schedule
from feed_assets.store import Queue, Transaction
from feed_assets_tests.store.builders import DAY, LEASE, MINUTE, NOW, claim_due, get_schedule, make_feed, put, save_schedule


@pytest.mark.parametrize(("due", "claimed"), [(NOW - DAY, ["news"]), (NOW, ["news"]), (NOW + MINUTE, [])])
def test_a_feed_is_due_from_its_next_run_on(tx: Transaction, due: datetime, claimed: list[str]) -> None:
    put(tx, "news", due=due)
    assert claim_due(tx) == claimed


def test_a_feed_without_next_run_is_never_due(tx: Transaction) -> None:
    put(tx, "news")
    save_schedule(tx, next_run_at=None, last_error="gone")
    assert claim_due(tx, now=NOW + 1000 * DAY) == []


def test_a_disabled_feed_is_never_due(tx: Transaction) -> None:
    put(tx, make_feed(enabled=False))
    assert claim_due(tx, now=NOW + 1000 * DAY) == []


def test_a_deleted_feed_is_never_due(tx: Transaction) -> None:
    put(tx, "news")
    tx.feeds.delete("news", now=NOW)
    tx.schedules.revive("news", at=NOW, reason="by mistake")
    assert claim_due(tx, now=NOW + 1000 * DAY) == []


def test_the_highest_priority_comes_first_and_then_the_longest_overdue(tx: Transaction) -> None:
    put(tx, make_feed("late"), due=NOW - DAY)
    put(tx, make_feed("fresh"), due=NOW - MINUTE)
    put(tx, make_feed("urgent", priority=5), due=NOW - MINUTE)
    put(tx, make_feed("urgent-late", priority=5), due=NOW - DAY)
    put(tx, make_feed("unloved", priority=-1), due=NOW - 9 * DAY)
    taken = [claim_due(tx, f"batch-{n}", limit=1) for n in range(6)]
    assert taken == [["urgent-late"], ["urgent"], ["late"], ["fresh"], ["unloved"], []]


def test_a_batch_is_worked_on_in_the_order_of_the_queue(tx: Transaction) -> None:
    put(tx, make_feed("a"), make_feed("b", priority=1))
    put(tx, make_feed("c"), due=NOW - DAY)
    claim_due(tx, "batch")
    assert [claim.feed.feed_id for claim in tx.schedules.start("batch", now=NOW, lease=LEASE)] == ["b", "c", "a"]


def test_a_batch_takes_no_more_than_its_limit(tx: Transaction) -> None:
    put(tx, *(f"feed-{n}" for n in range(7)))
    sizes = [len(claim_due(tx, f"batch-{n}", limit=3)) for n in range(4)]
    assert sizes == [3, 3, 1, 0]


def test_a_limit_of_zero_takes_nothing(tx: Transaction) -> None:
    put(tx, "news")
    assert claim_due(tx, limit=0) == []


def test_how_an_attempt_ended_comes_back_as_it_was_saved(tx: Transaction) -> None:
    put(tx, "news", "other")
    claim_due(tx)
    ended = {
        "next_run_at": NOW + 5 * MINUTE,
        "last_fetched_at": NOW,
        "last_success_at": NOW - DAY,
        "last_status": "temporary_error",
        "last_error": "503 Service Unavailable",
        "consecutive_errors": 2,
        "etag": 'W/"abc"',
        "last_modified": "Mon, 02 Mar 2026 12:00:00 GMT",
        "body_sha256": "f00d",
        "interval_seconds": 300,
        "next_run_reason": "backoff after 2 errors",
        "check_states": {"reachable": False, "dates_sane": True},
    }
    save_schedule(tx, **ended)
    schedule = get_schedule(tx)
    assert {name: getattr(schedule, name) for name in ended} == ended
    assert (schedule.fetch_status, schedule.lease_token, schedule.locked_until) == ("idle", None, None)
    assert get_schedule(tx, "other").lease_token == "batch"


def test_an_attempt_may_end_with_nothing_known(tx: Transaction) -> None:
    put(tx, "news")
    save_schedule(tx)
    assert get_schedule(tx) == Schedule("news")


def test_reschedule_moves_the_next_run_and_nothing_else(tx: Transaction) -> None:
    put(tx, "news", "other")
    save_schedule(tx, last_error="oops", consecutive_errors=2, next_run_at=NOW)
    tx.schedules.reschedule("news", at=NOW + DAY, interval_seconds=86_400, reason="the interval was set")
    schedule = get_schedule(tx)
    assert (schedule.next_run_at, schedule.interval_seconds, schedule.next_run_reason) == (NOW + DAY, 86_400, "the interval was set")
    assert (schedule.last_error, schedule.consecutive_errors) == ("oops", 2)
    assert get_schedule(tx, "other").next_run_at == NOW


def test_reschedule_to_no_time_pauses(tx: Transaction) -> None:
    put(tx, "news")
    tx.schedules.reschedule("news", at=None, interval_seconds=None, reason="polling is off")
    assert claim_due(tx, now=NOW + DAY) == []
    assert get_schedule(tx).next_run_reason == "polling is off"


def test_a_revived_feed_is_due_with_no_errors_counted_but_its_last_error_known(tx: Transaction) -> None:
    put(tx, "news", "other", due=NOW + DAY)
    save_schedule(tx, next_run_at=None, last_status="permanent_error", last_error="404", consecutive_errors=10)
    tx.schedules.revive("news", at=NOW, reason="sync was asked for")
    schedule = get_schedule(tx)
    assert (schedule.next_run_at, schedule.next_run_reason, schedule.consecutive_errors) == (NOW, "sync was asked for", 0)
    assert schedule.last_error == "404"
    assert claim_due(tx) == ["news"]


def test_forgotten_validators_are_gone(tx: Transaction) -> None:
    put(tx, "news")
    save_schedule(tx, etag='"e"', last_modified="Mon", body_sha256="f00", interval_seconds=60)
    tx.schedules.forget_validators("news")
    schedule = get_schedule(tx)
    assert (schedule.etag, schedule.last_modified, schedule.body_sha256, schedule.interval_seconds) == (None, None, None, 60)


def queue(tx: Transaction, now: datetime = NOW) -> Queue:
    return tx.schedules.queue(now)


def test_an_empty_queue_counts_nothing(tx: Transaction) -> None:
    assert queue(tx) == Queue(feeds=0, due=0, in_flight=0, batches=0, stuck=0, dead=0, next_run_at=None)


def test_the_queue_counts_what_is_due_in_flight_and_stuck(tx: Transaction) -> None:
    put(tx, "abandoned")
    claim_due(tx, "old", lease=MINUTE)
    put(tx, "held-1", "held-2", "held-3")
    for feed_id, token in (("held-1", "one"), ("held-2", "one"), ("held-3", "two")):
        tx.schedules.claim(token, [feed_id], now=NOW, lease=LEASE)
    put(tx, "due", make_feed("disabled", enabled=False), "deleted")
    put(tx, "later", due=NOW + DAY)
    tx.feeds.delete("deleted", now=NOW)
    later = NOW + 2 * MINUTE
    assert queue(tx, later) == Queue(feeds=7, due=2, in_flight=3, batches=2, stuck=1, dead=0, next_run_at=NOW, oldest_due_at=NOW)


@pytest.mark.parametrize(("columns", "expected"), [({}, NOW + DAY), ({"enabled": False}, None)])
def test_the_queue_knows_when_the_next_feed_is_due(tx: Transaction, columns: dict[str, Any], expected: datetime | None) -> None:
    put(tx, make_feed("soon", **columns), due=NOW + DAY)
    save = make_feed("never")
    put(tx, save)
    save_schedule(tx, "never", next_run_at=None)
    assert queue(tx).next_run_at == expected


def test_dead_feeds_are_counted_and_paused_ones_are_not(tx: Transaction) -> None:
    put(tx, "dead", "paused", "fine", make_feed("disabled", enabled=False))
    save_schedule(tx, "dead", last_status="permanent_error", last_error="HTTP 410 Gone")
    save_schedule(tx, "paused", last_status="success")
    save_schedule(tx, "fine", last_status="temporary_error", next_run_at=NOW)
    save_schedule(tx, "disabled", last_status="permanent_error")
    assert queue(tx).dead == 1
