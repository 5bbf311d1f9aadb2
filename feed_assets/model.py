"""The vocabulary: one frozen dataclass per stage of a feed's way, and nothing that acts.

feeds row -> Claim -> FetchResult -> ParsedFeed -> Decision -> FeedReport
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How one attempt at a feed ended."""

    SUCCESS = "success"
    NOT_MODIFIED = "not_modified"
    TEMPORARY_ERROR = "temporary_error"
    PERMANENT_ERROR = "permanent_error"
    UNAUTHORIZED = "unauthorized"

    @property
    def ok(self) -> bool:
        return self in (Outcome.SUCCESS, Outcome.NOT_MODIFIED)

    @property
    def last_status(self) -> str:
        """The value of `feed_schedules.last_status`: a 304 is a success."""
        return Outcome.SUCCESS.value if self.ok else self.value


class ErrorPolicy(StrEnum):
    BACKOFF = "backoff"
    ONE_STRIKE = "one_strike"


class FetchStatus(StrEnum):
    IDLE = "idle"
    QUEUED = "queued"
    FETCHING = "fetching"


class FeedState(StrEnum):
    """How a feed is, in a word."""

    OK = "ok"
    NEW = "new"
    QUEUED = "queued"
    FETCHING = "fetching"
    FAILING = "failing"
    DEAD = "dead"
    PAUSED = "paused"
    DISABLED = "disabled"


class EventType(StrEnum):
    """What others may hear of: every type of a row in `events`, with what it means. docs/events.md shows each."""

    description: str

    def __new__(cls, value: str, description: str = "") -> EventType:
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    FEED_ADDED = "feed.added", "A feed was added, or a deleted one was restored."
    ARTICLES_NEW = "articles.new", "A feed brought new articles; the titles of the first ten are in the payload."
    ARTICLES_GROUPED = "articles.grouped", "Articles of several publishers tell one story: it was found, or grew."
    FEED_MOVED = "feed.moved", "A feed's permanent redirects were followed: its URL is another one now."
    FEED_FAILING = "feed.failing", "A feed has failed ALERT_AFTER_ERRORS times in a row; it is still tried."
    FEED_DEAD = "feed.dead", "A feed is given up until somebody revives it."
    FEED_RECOVERED = "feed.recovered", "A feed works again after `feed.failing` or `feed.dead`."
    NETWORK_TROUBLE = "network.trouble", "No feed could be fetched for ten minutes: told once an hour, instead of `feed.failing` for each."
    WEBHOOK_TEST = "webhook.test", "Sent by `feed-assets events test`; stored nowhere."

    @property
    def is_alert(self) -> bool:
        """Whether it is for those who only want to hear of trouble, and of its end."""
        return self in (EventType.FEED_FAILING, EventType.FEED_DEAD, EventType.FEED_RECOVERED, EventType.NETWORK_TROUBLE)


@dataclass(frozen=True, slots=True)
class Feed:
    """A row of `feeds`: what the user wants."""

    feed_id: str
    url: str
    source_name: str
    root_domain: str | None = None
    enabled: bool = True
    polling: bool = True
    refresh_interval_minutes: int | None = None
    priority: int = 0
    feed_group: str | None = None
    enforce_feed_domain: bool = False
    error_policy: str = ErrorPolicy.BACKOFF.value
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A row of `feed_schedules`: where the feed stands."""

    feed_id: str
    fetch_status: str = FetchStatus.IDLE.value
    next_run_at: datetime | None = None
    queued_at: datetime | None = None
    fetch_started_at: datetime | None = None
    locked_until: datetime | None = None
    lease_token: str | None = None
    last_fetched_at: datetime | None = None
    last_success_at: datetime | None = None
    last_status: str | None = None
    last_error: str | None = None
    consecutive_errors: int = 0
    etag: str | None = None
    last_modified: str | None = None
    body_sha256: str | None = None
    interval_seconds: int | None = None
    next_run_reason: str | None = None
    redirect_url: str | None = None  # where permanent redirects have led, this many times in a row
    redirect_count: int = 0
    last_body_at: datetime | None = None  # the last answer that was not a 304
    reported_sha256: str | None = None  # the document that Dagster was told of last
    check_states: Mapping[str, bool] = field(default_factory=dict)
    identity_mode: str = "id"
    identity_reason: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)  # how the last document was read, and what was dropped from it
    incident: str | None = None  # what others were told of its present trouble: `feed.failing` or `feed.dead`


@dataclass(frozen=True, slots=True)
class Hints:
    """What a publisher says about how often to come, from HTTP headers and from the feed itself."""

    max_age_seconds: int | None = None
    ttl_minutes: int | None = None
    update_period_seconds: int | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """A row of `feed_stats`: what was learned about the feed's pace.

    `observed_articles` over `observed_hours`, both forgetting with time, give the velocity; `pace` is the shape of its days and
    weeks (see `decide/pace.py`). Both know of the time until `learned_until`.
    """

    feed_id: str
    articles_per_hour: float = 0.0
    hourly_distribution: tuple[float, ...] = (0.0,) * 24
    current_hour_multiplier: float = 1.0
    avg_articles_per_fetch: float = 0.0
    total_articles_fetched: int = 0
    last_fetch_time: datetime | None = None
    last_successful_fetch: datetime | None = None
    observed_articles: float = 0.0
    observed_hours: float = 0.0
    newest_item_at: datetime | None = None
    feed_hints: Hints = Hints()
    pace: tuple[float, ...] = ()
    learned_until: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A feed that this worker holds the lease of, with everything a refresh needs to know."""

    feed: Feed
    schedule: Schedule
    stats: Stats


@dataclass(frozen=True, slots=True)
class FetchRequest:
    feed_id: str
    url: str
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class FetchResult:
    """One way to a feed, judged. `body` is there only for a success; `url` is where it ended, without credentials."""

    feed_id: str
    url: str
    fetched_at: datetime
    outcome: Outcome
    reason: str | None = None
    status_code: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    bytes_received: int = 0
    duration_ms: int = 0
    retry_after: timedelta | None = None
    max_age_seconds: int | None = None
    moved_to: str | None = None  # where permanent redirects, and only those, led
    host: str = ""  # the one that answered, or failed to
    host_failed: bool = False  # it did not get as far as an answer


@dataclass(frozen=True, slots=True)
class HostState:
    """A row of `host_states`: who may ask a host now, and whether it is to be left alone. `*.example.com` is a whole domain."""

    host: str
    busy_token: str | None = None
    busy_until: datetime | None = None
    free_at: datetime | None = None  # when its holder expects to be done with it
    last_request_at: datetime | None = None
    consecutive_failures: int = 0
    blocked_until: datetime | None = None
    blocked_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Enclosure:
    url: str
    type: str | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a document as the publisher wrote it; HTML is not yet sanitized."""

    guid: str | None = None
    url: str | None = None
    title: str = ""
    author: str | None = None
    published_at: datetime | None = None
    updated_at: datetime | None = None
    content: str = ""
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    base: str | None = field(default=None, compare=False)  # what relative links inside the content are relative to
    title_is_text: bool = field(default=False, compare=False)  # the publisher says that the title has no markup


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A document that is a feed."""

    format: str
    title: str
    link: str | None
    description: str
    language: str | None
    entries: tuple[Entry, ...]
    hints: Hints = Hints()
    found: int = 0
    reading: str = ""  # how it could be read: `as it is`, `mended`, `recovered`, `by feedparser`
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class ItemKeys:
    """What an item may be recognised by inside its feed when its id changed: hashes of its link, title and text."""

    link: str | None = None
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A row of `raw_items`, as far as recognising it needs."""

    item_hash: str
    id_key: str
    content_hash: str
    keys: ItemKeys = ItemKeys()
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """An entry with its identity inside the feed, and a fingerprint of what it says. `id_key` is the id that it stated last."""

    item_hash: str
    content_hash: str
    entry: Entry
    id_key: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a document brings compared with what is stored."""

    new: tuple[Item, ...] = ()
    changed: tuple[Item, ...] = ()
    known: tuple[Item, ...] = ()
    repeated_ids: int = 0
    copies: int = 0  # of these: entries that said the very same again
    renamed: int = 0  # items recognised though their id had changed
    mode: str = "id"  # what the feed's items are told apart by: `id`, `link` or `title`
    mode_reason: str | None = None  # why that changed just now

    @property
    def any(self) -> bool:
        return bool(self.new or self.changed)


@dataclass(frozen=True, slots=True)
class Article:
    """A row of `deduped_articles`: one story, however many feeds carry it."""

    article_id: str
    url: str | None
    canonical_url: str | None
    headline: str
    source: str
    feed_id: str
    published_at: datetime
    content: str
    fetched_at: datetime
    published_at_estimated: bool = False  # the publisher gave no date: it is when the article was first seen


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an analyzer says of an article. The texts are plain, whatever signs are in them; the score is from 0 to 100."""

    score: float
    summary: str
    facts: tuple[str, ...] = ()
    analyzer: str = ""
    prompt_version: str = ""
    analyzed_at: datetime | None = None
    tokens: int = 0  # what it took, where that is known


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """What one `<item>` of the served XML is made of."""

    feed_id: str
    article_id: str
    guid: str | None
    url: str | None
    headline: str
    author: str | None
    published_at: datetime
    content: str
    extra: Mapping[str, Any]
    analysis: Analysis | None = None


@dataclass(frozen=True, slots=True)
class NextRun:
    """When to come back, and why. `at` is None for a feed that is paused or dead."""

    at: datetime | None
    interval_seconds: int | None
    reason: str
    consecutive_errors: int = 0
    died: bool = False


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict of one per-feed check (the names are the Dagster asset checks); `changed` when it was another before."""

    name: str
    passed: bool
    reason: str
    changed: bool = True


@dataclass(frozen=True, slots=True)
class FeedReport:
    """What became of one feed in a refresh: the last stage, for Dagster, the terminal and logs."""

    feed_id: str
    url: str
    outcome: Outcome
    reason: str | None = None
    status_code: int | None = None
    found: int = 0
    new: int = 0
    changed: int = 0
    bytes_received: int = 0
    duration_ms: int = 0
    fetched_at: datetime | None = None
    next_run_at: datetime | None = None
    next_run_reason: str | None = None
    interval_seconds: int | None = None
    articles_per_hour: float = 0.0
    news: bool = False
    unreported: bool = False  # an earlier run stored something and was cut short before it told Dagster
    stored: bool = True
    data_version: str | None = None
    titles: Sequence[tuple[datetime | None, str, str | None]] = ()
    checks: Sequence[CheckResult] = ()
    replayed: bool = False
    notice: str | None = None  # something that a person should know
