"""The catalog of feeds: add, edit, remove, bring back, import. Shared by the command line, the API and Dagster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import yaml

from feed_assets.decide.cadence import Policy, fixed_or_longest
from feed_assets.errors import DuplicateFeed, FeedAssetsError, FeedNotReady, UnknownFeed, UsageError
from feed_assets.model import ErrorPolicy, Feed, FeedState, FetchResult
from feed_assets.settings import Settings
from feed_assets.store import Store, Transaction
from feed_assets.urls import domain_of, host_of, mask_password, without_credentials

_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
RESERVED_IDS = frozenset({"all", "site", "group"})  # of the combined documents below /rss
_LONGEST_URL = 8192
_LONGEST_NAME = 300
_EDITABLE = tuple(column.name for column in fields(Feed) if column.name not in ("feed_id", "created_at", "updated_at", "deleted_at"))


@dataclass(frozen=True, slots=True)
class Imported:
    added: tuple[str, ...]
    unchanged: tuple[str, ...]
    rejected: tuple[tuple[str, str], ...]


def add_feed(
    store: Store, url: str, *, now: datetime, feed_id: str | None = None, first: FetchResult | None = None, **options: Any
) -> Feed:
    """Register a feed; it is due at once. `first` is the response it was found with: the first run takes that instead of asking again.

    Raises when the URL or the id is taken.
    """
    with store.begin() as tx:
        feed = _prepare(tx, url, feed_id, now, options)
        tx.feeds.put([feed], next_run_at=now, reason="new feed")
        if first is not None:
            tx.items.save_first(replace(first, feed_id=feed.feed_id))
        return feed


def refuse_known(store: Store, url: str, feed_id: str | None = None) -> None:
    """Raises what `add_feed` would raise, before anything is asked of the publisher."""
    with store.read() as tx:
        _prepare(tx, url, feed_id, datetime.now(UTC), {})


def edit_feed(store: Store, settings: Settings, feed_id: str, *, now: datetime, **changes: Any) -> Feed:
    """Change columns of a feed. A new URL starts afresh; a new interval counts from the last fetch."""
    with store.begin() as tx:
        before = _live(tx, feed_id)
        after = _checked(replace(before, **changes))
        if "root_domain" not in changes:
            after = replace(after, root_domain=_at(before, after.url).root_domain)
        if after.url != before.url:
            _refuse_taken_url(tx, after.url, feed_id)
            tx.schedules.forget_validators(feed_id)
            tx.schedules.revive(feed_id, at=now, reason="the URL was changed")
        tx.feeds.update(after, now=now)
        if after.url == before.url:
            _follow_schedule(tx, settings, before, after, now)
        return after


def move_feed(tx: Transaction, feed: Feed, url: str, *, now: datetime) -> str | None:
    """Follow a feed to its new URL; its validators belong to the old one. Gives the id of the feed that is there already, if any."""
    if others := [other.feed_id for other in tx.feeds.at_url(url) if other.deleted_at is None and other.feed_id != feed.feed_id]:
        return others[0]
    tx.feeds.update(_at(feed, url), now=now)
    tx.schedules.forget_validators(feed.feed_id)
    return None


def delete_feed(store: Store, feed_id: str, *, now: datetime) -> None:
    """Soft delete: never fetched again; its articles and its id stay."""
    with store.begin() as tx:
        _live(tx, feed_id)
        tx.feeds.delete(feed_id, now=now)


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
    added: list[Feed] = []
    unchanged, rejected = [], []
    with store.begin() as tx:
        known = tx.feeds.everything()
        by_id = {feed.feed_id: feed for feed in known}
        live = {feed.url: feed.feed_id for feed in known if feed.deleted_at is None}
        deleted = {feed.url: feed.feed_id for feed in known if feed.deleted_at is not None}
        for row in rows:
            options = {str(key): value for key, value in row.items()}
            url, feed_id = str(options.pop("url", None) or ""), options.pop("id", options.pop("feed_id", None))
            try:
                # A deleted feed comes back under its old name, with its history.
                feed = _new_feed(url, deleted.get(url.strip()) if feed_id is None else feed_id, now, options, set(by_id))
                if feed.url in live:
                    unchanged.append(live[feed.url])
                    continue
                _refuse_taken_id(by_id.get(feed.feed_id))
            except FeedAssetsError as error:
                rejected.append((mask_password(url) or str(feed_id), str(error)))
                continue
            added.append(feed)
            live[feed.url], by_id[feed.feed_id] = feed.feed_id, feed
        tx.feeds.put(added, next_run_at=now, reason="new feed")
    return Imported(tuple(feed.feed_id for feed in added), tuple(unchanged), tuple(rejected))


def read_feeds_file(path: Path) -> list[Mapping[str, Any]]:
    """The rows of a feeds file: YAML, or OPML."""
    try:
        content = path.read_bytes()
        if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return read_opml(content)
        document = yaml.safe_load(content.decode("utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError, ElementTree.ParseError) as error:
        raise UsageError(f"cannot read {path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise UsageError(f"cannot read {path}: it is nested too deeply") from None
    rows = document.get("feeds") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path} should have `feeds:` with a list of `id` and `url`")
    return rows


def read_opml(content: bytes) -> list[Mapping[str, Any]]:
    """The feeds of an OPML list; an outline around outlines is their group."""
    rows: list[Mapping[str, Any]] = []

    def walk(outline: ElementTree.Element, group: str | None) -> None:
        named = {name.lower(): " ".join(value.split()) for name, value in outline.attrib.items()}
        name = named.get("title") or named.get("text")
        if "xmlurl" in named:
            options = {"source_name": name, "feed_group": group}
            rows.append({"url": named["xmlurl"]} | {column: value for column, value in options.items() if value})
        for inner in outline.findall("outline"):
            walk(inner, name or group)

    for outline in ElementTree.fromstring(content).findall("./body/outline"):
        walk(outline, None)
    if not rows:
        raise UsageError("there is no feed in this file; an OPML list has <outline xmlUrl=...> in its <body>")
    return rows


def to_opml(feeds: Iterable[Feed], *, with_credentials: bool = True) -> str:
    """The feeds as OPML 2.0; "news/world" is an outline in an outline."""
    root = ElementTree.Element("opml", version="2.0")
    ElementTree.SubElement(ElementTree.SubElement(root, "head"), "title").text = "Feeds of feed_assets"
    outlines: dict[str, ElementTree.Element] = {"": ElementTree.SubElement(root, "body")}

    def outline(group: str) -> ElementTree.Element:
        if group not in outlines:
            above, _, name = group.rpartition("/")
            outlines[group] = ElementTree.SubElement(outline(above), "outline", text=name, title=name)
        return outlines[group]

    for feed in feeds:
        url = feed.url if with_credentials else without_credentials(feed.url)
        ElementTree.SubElement(
            outline(feed.feed_group or ""), "outline", type="rss", text=feed.source_name, title=feed.source_name, xmlUrl=url
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join(('<?xml version="1.0" encoding="UTF-8"?>\n', "\n"))


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


def slug(url: str, taken: set[str]) -> str:
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


def _new_feed(url: str, feed_id: object, now: datetime, options: Mapping[str, Any], taken: set[str]) -> Feed:
    url = check_url(url)
    if unknown := set(options) - set(_EDITABLE):
        raise UsageError(f"unknown field {sorted(unknown)[0]!r}; a feed has {', '.join(_EDITABLE)}")
    name = slug(url, taken) if feed_id is None else str(feed_id)
    if name in RESERVED_IDS:
        raise UsageError(f"{name!r} cannot be an id: /rss/{name} is taken; choose another one with --id")
    if not _ID.fullmatch(name):
        raise UsageError(f"{name!r} cannot be an id: use lower-case letters, digits, dots, dashes and underscores (at most 100)")
    values = {"source_name": urlsplit(url).hostname or name, "root_domain": domain_of(url)} | dict(options)
    values["source_name"] = values["source_name"] or name
    return _checked(Feed(feed_id=name, url=url, created_at=now, updated_at=now, **values))


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
