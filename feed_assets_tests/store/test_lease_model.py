"""Any order of claims, renewals, crashes, edits and deletes: the store does what a simple model of leases does.

Never two live leases for a feed, never a write without the lease, never a due feed forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from feed_assets.model import Feed, Schedule
from feed_assets.store import Store
from feed_assets_tests.store.builders import LEASE, NOW, make_feed
from feed_assets_tests.store.reading import change

FEW = settings(
    max_examples=30, stateful_step_count=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
MINUTES = st.integers(0, 30)


@dataclass
class Lease:
    token: str
    until: datetime


class Leases(RuleBasedStateMachine):
    """The model is what a person would write on paper: feeds, when they are due, and who holds which until when."""

    store: Store  # set by the test
    tokens = Bundle("tokens")  # of workers, dead or alive, now or long ago: any of them may still try to write

    def __init__(self) -> None:
        super().__init__()
        change(self.store, "DELETE FROM feeds")
        change(self.store, "DELETE FROM feed_schedules")
        self.now = NOW
        self.feeds: dict[str, Feed] = {}
        self.due: dict[str, datetime | None] = {}
        self.held: dict[str, Lease] = {}
        self.claims = 0

    def live(self, name: str) -> bool:
        return name in self.feeds and self.feeds[name].deleted_at is None

    def is_held(self, name: str) -> bool:
        return name in self.held and self.held[name].until > self.now

    def of(self, token: str) -> set[str]:
        return {name for name, lease in self.held.items() if lease.token == token}

    def take(self, token: str, names: list[str]) -> None:
        for name in names:
            self.held[name] = Lease(token, self.now + LEASE)

    @rule(minutes=MINUTES)
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(name=NAMES, priority=st.integers(0, 2))
    def add_or_bring_back(self, name: str, priority: int) -> None:
        if self.live(name):
            return
        with self.store.begin() as tx:
            tx.feeds.put([make_feed(name, priority=priority)], next_run_at=self.now, reason="new feed")
        self.feeds[name], self.due[name] = make_feed(name, priority=priority), self.now

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if not self.live(name):
            return
        with self.store.begin() as tx:
            tx.feeds.delete(name, now=self.now)
        self.feeds[name], self.due[name] = replace(self.feeds[name], deleted_at=self.now), None

    @rule(name=NAMES, enabled=st.booleans())
    def switch(self, name: str, enabled: bool) -> None:
        if not self.live(name):
            return
        self.feeds[name] = replace(self.feeds[name], enabled=enabled)
        with self.store.begin() as tx:
            tx.feeds.update([self.feeds[name]], now=self.now)

    @rule(name=NAMES)
    def sync(self, name: str) -> None:
        if not self.live(name):
            return
        with self.store.begin() as tx:
            tx.schedules.revive(name, at=self.now, reason="sync was asked for")
        self.due[name] = self.now

    @rule(target=tokens, limit=st.integers(1, 6))
    def claim_what_is_due(self, limit: int) -> object:
        self.claims += 1
        token = f"token-{self.claims}"
        ready = [
            (-self.feeds[name].priority, due, name)
            for name, due in self.due.items()
            if due is not None and due <= self.now and self.live(name) and self.feeds[name].enabled and not self.is_held(name)
        ]
        expected = [name for _, _, name in sorted(ready)[:limit]]
        with self.store.begin() as tx:
            assert sorted(tx.schedules.claim_due(token, now=self.now, lease=LEASE, limit=limit)) == sorted(expected)
        self.take(token, expected)
        return token if expected else multiple()

    @rule(target=tokens, names=st.sets(NAMES))
    def claim_by_name(self, names: set[str]) -> object:
        self.claims += 1
        token = f"token-{self.claims}"
        expected = sorted(name for name in names if self.live(name) and not self.is_held(name))
        with self.store.begin() as tx:
            assert sorted(tx.schedules.claim(token, sorted(names), now=self.now, lease=LEASE)) == expected
        self.take(token, expected)
        return token if expected else multiple()

    @rule(token=tokens)
    def begin_to_work(self, token: str) -> None:
        expected = {name for name in self.of(token) if self.live(name) and self.feeds[name].enabled}
        with self.store.begin() as tx:
            started = tx.schedules.start(token, now=self.now, lease=LEASE)
        # What was begun under this token before goes on, though it was disabled meanwhile.
        assert expected <= {claim.feed.feed_id for claim in started} <= self.of(token)
        for name in expected:
            self.held[name].until = self.now + LEASE

    @rule(token=tokens)
    def renew(self, token: str) -> None:
        with self.store.begin() as tx:
            assert tx.schedules.renew(token, now=self.now, lease=LEASE) == len(self.of(token))
        for name in self.of(token):
            self.held[name].until = self.now + LEASE

    @rule(token=tokens, names=st.sets(NAMES), minutes=st.none() | MINUTES)
    def write(self, token: str, names: set[str], minutes: int | None) -> None:
        """A worker stores what it fetched, whether it knows or not that somebody took over."""
        ours = self.of(token) & names
        following = None if minutes is None else self.now + timedelta(minutes=minutes)
        with self.store.begin() as tx:
            assert tx.schedules.fence(token, sorted(names)) == ours
            tx.schedules.save([Schedule(name, next_run_at=following, last_fetched_at=self.now) for name in sorted(ours)])
        for name in ours:
            self.due[name] = following
            del self.held[name]

    @rule(token=tokens, names=st.sets(NAMES), minutes=MINUTES)
    def postpone(self, token: str, names: set[str], minutes: int) -> None:
        until = self.now + timedelta(minutes=minutes)
        with self.store.begin() as tx:
            tx.schedules.postpone(token, [(name, until, "its host rests") for name in sorted(names)])
        for name in self.of(token) & names:
            due = self.due[name]
            self.due[name] = due and max(due, until)
            del self.held[name]

    @rule(token=tokens)
    def give_up(self, token: str) -> None:
        with self.store.begin() as tx:
            assert tx.schedules.release(token) == len(self.of(token))
        for name in self.of(token):
            del self.held[name]

    @rule()
    def recover(self) -> None:
        gone = sorted(name for name, lease in self.held.items() if lease.until <= self.now)
        with self.store.begin() as tx:
            assert sorted(tx.schedules.expire(self.now)) == gone
        for name in gone:
            del self.held[name]

    @invariant()
    def the_tables_say_what_the_model_says(self) -> None:
        with self.store.read() as tx:
            rows = {name: tx.schedules.get(name) for name in self.feeds}
            queue = tx.schedules.queue(self.now)
        for name, row in rows.items():
            assert row is not None
            lease = self.held.get(name)
            assert (row.lease_token, row.locked_until) == ((lease.token, lease.until) if lease else (None, None))
            assert row.next_run_at == self.due[name]
            assert (row.fetch_status == "idle") == (lease is None)
        assert queue.in_flight == sum(self.is_held(name) for name in self.held if self.live(name))


def test_leases_do_what_their_model_does_whatever_happens_in_whatever_order(store: Store) -> None:
    Leases.store = store
    run_state_machine_as_test(Leases, settings=FEW)
