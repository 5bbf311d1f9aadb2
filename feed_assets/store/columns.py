"""What kind of value each column holds, told by its name: drivers need it to stage rows with many NULLs."""

from __future__ import annotations

JSON_COLUMNS = frozenset(
    {"hourly_distribution", "feed_hints", "headers", "raw", "item_refs", "payload", "check_states", "extra", "reading", "pace", "facts"}
)
BLOB_COLUMNS = frozenset({"body"})
BOOLEAN_COLUMNS = frozenset({"enabled", "polling", "enforce_feed_domain", "published_at_estimated"})
INTEGER_COLUMNS = frozenset(
    {
        "refresh_interval_minutes",
        "priority",
        "consecutive_errors",
        "interval_seconds",
        "status_code",
        "articles_found",
        "articles_new",
        "bytes",
        "duration_ms",
        "total_articles_fetched",
        "consecutive_failures",
        "redirect_count",
        "success",
        "not_modified",
        "temporary_error",
        "permanent_error",
        "unauthorized",
        "total_bytes",
        "total_ms",
        "within_100ms",
        "within_300ms",
        "within_1s",
        "within_3s",
        "within_10s",
        "within_30s",
        "articles_parsed",
        "articles_inserted",
        "articles_changed",
        "articles_deduplicated",
        "attempts",
        "articles",
        "feeds",
        "sources",
        "requests",
        "tokens",
    }
)
FLOAT_COLUMNS = frozenset(
    {"articles_per_hour", "current_hour_multiplier", "avg_articles_per_fetch", "observed_articles", "observed_hours", "value", "score"}
)
TIME_COLUMNS = frozenset({"fetch_time", "last_fetch_time", "last_successful_fetch"})


def kind(column: str) -> str:
    """`text`, `integer`, `float`, `boolean`, `time`, `json` or `blob`."""
    if column in TIME_COLUMNS or column.endswith(("_at", "_until")):
        return "time"
    for name, columns in (
        ("json", JSON_COLUMNS),
        ("blob", BLOB_COLUMNS),
        ("boolean", BOOLEAN_COLUMNS),
        ("integer", INTEGER_COLUMNS),
        ("float", FLOAT_COLUMNS),
    ):
        if column in columns:
            return name
    return "text"
