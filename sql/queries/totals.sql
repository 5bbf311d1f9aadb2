-- Queries of feed_assets/store/totals.py; see README.md in this folder.

-- name: save_totals
INSERT INTO fetch_totals (total_id, noted_at, success, not_modified, temporary_error, permanent_error, unauthorized, total_bytes, total_ms,
                          within_100ms, within_300ms, within_1s, within_3s, within_10s, within_30s, articles_parsed, articles_inserted,
                          articles_changed, articles_deduplicated)
SELECT total_id, noted_at, success, not_modified, temporary_error, permanent_error, unauthorized, total_bytes, total_ms,
       within_100ms, within_300ms, within_1s, within_3s, within_10s, within_30s, articles_parsed, articles_inserted,
       articles_changed, articles_deduplicated
FROM incoming
ON CONFLICT (total_id) DO NOTHING;

-- name: sum_totals
SELECT CAST(coalesce(sum(success), 0) AS BIGINT) AS success, CAST(coalesce(sum(not_modified), 0) AS BIGINT) AS not_modified,
       CAST(coalesce(sum(temporary_error), 0) AS BIGINT) AS temporary_error,
       CAST(coalesce(sum(permanent_error), 0) AS BIGINT) AS permanent_error,
       CAST(coalesce(sum(unauthorized), 0) AS BIGINT) AS unauthorized, CAST(coalesce(sum(total_bytes), 0) AS BIGINT) AS total_bytes,
       CAST(coalesce(sum(total_ms), 0) AS BIGINT) AS total_ms, CAST(coalesce(sum(within_100ms), 0) AS BIGINT) AS within_100ms,
       CAST(coalesce(sum(within_300ms), 0) AS BIGINT) AS within_300ms, CAST(coalesce(sum(within_1s), 0) AS BIGINT) AS within_1s,
       CAST(coalesce(sum(within_3s), 0) AS BIGINT) AS within_3s, CAST(coalesce(sum(within_10s), 0) AS BIGINT) AS within_10s,
       CAST(coalesce(sum(within_30s), 0) AS BIGINT) AS within_30s, CAST(coalesce(sum(articles_parsed), 0) AS BIGINT) AS articles_parsed,
       CAST(coalesce(sum(articles_inserted), 0) AS BIGINT) AS articles_inserted,
       CAST(coalesce(sum(articles_changed), 0) AS BIGINT) AS articles_changed,
       CAST(coalesce(sum(articles_deduplicated), 0) AS BIGINT) AS articles_deduplicated
FROM fetch_totals;

-- name: totals_by_age
-- Of the newest rows: those since :latest, those before that and since :later, those before that and since :early.
SELECT CASE WHEN noted_at > :latest THEN 0 WHEN noted_at > :later THEN 1 ELSE 2 END AS age,
       CAST(sum(success) AS BIGINT) AS success, CAST(sum(not_modified) AS BIGINT) AS not_modified,
       CAST(sum(temporary_error) AS BIGINT) AS temporary_error, CAST(sum(permanent_error) AS BIGINT) AS permanent_error,
       CAST(sum(unauthorized) AS BIGINT) AS unauthorized, CAST(sum(total_bytes) AS BIGINT) AS total_bytes,
       CAST(sum(total_ms) AS BIGINT) AS total_ms, CAST(sum(articles_inserted) AS BIGINT) AS articles_inserted
FROM fetch_totals WHERE noted_at > :early GROUP BY 1;

-- name: take_totals
-- Old rows go, and come back as one: see `save_totals`.
DELETE FROM fetch_totals WHERE noted_at < :before RETURNING *;

-- name: busiest_feeds
SELECT f.feed_id, t.articles_per_hour, s.interval_seconds, s.last_success_at, s.consecutive_errors
FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id JOIN feed_stats t ON t.feed_id = f.feed_id
WHERE f.deleted_at IS NULL AND f.enabled
ORDER BY f.priority DESC, t.articles_per_hour DESC, f.feed_id LIMIT :feeds;

-- name: stored
SELECT (SELECT count(*) FROM deduped_articles) AS articles,
       (SELECT count(*) FROM host_states WHERE blocked_until > :now) AS blocked_hosts;

-- name: save_signals
INSERT INTO signals (name, value, noted_at) SELECT name, value, noted_at FROM incoming
ON CONFLICT (name) DO UPDATE SET value = excluded.value, noted_at = excluded.noted_at;

-- name: signals
SELECT name, value, noted_at FROM signals;

-- name: database_size
SELECT CAST(block_size * total_blocks AS BIGINT) AS bytes FROM pragma_database_size() WHERE database_name = current_database();

-- name: moments
-- By the database's own clock, and what it has seen last: two machines, or one machine yesterday, may disagree.
SELECT now() AS server_at, (SELECT max(last_fetched_at) FROM feed_schedules) AS fetched_at, (SELECT max(noted_at) FROM signals) AS noted_at;
