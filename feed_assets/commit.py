"""What a group of attempts writes: one transaction, fenced by the lease token, and a report per feed.

The step of `refresh.py` that composes decide, store and publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from feed_assets import catalog, outage
from feed_assets.decide import health, incidents
from feed_assets.decide.attempt import Attempt, Decision, decide
from feed_assets.decide.cadence import Policy
from feed_assets.decide.dedup import Placed, item_key, place, story_keys, to_article, without_old_news
from feed_assets.decide.domain import allowed_entries
from feed_assets.decide.identity import BY_ID, Draft, compare, draft, keys_of
from feed_assets.errors import Unstorable
from feed_assets.headlines import Headlines
from feed_assets.model import Article, Changes, CheckResult, EventType, Feed, FeedReport, HostState, Item, KnownItem, Outcome, ParsedFeed
from feed_assets.parse import headline, sanitize_html
from feed_assets.publish import compose_rss, is_well_formed
from feed_assets.settings import Settings
from feed_assets.store import DURATIONS, CachedFeed, Memory, Store, Totals, Transaction
from feed_assets.urls import mask_password, without_credentials

_TITLES = 10  # in a report's preview


def commit_group(
    store: Store,
    settings: Settings,
    token: str,
    group: Sequence[Attempt],
    *,
    postponed: Sequence[tuple[Feed, datetime, str]] = (),
    hosts: Sequence[HostState] = (),
    run_id: str | None,
) -> Iterator[FeedReport]:
    """Store what a group brought. Feeds whose lease was lost, or that were deleted or moved meanwhile, write nothing.

    A feed that cannot be stored, by a bug of ours, is told so; the others of its group are stored without it.
    """
    try:
        yield from _committed(store, settings, token, group, postponed, hosts, run_id)
    except (Unstorable, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        if not group:
            raise
        yield from _committed(store, settings, token, [], postponed, hosts, run_id)
        for attempt in group:
            yield from _alone(store, settings, token, attempt, run_id, error)


def _alone(store: Store, settings: Settings, token: str, attempt: Attempt, run_id: str | None, first: Exception) -> list[FeedReport]:
    try:
        return _committed(store, settings, token, [attempt], (), (), run_id)
    except type(first) as error:
        reason = f"feed_assets stumbled over this feed ({type(error).__name__}: {str(error)[:300]}); please report it"
        failed = replace(attempt.result, outcome=Outcome.TEMPORARY_ERROR, reason=reason, body=None)
        return _committed(store, settings, token, [Attempt(attempt.claim, failed)], (), (), run_id)


def _committed(
    store: Store,
    settings: Settings,
    token: str,
    group: Sequence[Attempt],
    postponed: Sequence[tuple[Feed, datetime, str]],
    hosts: Sequence[HostState],
    run_id: str | None,
) -> list[FeedReport]:
    """One transaction, and the reports of what is in it."""
    with store.begin() as tx:
        tx.hosts.learn(token, hosts)
        tx.schedules.postpone(token, ((feed.feed_id, until, reason) for feed, until, reason in postponed))
        held = tx.schedules.fence(token, [attempt.feed_id for attempt in group])
        feeds = tx.feeds.many(sorted(held))
        ours = [a for a in group if a.feed_id in held and _still_wanted(a, feeds[a.feed_id])]
        decisions = outage.withhold(tx, _decide(tx, settings, ours, feeds))
        joined = _write_items(tx, settings, token, [d for d in decisions if d.news])
        checks = _publish(tx, settings, [d for d in decisions if d.news])
        decisions = [replace(d, checks=(*d.checks, *checks.get(d.feed.feed_id, ()))) for d in decisions]
        _write_state(tx, token, decisions, run_id)
        _count(tx, token, decisions, joined)
        moved = dict(filter(None, (_move(tx, token, decision) for decision in decisions)))
    decided = {decision.feed.feed_id: decision for decision in decisions}
    reports = []
    for attempt in group:
        decision = decided.get(attempt.feed_id)
        reports.append(_report(decision, moved.get(attempt.feed_id)) if decision else _not_stored(attempt, feeds.get(attempt.feed_id)))
    for feed, until, reason in postponed:
        reports.append(not_refreshed(feed, f"{reason}; its next try is at {until:%Y-%m-%d %H:%M:%S} UTC"))
    return reports


def _still_wanted(attempt: Attempt, feed: Feed) -> bool:
    return feed.deleted_at is None and feed.url == attempt.claim.feed.url


def _decide(tx: Transaction, settings: Settings, attempts: Sequence[Attempt], feeds: Mapping[str, Feed]) -> list[Decision]:
    """Compare every document with what is stored, and decide what follows."""
    reading = [a for a in attempts if a.parsed is not None]
    stored = tx.items.counts([a.feed_id for a in reading])
    editions = tx.articles.editions([a.feed_id for a in reading]) if reading else {}
    drafts = {a.feed_id: [draft(e) for e in allowed_entries(feeds[a.feed_id], a.parsed.entries)] for a in reading if a.parsed}
    modes = {a.feed_id: a.claim.schedule.identity_mode for a in reading}
    known = recognised(tx, {feed_id: each for feed_id, each in drafts.items() if feed_id in stored}, modes)
    compared = {a.feed_id: compare(drafts[a.feed_id], known.get(a.feed_id, ()), a.claim.schedule.identity_mode) for a in reading}
    # Items that were stored and pruned long ago are not new, though no row of them is left.
    pruned = tx.articles.remembered(item_key(feed_id, item.item_hash) for feed_id, changes in compared.items() for item in changes.new)
    tx.articles.remember(_still_shown(settings, reading, compared, pruned))
    policy = Policy.of(settings)
    return [
        decide(
            a,
            feeds[a.feed_id],
            without_old_news(a.feed_id, compared.get(a.feed_id, Changes()), pruned),
            stored_before=stored.get(a.feed_id, 0),
            first=a.feed_id not in editions,
            policy=policy,
        )
        for a in attempts
    ]


def _still_shown(
    settings: Settings, reading: Sequence[Attempt], compared: Mapping[str, Changes], pruned: Mapping[str, str]
) -> Iterator[Memory]:
    """Pruned items that stand in a document again, to be remembered for as long as new ones."""
    for attempt in reading:
        now = attempt.result.fetched_at
        for item in compared[attempt.feed_id].new:
            if (key := item_key(attempt.feed_id, item.item_hash)) in pruned:
                yield Memory(key, attempt.feed_id, pruned[key], now, now + _memory(settings))


def _memory(settings: Settings) -> timedelta:
    return timedelta(days=settings.article_retention_days + settings.dedup_retention_days)


def recognised(tx: Transaction, drafts: Mapping[str, Sequence[Draft]], modes: Mapping[str, str]) -> dict[str, list[KnownItem]]:
    """The stored items that these entries may be: by id; for ids that nobody knows, or that say nothing, by link, title and text."""
    known = tx.items.known_by_id((feed_id, each.id_key) for feed_id, entries in drafts.items() for each in entries)
    unknown = {
        feed_id: [each for each in entries if each.id_key not in ids or modes.get(feed_id, BY_ID) != BY_ID]
        for feed_id, entries in drafts.items()
        if (ids := {item.id_key for item in known.get(feed_id, ())}) is not None
    }
    alike = tx.items.known_alike(
        (feed_id, key)
        for feed_id, entries in unknown.items()
        for each in entries
        if (keys := each.keys)
        for key in (keys.link, keys.title, keys.text)
        if key
    )
    for feed_id, items in alike.items():
        have = {item.item_hash for item in known.get(feed_id, ())}
        known.setdefault(feed_id, []).extend(item for item in items if item.item_hash not in have)
    return known


def _write_items(tx: Transaction, settings: Settings, token: str, news: Sequence[Decision]) -> int:
    """Raw responses and their items, new and changed; what is merely still there is only marked as seen. How many items were copies
    of stories that were told before."""
    tx.items.save_bodies((_fetch_id(token, d), d.attempt.body_sha256 or "", d.attempt.result) for d in news)
    tx.items.touch((d.feed.feed_id, item.item_hash, d.attempt.result.fetched_at) for d in news for item in d.changes.known)
    stories = Stories(tx, settings)
    for decision in news:
        items = (*decision.changes.new, *decision.changes.changed)
        stories.add(decision.feed, _fetch_id(token, decision), decision.attempt.result.fetched_at, items)
    return stories.save()


class Stories:
    """Items on their way to `raw_items`, `deduped_articles`, `article_sources` and `dedup_cache`, written in bulk at the end.

    A replay leaves `raw_items`, which it reads from, and what is remembered already as they are.
    """

    def __init__(self, tx: Transaction, settings: Settings, *, replay: bool = False) -> None:
        self._tx = tx
        self._replay = replay
        self._memory = _memory(settings)
        self._batch: list[tuple[Feed, str, datetime, Item]] = []

    def add(self, feed: Feed, fetch_id: str, fetched_at: datetime, items: Sequence[Item]) -> None:
        self._batch.extend((feed, fetch_id, fetched_at, item) for item in items)

    def save(self) -> int:
        """How many items joined stories that were told before."""
        if not self._batch:
            return 0
        self._batch.sort(key=lambda each: (each[2], each[0].feed_id))  # as a replay will see them
        keys = [key for feed, _, _, item in self._batch for key in (item_key(feed.feed_id, item.item_hash), *story_keys(item))]
        remembered = self._tx.articles.remembered(keys)
        before = set(remembered) if self._replay else set()
        fresh = [(feed, at, item) for feed, _, at, item in self._batch if item_key(feed.feed_id, item.item_hash) not in remembered]
        headlines = Headlines(self._tx, fresh)
        carried = self._tx.articles.carried({*filter(None, remembered.values()), *headlines.article_ids})
        placed = []
        for feed, _, at, item in self._batch:
            story = place(feed.feed_id, item, remembered, carried, partial(headlines.similar, feed, at, item))
            if story.is_new:
                headlines.add(feed, at, item, story.article_id)
            placed.append((feed, at, story))
        if not self._replay:
            self._tx.items.save((feed.feed_id, fetch_id, at, item, keys_of(item.entry)) for feed, fetch_id, at, item in self._batch)
        self._tx.articles.save(_article(feed, at, story) for feed, at, story in placed)
        self._tx.articles.save_sources((story.article_id, feed.feed_id, story.item.item_hash) for feed, _, story in placed)
        headlines.save()
        self._tx.articles.remember(
            Memory(key, feed.feed_id, story.article_id, at, at + self._memory)
            for feed, at, story in placed
            for key in story.keys
            if key not in before
        )
        seen = {item_key(feed.feed_id, item.item_hash) for feed, _, item in fresh}
        return sum(not story.is_new and item_key(feed.feed_id, story.item.item_hash) in seen for feed, _, story in placed)


def _article(feed: Feed, fetched_at: datetime, story: Placed) -> Article:
    entry = story.item.entry
    return to_article(story, feed, headline=headline(entry), content=sanitize_html(entry.content, entry.base), fetched_at=fetched_at)


def _publish(tx: Transaction, settings: Settings, news: Sequence[Decision]) -> dict[str, list[CheckResult]]:
    return publish_feeds(
        tx, settings, [(d.feed, d.attempt.parsed) for d in news], max((d.attempt.result.fetched_at for d in news), default=None)
    )


def publish_feeds(
    tx: Transaction, settings: Settings, feeds: Sequence[tuple[Feed, ParsedFeed | None]], now: datetime | None
) -> dict[str, list[CheckResult]]:
    """Render the XML of these feeds from their stored articles. A document that says the same as before stays as it is."""
    if not feeds or now is None:
        return {}
    built_at = now.replace(microsecond=0)
    feed_ids = [feed.feed_id for feed, _ in feeds]
    editions = tx.articles.locked_editions(feed_ids)
    latest = tx.articles.latest(feed_ids, items=settings.feed_xml_items, analyses=settings.analysis_in_xml)
    rows, checks = [], {}
    for feed, parsed in feeds:
        items = latest.get(feed.feed_id, [])
        before = editions.get(feed.feed_id)
        document = compose_rss(
            title=(parsed and parsed.title) or feed.source_name,
            link=(parsed and parsed.link) or without_credentials(feed.url),
            description=parsed.description if parsed else "",
            language=parsed.language if parsed else None,
            self_url=f"{settings.site_url}/rss/{feed.feed_id}",
            items=items,
        )
        same = before is not None and document.at(before.updated_at).etag == before.etag
        rendered = document.at(before.updated_at if before and same else built_at)
        if not same:
            refs = [item.article_id for item in items]
            created_at = before.created_at if before else built_at
            rows.append(CachedFeed(feed.feed_id, rendered.header, refs, rendered.xml, rendered.etag, created_at, built_at))
        checks[feed.feed_id] = [CheckResult("xml_valid", is_well_formed(rendered.xml), f"{len(items)} items in the served XML")]
    tx.articles.save_cached(rows)
    return checks


def _write_state(tx: Transaction, token: str, decisions: Sequence[Decision], run_id: str | None) -> None:
    """The attempt itself: schedule, statistics, history and events."""
    tx.articles.save_stats(decision.stats for decision in decisions)
    tx.items.save_history(_history_row(token, decision, run_id) for decision in decisions)
    tx.articles.save_events(event for decision in decisions for event in _events(token, decision))
    tx.schedules.save(
        [
            replace(d.schedule, check_states=dict(d.schedule.check_states) | {check.name: check.passed for check in d.checks})
            for d in decisions
        ]
    )


def _count(tx: Transaction, token: str, decisions: Sequence[Decision], joined: int) -> None:
    """For the metrics."""
    if not decisions:
        return
    results = [decision.attempt.result for decision in decisions]
    outcomes = Counter(result.outcome.value for result in results)
    quick = {column: sum(result.duration_ms <= bound for result in results) for bound, column in DURATIONS.items()}
    totals = Totals(
        **{outcome.value: outcomes[outcome.value] for outcome in Outcome},
        **quick,
        total_bytes=sum(result.bytes_received for result in results),
        total_ms=sum(result.duration_ms for result in results),
        articles_parsed=sum(decision.attempt.parsed.found for decision in decisions if decision.attempt.parsed),
        articles_inserted=sum(len(decision.changes.new) for decision in decisions) - joined,
        articles_changed=sum(len(decision.changes.changed) for decision in decisions),
        articles_deduplicated=joined,
    )
    tx.numbers.add(_fetch_id(token, decisions[0]), totals, at=max(result.fetched_at for result in results))


def _move(tx: Transaction, token: str, decision: Decision) -> tuple[str, str] | None:
    """Give a feed the URL that it has permanently moved to, unless another feed is there: that is only reported."""
    if decision.moves_to is None:
        return None
    feed, now = decision.feed, decision.attempt.result.fetched_at
    about = {"feed_id": feed.feed_id, "from": mask_password(feed.url), "to": mask_password(decision.moves_to)}
    other = catalog.move_feed(tx, feed, decision.moves_to, now=now)
    if other is None:
        tx.articles.save_events([(f"{_fetch_id(token, decision)}/feed.moved", EventType.FEED_MOVED.value, about, now)])
        return feed.feed_id, f"it has moved for good: its URL is now {about['to']}"
    return feed.feed_id, f"it redirects for good to {about['to']}, which is feed {other!r} already; delete one of the two"


def _history_row(token: str, decision: Decision, run_id: str | None) -> dict[str, Any]:
    result = decision.attempt.result
    return {
        "fetch_id": _fetch_id(token, decision),
        "feed_id": decision.feed.feed_id,
        "fetch_time": result.fetched_at,
        "status_code": result.status_code,
        "outcome": result.outcome.value,
        "articles_found": decision.attempt.parsed.found if decision.attempt.parsed else 0,
        "articles_new": len(decision.changes.new),
        "bytes": result.bytes_received,
        "duration_ms": result.duration_ms,
        "error_message": result.reason,
        "run_id": run_id,
    }


def _events(token: str, decision: Decision) -> Iterator[tuple[str, str, dict[str, Any], datetime]]:
    """What others may want to hear of, in the same transaction as what happened."""
    result, before = decision.attempt.result, decision.attempt.claim.schedule
    about = {"feed_id": decision.feed.feed_id, "url": mask_password(decision.feed.url)}
    happened: list[tuple[EventType, dict[str, Any]]] = []
    if new := decision.changes.new:
        happened.append((EventType.ARTICLES_NEW, {"count": len(new), "titles": [title for _, title, _ in titles(new)]}))
    told = incidents.told(before, decision.schedule)
    if told is EventType.FEED_RECOVERED:
        happened.append((told, {"after_errors": before.consecutive_errors, "reason": before.last_error}))
    elif told is not None:
        since = before.last_success_at and before.last_success_at.isoformat()
        happened.append((told, {"errors": decision.next_run.consecutive_errors, "reason": result.reason, "last_success_at": since}))
    at = max(result.fetched_at, before.fetch_started_at or result.fetched_at)  # the answer that a feed was added with is news only now
    for kind, payload in happened:
        yield f"{_fetch_id(token, decision)}/{kind}", kind.value, about | payload, at


def _fetch_id(token: str, decision: Decision) -> str:
    return f"{token}/{decision.feed.feed_id}"


def _report(decision: Decision, notice: str | None) -> FeedReport:
    result, changes = decision.attempt.result, decision.changes
    schedule = decision.attempt.claim.schedule
    return FeedReport(
        decision.feed.feed_id,
        decision.feed.url,
        result.outcome,
        result.reason,
        status_code=result.status_code,
        found=decision.attempt.parsed.found if decision.attempt.parsed else 0,
        new=len(changes.new),
        changed=len(changes.changed),
        bytes_received=result.bytes_received,
        duration_ms=result.duration_ms,
        fetched_at=result.fetched_at,
        next_run_at=decision.next_run.at,
        next_run_reason=decision.next_run.reason,
        interval_seconds=decision.next_run.interval_seconds,
        articles_per_hour=decision.stats.articles_per_hour,
        news=decision.news,
        unreported=bool(schedule.body_sha256) and schedule.reported_sha256 != schedule.body_sha256,
        data_version=decision.attempt.body_sha256 or decision.schedule.body_sha256,
        titles=titles((*changes.new, *changes.changed)),
        checks=health.compared(decision.checks, schedule.check_states),
        notice=notice,
    )


def _not_stored(attempt: Attempt, feed: Feed | None) -> FeedReport:
    if feed is None:
        reason = "its lease was lost to another run, which will report"
    elif feed.deleted_at is not None:
        reason = "it was deleted while it was being fetched"
    else:
        reason = "its URL was changed while it was being fetched"
    return replace(not_refreshed(attempt.claim.feed, reason), status_code=attempt.result.status_code, fetched_at=attempt.result.fetched_at)


def not_refreshed(feed: Feed, reason: str) -> FeedReport:
    """The report of a feed of which nothing was stored."""
    return FeedReport(feed.feed_id, feed.url, Outcome.TEMPORARY_ERROR, f"nothing stored: {reason}", stored=False)


def titles(items: Iterable[Item]) -> tuple[tuple[datetime | None, str, str | None], ...]:
    first = list(items)[:_TITLES]
    return tuple((item.entry.published_at, headline(item.entry) or "Untitled", item.entry.url) for item in first)
