-- The tables of feed_assets on DuckDB. All timestamps are UTC.
-- Only primary keys are indexed: DuckDB scans the few narrow columns of a due query faster than it keeps an index.

CREATE TABLE feeds (
    feed_id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    source_name TEXT NOT NULL,
    root_domain TEXT,
    enabled BOOLEAN NOT NULL DEFAULT TRUE,
    polling BOOLEAN NOT NULL DEFAULT TRUE,
    refresh_interval_minutes INTEGER CHECK (refresh_interval_minutes BETWEEN 1 AND 10080),
    priority INTEGER NOT NULL DEFAULT 0,
    feed_group TEXT,
    enforce_feed_domain BOOLEAN NOT NULL DEFAULT FALSE,
    error_policy TEXT NOT NULL DEFAULT 'backoff' CHECK (error_policy IN ('backoff', 'one_strike')),
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ
);

CREATE TABLE feed_schedules (
    feed_id TEXT PRIMARY KEY,
    fetch_status TEXT NOT NULL DEFAULT 'idle' CHECK (fetch_status IN ('idle', 'queued', 'fetching')),
    next_run_at TIMESTAMPTZ,
    queued_at TIMESTAMPTZ,
    fetch_started_at TIMESTAMPTZ,
    locked_until TIMESTAMPTZ,
    lease_token TEXT,
    last_fetched_at TIMESTAMPTZ,
    last_success_at TIMESTAMPTZ,
    last_status TEXT CHECK (last_status IN ('success', 'temporary_error', 'permanent_error', 'unauthorized')),
    last_error TEXT,
    consecutive_errors INTEGER NOT NULL DEFAULT 0,
    etag TEXT,
    last_modified TEXT,
    body_sha256 TEXT,
    interval_seconds INTEGER,
    next_run_reason TEXT,
    check_states JSON
);

CREATE TABLE feed_stats (
    feed_id TEXT PRIMARY KEY,
    articles_per_hour DOUBLE NOT NULL DEFAULT 0,
    hourly_distribution JSON,
    current_hour_multiplier DOUBLE NOT NULL DEFAULT 1,
    avg_articles_per_fetch DOUBLE NOT NULL DEFAULT 0,
    total_articles_fetched BIGINT NOT NULL DEFAULT 0,
    last_fetch_time TIMESTAMPTZ,
    last_successful_fetch TIMESTAMPTZ,
    observed_articles DOUBLE NOT NULL DEFAULT 0,
    observed_hours DOUBLE NOT NULL DEFAULT 0,
    newest_item_at TIMESTAMPTZ,
    feed_hints JSON,
    updated_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE raw_fetches (
    fetch_id TEXT PRIMARY KEY,
    feed_id TEXT NOT NULL,
    fetched_at TIMESTAMPTZ NOT NULL,
    status_code INTEGER,
    url TEXT NOT NULL,
    headers JSON,
    body BLOB,
    body_sha256 TEXT NOT NULL
);

CREATE TABLE raw_items (
    feed_id TEXT NOT NULL,
    item_hash TEXT NOT NULL,
    guid TEXT,
    url TEXT,
    title TEXT,
    author TEXT,
    published_at TIMESTAMPTZ,
    content TEXT,
    raw JSON,
    content_hash TEXT NOT NULL,
    fetch_id TEXT NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (feed_id, item_hash)
);

CREATE TABLE deduped_articles (
    article_id TEXT PRIMARY KEY,
    url TEXT,
    canonical_url TEXT,
    headline TEXT NOT NULL,
    source TEXT NOT NULL,
    feed_id TEXT NOT NULL,
    published_at TIMESTAMPTZ NOT NULL,
    content TEXT NOT NULL,
    fetched_at TIMESTAMPTZ NOT NULL,
    group_id TEXT
);

CREATE TABLE article_sources (
    article_id TEXT NOT NULL,
    feed_id TEXT NOT NULL,
    item_hash TEXT NOT NULL,
    PRIMARY KEY (feed_id, item_hash)
);

CREATE TABLE dedup_cache (
    content_hash TEXT PRIMARY KEY,
    feed_id TEXT NOT NULL,
    article_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE cached_feeds (
    feed_id TEXT PRIMARY KEY,
    xml_header TEXT NOT NULL,
    item_refs JSON NOT NULL,
    xml_content TEXT NOT NULL,
    etag TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE fetch_history (
    fetch_id TEXT PRIMARY KEY,
    feed_id TEXT NOT NULL,
    fetch_time TIMESTAMPTZ NOT NULL,
    status_code INTEGER,
    outcome TEXT NOT NULL,
    articles_found INTEGER NOT NULL DEFAULT 0,
    articles_new INTEGER NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    duration_ms INTEGER NOT NULL DEFAULT 0,
    error_message TEXT,
    run_id TEXT
);

CREATE TABLE events (
    event_id TEXT PRIMARY KEY,
    event_type TEXT NOT NULL,
    payload JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    delivered_at TIMESTAMPTZ
);
