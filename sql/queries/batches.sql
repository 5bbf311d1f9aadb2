-- Queries of feed_assets/store/batches.py; see README.md in this folder.

-- name: open_batch
INSERT INTO batches (token, run_id, started_at, alive_at) VALUES (:token, :run_id, :now, :now)
ON CONFLICT (token) DO UPDATE SET run_id = excluded.run_id, started_at = excluded.started_at, alive_at = excluded.alive_at;

-- name: keep_batch_alive
UPDATE batches SET alive_at = :now WHERE token = :token;

-- name: close_batch
DELETE FROM batches WHERE token = :token;

-- name: batches_in_flight
-- What was claimed, and what is worked on: a batch that waits for its run has no row in `batches`, one that has stored all its feeds has no lease.
SELECT coalesce(held.token, b.token) AS token, coalesce(held.feeds, 0) AS feeds, held.queued_at, held.locked_until, b.run_id, b.started_at, b.alive_at
FROM (
    SELECT lease_token AS token, count(*) AS feeds, min(queued_at) AS queued_at, min(locked_until) AS locked_until
    FROM feed_schedules WHERE lease_token IS NOT NULL GROUP BY lease_token
) held
FULL JOIN batches b ON b.token = held.token
ORDER BY 1;
