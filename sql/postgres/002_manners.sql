-- What good manners need to remember: hosts, permanent redirects, the last full answer, and the answer that a feed was added with.

CREATE TABLE host_states (
    host TEXT PRIMARY KEY,
    busy_token TEXT,
    busy_until TIMESTAMPTZ,
    free_at TIMESTAMPTZ,
    last_request_at TIMESTAMPTZ,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    blocked_until TIMESTAMPTZ,
    blocked_reason TEXT
);

CREATE TABLE first_responses (
    feed_id TEXT PRIMARY KEY,
    fetched_at TIMESTAMPTZ NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    status_code INTEGER,
    url TEXT NOT NULL,
    headers JSONB,
    body BYTEA
);

ALTER TABLE feed_schedules ADD COLUMN redirect_url TEXT;
ALTER TABLE feed_schedules ADD COLUMN redirect_count INTEGER DEFAULT 0;
ALTER TABLE feed_schedules ADD COLUMN last_body_at TIMESTAMPTZ;
-- What Dagster was told last: a run that was cut short between storing and telling is made good by the next.
ALTER TABLE feed_schedules ADD COLUMN reported_sha256 TEXT;
