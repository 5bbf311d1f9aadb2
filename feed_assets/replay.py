"""Articles and XML again from the stored responses, in the order in which they came, without any request.

The same responses in the same order give the same tables. Schedules, statistics and `raw_items` stay: nothing was fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from feed_assets.commit import Stories, not_refreshed, publish_feeds, titles
from feed_assets.decide import health
from feed_assets.decide.attempt import Attempt
from feed_assets.decide.domain import allowed_entries
from feed_assets.decide.identity import compare, draft, keys_of
from feed_assets.holding import holding
from feed_assets.model import CheckResult, Claim, Feed, FeedReport, FetchResult, Item, KnownItem, Outcome, ParsedFeed
from feed_assets.refresh import Clock, body_sha256, claim, parse, utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store

Thing = TypeVar("Thing")

_GROUP_SIZE = 50  # responses, or feeds to publish, per transaction


@dataclass
class _Replayed:
    """What the responses of one feed have said so far."""

    claim: Claim
    known: dict[str, KnownItem] = field(default_factory=dict)  # by item_hash: identity is what it was when the items were stored
    items: dict[str, Item] = field(default_factory=dict)
    channel: ParsedFeed | None = None
    sha256: str | None = None

    def take(self, attempt: Attempt) -> tuple[Item, ...]:
        """Read one more response; gives the items that are new or changed in it."""
        if attempt.parsed is None:
            return ()
        drafts = [draft(entry) for entry in allowed_entries(self.claim.feed, attempt.parsed.entries)]
        changes = compare(drafts, self.known.values(), self.claim.schedule.identity_mode)
        items = (*changes.new, *changes.changed, *changes.known)
        for item in changes.new:  # stored once, pruned since: it stays the item that it was
            self.known[item.item_hash] = KnownItem(
                item.item_hash, item.id_key, item.content_hash, keys_of(item.entry), item.entry.published_at
            )
        said = {item_hash: item.content_hash for item_hash, item in self.items.items()}
        found = tuple(item for item in items if said.get(item.item_hash) != item.content_hash)
        self.items |= {item.item_hash: item for item in found}
        self.channel, self.sha256 = replace(attempt.parsed, entries=()), attempt.body_sha256
        return found


def replay_feeds(
    store: Store, settings: Settings, feed_ids: Sequence[str], *, clock: Clock = utc_now, run_id: str | None = None, patience: float = 60.0
) -> Iterator[FeedReport]:
    """Replay these feeds, disabled ones too; a report for each, after it is stored."""
    token = claim(store, settings, feed_ids, clock, patience)
    lease = timedelta(seconds=settings.lease_seconds)
    with store.begin() as tx:
        feeds = {c.feed.feed_id: _Replayed(c) for c in tx.schedules.start(token, now=clock(), lease=lease, only_enabled=False)}
        tx.batches.open(token, run_id=run_id, now=clock())
        responses = tx.items.responses(list(feeds))
        for feed_id, known in tx.items.all_known(list(feeds)).items():
            feeds[feed_id].known = {item.item_hash: item for item in known}
    with holding(store, settings, token, clock):
        for group in _groups(responses):
            with store.read() as tx:
                bodies = tx.items.bodies(group)
            read = [_read(settings, feeds[result.feed_id], fetch_id, result) for fetch_id, result in bodies]
            with store.begin() as tx:
                held = tx.schedules.fence(token, list(feeds))
                stories = Stories(tx, settings, replay=True)
                for feed, fetch_id, fetched_at, items in read:
                    if feed.feed_id in held:
                        stories.add(feed, fetch_id, fetched_at, items)
                stories.save()
        for batch in _groups(list(feeds.values())):
            with store.begin() as tx:
                held = tx.schedules.fence(token, [each.claim.feed.feed_id for each in batch])
                ready = [each for each in batch if each.channel is not None and each.claim.feed.feed_id in held]
                checks = publish_feeds(tx, settings, [(each.claim.feed, each.channel) for each in ready], clock())
            yield from (_report(each, each.claim.feed.feed_id in held, checks, clock()) for each in batch)


def _groups(things: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    yield from (things[start : start + _GROUP_SIZE] for start in range(0, len(things), _GROUP_SIZE))


def _read(settings: Settings, replayed: _Replayed, fetch_id: str, result: FetchResult) -> tuple[Feed, str, datetime, tuple[Item, ...]]:
    attempt = parse(Attempt(replayed.claim, result, body_sha256=body_sha256(result)), settings)
    return replayed.claim.feed, fetch_id, result.fetched_at, replayed.take(attempt)


def _report(replayed: _Replayed, held: bool, checks: dict[str, list[CheckResult]], now: datetime) -> FeedReport:
    feed, schedule = replayed.claim.feed, replayed.claim.schedule
    if not held:
        return not_refreshed(feed, "its lease was lost to another run")
    if replayed.channel is None:
        return not_refreshed(feed, "no response of this feed is stored yet, so there is nothing to replay")
    return FeedReport(
        feed.feed_id,
        feed.url,
        Outcome.SUCCESS,
        found=len(replayed.items),
        fetched_at=now,
        next_run_at=schedule.next_run_at,
        next_run_reason=schedule.next_run_reason,
        interval_seconds=schedule.interval_seconds,
        articles_per_hour=replayed.claim.stats.articles_per_hour,
        news=True,
        data_version=replayed.sha256,
        titles=titles(replayed.items.values()),
        checks=health.compared(checks[feed.feed_id], schedule.check_states),
        replayed=True,
    )
