"""What the JSON answers look like, for the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class FeedOut(BaseModel):
    """A feed: its columns of `feeds`, `feed_schedules` and `feed_stats`."""

    feed_id: str
    url: str = Field(description="Without the password, if there is one.")
    source_name: str
    root_domain: str | None
    enabled: bool
    polling: bool
    refresh_interval_minutes: int | None = Field(description="A fixed interval; null: adaptive.")
    priority: int
    feed_group: str | None
    enforce_feed_domain: bool
    error_policy: Literal["backoff", "one_strike"]
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    state: str = Field(description="ok, new, queued, fetching, failing, dead, paused or disabled.")
    fetch_status: Literal["idle", "queued", "fetching"]
    next_run_at: datetime | None = Field(description="null: paused or dead.")
    queued_at: datetime | None
    fetch_started_at: datetime | None
    locked_until: datetime | None
    lease_token: str | None
    last_fetched_at: datetime | None
    last_success_at: datetime | None
    last_status: str | None
    last_error: str | None
    consecutive_errors: int
    etag: str | None
    last_modified: str | None
    body_sha256: str | None
    interval_seconds: int | None
    next_run_reason: str | None = Field(description="Why the next run is when it is.")
    redirect_url: str | None
    redirect_count: int | None
    last_body_at: datetime | None
    identity_mode: str | None
    identity_reason: str | None
    reading: dict[str, Any] | None
    articles_per_hour: float | None
    hourly_distribution: list[float] | None = Field(description="Articles by hour of the day, UTC.")
    current_hour_multiplier: float | None
    avg_articles_per_fetch: float | None
    total_articles_fetched: int | None
    last_fetch_time: datetime | None
    last_successful_fetch: datetime | None


class Attempt(BaseModel):
    """A row of `fetch_history`."""

    fetch_id: str
    feed_id: str
    fetch_time: datetime
    status_code: int | None
    outcome: str
    articles_found: int
    articles_new: int
    bytes: int
    duration_ms: int
    error_message: str | None
    run_id: str | None


class FeedDetail(FeedOut):
    history: list[Attempt] = Field(description="The latest attempts, the last one first.")


class Feeds(BaseModel):
    feeds: list[FeedOut]


class AnalysisOut(BaseModel):
    """What an analyzer says of an article. The texts are plain: they are no HTML."""

    score: float = Field(description="From 0 to 100; what it measures is said by the prompt. The lower, the better.")
    summary: str
    facts: list[str]
    analyzer: str
    prompt_version: str
    analyzed_at: datetime


class Article(BaseModel):
    """A story, however many feeds carry it."""

    article_id: str
    url: str | None
    canonical_url: str | None
    headline: str
    source: str
    feed_id: str
    published_at: datetime
    published_at_estimated: bool | None
    content: str = Field(description="Sanitized HTML.")
    fetched_at: datetime
    group_id: str | None
    analysis: AnalysisOut | None = Field(description="The latest; null: not analysed yet.")


class Articles(BaseModel):
    articles: list[Article]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class Carrier(BaseModel):
    """A feed that carried the story, and what it added."""

    feed_id: str
    source_name: str
    url: str | None
    author: str | None
    categories: list[str]
    enclosures: list[dict[str, Any]]
    first_seen_at: datetime | None


class Item(Article):
    sources: list[Carrier]


class Site(BaseModel):
    root: str
    feeds: list[str]
    articles: list[Article]


class Group(BaseModel):
    """Articles of several publishers about one story."""

    group_id: str
    headline: str = Field(description="Of the article that told the story first.")
    first_at: datetime = Field(description="When the story was told first.")
    last_at: datetime = Field(description="When it was told last.")
    articles: int
    feeds: int = Field(description="Feeds that carried any of the articles.")
    sources: int = Field(description="Sources with different names among these.")
    founded_at: datetime
    updated_at: datetime


class Groups(BaseModel):
    groups: list[Group]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class GroupDetail(BaseModel):
    group: Group
    articles: list[Article] = Field(description="The newest first, 500 at most.")


class Check(BaseModel):
    ok: bool
    model_config = {"extra": "allow"}


class Health(BaseModel):
    status: Literal["ok", "degraded"]
    checks: dict[str, Check]


class Refresh(BaseModel):
    feed_id: str
    next_run_at: datetime
