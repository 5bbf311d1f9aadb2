-- Queries of feed_assets/store/feeds.py; see README.md in this folder.

-- name: insert_feeds
INSERT INTO feeds (feed_id, url, source_name, root_domain, enabled, polling, refresh_interval_minutes, priority, feed_group,
                   enforce_feed_domain, error_policy, created_at, updated_at)
SELECT feed_id, url, source_name, root_domain, enabled, polling, refresh_interval_minutes, priority, feed_group,
       enforce_feed_domain, error_policy, created_at, updated_at
FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    url = excluded.url, source_name = excluded.source_name, root_domain = excluded.root_domain, enabled = excluded.enabled,
    polling = excluded.polling, refresh_interval_minutes = excluded.refresh_interval_minutes, priority = excluded.priority,
    feed_group = excluded.feed_group, enforce_feed_domain = excluded.enforce_feed_domain, error_policy = excluded.error_policy,
    updated_at = excluded.updated_at, deleted_at = NULL;

-- name: insert_schedules
-- A feed that comes back keeps its lease columns: a fetch that is still running stays the only one.
INSERT INTO feed_schedules (feed_id, next_run_at, next_run_reason)
SELECT feed_id, next_run_at, next_run_reason FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    next_run_at = excluded.next_run_at, next_run_reason = excluded.next_run_reason, consecutive_errors = 0, last_error = NULL,
    etag = NULL, last_modified = NULL, body_sha256 = NULL, redirect_url = NULL, redirect_count = 0;

-- name: get_feed
SELECT * FROM feeds WHERE feed_id = :feed_id;

-- name: feeds_by_id
SELECT * FROM feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: live_feeds
SELECT * FROM feeds WHERE deleted_at IS NULL ORDER BY feed_id;

-- name: feeds_at_url
SELECT * FROM feeds WHERE url = :url ORDER BY CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END, deleted_at DESC;

-- name: all_feeds
SELECT * FROM feeds ORDER BY feed_id;

-- name: all_feed_ids
SELECT feed_id FROM feeds;

-- name: live_feed_ids
SELECT feed_id FROM feeds WHERE deleted_at IS NULL ORDER BY created_at, feed_id;

-- name: update_feeds
UPDATE feeds SET
    url = incoming.url, source_name = incoming.source_name, root_domain = incoming.root_domain, enabled = incoming.enabled,
    polling = incoming.polling, refresh_interval_minutes = incoming.refresh_interval_minutes, priority = incoming.priority,
    feed_group = incoming.feed_group, enforce_feed_domain = incoming.enforce_feed_domain, error_policy = incoming.error_policy,
    updated_at = incoming.updated_at
FROM incoming WHERE feeds.feed_id = incoming.feed_id;

-- name: delete_feed
UPDATE feeds SET deleted_at = :now, updated_at = :now WHERE feed_id = :feed_id;

-- name: unschedule
UPDATE feed_schedules SET next_run_at = NULL, next_run_reason = :reason WHERE feed_id = :feed_id;

-- name: overview
SELECT f.*, s.fetch_status, s.next_run_at, s.queued_at, s.fetch_started_at, s.locked_until, s.lease_token, s.last_fetched_at,
       s.last_success_at, s.last_status, s.last_error, s.consecutive_errors, s.etag, s.last_modified, s.body_sha256,
       s.interval_seconds, s.next_run_reason, s.redirect_url, s.redirect_count, s.last_body_at,
       s.identity_mode, s.identity_reason, s.reading, t.articles_per_hour, t.hourly_distribution, t.current_hour_multiplier,
       t.avg_articles_per_fetch, t.total_articles_fetched, t.last_fetch_time, t.last_successful_fetch
FROM feeds f
JOIN feed_schedules s ON s.feed_id = f.feed_id
LEFT JOIN feed_stats t ON t.feed_id = f.feed_id
WHERE f.deleted_at IS NULL AND (CAST(:feed_id AS TEXT) IS NULL OR f.feed_id = :feed_id)
ORDER BY f.feed_id;
