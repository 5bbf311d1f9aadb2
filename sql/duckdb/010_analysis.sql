-- What analyzers say of articles, and what that cost. A row per article and version of an analyzer, from the claim on: nobody pays twice.
CREATE TABLE article_analysis (
    article_id TEXT NOT NULL,
    analyzer TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    feed_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'failed')),
    score DOUBLE,
    summary TEXT,
    facts JSON,
    tokens BIGINT NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    analyzed_at TIMESTAMPTZ,
    next_attempt_at TIMESTAMPTZ,
    lease_token TEXT,
    locked_until TIMESTAMPTZ,
    PRIMARY KEY (article_id, analyzer, prompt_version)
);

-- Requests to analyzers by UTC day (2026-03-02), taken before they are sent.
CREATE TABLE analysis_spending (
    day TEXT PRIMARY KEY,
    requests BIGINT NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0
);
