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

-- name: fence_analyses
SELECT article_id FROM article_analysis WHERE lease_token = :token ORDER BY article_id FOR UPDATE;

-- name: lock_editions
-- Whoever writes a feed's XML reads what it is made of only after the one before has committed, so that neither loses what the other wrote.
SELECT feed_id, etag, created_at, updated_at FROM cached_feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
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

-- name: latest_items
-- A few steps along an index for each feed, however many articles it has brought.
SELECT c.feed_id, a.article_id, c.item_hash, r.public_id AS guid, coalesce(r.url, a.url) AS url, a.headline, r.author, a.published_at,
       a.content, r.raw AS extra
FROM unnest(CAST(:feed_ids AS TEXT[])) AS wanted(feed_id)
CROSS JOIN LATERAL (
    SELECT feed_id, article_id, item_hash, moment_at FROM article_sources
    WHERE feed_id = wanted.feed_id AND moment_at IS NOT NULL
    ORDER BY moment_at DESC, article_id, item_hash LIMIT :items
) AS c
JOIN deduped_articles a ON a.article_id = c.article_id
JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
ORDER BY c.feed_id, c.moment_at DESC, c.article_id, c.item_hash;

-- name: database_size
SELECT pg_database_size(current_database()) AS bytes;

-- name: may_write
SELECT current_setting('transaction_read_only') = 'off' AND has_schema_privilege(current_schema(), 'CREATE') AS may_write;

-- name: lock_groups
LOCK TABLE headline_groups IN SHARE ROW EXCLUSIVE MODE;
