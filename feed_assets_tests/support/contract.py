"""The column names that the design promises to scripts."""

from __future__ import annotations

FEED_COLUMNS = frozenset(
    {
        "feed_id",
        "url",
        "source_name",
        "root_domain",
        "enabled",
        "polling",
        "refresh_interval_minutes",
        "priority",
        "feed_group",
        "enforce_feed_domain",
        "error_policy",
        "created_at",
        "updated_at",
        "deleted_at",
    }
)
SCHEDULE_COLUMNS = frozenset(
    {
        "feed_id",
        "fetch_status",
        "next_run_at",
        "queued_at",
        "fetch_started_at",
        "locked_until",
        "lease_token",
        "last_fetched_at",
        "last_success_at",
        "last_status",
        "last_error",
        "consecutive_errors",
        "etag",
        "last_modified",
        "body_sha256",
        "interval_seconds",
        "next_run_reason",
    }
)
STATS_COLUMNS = frozenset(
    {
        "feed_id",
        "articles_per_hour",
        "hourly_distribution",
        "current_hour_multiplier",
        "avg_articles_per_fetch",
        "total_articles_fetched",
        "last_fetch_time",
        "last_successful_fetch",
        "updated_at",
    }
)
FETCH_HISTORY_COLUMNS = frozenset(
    {
        "fetch_id",
        "feed_id",
        "fetch_time",
        "status_code",
        "outcome",
        "articles_found",
        "articles_new",
        "bytes",
        "duration_ms",
        "error_message",
        "run_id",
    }
)
OVERVIEW_COLUMNS = FEED_COLUMNS | SCHEDULE_COLUMNS | STATS_COLUMNS
