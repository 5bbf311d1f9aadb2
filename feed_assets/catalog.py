"""The catalog of feeds: add, edit, remove, bring back, import. Shared by the command line, the API and Dagster."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from feed_assets.decide.cadence import Policy, fixed_or_longest
from feed_assets.errors import DuplicateFeed, FeedAssetsError, FeedNotReady, UnknownFeed, UsageError
from feed_assets.model import ErrorPolicy, EventType, Feed, FeedState, FetchResult
from feed_assets.settings import Settings
from feed_assets.store import Store, Transaction
from feed_assets.urls import domain_of, feed_key, host_of, mask_password

_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
RESERVED_IDS = frozenset({"all", "site", "group"})  # of the combined documents below /rss
_LONGEST_URL = 8192
_LONGEST_NAME = 300
_EDITABLE = tuple(column.name for column in fields(Feed) if column.name not in ("feed_id", "created_at", "updated_at", "deleted_at"))


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rows of a file: ids, and for each row that is not right what it is called and why."""

    added: tuple[str, ...]
    unchanged: tuple[str, ...]
    rejected: tuple[tuple[str, str], ...]
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def add_feed(
    store: Store, url: str, *, now: datetime, feed_id: str | None = None, first: FetchResult | None = None, **options: Any
) -> Feed:
    """Register a feed; it is due at once. `first` is the response it was found with: the first run takes that instead of asking again.

    Raises when the URL or the id is taken.
    """
    with store.begin() as tx:
        feed = _prepare(tx, url, feed_id, now, options)
        _put(tx, [feed], now, "new feed")
        if first is not None:
            tx.items.save_first(replace(first, feed_id=feed.feed_id))
        return feed


def refuse_known(store: Store, url: str, feed_id: str | None = None, *, respelled: bool = True) -> None:
    """Raises what `add_feed` would raise, before anything is asked of the publisher; and when the feed is there under another spelling."""
    with store.read() as tx:
        _prepare(tx, url, feed_id, datetime.now(UTC), {})
        if respelled and (other := next((each for each in tx.feeds.live() if feed_key(each.url) == feed_key(url)), None)):
            raise DuplicateFeed(
                f"{mask_password(url)} is there already, as feed {other.feed_id!r} at {mask_password(other.url)}; "
                "if these are two feeds, add it with --another"
            )


def edit_feed(store: Store, settings: Settings, feed_id: str, *, now: datetime, **changes: Any) -> Feed:
    """Change columns of a feed. A new URL starts afresh; a new interval counts from the last fetch."""
    with store.begin() as tx:
        before = _live(tx, feed_id)
        after = _edited(before, changes)
        if after.url != before.url:
            _refuse_taken_url(tx, after.url, feed_id)
        _save_edits(tx, settings, [(before, after)], now)
        return after


def _edited(before: Feed, changes: Mapping[str, Any]) -> Feed:
    after = _checked(replace(before, **changes))
    return after if "root_domain" in changes else replace(after, root_domain=_at(before, after.url).root_domain)


def _save_edits(tx: Transaction, settings: Settings, edits: Iterable[tuple[Feed, Feed]], now: datetime) -> None:
    edits = list(edits)
    tx.feeds.update([after for _, after in edits], now=now)
    for before, after in edits:
        if after.url == before.url:
            _follow_schedule(tx, settings, before, after, now)
        else:
            tx.schedules.forget_validators(after.feed_id)
            tx.schedules.revive(after.feed_id, at=now, reason="the URL was changed")


def move_feed(tx: Transaction, feed: Feed, url: str, *, now: datetime) -> str | None:
    """Follow a feed to its new URL; its validators belong to the old one. Gives the id of the feed that is there already, if any."""
    if others := [other.feed_id for other in tx.feeds.at_url(url) if other.deleted_at is None and other.feed_id != feed.feed_id]:
        return others[0]
    tx.feeds.update([_at(feed, url)], now=now)
    tx.schedules.forget_validators(feed.feed_id)
    return None


def delete_feed(store: Store, feed_id: str, *, now: datetime) -> None:
    """Soft delete: never fetched again; its articles and its id stay."""
    with store.begin() as tx:
        _live(tx, feed_id)
        tx.feeds.delete(feed_id, now=now)


def restore_feed(store: Store, feed_id: str, *, now: datetime) -> Feed:
    """Bring a deleted feed back, with its history; it is due at once."""
    with store.begin() as tx:
        feed = tx.feeds.get(feed_id)
        if feed is None:
            raise UnknownFeed(feed_id)
        if feed.deleted_at is None:
            raise FeedNotReady(f"{feed_id} is not deleted")
        _refuse_taken_url(tx, feed.url, feed_id)
        _put(tx, [replace(feed, updated_at=now, deleted_at=None)], now, "the feed was restored")
        return feed


def sync_feed(store: Store, feed_id: str, *, now: datetime) -> None:
    """Make a feed due now, whatever it was waiting for; dead feeds come back to life."""
    with store.begin() as tx:
        feed = _live(tx, feed_id)
        if not feed.enabled:
            raise FeedNotReady(f"{feed_id} is disabled; `feed-assets feed enable {feed_id}` first")
        tx.schedules.revive(feed_id, at=now, reason="sync was asked for")
        tx.hosts.unblock(host_of(feed.url))


def import_feeds(store: Store, rows: Iterable[Mapping[str, Any]], *, now: datetime) -> Imported:
    """Add the feeds that are not there yet; bad rows are reported one by one, the rest is imported."""
    with store.begin() as tx:
        reading = _Import(tx, now)
        for row in rows:
            reading.take(row)
        _put(tx, reading.added, now, "new feed")
        return reading.result()


def follow_file(store: Store, settings: Settings, rows: Iterable[Mapping[str, Any]], *, now: datetime, prune: bool = False) -> Imported:
    """Make the feeds what a file says: add, change the columns that it names, and with `prune` remove what it does not have.

    Nothing is removed when a row is not right: what it was meant to say is not known.
    """
    with store.begin() as tx:
        reading = _Import(tx, now, follows=True)
        for row in rows:
            reading.take(row)
        _put(tx, reading.added, now, "new feed")
        _save_edits(tx, settings, reading.edits, now)
        gone = reading.not_taken if prune and not reading.rejected else []
        for feed_id in gone:
            tx.feeds.delete(feed_id, now=now)
        return replace(reading.result(), removed=tuple(gone))


class _Import:
    """The rows of a file beside the feeds that there are."""

    def __init__(self, tx: Transaction, now: datetime, *, follows: bool = False) -> None:
        known = tx.feeds.everything()
        self._now, self._follows = now, follows
        self._by_id = {feed.feed_id: feed for feed in known}
        self._live = {feed.url: feed for feed in known if feed.deleted_at is None}
        self._alike = {feed_key(feed.url): feed for feed in self._live.values()}
        self._deleted = {feed.url: feed.feed_id for feed in known if feed.deleted_at is not None}
        self._taken: dict[str, None] = {}
        self.added: list[Feed] = []
        self.edits: list[tuple[Feed, Feed]] = []
        self.unchanged: list[str] = []
        self.rejected: list[tuple[str, str]] = []

    @property
    def not_taken(self) -> list[str]:
        return [feed.feed_id for feed in self._live.values() if feed.feed_id not in self._taken]

    def result(self) -> Imported:
        added, changed = (feed.feed_id for feed in self.added), (feed.feed_id for _, feed in self.edits)
        return Imported(tuple(added), tuple(self.unchanged), tuple(self.rejected), tuple(changed))

    def take(self, row: Mapping[str, Any]) -> None:
        options = {str(key): value for key, value in row.items()}
        url, feed_id = str(options.pop("url", None) or ""), options.pop("id", options.pop("feed_id", None))
        try:
            self._take(url, None if feed_id is None else str(feed_id), options)
        except FeedAssetsError as error:
            self.rejected.append((mask_password(url) or str(feed_id), str(error)))

    def _take(self, url: str, feed_id: str | None, options: dict[str, Any]) -> None:
        before = self._by_id.get(feed_id) if feed_id and self._follows else None
        if before is not None and before.deleted_at is None:
            self._follow(before, options | {"url": check_url(url)})
            return
        # A deleted feed comes back under its old name, with its history.
        name = self._deleted.get(url.strip()) if feed_id is None else feed_id
        moment = self._now + timedelta(microseconds=len(self.added))  # feeds are listed in the order of their file
        feed = _new_feed(url, name, moment, options, self._by_id.keys())
        there = self._live.get(feed.url) or self._alike.get(feed_key(feed.url))
        if there is not None:
            self._follow(there, options if self._follows else {})
            return
        _refuse_taken_id(self._by_id.get(feed.feed_id))
        self._taken[feed.feed_id] = None
        self.added.append(feed)
        self._live[feed.url] = self._by_id[feed.feed_id] = self._alike[feed_key(feed.url)] = feed

    def _follow(self, before: Feed, changes: Mapping[str, Any]) -> None:
        if unknown := set(changes) - set(_EDITABLE):
            raise _unknown_field(unknown)
        after = _edited(before, changes)
        other = self._live.get(after.url)
        if other is not None and other.feed_id != before.feed_id:
            raise DuplicateFeed(f"{mask_password(after.url)} is there already, as feed {other.feed_id!r}")
        again, self._taken[before.feed_id] = before.feed_id in self._taken, None
        if again and after.url != before.url:
            raise DuplicateFeed(f"the file has {before.feed_id!r} twice, at different URLs")
        if after == before or again:
            self.unchanged.append(before.feed_id)
            return
        self.edits.append((before, after))
        self._live.pop(before.url, None)
        self._live[after.url] = self._by_id[after.feed_id] = after


def _put(tx: Transaction, feeds: Sequence[Feed], now: datetime, reason: str) -> None:
    """Add feeds or bring them back, and let it be known."""
    tx.feeds.put(feeds, next_run_at=now, reason=reason)
    about = ((feed, {"feed_id": feed.feed_id, "url": mask_password(feed.url), "source_name": feed.source_name}) for feed in feeds)
    tx.articles.save_events(
        (f"{feed.feed_id}/{now.isoformat()}/feed.added", EventType.FEED_ADDED.value, payload, now) for feed, payload in about
    )


def state_of(row: Mapping[str, Any]) -> FeedState:
    """The state of a feed, from its row of the overview."""
    if not row["enabled"]:
        return FeedState.DISABLED
    if row["fetch_status"] != "idle":
        return FeedState(row["fetch_status"])
    if row["next_run_at"] is None:
        return FeedState.DEAD if row["last_status"] not in (None, "success") else FeedState.PAUSED
    return FeedState.FAILING if row["consecutive_errors"] else FeedState.OK if row["last_success_at"] else FeedState.NEW


def check_url(url: str) -> str:
    """A URL that can be fetched, or the reason why this one cannot."""
    url = url.strip()
    shown = mask_password(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{shown!r} is not a URL: {mask_password(str(error))}") from None
    if parts.scheme not in ("http", "https"):
        start = f"it starts with {parts.scheme}:" if parts.scheme and not parts.path[:1].isdigit() else "it has no scheme"
        raise UsageError(f"{shown!r} cannot be fetched: {start}; write http:// or https:// in front")
    if not host or any(character.isspace() or not character.isprintable() for character in url):
        raise UsageError(f"{shown!r} is not a URL that can be fetched")
    if len(url) > _LONGEST_URL:
        raise UsageError(f"{shown[:80]!r}... is too long for a URL: {len(url)} characters, {_LONGEST_URL} at most")
    userinfo, at, address = parts.netloc.rpartition("@")
    # One spelling for what is the same to every server: the host in lower case, no fragment.
    return parts._replace(netloc=f"{userinfo}{at}{address.lower()}", fragment="").geturl()


def slug(url: str, taken: Collection[str]) -> str:
    """A readable id for a URL that is not taken: example.com/blog/feed.xml -> example-com-blog."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").removeprefix("feeds.")
    words = [host, *parts.path.lower().removesuffix(".xml").removesuffix(".rss").removesuffix(".json").split("/"), parts.query.lower()]
    dull = {"", "feed", "feeds", "rss", "atom", "index", "rss2.0", "feed.json"}
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(word for word in words if word not in dull)).strip("-")[:60].strip("-") or "feed"
    unique, number = name, 1
    while unique in taken or unique in RESERVED_IDS:
        number += 1
        unique = f"{name}-{number}"
    return unique


def _prepare(tx: Transaction, url: str, feed_id: str | None, now: datetime, options: Mapping[str, Any]) -> Feed:
    url = check_url(url)
    _refuse_taken_url(tx, url, None)
    if feed_id is None and (deleted := tx.feeds.at_url(url)):
        feed_id = deleted[0].feed_id  # it comes back under its old name, with its history
    feed = _new_feed(url, feed_id, now, options, tx.feeds.all_ids())
    _refuse_taken_id(tx.feeds.get(feed.feed_id))
    return feed


def _new_feed(url: str, feed_id: object, now: datetime, options: Mapping[str, Any], taken: Collection[str]) -> Feed:
    url = check_url(url)
    if unknown := set(options) - set(_EDITABLE):
        raise _unknown_field(unknown)
    name = slug(url, taken) if feed_id is None else str(feed_id)
    if name in RESERVED_IDS:
        raise UsageError(f"{name!r} cannot be an id: /rss/{name} is taken; choose another one with --id")
    if not _ID.fullmatch(name):
        raise UsageError(f"{name!r} cannot be an id: use lower-case letters, digits, dots, dashes and underscores (at most 100)")
    values = {"source_name": urlsplit(url).hostname or name, "root_domain": domain_of(url)} | dict(options)
    values["source_name"] = values["source_name"] or name
    return _checked(Feed(feed_id=name, url=url, created_at=now, updated_at=now, **values))


def _unknown_field(names: Iterable[str]) -> UsageError:
    return UsageError(f"unknown field {sorted(names)[0]!r}; a feed has {', '.join(_EDITABLE)}")


def _checked(feed: Feed) -> Feed:
    """The feed, or what is wrong with a value of it."""
    minutes = feed.refresh_interval_minutes
    if minutes is not None and (not isinstance(minutes, int) or isinstance(minutes, bool) or not 1 <= minutes <= 10_080):
        raise UsageError(f"the interval must be 1 to 10080 whole minutes, not {minutes!r}")
    if feed.error_policy not in list(ErrorPolicy):
        raise UsageError(f"error_policy is `backoff` or `one_strike`, not {feed.error_policy!r}")
    if not isinstance(feed.priority, int) or isinstance(feed.priority, bool) or abs(feed.priority) > 1_000_000:
        raise UsageError(f"the priority must be a whole number from -1000000 to 1000000, not {feed.priority!r}")
    for name in ("enabled", "polling", "enforce_feed_domain"):
        if not isinstance(getattr(feed, name), bool):
            raise UsageError(f"{name} is true or false, not {getattr(feed, name)!r}")
    for name in ("source_name", "root_domain", "feed_group"):
        value = getattr(feed, name)
        if value is not None and (not isinstance(value, str) or not value.strip() or not value.isprintable()):
            raise UsageError(f"{name} must be a line of text, not {value!r}")
        if value is not None and len(value) > _LONGEST_NAME:
            raise UsageError(f"{name} is too long: {len(value)} characters, {_LONGEST_NAME} at most")
    return replace(feed, url=check_url(feed.url))


def _at(feed: Feed, url: str) -> Feed:
    """The feed at another URL; its root domain goes with it, unless somebody chose that."""
    own = feed.root_domain == domain_of(feed.url)
    return replace(feed, url=url, root_domain=domain_of(url) if own else feed.root_domain)


def _live(tx: Transaction, feed_id: str) -> Feed:
    feed = tx.feeds.get(feed_id)
    if feed is None or feed.deleted_at is not None:
        raise UnknownFeed(feed_id)
    return feed


def _refuse_taken_id(other: Feed | None) -> None:
    if other is not None and other.deleted_at is None:
        raise DuplicateFeed(f"there is a feed {other.feed_id!r} already, at {mask_password(other.url)}; choose another id")


def _refuse_taken_url(tx: Transaction, url: str, feed_id: str | None) -> None:
    for other in tx.feeds.at_url(url):
        if other.deleted_at is None and other.feed_id != feed_id:
            raise DuplicateFeed(f"{mask_password(url)} is there already, as feed {other.feed_id!r}")


def _follow_schedule(tx: Transaction, settings: Settings, before: Feed, after: Feed, now: datetime) -> None:
    """What an edit means for the next run."""
    schedule = tx.schedules.get(after.feed_id)
    if schedule is None:
        return
    if after.polling and not before.polling and schedule.next_run_at is None:
        tx.schedules.revive(after.feed_id, at=now, reason="polling was switched on")
    elif before.polling and not after.polling:
        tx.schedules.reschedule(after.feed_id, at=None, interval_seconds=None, reason="polling is off")
    elif after.enabled and not before.enabled and schedule.next_run_at is None and after.polling:
        tx.schedules.revive(after.feed_id, at=now, reason="the feed was enabled")
    elif after.refresh_interval_minutes != before.refresh_interval_minutes and schedule.next_run_at and schedule.last_fetched_at:
        interval: timedelta = fixed_or_longest(after, Policy.of(settings))
        reason = f"the interval was set to {interval.total_seconds() / 60:.0f} min"
        if schedule.consecutive_errors == 0:
            at = schedule.last_fetched_at + interval
            tx.schedules.reschedule(after.feed_id, at=at, interval_seconds=round(interval.total_seconds()), reason=reason)
