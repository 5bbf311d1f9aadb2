"""One batch: fetch -> parse -> decide -> store -> publish.

Feeds are fetched and read by threads; what they bring is stored in groups, each in one transaction: raw response, items,
articles, statistics, XML, validators and the next run together or not at all. Knows nothing of Dagster.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from feed_assets.commit import commit_group, not_refreshed
from feed_assets.decide.attempt import Attempt
from feed_assets.errors import FeedNotReady, NotAFeed, UnknownFeed
from feed_assets.fetch import Crew, Fetcher, Postponed, with_hints
from feed_assets.holding import HOST_LEASE, Hold, holding
from feed_assets.model import Claim, FeedReport, FetchRequest, FetchResult, Outcome
from feed_assets.parse import parse_document
from feed_assets.settings import Settings
from feed_assets.store import Queue, Store
from feed_assets.urls import host_of

Clock = Callable[[], datetime]

_GROUP_SIZE = 200  # feeds per transaction: large enough for bulk writes, small enough that others get their turn
_GROUP_SECONDS = 2.0  # and no result waits longer than this to be stored
_HOST_RETRY_SECONDS = 1.0
_FIRST_RESPONSE_LIFE = timedelta(minutes=15)  # for so long the response that a feed was added with counts as its first fetch
_TRUST_304 = timedelta(days=7)


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


def claim_due(store: Store, settings: Settings, *, now: datetime, signal: str | None = None) -> tuple[list[Batch], Queue]:
    """Claim what is due in batches, as far as MAX_BATCHES_IN_FLIGHT allows. Gives the queue as it was before, too.

    `signal` is who does so, for those who want to know whether anybody does.
    """
    lease = timedelta(seconds=settings.lease_seconds)
    batches: list[Batch] = []
    with store.begin() as tx:
        if signal:
            tx.numbers.signal(signal, at=now)
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

    Whatever ends this early, what is still held goes back to the schedule. A batch that was taken over stops.
    """
    now, lease = clock(), timedelta(seconds=settings.lease_seconds)
    with store.begin() as tx:
        claims = {claim.feed.feed_id: claim for claim in tx.schedules.start(token, now=now, lease=lease)}
        tx.batches.open(token, run_id=run_id, now=now)
        first = tx.items.take_first(list(claims))
        hosts = Counter(host_of(claim.feed.url) for claim in claims.values())
        states = tx.hosts.reserve(token, _expected(hosts, settings, now), now=now, lease=HOST_LEASE)
    with holding(store, settings, token, clock) as hold, Fetcher(settings, clock) as fetcher:
        crew = Crew(fetcher, settings, clock, lambda result: _read(claims[result.feed_id], result, settings))
        try:
            for feed_id, claim in claims.items():
                result = first.get(feed_id)
                if result is not None and now - result.fetched_at < _FIRST_RESPONSE_LIFE:
                    crew.add_done(_read(claim, with_hints(result), settings))
                else:
                    crew.add(_request(claim, now))
            for state in states:
                crew.open_host(state, ours=state.busy_token == token)
            done: set[str] = set()
            for report in _work_off(store, settings, token, crew, claims, hold, clock, run_id):
                done.add(report.feed_id)
                yield report
            yield from (not_refreshed(c.feed, "its lease was lost to another run") for f, c in claims.items() if f not in done)
        finally:
            crew.stop()


def _work_off(
    store: Store,
    settings: Settings,
    token: str,
    crew: Crew[Attempt],
    claims: Mapping[str, Claim],
    hold: Hold,
    clock: Clock,
    run_id: str | None,
) -> Iterator[FeedReport]:
    """Store what the crew brings, group by group, and get it the hosts that it still needs."""
    asked, tried = time.monotonic(), set(crew.hosts_wanted())
    while crew.pending and not hold.lost:
        wanted = crew.hosts_wanted()
        if wanted and (wanted.keys() - tried or time.monotonic() - asked > _HOST_RETRY_SECONDS):
            with store.begin() as tx:
                states = tx.hosts.reserve(token, _expected(wanted, settings, clock()), now=clock(), lease=HOST_LEASE)
            for state in states:
                crew.open_host(state, ours=state.busy_token == token)
            asked, tried = time.monotonic(), tried | wanted.keys()
        done = crew.collect(most=_GROUP_SIZE, seconds=_GROUP_SECONDS)
        attempts = [each for each in done if isinstance(each, Attempt)]
        postponed = [(claims[each.feed_id].feed, each.until, each.reason) for each in done if isinstance(each, Postponed)]
        news = crew.host_news()
        if attempts or postponed or news:
            yield from commit_group(store, settings, token, attempts, postponed=postponed, hosts=news, run_id=run_id)


def _expected(hosts: Mapping[str, int], settings: Settings, now: datetime) -> dict[str, datetime]:
    """When we expect to be done with hosts of so many feeds."""
    return {host: now + timedelta(seconds=feeds * settings.domain_delay_seconds) for host, feeds in hosts.items()}


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


def _request(claim: Claim, now: datetime) -> FetchRequest:
    """With the validators of the last answer; without them once in a while, since some servers say 304 for ever."""
    schedule = claim.schedule
    if schedule.last_body_at is None or now - schedule.last_body_at > _TRUST_304:
        return FetchRequest(claim.feed.feed_id, claim.feed.url)
    return FetchRequest(claim.feed.feed_id, claim.feed.url, schedule.etag, schedule.last_modified)


def _read(claim: Claim, result: FetchResult, settings: Settings) -> Attempt:
    """Parse the body, unless there is none or it is the one we have."""
    attempt = Attempt(claim, result)
    if result.outcome is not Outcome.SUCCESS or result.body is None:
        return attempt
    try:
        attempt = replace(attempt, body_sha256=body_sha256(result))
        return attempt if attempt.body_sha256 == claim.schedule.body_sha256 else parse(attempt, settings)
    except Exception as error:  # a bug of ours with one feed is that feed's trouble, not the batch's
        reason = f"feed_assets stumbled over this feed ({type(error).__name__}: {error}); please report it"
        return Attempt(claim, replace(result, outcome=Outcome.TEMPORARY_ERROR, reason=reason, body=None))


def parse(attempt: Attempt, settings: Settings) -> Attempt:
    result = attempt.result
    try:
        parsed = parse_document(result.body or b"", url=result.url, headers=result.headers, max_entries=settings.max_articles_per_feed)
    except NotAFeed as error:
        return replace(attempt, result=replace(result, outcome=Outcome.PERMANENT_ERROR, reason=str(error), body=None))
    return replace(attempt, parsed=parsed)


def body_sha256(result: FetchResult) -> str:
    return hashlib.sha256(result.body or b"").hexdigest()
