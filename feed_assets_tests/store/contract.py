"""The tables and columns that are public: people's scripts and acceptance checks use these names."""

from __future__ import annotations

TABLES: dict[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        "feeds": "feed_id url source_name root_domain enabled polling refresh_interval_minutes priority feed_group enforce_feed_domain "
        "error_policy created_at updated_at deleted_at",
        "feed_schedules": "feed_id fetch_status next_run_at queued_at fetch_started_at locked_until lease_token last_fetched_at "
        "last_success_at last_status last_error consecutive_errors etag last_modified body_sha256 interval_seconds next_run_reason",
        "feed_stats": "feed_id articles_per_hour hourly_distribution current_hour_multiplier avg_articles_per_fetch "
        "total_articles_fetched last_fetch_time last_successful_fetch updated_at",
        "raw_fetches": "fetch_id feed_id fetched_at status_code url headers body body_sha256",
        "raw_items": "feed_id item_hash guid url title author published_at content raw fetch_id first_seen_at last_seen_at",
        "deduped_articles": "article_id url canonical_url headline source feed_id published_at content fetched_at group_id",
        "article_sources": "article_id feed_id item_hash",
        "dedup_cache": "content_hash feed_id created_at expires_at",
        "cached_feeds": "feed_id xml_header item_refs xml_content etag created_at updated_at",
        "fetch_history": "fetch_id feed_id fetch_time status_code outcome articles_found articles_new bytes duration_ms error_message "
        "run_id",
        "events": "event_id event_type payload created_at delivered_at",
        "deliveries": "event_id receiver feed_id created_at status attempts next_attempt_at last_error delivered_at",
        "receivers": "receiver hears_since_at seen_at lease_token locked_until consecutive_failures blocked_until",
        "host_states": "host busy_token busy_until free_at last_request_at consecutive_failures blocked_until blocked_reason",
        "recent_headlines": "headline_key article_id headline source domain published_at expires_at",
        "signals": "name value noted_at",
        "fetch_totals": "total_id noted_at success not_modified temporary_error permanent_error unauthorized total_bytes total_ms",
        "article_changes": "article_id changed_at",
        "headline_groups": "group_id headline first_at last_at articles feeds updated_at",
        "examined_articles": "article_id examined_at",
        "article_analysis": "article_id analyzer prompt_version feed_id status score summary facts attempts last_error analyzed_at "
        "next_attempt_at",
        "analysis_spending": "day requests tokens",
        "batches": "token run_id started_at alive_at",
        "first_responses": "feed_id fetched_at outcome reason status_code url headers body",
    }.items()
}

PRIMARY_KEYS: dict[str, set[str]] = {
    "feeds": {"feed_id"},
    "feed_schedules": {"feed_id"},
    "feed_stats": {"feed_id"},
    "raw_fetches": {"fetch_id"},
    "raw_items": {"feed_id", "item_hash"},
    "deduped_articles": {"article_id"},
    "dedup_cache": {"content_hash"},
    "cached_feeds": {"feed_id"},
    "events": {"event_id"},
    "deliveries": {"event_id", "receiver"},
    "headline_groups": {"group_id"},
    "article_analysis": {"article_id", "analyzer", "prompt_version"},
}

NULLABLE: dict[str, set[str]] = {
    "feeds": {"root_domain", "refresh_interval_minutes", "feed_group", "deleted_at"},
    "feed_schedules": {"next_run_at"},
    "deduped_articles": {"group_id"},
    "events": {"delivered_at"},
}
