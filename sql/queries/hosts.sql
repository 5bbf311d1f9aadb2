-- Queries of feed_assets/store/hosts.py; see README.md in this folder.

-- name: expire_hosts
UPDATE host_states SET busy_token = NULL WHERE busy_token IS NOT NULL AND busy_until <= :now;

-- name: reserve_hosts
INSERT INTO host_states (host, busy_token, busy_until, free_at)
SELECT host, busy_token, busy_until, free_at FROM incoming
ORDER BY host
ON CONFLICT (host) DO UPDATE SET busy_token = excluded.busy_token, busy_until = excluded.busy_until, free_at = excluded.free_at
WHERE host_states.busy_token IS NULL OR host_states.busy_token = excluded.busy_token;

-- name: get_hosts
SELECT * FROM host_states WHERE host IN (SELECT unnest(CAST(:hosts AS TEXT[])));

-- name: renew_hosts
UPDATE host_states SET busy_until = :until WHERE busy_token = :token;

-- name: learn_hosts
-- Written by the batch that has the host, and by no other.
INSERT INTO host_states (host, last_request_at, consecutive_failures, blocked_until, blocked_reason, busy_token)
SELECT host, last_request_at, consecutive_failures, blocked_until, blocked_reason, busy_token FROM incoming
ORDER BY host
ON CONFLICT (host) DO UPDATE SET
    busy_token = NULL, busy_until = NULL, free_at = NULL, last_request_at = excluded.last_request_at,
    consecutive_failures = excluded.consecutive_failures, blocked_until = excluded.blocked_until, blocked_reason = excluded.blocked_reason
WHERE host_states.busy_token IS NULL OR host_states.busy_token = excluded.busy_token;

-- name: free_new_hosts
-- Rows that learn_hosts has added are nobody's.
UPDATE host_states SET busy_token = NULL WHERE busy_token = :token AND busy_until IS NULL;

-- name: release_hosts
UPDATE host_states SET busy_token = NULL, busy_until = NULL, free_at = NULL, last_request_at = :now WHERE busy_token = :token;

-- name: unblock_hosts
UPDATE host_states SET blocked_until = NULL, blocked_reason = NULL, consecutive_failures = 0
WHERE host IN (SELECT unnest(CAST(:hosts AS TEXT[])));
