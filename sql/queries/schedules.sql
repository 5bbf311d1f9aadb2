-- Queries of feed_assets/store/schedules.py; see README.md in this folder.

-- name: reschedule
UPDATE feed_schedules SET next_run_at = :at, interval_seconds = :interval_seconds, next_run_reason = :reason WHERE feed_id = :feed_id;

-- name: revive
UPDATE feed_schedules SET next_run_at = :at, next_run_reason = :reason, consecutive_errors = 0 WHERE feed_id = :feed_id;

-- name: forget_validators
UPDATE feed_schedules SET etag = NULL, last_modified = NULL, body_sha256 = NULL, redirect_url = NULL, redirect_count = 0,
    identity_mode = 'id', identity_reason = NULL
WHERE feed_id = :feed_id;

-- name: get_schedule
SELECT * FROM feed_schedules WHERE feed_id = :feed_id;

-- name: claim_due
UPDATE feed_schedules SET fetch_status = 'queued', queued_at = :now, fetch_started_at = NULL, locked_until = :until, lease_token = :token
WHERE feed_id IN (
    SELECT s.feed_id FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
    WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)
    ORDER BY f.priority DESC, s.next_run_at, s.feed_id
    LIMIT :batch
)
RETURNING feed_id;

-- name: claim_feeds
UPDATE feed_schedules SET fetch_status = 'queued', queued_at = :now, fetch_started_at = NULL, locked_until = :until, lease_token = :token
WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
  AND (locked_until IS NULL OR locked_until <= :now)
  AND feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at IS NULL)
RETURNING feed_id;

-- name: start_batch
UPDATE feed_schedules SET fetch_status = 'fetching', fetch_started_at = :now, locked_until = :until
WHERE lease_token = :token AND feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at IS NULL AND (enabled OR NOT :only_enabled));

-- name: renew_lease
UPDATE feed_schedules SET locked_until = :until WHERE lease_token = :token RETURNING feed_id;

-- name: release_lease
UPDATE feed_schedules SET fetch_status = 'idle', locked_until = NULL, lease_token = NULL WHERE lease_token = :token RETURNING feed_id;

-- name: expire_leases
UPDATE feed_schedules SET fetch_status = 'idle', locked_until = NULL, lease_token = NULL WHERE locked_until <= :now RETURNING feed_id;

-- name: mend_clock
-- Feeds that were fetched in the future: the clock was set back, and they must not wait until it has caught up.
UPDATE feed_schedules SET
    next_run_at = CAST(:now AS TIMESTAMPTZ) + coalesce(interval_seconds, 0) * INTERVAL '1 second',
    next_run_reason = 'the clock was set back, and the interval counts from then'
WHERE last_fetched_at > :latest AND next_run_at > CAST(:latest AS TIMESTAMPTZ) + coalesce(interval_seconds, 0) * INTERVAL '1 second'
RETURNING feed_id;

-- name: stale_feeds
-- Feeds that should have been asked and were not, for twice their interval.
SELECT s.feed_id FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at <= :now
  AND coalesce(s.last_fetched_at, f.created_at) + 2 * coalesce(s.interval_seconds, :usual) * INTERVAL '1 second' < CAST(:now AS TIMESTAMPTZ)
ORDER BY s.feed_id;

-- name: check_states_of
-- Of feeds that nobody works on.
SELECT feed_id, check_states FROM feed_schedules
WHERE locked_until IS NULL AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))) ORDER BY feed_id;

-- name: save_check_states
UPDATE feed_schedules SET check_states = i.check_states FROM incoming i
WHERE feed_schedules.feed_id = i.feed_id AND feed_schedules.locked_until IS NULL;

-- name: tried_since
SELECT count(*) FILTER (WHERE last_status = 'success') AS worked, count(*) FILTER (WHERE last_status = 'temporary_error') AS failed
FROM feed_schedules WHERE last_fetched_at >= :moment;

-- name: held_feeds
SELECT f.* FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id
WHERE s.lease_token = :token AND s.fetch_status = 'fetching'
ORDER BY f.priority DESC, s.next_run_at, f.feed_id;

-- name: held_schedules
SELECT * FROM feed_schedules WHERE lease_token = :token AND fetch_status = 'fetching';

-- name: held_stats
SELECT t.* FROM feed_stats t JOIN feed_schedules s ON s.feed_id = t.feed_id
WHERE s.lease_token = :token AND s.fetch_status = 'fetching';

-- name: fence
-- Which of these feeds this worker still holds.
SELECT feed_id FROM feed_schedules WHERE lease_token = :token AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: leases_of
SELECT feed_id, lease_token, locked_until FROM feed_schedules
WHERE locked_until > :now AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: idle_feeds
SELECT feed_id FROM feed_schedules
WHERE (locked_until IS NULL OR locked_until <= :now) AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: queue_counts
SELECT
    count(*) FILTER (WHERE f.enabled AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)) AS due,
    count(*) FILTER (WHERE s.locked_until > :now) AS in_flight,
    count(DISTINCT s.lease_token) FILTER (WHERE s.locked_until > :now) AS batches,
    count(*) FILTER (WHERE s.locked_until <= :now) AS stuck,
    count(*) FILTER (WHERE f.enabled AND s.next_run_at IS NULL AND s.last_status <> 'success') AS dead,
    min(s.next_run_at) FILTER (WHERE f.enabled AND s.locked_until IS NULL) AS next_run_at,
    min(s.next_run_at) FILTER (WHERE f.enabled AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)) AS oldest_due_at,
    count(*) AS feeds
FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.deleted_at IS NULL;

-- name: coming_up
SELECT f.feed_id, s.next_run_at, s.next_run_reason FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at IS NOT NULL AND (s.locked_until IS NULL OR s.locked_until <= :now)
ORDER BY s.next_run_at, s.feed_id LIMIT :feeds;

-- name: last_errors
SELECT s.last_error, s.last_status, count(*) AS feeds FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.enabled AND f.deleted_at IS NULL AND s.last_status <> 'success' GROUP BY s.last_error, s.last_status;

-- name: save_schedules
UPDATE feed_schedules SET
    fetch_status = 'idle', locked_until = NULL, lease_token = NULL,
    next_run_at = i.next_run_at, last_fetched_at = i.last_fetched_at, last_success_at = i.last_success_at, last_status = i.last_status,
    last_error = i.last_error, consecutive_errors = i.consecutive_errors, etag = i.etag, last_modified = i.last_modified,
    body_sha256 = i.body_sha256, interval_seconds = i.interval_seconds, next_run_reason = i.next_run_reason,
    redirect_url = i.redirect_url, redirect_count = i.redirect_count, last_body_at = i.last_body_at, check_states = i.check_states,
    identity_mode = i.identity_mode, identity_reason = i.identity_reason, reading = i.reading, incident = i.incident
FROM incoming i WHERE feed_schedules.feed_id = i.feed_id;

-- name: postpone
-- Feeds that were claimed and not asked for. What is paused stays paused, and nothing comes sooner than it was due.
UPDATE feed_schedules SET
    fetch_status = 'idle', locked_until = NULL, lease_token = NULL,
    next_run_at = CASE WHEN feed_schedules.next_run_at < i.next_run_at THEN i.next_run_at ELSE feed_schedules.next_run_at END,
    next_run_reason = CASE WHEN feed_schedules.next_run_at IS NULL THEN feed_schedules.next_run_reason ELSE i.next_run_reason END
FROM incoming i WHERE feed_schedules.feed_id = i.feed_id AND feed_schedules.lease_token = i.lease_token;

-- name: mark_reported
UPDATE feed_schedules SET reported_sha256 = i.body_sha256 FROM incoming i WHERE feed_schedules.feed_id = i.feed_id;

-- name: feed_states
-- As `catalog.state_of` has it, for all feeds at once.
SELECT CASE
    WHEN NOT f.enabled THEN 'disabled'
    WHEN s.fetch_status <> 'idle' THEN s.fetch_status
    WHEN s.next_run_at IS NULL THEN CASE WHEN s.last_status <> 'success' THEN 'dead' ELSE 'paused' END
    WHEN s.consecutive_errors > 0 THEN 'failing'
    WHEN s.last_success_at IS NOT NULL THEN 'ok'
    ELSE 'new'
END AS state, count(*) AS feeds
FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id WHERE f.deleted_at IS NULL GROUP BY 1;
