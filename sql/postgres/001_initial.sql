-- The tables of feed_assets on Postgres. All timestamps are UTC. Column for column the same as on DuckDB.

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
    check_states JSONB
);

CREATE TABLE feed_stats (
    feed_id TEXT PRIMARY KEY,
    articles_per_hour DOUBLE PRECISION NOT NULL DEFAULT 0,
    hourly_distribution JSONB,
    current_hour_multiplier DOUBLE PRECISION NOT NULL DEFAULT 1,
    avg_articles_per_fetch DOUBLE PRECISION NOT NULL DEFAULT 0,
    total_articles_fetched BIGINT NOT NULL DEFAULT 0,
    last_fetch_time TIMESTAMPTZ,
    last_successful_fetch TIMESTAMPTZ,
    observed_articles DOUBLE PRECISION NOT NULL DEFAULT 0,
    observed_hours DOUBLE PRECISION NOT NULL DEFAULT 0,
    newest_item_at TIMESTAMPTZ,
    feed_hints JSONB,
    updated_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE raw_fetches (
    fetch_id TEXT PRIMARY KEY,
    feed_id TEXT NOT NULL,
    fetched_at TIMESTAMPTZ NOT NULL,
    status_code INTEGER,
    url TEXT NOT NULL,
    headers JSONB,
    body BYTEA,
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
    raw JSONB,
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
    item_refs JSONB NOT NULL,
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
    payload JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    delivered_at TIMESTAMPTZ
);

-- What the due query, the fences and the read side look up; no more, since every index is paid for at each write.
CREATE INDEX feed_schedules_due ON feed_schedules (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX feed_schedules_leases ON feed_schedules (lease_token) WHERE lease_token IS NOT NULL;
CREATE UNIQUE INDEX feeds_url ON feeds (url) WHERE deleted_at IS NULL;
CREATE INDEX raw_fetches_by_feed ON raw_fetches (feed_id, fetched_at);
CREATE INDEX article_sources_by_article ON article_sources (article_id);
CREATE INDEX deduped_articles_by_time ON deduped_articles (published_at);
CREATE INDEX fetch_history_by_feed ON fetch_history (feed_id, fetch_time);
