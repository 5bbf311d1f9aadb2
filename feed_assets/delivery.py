"""Events on their way out: at least once to each receiver, in order per feed, and nobody waits for a receiver that is slow or dead.

An event is marked as delivered after the receiver has said so. A process that is killed in between delivers it again, under the same
`webhook-id`; so nothing is lost, and receivers can drop what they have. Knows nothing of Dagster.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from feed_assets.model import EventType
from feed_assets.settings import Settings
from feed_assets.store import Backlog, Delivery, Store, Tried
from feed_assets.webhooks import Answer, Receiver, Sender, listeners, message

Clock = Callable[[], datetime]

RUN_SECONDS = 25.0  # less than from tick to tick, so that a slow receiver does not make the others wait for the next run
_AT_ONCE = 8  # receivers
_BATCH = 200
_SAVE_SECONDS = 1.0  # so much is delivered again after a crash, at most
_SAVE_EVENTS = 50
_LEASE_BEYOND_A_REQUEST = timedelta(seconds=60)

_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=4)
_LONGEST_ASKED = timedelta(days=1)
_JITTER = 0.1
_LEFT_ALONE = timedelta(minutes=5)  # at most: a receiver that does not answer is tried with one event, then left alone


@dataclass
class Told:
    """What one receiver was told in a run: event ids by type in order, and how the rest went."""

    receiver: Receiver
    delivered: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    failed: int = 0
    dead: int = 0
    trouble: str | None = None
    busy: bool = False  # another process has the receiver, or it is left alone for now

    @property
    def count(self) -> int:
        return sum(map(len, self.delivered.values()))


def backlog(store: Store, settings: Settings, *, now: datetime) -> Backlog:
    """What is due, once all events are lined up for those who want them."""
    wanted = _wanted(settings)
    with store.begin() as tx:
        tx.deliveries.plan(wanted, now=now)
        return tx.deliveries.backlog(wanted, now=now)


def deliver(store: Store, settings: Settings, receivers: Sequence[Receiver], *, clock: Clock, seconds: float = RUN_SECONDS) -> list[Told]:
    """Deliver to these receivers what is due, for so many seconds at most."""
    if not receivers:
        return []
    token, time_left = secrets.token_hex(8), _TimeLeft(seconds)
    with store.begin() as tx:
        tx.deliveries.plan(_wanted(settings), now=clock())
    with ThreadPoolExecutor(min(len(receivers), _AT_ONCE), thread_name_prefix="webhook") as pool:
        try:
            told = list(pool.map(lambda receiver: _Courier(store, settings, receiver, token, clock, time_left).run(), receivers))
        finally:
            time_left.end()  # nobody waits for the others after Ctrl-C
    with store.begin() as tx:
        tx.deliveries.plan(_wanted(settings), now=clock())  # what has arrived everywhere is done
    return told


def send_test(settings: Settings, receivers: Sequence[Receiver], *, now: datetime) -> list[Answer]:
    """A `webhook.test` event for each receiver, stored nowhere."""

    def send(receiver: Receiver) -> Answer:
        sender, event_id = Sender(settings, receiver), f"{secrets.token_hex(8)}/{EventType.WEBHOOK_TEST.value}"
        try:
            return sender.post(event_id, message(event_id, EventType.WEBHOOK_TEST, now, {"receiver": receiver.name}, 1), now)
        finally:
            sender.close()

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(send, receivers))


def pause_after(attempt: int, asked: timedelta | None = None) -> timedelta:
    """Until the next try: twice as long each time, spread a little, and not before the receiver wants to be asked again."""
    usual = min(_FIRST_PAUSE * float(2 ** min(attempt - 1, 20)), _LONGEST_PAUSE)
    return max(usual * random.uniform(1 - _JITTER, 1 + _JITTER), min(asked or timedelta(), _LONGEST_ASKED))


def _wanted(settings: Settings) -> Mapping[str, Sequence[str] | None]:
    return {receiver.name: receiver.types for receiver in listeners(settings)}


class _TimeLeft:
    """Whether there is time for another request."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._ended = threading.Event()

    def __bool__(self) -> bool:
        return time.monotonic() < self._ends and not self._ended.is_set()

    def end(self) -> None:
        self._ended.set()


class _Courier:
    """Delivers to one receiver, one event after the other."""

    def __init__(self, store: Store, settings: Settings, receiver: Receiver, token: str, clock: Clock, time_left: _TimeLeft) -> None:
        self._store, self._receiver, self._token, self._clock, self._time_left = store, receiver, token, clock, time_left
        self._most_attempts = settings.webhook_max_attempts
        self._lease = _LEASE_BEYOND_A_REQUEST + timedelta(seconds=settings.webhook_timeout_seconds)
        self._sender = Sender(settings, receiver)
        self._failures = 0
        self._blocked_until: datetime | None = None
        self._told = Told(receiver)

    def run(self) -> Told:
        name = self._receiver.name
        with self._store.begin() as tx:
            if not tx.deliveries.claim(name, self._token, now=self._clock(), lease=self._lease):
                self._told.busy = True
                return self._told
            self._failures = tx.deliveries.failures(name)
        try:
            while self._time_left and self._batch():
                pass
        finally:
            self._sender.close()
            with self._store.begin() as tx:
                tx.deliveries.release(name, self._token)
        return self._told

    def _batch(self) -> bool:
        """Send some of what is due. False when nothing more is to be sent now."""
        with self._store.read() as tx:
            batch = tx.deliveries.next(self._receiver.name, now=self._clock(), limit=_BATCH)
        held_back: set[str] = set()
        tried: list[Tried] = []
        saved = time.monotonic()
        for delivery in batch:
            if delivery.feed_id in held_back:
                continue
            tried.append(self._try(delivery))
            if tried[-1].status == "pending":
                held_back.add(delivery.feed_id)
            over = self._blocked_until is not None or not self._time_left
            if over or len(tried) >= _SAVE_EVENTS or time.monotonic() - saved > _SAVE_SECONDS:
                if not self._save(tried) or over:
                    return False
                tried, saved = [], time.monotonic()
        return bool(batch) and self._save(tried)

    def _try(self, delivery: Delivery) -> Tried:
        now, attempt = self._clock(), delivery.attempts + 1
        body = message(delivery.event_id, delivery.event_type, delivery.created_at, delivery.payload, attempt)
        answer = self._sender.post(delivery.event_id, body, now)
        self._judge(answer, now)
        key = delivery.event_id, delivery.receiver
        if answer.delivered:
            self._told.delivered[delivery.event_type].append(delivery.event_id)
            return Tried(*key, "delivered", attempt, now, delivered_at=self._clock())
        self._told.trouble = answer.reason
        if answer.gone or attempt >= self._most_attempts:
            self._told.dead += 1
            return Tried(*key, "dead", attempt, now, answer.reason)
        self._told.failed += 1
        return Tried(*key, "pending", attempt, now + pause_after(attempt, answer.retry_after), answer.reason)

    def _judge(self, answer: Answer, now: datetime) -> None:
        """Whether to go on with this receiver: one that does not answer, or asks us to wait, is left alone for a while."""
        self._failures = 0 if answer.answered else self._failures + 1
        if self._failures:
            self._blocked_until = now + min(pause_after(self._failures), _LEFT_ALONE)
        elif answer.retry_after:
            self._blocked_until = now + min(answer.retry_after, _LONGEST_ASKED)

    def _save(self, tried: Sequence[Tried]) -> bool:
        """Store how tries ended, unless the receiver was lost to another process."""
        with self._store.begin() as tx:
            if not tx.deliveries.renew(self._receiver.name, self._token, now=self._clock(), lease=self._lease):
                return False
            tx.deliveries.save(tried)
            tx.deliveries.judge(self._receiver.name, failures=self._failures, blocked_until=self._blocked_until)
            return True
