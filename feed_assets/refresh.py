"""One batch: fetch -> parse -> decide -> store -> publish.

Feeds are fetched and read by threads; what they bring is stored in groups, each in one transaction: raw response, items,
articles, statistics, XML, validators and the next run together or not at all. Knows nothing of Dagster.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from feed_assets.commit import commit_group, not_refreshed
from feed_assets.decide.attempt import Attempt
from feed_assets.errors import FeedNotReady, NotAFeed, UnknownFeed
from feed_assets.fetch import Fetcher, Turns
from feed_assets.model import Claim, FeedReport, FetchRequest, FetchResult, Outcome
from feed_assets.parse import parse_document
from feed_assets.settings import Settings
from feed_assets.store import Queue, Store
from feed_assets.urls import host_of

Clock = Callable[[], datetime]

_GROUP_SIZE = 50  # feeds per transaction: large enough for bulk writes, small enough that others get their turn
_GROUP_SECONDS = 2.0  # and no result waits longer than this to be stored


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_token(now: datetime) -> str:
    """A batch id, which is its lease token: readable, sortable, unique."""
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Feeds claimed together; the token proves it."""

    token: str
    feed_ids: tuple[str, ...]


def claim_due(store: Store, settings: Settings, *, now: datetime) -> tuple[list[Batch], Queue]:
    """Claim what is due in batches, as far as MAX_BATCHES_IN_FLIGHT allows. Gives the queue as it was before, too."""
    lease = timedelta(seconds=settings.lease_seconds)
    batches: list[Batch] = []
    with store.begin() as tx:
        queue_before = tx.schedules.queue(now)
        for _ in range(settings.max_batches_in_flight - queue_before.batches):
            token = new_token(now)
            feed_ids = tx.schedules.claim_due(token, now=now, lease=lease, limit=settings.batch_size)
            if feed_ids:
                batches.append(Batch(token, tuple(feed_ids)))
            if len(feed_ids) < settings.batch_size:
                break
    return batches, queue_before


def refresh_feeds(
    store: Store, settings: Settings, feed_ids: Sequence[str], *, clock: Clock = utc_now, run_id: str | None = None, patience: float = 60.0
) -> Iterator[FeedReport]:
    """Refresh these feeds on demand, due or not. Disabled ones are not fetched, and say so."""
    with store.read() as tx:
        feeds = tx.feeds.many(feed_ids)
    wanted = [feed_id for feed_id in feed_ids if feed_id not in feeds or feeds[feed_id].enabled]
    yield from (not_refreshed(feed, "it is disabled") for feed in feeds.values() if not feed.enabled)
    if wanted:
        yield from refresh(store, settings, claim(store, settings, wanted, clock, patience), clock=clock, run_id=run_id)


def refresh(store: Store, settings: Settings, token: str, *, clock: Clock = utc_now, run_id: str | None = None) -> Iterator[FeedReport]:
    """Refresh the feeds that are claimed under `token`; each report comes after its feed is committed.

    Whatever ends this early, what is still held goes back to the schedule.
    """
    lease = timedelta(seconds=settings.lease_seconds)
    with store.begin() as tx:
        claims = tx.schedules.start(token, now=clock(), lease=lease)
    renewed = time.monotonic()
    try:
        for group in _attempts_in_groups(claims, settings, clock):
            if time.monotonic() - renewed > settings.lease_seconds / 3:
                with store.begin() as tx:
                    tx.schedules.renew(token, now=clock(), lease=lease)
                renewed = time.monotonic()
            if group:
                yield from commit_group(store, settings, token, group, run_id=run_id)
    finally:
        with store.begin() as tx:
            tx.schedules.release(token)


def claim(store: Store, settings: Settings, feed_ids: Sequence[str], clock: Clock, patience: float) -> str:
    """Take these feeds, waiting a little for those that somebody is fetching. Gives the token."""
    lease = timedelta(seconds=settings.lease_seconds)
    token = new_token(clock())
    wanted = list(dict.fromkeys(feed_ids))
    deadline = time.monotonic() + patience
    while True:
        now = clock()
        with store.begin() as tx:
            present = tx.feeds.many(wanted)
            for feed_id in wanted:
                if feed_id not in present or present[feed_id].deleted_at is not None:
                    raise UnknownFeed(feed_id)
            claimed = set(tx.schedules.claim(token, wanted, now=now, lease=lease))
            wanted = [feed_id for feed_id in wanted if feed_id not in claimed]
            held = tx.schedules.leases(wanted, now=now) if wanted else {}
            if wanted and time.monotonic() > deadline:
                tx.schedules.release(token)
        if not wanted:
            return token
        if time.monotonic() > deadline:
            until = max(held.values(), default=now)
            names = ", ".join(wanted[:5]) + (" ..." if len(wanted) > 5 else "")
            raise FeedNotReady(f"being fetched by another run (until {until:%H:%M:%S} UTC at the latest): {names}; try again then")
        time.sleep(1.0)


def _attempts_in_groups(claims: Sequence[Claim], settings: Settings, clock: Clock) -> Iterator[list[Attempt]]:
    """Fetch and read all claims in threads; hand the attempts on in groups, an empty one when time passed without any."""
    done: queue.SimpleQueue[Attempt] = queue.SimpleQueue()
    with Fetcher(settings, clock) as fetcher:
        turns = Turns(claims, lambda claim: host_of(claim.feed.url), settings.domain_delay_seconds)

        def work() -> None:
            while (claim := turns.take()) is not None:
                try:
                    attempt = _read(Attempt(claim, fetcher.fetch(_request(claim))), settings)
                except Exception as error:  # a bug of ours with one feed is that feed's trouble, not the batch's
                    attempt = Attempt(claim, _broken(claim, error, clock()))
                turns.done(claim)
                done.put(attempt)

        workers = [threading.Thread(target=work, name=f"fetch-{n}", daemon=True) for n in range(min(settings.fetch_workers, len(claims)))]
        for worker in workers:
            worker.start()
        try:
            left = len(claims)
            while left:
                group = _next_group(done, min(left, _GROUP_SIZE))
                left -= len(group)
                yield group
        finally:
            turns.stop()


def _next_group(done: queue.SimpleQueue[Attempt], size: int) -> list[Attempt]:
    group: list[Attempt] = []
    deadline = time.monotonic() + _GROUP_SECONDS
    while len(group) < size and (left := deadline - time.monotonic()) > 0:
        try:
            group.append(done.get(timeout=left))
        except queue.Empty:
            break
    return group


def _request(claim: Claim) -> FetchRequest:
    return FetchRequest(claim.feed.feed_id, claim.feed.url, claim.schedule.etag, claim.schedule.last_modified)


def _broken(claim: Claim, error: Exception, now: datetime) -> FetchResult:
    reason = f"feed_assets stumbled over this feed ({type(error).__name__}: {error}); please report it"
    return FetchResult(claim.feed.feed_id, claim.feed.url, now, Outcome.TEMPORARY_ERROR, reason)


def _read(attempt: Attempt, settings: Settings) -> Attempt:
    """Parse the body, unless there is none or it is the one we have."""
    if attempt.result.outcome is not Outcome.SUCCESS or attempt.result.body is None:
        return attempt
    attempt = replace(attempt, body_sha256=body_sha256(attempt.result))
    return attempt if attempt.body_sha256 == attempt.claim.schedule.body_sha256 else parse(attempt, settings)


def parse(attempt: Attempt, settings: Settings) -> Attempt:
    result = attempt.result
    try:
        parsed = parse_document(result.body or b"", url=result.url, headers=result.headers, max_entries=settings.max_articles_per_feed)
    except NotAFeed as error:
        return replace(attempt, result=replace(result, outcome=Outcome.PERMANENT_ERROR, reason=str(error), body=None))
    return replace(attempt, parsed=parsed)


def body_sha256(result: FetchResult) -> str:
    return hashlib.sha256(result.body or b"").hexdigest()
