-- Batches that somebody works on, with a sign of life every few seconds. One that gives none is dead, and its feeds are given back.
CREATE TABLE batches (
    token TEXT PRIMARY KEY,
    run_id TEXT,
    started_at TIMESTAMPTZ NOT NULL,
    alive_at TIMESTAMPTZ NOT NULL
);
