-- What the read side needs: signals of running parts, totals that only ever grow, and which articles changed when.

CREATE TABLE signals (
    name TEXT PRIMARY KEY,
    value DOUBLE,
    noted_at TIMESTAMPTZ NOT NULL
);

-- A row per transaction of a batch, summed up by housekeeping: counters for metrics that outlive `fetch_history`.
CREATE TABLE fetch_totals (
    total_id TEXT PRIMARY KEY,
    noted_at TIMESTAMPTZ NOT NULL,
    success BIGINT NOT NULL DEFAULT 0,
    not_modified BIGINT NOT NULL DEFAULT 0,
    temporary_error BIGINT NOT NULL DEFAULT 0,
    permanent_error BIGINT NOT NULL DEFAULT 0,
    unauthorized BIGINT NOT NULL DEFAULT 0,
    total_bytes BIGINT NOT NULL DEFAULT 0,
    total_ms BIGINT NOT NULL DEFAULT 0,
    within_100ms BIGINT NOT NULL DEFAULT 0,
    within_300ms BIGINT NOT NULL DEFAULT 0,
    within_1s BIGINT NOT NULL DEFAULT 0,
    within_3s BIGINT NOT NULL DEFAULT 0,
    within_10s BIGINT NOT NULL DEFAULT 0,
    within_30s BIGINT NOT NULL DEFAULT 0,
    articles_parsed BIGINT NOT NULL DEFAULT 0,
    articles_inserted BIGINT NOT NULL DEFAULT 0,
    articles_changed BIGINT NOT NULL DEFAULT 0,
    articles_deduplicated BIGINT NOT NULL DEFAULT 0
);

-- By this a reader that keeps a copy of its own finds what to copy.
CREATE TABLE article_changes (
    article_id TEXT PRIMARY KEY,
    changed_at TIMESTAMPTZ NOT NULL
);
