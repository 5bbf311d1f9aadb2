-- Queries that Postgres spells in its own way.

-- name: claim_due
-- Materialized: a plan that runs the inner query once per row would skip what it has locked itself, and claim more than the limit.
WITH due AS MATERIALIZED (
    SELECT s.feed_id FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
    WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)
    ORDER BY f.priority DESC, s.next_run_at, s.feed_id
    LIMIT :batch
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE feed_schedules SET fetch_status = 'queued', queued_at = :now, fetch_started_at = NULL, locked_until = :until, lease_token = :token
FROM due WHERE feed_schedules.feed_id = due.feed_id
RETURNING feed_schedules.feed_id;

-- name: fence
-- Which of these feeds this worker still holds; the rows stay locked until the commit, so that no claim can slip in between.
SELECT feed_id FROM feed_schedules WHERE lease_token = :token AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
ORDER BY feed_id FOR UPDATE;

-- name: idle_feeds
SELECT feed_id FROM feed_schedules
WHERE (locked_until IS NULL OR locked_until <= :now) AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
ORDER BY feed_id FOR UPDATE SKIP LOCKED;

-- name: expire_hosts
UPDATE host_states SET busy_token = NULL WHERE host IN (
    SELECT host FROM host_states WHERE busy_token IS NOT NULL AND busy_until <= :now ORDER BY host FOR UPDATE SKIP LOCKED
);

-- name: first_migration_turn
SELECT pg_advisory_xact_lock(hashtext('feed_assets migrations'));

-- name: lock_migrations
LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE;
