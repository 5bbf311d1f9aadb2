"""Claims are leases with a fencing token: one holder at a time, also when many ask at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import chain

import pytest

from feed_assets.model import Hints, Stats
from feed_assets.store import Store, Transaction, connect
from feed_assets_tests.store.builders import (
    DAY,
    LEASE,
    MINUTE,
    NOW,
    claim_due,
    get_schedule,
    make_feed,
    put,
    run_python,
    save_schedule,
    together,
)

CLAIM_ALL = """
import sys
from datetime import datetime, timedelta
from feed_assets.store import connect

store = connect(sys.argv[1])
now, number = datetime.fromisoformat(sys.argv[3]), 0
while True:
    number += 1
    with store.begin() as tx:
        taken = tx.schedules.claim_due(f"{sys.argv[2]}-{number}", now=now, lease=timedelta(minutes=10), limit=2)
    if not taken:
        break
    print(*taken, sep="\\n")
"""


def claim_all(store: Store, name: str, *, size: int = 2) -> list[str]:
    taken: list[str] = []
    while True:
        with store.begin() as tx:
            batch = claim_due(tx, f"{name}-{len(taken)}", limit=size)
        if not batch:
            return taken
        taken += batch


def test_a_claim_queues_the_feed_under_its_token(tx: Transaction) -> None:
    put(tx, "news")
    assert claim_due(tx, "batch", lease=LEASE) == ["news"]
    schedule = get_schedule(tx)
    assert (schedule.fetch_status, schedule.lease_token) == ("queued", "batch")
    assert (schedule.queued_at, schedule.locked_until, schedule.next_run_at) == (NOW, NOW + LEASE, NOW)


def test_a_held_feed_is_not_due(tx: Transaction) -> None:
    put(tx, "news")
    claim_due(tx, "first")
    assert claim_due(tx, "second", now=NOW + LEASE - MINUTE) == []
    assert get_schedule(tx).lease_token == "first"


def test_an_expired_lease_makes_the_feed_due_again(tx: Transaction) -> None:
    put(tx, "news")
    claim_due(tx, "first")
    tx.schedules.start("first", now=NOW, lease=LEASE)
    assert claim_due(tx, "second", now=NOW + LEASE) == ["news"]
    schedule = get_schedule(tx)
    assert (schedule.fetch_status, schedule.lease_token, schedule.fetch_started_at) == ("queued", "second", None)


def test_a_worker_that_lost_its_lease_is_fenced_off(tx: Transaction) -> None:
    put(tx, "kept", "lost")
    claim_due(tx, "first")
    tx.schedules.renew("first", now=NOW + MINUTE, lease=LEASE)
    tx.schedules.release("first")
    tx.schedules.claim("first", ["kept"], now=NOW, lease=DAY)
    tx.schedules.claim("first", ["lost"], now=NOW, lease=MINUTE)
    claim_due(tx, "second", now=NOW + LEASE)
    assert tx.schedules.fence("first", ["kept", "lost", "nobody"]) == {"kept"}
    assert tx.schedules.fence("second", ["kept", "lost"]) == {"lost"}
    assert [claim.feed.feed_id for claim in tx.schedules.start("first", now=NOW + LEASE, lease=LEASE)] == ["kept"]


def test_a_late_worker_may_still_write_as_long_as_nobody_took_over(tx: Transaction) -> None:
    put(tx, "news")
    claim_due(tx, "slow", lease=MINUTE)
    assert tx.schedules.fence("slow", ["news"]) == {"news"}


def test_renew_moves_the_end_of_every_lease_of_the_token(tx: Transaction) -> None:
    put(tx, "a", "b")
    claim_due(tx, "batch")
    put(tx, "c")
    claim_due(tx, "other")
    tx.schedules.renew("batch", now=NOW + MINUTE, lease=DAY)
    held = tx.schedules.leases(["a", "b", "c"], now=NOW)
    assert held == {"a": NOW + MINUTE + DAY, "b": NOW + MINUTE + DAY, "c": NOW + LEASE}


def test_leases_name_only_feeds_that_are_held_now(tx: Transaction) -> None:
    put(tx, "free", "held", due=NOW + DAY)
    tx.schedules.claim("batch", ["held"], now=NOW, lease=LEASE)
    assert tx.schedules.leases(["free", "held", "nobody"], now=NOW) == {"held": NOW + LEASE}
    assert tx.schedules.leases(["free", "held"], now=NOW + LEASE) == {}


def test_a_released_feed_is_due_as_it_was_before(tx: Transaction) -> None:
    put(tx, "news", due=NOW - MINUTE)
    put(tx, "other")
    claim_due(tx, "batch", limit=1)
    claim_due(tx, "another")
    tx.schedules.start("batch", now=NOW, lease=LEASE)
    tx.schedules.release("batch")
    schedule = get_schedule(tx)
    assert (schedule.fetch_status, schedule.lease_token, schedule.locked_until) == ("idle", None, None)
    assert schedule.next_run_at == NOW - MINUTE
    assert get_schedule(tx, "other").lease_token == "another"
    assert claim_due(tx, "next") == ["news"]


def test_start_marks_the_feeds_as_fetching_with_a_new_lease(tx: Transaction) -> None:
    put(tx, "news")
    claim_due(tx, "batch")
    (claim,) = tx.schedules.start("batch", now=NOW + MINUTE, lease=LEASE)
    assert (claim.schedule.fetch_status, claim.schedule.fetch_started_at) == ("fetching", NOW + MINUTE)
    assert claim.schedule.locked_until == NOW + MINUTE + LEASE
    assert get_schedule(tx) == claim.schedule


def test_start_gives_feed_schedule_and_statistics(tx: Transaction) -> None:
    feed = make_feed("known", priority=1, refresh_interval_minutes=5)
    stats = Stats("known", articles_per_hour=2.5, feed_hints=Hints(ttl_minutes=5, skip_hours=(1, 2)), updated_at=NOW)
    put(tx, feed, "new")
    save_schedule(tx, "known", next_run_at=NOW, etag='"e"')
    tx.articles.save_stats([stats])
    claim_due(tx, "batch")
    known, new = tx.schedules.start("batch", now=NOW, lease=LEASE)
    assert (known.feed, known.schedule.etag, known.stats) == (feed, '"e"', stats)
    assert (new.feed, new.stats) == (make_feed("new"), Stats("new"))


def test_start_leaves_out_what_was_disabled_or_deleted_since_the_claim(tx: Transaction) -> None:
    put(tx, "deleted", "disabled", "fine")
    claim_due(tx, "batch")
    tx.feeds.delete("deleted", now=NOW)
    tx.feeds.update([make_feed("disabled", enabled=False)], now=NOW)
    assert [claim.feed.feed_id for claim in tx.schedules.start("batch", now=NOW, lease=LEASE)] == ["fine"]


def test_a_replay_may_start_on_a_disabled_feed(tx: Transaction) -> None:
    put(tx, make_feed("disabled", enabled=False))
    assert tx.schedules.claim("replay", ["disabled"], now=NOW, lease=LEASE) == ["disabled"]
    claims = tx.schedules.start("replay", now=NOW, lease=LEASE, only_enabled=False)
    assert [claim.feed.feed_id for claim in claims] == ["disabled"]


@pytest.mark.parametrize("due", [NOW - DAY, NOW + DAY])
def test_feeds_can_be_claimed_by_name_whether_due_or_not(tx: Transaction, due: datetime) -> None:
    put(tx, "news", "other", due=due)
    assert tx.schedules.claim("hand", ["news", "nobody"], now=NOW, lease=LEASE) == ["news"]
    assert get_schedule(tx, "other").lease_token is None
    assert get_schedule(tx).next_run_at == due


def test_a_claim_by_name_takes_neither_held_nor_deleted_feeds(tx: Transaction) -> None:
    put(tx, "held")
    claim_due(tx, "first")
    put(tx, "deleted", "expired")
    tx.schedules.claim("old", ["expired"], now=NOW - DAY, lease=MINUTE)
    tx.feeds.delete("deleted", now=NOW)
    assert tx.schedules.claim("hand", ["held", "deleted", "expired"], now=NOW, lease=LEASE) == ["expired"]


def test_claimers_in_threads_never_get_the_same_feed(store: Store) -> None:
    feed_ids = [f"feed-{n:02}" for n in range(12)]
    with store.begin() as tx:
        put(tx, *feed_ids)
    taken = together(*(lambda name=name: claim_all(store, name) for name in ("a", "b", "c")))
    assert sorted(chain(*taken)) == feed_ids


def test_a_claimer_with_a_store_of_its_own_gets_other_feeds(store: Store, database_url: str) -> None:
    with store.begin() as tx:
        put(tx, "a", "b")
    other = connect(database_url)

    def claim_one() -> list[str]:
        with other.begin() as tx:
            return claim_due(tx, "second", limit=1)

    with ThreadPoolExecutor(1) as threads:
        with store.begin() as tx:
            first = claim_due(tx, "first", limit=1)
            running = threads.submit(claim_one)
            time.sleep(0.3)
        second = running.result()
    other.close()
    assert sorted(first + second) == ["a", "b"]


def test_claimers_in_processes_never_get_the_same_feed(store: Store, database_url: str) -> None:
    feed_ids = [f"feed-{n:02}" for n in range(20)]
    with store.begin() as tx:
        put(tx, *feed_ids)
    printed = run_python(*((CLAIM_ALL, database_url, name, NOW.isoformat()) for name in ("a", "b")))
    assert sorted("".join(printed).split()) == feed_ids


def test_of_two_claims_of_the_same_feed_by_name_one_wins(store: Store) -> None:
    with store.begin() as tx:
        put(tx, "news")

    def claim(token: str) -> list[str]:
        with store.begin() as tx:
            return tx.schedules.claim(token, ["news"], now=NOW, lease=timedelta(minutes=1))

    assert sorted(together(lambda: claim("a"), lambda: claim("b"))) == [[], ["news"]]
