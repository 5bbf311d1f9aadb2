"""Who is to hear of what: planned once for each, in lines, by one deliverer at a time."""

from __future__ import annotations

from datetime import timedelta

from feed_assets.store import Delivery, Store, Transaction, Tried
from feed_assets_tests.store.builders import DAY, MINUTE, NOW, together
from feed_assets_tests.store.reading import rows_of

ALL = {"hook": None}
LEASE = timedelta(minutes=1)


def happen(tx: Transaction, *names: str, kind: str = "articles.new") -> None:
    tx.articles.save_events(
        (name, kind, {"feed_id": name.partition("/")[0]}, NOW + timedelta(seconds=number)) for number, name in enumerate(names)
    )


def due(tx: Transaction, receiver: str = "hook", *, limit: int = 100) -> list[Delivery]:
    return tx.deliveries.next(receiver, now=NOW + MINUTE, limit=limit)


def names(deliveries: list[Delivery]) -> list[str]:
    return [each.event_id for each in deliveries]


def tried(event_id: str, status: str, *, wait: timedelta = timedelta(), attempts: int = 1) -> Tried:
    return Tried(event_id, "hook", status, attempts, NOW + MINUTE + wait, "no" if status != "delivered" else None)


def test_an_event_is_planned_once_for_each_who_wants_it(tx: Transaction) -> None:
    happen(tx, "a/1", "b/1")
    happen(tx, "c/1", kind="feed.dead")
    for _ in range(2):
        tx.deliveries.plan({"hook": None, "pager": ["feed.dead", "feed.recovered"]}, now=NOW + MINUTE)
    assert (sorted(names(due(tx))), names(due(tx, "pager"))) == (["a/1", "b/1", "c/1"], ["c/1"])
    assert due(tx, "pager")[0] == Delivery("c/1", "pager", "c", "feed.dead", {"feed_id": "c"}, NOW, 0)


def test_events_about_no_feed_have_a_line_of_their_own(tx: Transaction) -> None:
    tx.articles.save_events([("g1", "articles.grouped", {"groups": 3}, NOW)])
    tx.deliveries.plan(ALL, now=NOW + MINUTE)
    assert [each.feed_id for each in due(tx)] == [""]


def test_a_line_waits_behind_its_first_and_failing_lines_go_last(tx: Transaction) -> None:
    happen(tx, "a/1", "a/2", "b/1", "b/2", "c/1")
    tx.deliveries.plan(ALL, now=NOW + MINUTE)
    tx.deliveries.save([tried("a/1", "pending", wait=MINUTE), tried("b/1", "pending")])
    assert names(due(tx)) == ["c/1", "b/1", "b/2"]
    assert names(due(tx, limit=2)) == ["c/1", "b/1"]
    tx.deliveries.save([tried("a/1", "dead")])
    assert names(due(tx)) == ["a/2", "c/1", "b/1", "b/2"]


def test_the_backlog_counts_whole_lines(tx: Transaction) -> None:
    happen(tx, "a/1", "a/2", "b/1")
    tx.deliveries.plan(ALL, now=NOW + MINUTE)
    tx.deliveries.save([tried("a/1", "pending", wait=DAY)])
    found = tx.deliveries.backlog(ALL, now=NOW + MINUTE)
    assert (found.due, found.pending, found.dead, found.next_attempt_at) == (1, 3, 0, NOW + MINUTE)
    tx.deliveries.save([tried("b/1", "dead")])
    found = tx.deliveries.backlog(ALL, now=NOW + MINUTE)
    assert (found.due, found.pending, found.dead, found.next_attempt_at) == (0, 2, 1, NOW + MINUTE + DAY)
    assert tx.deliveries.backlog(["nobody"], now=NOW).pending == 0


def test_a_receiver_that_is_held_or_left_alone_is_not_due(tx: Transaction) -> None:
    happen(tx, "a/1")
    tx.deliveries.plan(ALL, now=NOW)
    assert tx.deliveries.claim("hook", "me", now=NOW, lease=LEASE)
    assert not tx.deliveries.claim("hook", "you", now=NOW, lease=LEASE)
    assert tx.deliveries.backlog(ALL, now=NOW).next_attempt_at == NOW + LEASE
    tx.deliveries.release("hook", "me")
    tx.deliveries.judge("hook", failures=2, blocked_until=NOW + DAY)
    assert not tx.deliveries.claim("hook", "you", now=NOW, lease=LEASE)
    assert tx.deliveries.backlog(ALL, now=NOW).next_attempt_at == NOW + DAY
    tx.deliveries.retry(None, now=NOW)
    assert tx.deliveries.claim("hook", "you", now=NOW, lease=LEASE) and tx.deliveries.failures("hook") == 0


def test_a_lease_that_ran_out_is_taken_over_and_cannot_be_renewed(tx: Transaction) -> None:
    tx.deliveries.plan(ALL, now=NOW)
    assert tx.deliveries.claim("hook", "me", now=NOW, lease=LEASE)
    assert tx.deliveries.renew("hook", "me", now=NOW, lease=LEASE)
    assert tx.deliveries.claim("hook", "you", now=NOW + LEASE, lease=LEASE)
    assert not tx.deliveries.renew("hook", "me", now=NOW, lease=LEASE)
    tx.deliveries.release("hook", "me")
    assert not tx.deliveries.claim("hook", "me", now=NOW + LEASE, lease=LEASE), "only its holder gives it back"


def test_of_two_who_claim_at_the_same_moment_one_gets_the_receiver(store: Store) -> None:
    with store.begin() as tx:
        happen(tx, "a/1")

    def claim(token: str) -> bool:
        with store.begin() as tx:
            tx.deliveries.plan(ALL, now=NOW)
            return tx.deliveries.claim("hook", token, now=NOW, lease=LEASE)

    assert sorted(together(lambda: claim("me"), lambda: claim("you"))) == [False, True]
    assert len(rows_of(store, "deliveries")) == 1


def test_a_receiver_that_was_gone_for_a_week_begins_anew(tx: Transaction) -> None:
    tx.deliveries.plan(ALL, now=NOW)
    happen(tx, "a/1")
    tx.deliveries.plan(ALL, now=NOW + 8 * DAY)
    assert due(tx) == []
    tx.articles.save_events([("a/2", "articles.new", {"feed_id": "a"}, NOW + 8 * DAY)])
    tx.deliveries.plan(ALL, now=NOW + 14 * DAY)
    assert names(tx.deliveries.next("hook", now=NOW + 15 * DAY, limit=9)) == ["a/2"], "six days are no reason"


def test_the_newest_events_are_listed_by_type_and_by_how_far_they_came(tx: Transaction) -> None:
    happen(tx, "a/1", "a/2", "b/1")
    happen(tx, "c/1", kind="feed.dead")
    tx.deliveries.plan({"hook": ["articles.new"]}, now=NOW + MINUTE)
    tx.deliveries.save([tried("b/1", "dead"), tried("a/1", "delivered")])

    def listed(**wanted: str) -> list[str]:
        return [row["event_id"] for row in tx.deliveries.events(limit=9, **wanted)]

    assert listed() == ["b/1", "a/2", "c/1", "a/1"]
    assert (listed(status="dead"), listed(status="pending"), listed(event_type="feed.dead")) == (["b/1"], ["a/2"], ["c/1"])
    assert len(tx.deliveries.events(limit=2)) == 2
