-- Queries of feed_assets/store/housekeeping.py; see README.md in this folder.

-- name: prune_headlines
DELETE FROM recent_headlines WHERE expires_at < :now RETURNING headline_key;

-- name: prune_raw_fetches
-- The latest response of a feed is kept, however old: a replay needs it.
DELETE FROM raw_fetches
WHERE fetched_at < :before
  AND ((feed_id, fetched_at) NOT IN (SELECT feed_id, max(fetched_at) FROM raw_fetches GROUP BY feed_id)
       OR feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at < :before))
RETURNING fetch_id;

-- name: prune_history
DELETE FROM fetch_history WHERE fetch_time < :before RETURNING fetch_id;

-- name: prune_raw_items
-- An item of the document that its feed shows now is kept, however old it is: it would come back as new.
DELETE FROM raw_items
WHERE last_seen_at < :before
  AND ((feed_id, last_seen_at) NOT IN (SELECT feed_id, max(last_seen_at) FROM raw_items GROUP BY feed_id)
       OR feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at < :before))
RETURNING feed_id, item_hash;

-- name: prune_sources
DELETE FROM article_sources WHERE NOT EXISTS (
    SELECT 1 FROM raw_items r WHERE r.feed_id = article_sources.feed_id AND r.item_hash = article_sources.item_hash
)
RETURNING article_id;

-- name: prune_articles
DELETE FROM deduped_articles WHERE fetched_at < :before AND article_id NOT IN (SELECT article_id FROM article_sources) RETURNING article_id;

-- name: prune_groups
-- Those that no article is left of.
DELETE FROM headline_groups WHERE group_id NOT IN (SELECT group_id FROM deduped_articles WHERE group_id IS NOT NULL) RETURNING group_id;

-- name: prune_examined
-- Of articles that no window reaches any more.
DELETE FROM examined_articles WHERE examined_at < :before RETURNING article_id;
-- name: prune_analyses
DELETE FROM article_analysis WHERE article_id NOT IN (SELECT article_id FROM deduped_articles) RETURNING article_id;

-- name: prune_spending
DELETE FROM analysis_spending WHERE day < :before RETURNING day;

-- name: prune_dedup_cache
-- What is remembered of an article that is still there stays.
DELETE FROM dedup_cache WHERE expires_at < :now AND article_id NOT IN (SELECT article_id FROM deduped_articles) RETURNING content_hash;

-- name: prune_events
-- Delivered or not: news of a month ago is no news.
DELETE FROM events WHERE created_at < :before RETURNING event_id;

-- name: prune_deliveries
DELETE FROM deliveries WHERE event_id NOT IN (SELECT event_id FROM events) RETURNING event_id;

-- name: prune_changes
DELETE FROM article_changes WHERE changed_at < :before RETURNING article_id;

-- name: prune_hosts
DELETE FROM host_states
WHERE busy_token IS NULL AND coalesce(last_request_at, :before) <= :before AND coalesce(blocked_until, :before) <= :before
RETURNING host;
