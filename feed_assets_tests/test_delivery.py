"""Events on their way out: nothing lost, in order per feed, nobody waits for a receiver that is slow or dead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from feed_assets.delivery import Told, backlog, deliver, pause_after
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets.store.deliveries import Deliveries
from feed_assets.webhooks import Answer, Sender, receivers
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.refreshing import table
from feed_assets_tests.support.rows import one_engine
from feed_assets_tests.support.webhook_receiver import Heard, Reply, WebhookReceiver

SECRET = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cy0tLS0tLS0tLS0="
KEY = b"secret-of-the-tests----------"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    running = WebhookReceiver()
    yield running
    running.close()


@pytest.fixture
def another() -> Iterator[WebhookReceiver]:
    running = WebhookReceiver()
    yield running
    running.close()


Tell = Callable[..., list[Told]]


@pytest.fixture
def tell(store: Store, settings: Settings, clock: Clock) -> Tell:
    """Deliver what is due to these URLs; keyword arguments are settings."""

    def run(*urls: str, **values: Any) -> list[Told]:
        changed = {"webhook_urls": ",".join(urls), "webhook_secret": SECRET, "webhook_timeout_seconds": 1.0} | values
        chosen = settings.model_copy(update=changed)
        return deliver(store, chosen, receivers(chosen), clock=clock)

    return run


def happen(store: Store, clock: Clock, *names: str, kind: str = "articles.new") -> None:
    """Events called `feed/number`, one second after the other."""
    with store.begin() as tx:
        tx.articles.save_events((name, kind, {"feed_id": name.partition("/")[0]}, clock.advance(seconds=1)) for name in names)


def statuses(store: Store) -> dict[str, str]:
    return {row["event_id"]: row["status"] for row in table(store, "deliveries")}


def undelivered(store: Store) -> list[str]:
    return [row["event_id"] for row in table(store, "events") if row["delivered_at"] is None]


def test_an_event_is_posted_signed_and_marked_as_delivered(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    happen(store, clock, "news/1")
    (told,) = tell(f"{receiver.base}/hook")
    (heard,) = receiver.heard
    assert told.count == 1 and heard.path == "/hook"
    assert heard.said == {
        "event_id": "news/1",
        "event_type": "articles.new",
        "created_at": "2026-03-02T12:00:01+00:00",
        "payload": {"feed_id": "news"},
        "attempt": 1,
    }
    assert heard.signed_with(KEY) and not heard.signed_with(b"another")
    assert heard.headers["webhook-timestamp"] == str(int(clock().timestamp()))
    assert heard.headers["user-agent"].startswith("feed_assets/")
    assert heard.headers["content-type"] == "application/json"
    assert undelivered(store) == []
    assert tell(f"{receiver.base}/hook")[0].count == 0 and len(receiver.heard) == 1


@one_engine
@pytest.mark.parametrize("status", [500, 404, 302])
def test_what_is_refused_is_tried_again_under_the_same_id(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver, status: int
) -> None:
    receiver.reply = lambda _: Reply(status, {"Location": f"{receiver.base}/elsewhere"} if status == 302 else {})
    happen(store, clock, "news/1")
    tell(receiver.base)
    tell(receiver.base)  # too early
    assert len(receiver.heard) == 1 and statuses(store) == {"news/1": "pending"} and undelivered(store) == ["news/1"]
    receiver.reply = lambda _: 200
    clock.advance(minutes=1)
    tell(receiver.base)
    first, second = receiver.heard
    assert first.headers["webhook-id"] == second.headers["webhook-id"] and "." not in first.headers["webhook-id"]
    assert (first.said["attempt"], second.said["attempt"]) == (1, 2)
    assert second.headers["webhook-timestamp"] > first.headers["webhook-timestamp"] and second.signed_with(KEY)
    assert undelivered(store) == []


def test_a_failing_event_holds_back_its_own_feed_only_and_order_is_kept(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver
) -> None:
    receiver.reply = lambda heard: 500 if heard.event_id == "bad/1" else 200
    happen(store, clock, "bad/1", "good/1", "bad/2", "good/2", "bad/3")
    tell(receiver.base)
    assert sorted(receiver.event_ids) == ["bad/1", "good/1", "good/2"]
    receiver.reply = lambda _: 200
    clock.advance(minutes=1)
    happen(store, clock, "good/3", "bad/4")
    tell(receiver.base)
    arrived = receiver.event_ids[3:]
    assert [name for name in arrived if name.startswith("bad")] == ["bad/1", "bad/2", "bad/3", "bad/4"]
    assert undelivered(store) == []


def test_an_event_is_given_up_after_so_many_tries_and_the_later_ones_go_on(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver
) -> None:
    receiver.reply = lambda heard: 500 if heard.event_id == "news/1" else 200
    happen(store, clock, "news/1", "news/2")
    for _ in range(4):
        tell(receiver.base, webhook_max_attempts=3)
        clock.advance(hours=5)
    assert receiver.event_ids == ["news/1", "news/1", "news/1", "news/2"]
    dead = next(row for row in table(store, "deliveries") if row["status"] == "dead")
    assert (dead["event_id"], dead["attempts"], dead["last_error"]) == ("news/1", 3, "HTTP 500 Internal Server Error")
    assert undelivered(store) == ["news/1"]
    receiver.reply = lambda _: 200
    with store.begin() as tx:
        assert tx.deliveries.retry(None, now=clock()) == ["news/1"]
    tell(receiver.base)
    assert receiver.event_ids[-1] == "news/1" and undelivered(store) == []


@one_engine
def test_gone_gives_an_event_up_at_once(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    receiver.reply = lambda _: 410
    happen(store, clock, "news/1")
    (told,) = tell(receiver.base)
    assert (told.dead, told.failed, statuses(store)) == (1, 0, {"news/1": "dead"})


@one_engine
def test_a_receiver_that_asks_us_to_wait_is_left_alone_so_long(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    receiver.reply = lambda _: Reply(429, {"Retry-After": "600"})
    happen(store, clock, "a/1", "b/1")
    tell(receiver.base)
    clock.advance(minutes=9)
    tell(receiver.base)
    assert len(receiver.heard) == 1
    receiver.reply = lambda _: 200
    clock.advance(minutes=2)
    tell(receiver.base)
    assert sorted(receiver.event_ids[1:]) == ["a/1", "b/1"]


@one_engine
def test_a_receiver_that_is_down_costs_one_try_and_loses_nothing(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    url = receiver.base
    receiver.close()
    happen(store, clock, *(f"feed-{number}/1" for number in range(5)))
    (told,) = tell(url)
    assert (told.failed, told.trouble) == (1, "connection refused")
    assert [row["attempts"] for row in table(store, "deliveries") if row["attempts"]] == [1]
    (told,) = tell(url)
    assert told.busy, "it is left alone"


@one_engine
def test_a_slow_receiver_delays_no_other(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver, another: WebhookReceiver
) -> None:
    receiver.reply = lambda _: (time.sleep(0.6), 200)[1]
    finished: list[float] = []
    another.reply = lambda _: (finished.append(time.monotonic()), 200)[1]
    happen(store, clock, "a/1", "b/1")
    began = time.monotonic()
    slow, quick = tell(receiver.base, another.base)
    assert (slow.count, quick.count) == (2, 2)
    assert max(finished) - began < 0.6 < time.monotonic() - began
    assert undelivered(store) == []


@one_engine
def test_a_receiver_that_does_not_answer_in_time_has_failed(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    receiver.reply = lambda _: (time.sleep(0.5), 200)[1]
    happen(store, clock, "news/1")
    (told,) = tell(receiver.base, webhook_timeout_seconds=0.2)
    assert (told.count, told.failed) == (0, 1) and "0.2 s" in str(told.trouble)


def test_a_crash_between_the_request_and_its_record_delivers_twice_under_one_id(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    happen(store, clock, "news/1", "news/2")

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Deliveries, "save", crash)
        patch.setattr(Deliveries, "release", lambda *_: None)  # kill -9 gives nothing back
        with pytest.raises(KeyboardInterrupt):
            tell(receiver.base)
    assert receiver.event_ids == ["news/1", "news/2"] and set(statuses(store).values()) == {"pending"}
    assert tell(receiver.base)[0].busy, "the lease of the dead process has not run out"
    clock.advance(minutes=2)
    tell(receiver.base)
    assert receiver.event_ids == ["news/1", "news/2"] * 2
    assert len({heard.headers["webhook-id"] for heard in receiver.heard}) == 2
    assert undelivered(store) == []


@one_engine
def test_a_delivery_that_is_broken_off_waits_for_nobody_and_keeps_what_arrived(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver, another: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Sender.post

    def interrupted(sender: Sender, *args: Any) -> Answer:
        if sender._receiver.url == receiver.base:
            while not another.heard:
                time.sleep(0.01)
            raise KeyboardInterrupt
        return post(sender, *args)

    monkeypatch.setattr(Sender, "post", interrupted)
    another.reply = lambda _: (time.sleep(0.2), 200)[1]
    happen(store, clock, *(f"news/{number}" for number in range(10)))
    with pytest.raises(KeyboardInterrupt):
        tell(receiver.base, another.base)
    arrived = len(another.heard)
    assert 0 < arrived < 10
    assert [row["status"] for row in table(store, "deliveries")].count("delivered") == arrived


def test_two_deliverers_never_tell_a_receiver_at_the_same_time(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    inner: list[Told] = []

    def reply(heard: Heard) -> int:
        if len(receiver.heard) == 1:
            inner.extend(tell(receiver.base))
        return 200

    receiver.reply = reply
    happen(store, clock, "news/1", "news/2")
    (outer,) = tell(receiver.base)
    assert (outer.count, inner[0].busy) == (2, True)
    assert receiver.event_ids == ["news/1", "news/2"]


def test_whoever_lost_the_receiver_writes_nothing(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    inner: list[Told] = []

    def reply(heard: Heard) -> int:
        if len(receiver.heard) == 1:
            clock.advance(minutes=5)  # the lease runs out while the request is under way
            inner.extend(tell(receiver.base))
            return 500
        return 200

    receiver.reply = reply
    happen(store, clock, "news/1")
    tell(receiver.base)
    assert inner[0].count == 1 and statuses(store) == {"news/1": "delivered"}


@one_engine
def test_receivers_hear_only_what_they_want(
    store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver, another: WebhookReceiver
) -> None:
    happen(store, clock, "news/1")
    happen(store, clock, "news/2", kind="feed.dead")
    happen(store, clock, "news/3", kind="feed.moved")
    tell(receiver.base, webhook_events="feed.moved, feed.dead", alert_urls=another.base)
    assert (receiver.event_ids, another.event_ids) == (["news/2", "news/3"], ["news/2"])
    assert undelivered(store) == [], "what nobody wants is done"


def test_a_new_receiver_does_not_get_a_month_of_history(store: Store, clock: Clock, tell: Tell, receiver: WebhookReceiver) -> None:
    happen(store, clock, "news/old")
    clock.advance(hours=2)
    happen(store, clock, "news/new")
    tell(receiver.base)
    assert receiver.event_ids == ["news/new"] and undelivered(store) == []


@one_engine
def test_without_receivers_nothing_is_done(store: Store, clock: Clock, tell: Tell) -> None:
    happen(store, clock, "news/1")
    assert tell() == []
    assert table(store, "receivers") == [] and undelivered(store) == ["news/1"]


def test_the_backlog_says_what_is_due_and_when_the_next_is(
    store: Store, settings: Settings, clock: Clock, tell: Tell, receiver: WebhookReceiver
) -> None:
    chosen = settings.model_copy(update={"webhook_urls": receiver.base})
    receiver.reply = lambda _: 500
    happen(store, clock, "a/1", "a/2", "b/1")
    assert (backlog(store, chosen, now=clock()).due, backlog(store, chosen, now=clock()).pending) == (3, 3)
    tell(receiver.base)
    after = backlog(store, chosen, now=clock())
    assert (after.due, after.pending) == (0, 3) and after.next_attempt_at is not None
    assert timedelta(seconds=20) < after.next_attempt_at - clock() < timedelta(seconds=40)


def test_pauses_double_up_to_four_hours_and_obey_retry_after() -> None:
    pauses = [pause_after(attempt).total_seconds() for attempt in range(1, 16)]
    assert 27 <= pauses[0] <= 33 and 54 <= pauses[1] <= 66 and all(pause <= 4.4 * 3600 for pause in pauses)
    assert 20 * 3600 < sum(pauses[:14]) < 28 * 3600, "15 tries take about a day"
    assert pause_after(1, timedelta(hours=1)) == timedelta(hours=1)
    assert pause_after(1, timedelta(days=99)) == timedelta(days=1)
