-- Queries of feed_assets/store/housekeeping.py; see README.md in this folder.
-- For each table: which rows are outdated (at most :most), and how such rows are dropped. A row that changed meanwhile stays.

-- name: outdated_raw_fetches
-- The latest response of a feed is kept, however old: a replay needs it.
SELECT r.fetch_id, octet_length(r.body) AS bytes
FROM raw_fetches r
JOIN (SELECT feed_id, max(fetched_at) AS latest FROM raw_fetches GROUP BY feed_id) last ON last.feed_id = r.feed_id
LEFT JOIN feeds f ON f.feed_id = r.feed_id AND f.deleted_at < :before
WHERE r.fetched_at < :before AND (r.fetched_at < last.latest OR f.feed_id IS NOT NULL)
LIMIT :most;

-- name: drop_raw_fetches
DELETE FROM raw_fetches USING incoming i WHERE raw_fetches.fetch_id = i.fetch_id;

-- name: outdated_fetch_history
SELECT fetch_id, CAST(NULL AS BIGINT) AS bytes FROM fetch_history WHERE fetch_time < :before LIMIT :most;

-- name: drop_fetch_history
DELETE FROM fetch_history USING incoming i WHERE fetch_history.fetch_id = i.fetch_id;

-- name: outdated_raw_items
-- An item of the document that its feed shows now is kept, however old it is: it would come back as new.
SELECT r.feed_id, r.item_hash, r.last_seen_at, CAST(NULL AS BIGINT) AS bytes
FROM raw_items r
JOIN (SELECT feed_id, max(last_seen_at) AS latest FROM raw_items GROUP BY feed_id) last ON last.feed_id = r.feed_id
LEFT JOIN feeds f ON f.feed_id = r.feed_id AND f.deleted_at < :before
WHERE r.last_seen_at < :before AND (r.last_seen_at < last.latest OR f.feed_id IS NOT NULL)
LIMIT :most;

-- name: drop_raw_items
DELETE FROM raw_items USING incoming i
WHERE raw_items.feed_id = i.feed_id AND raw_items.item_hash = i.item_hash AND raw_items.last_seen_at = i.last_seen_at;

-- name: outdated_article_sources
-- Joined, here and below: the same as `NOT IN (SELECT ...)` would take days with ten million rows on Postgres.
SELECT c.feed_id, c.item_hash, CAST(NULL AS BIGINT) AS bytes
FROM article_sources c
LEFT JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
LEFT JOIN @outdated_raw_items AS gone ON gone.feed_id = c.feed_id AND gone.item_hash = c.item_hash
WHERE r.feed_id IS NULL OR gone.feed_id IS NOT NULL
LIMIT :most;

-- name: drop_article_sources
DELETE FROM article_sources USING incoming i
WHERE article_sources.feed_id = i.feed_id AND article_sources.item_hash = i.item_hash
  AND NOT EXISTS (SELECT 1 FROM raw_items r WHERE r.feed_id = i.feed_id AND r.item_hash = i.item_hash);

-- name: outdated_deduped_articles
SELECT a.article_id, CAST(NULL AS BIGINT) AS bytes
FROM deduped_articles a
WHERE a.fetched_at < :before AND NOT EXISTS (
    SELECT 1 FROM article_sources c
    LEFT JOIN @outdated_article_sources AS gone ON gone.feed_id = c.feed_id AND gone.item_hash = c.item_hash
    WHERE c.article_id = a.article_id AND gone.feed_id IS NULL)
LIMIT :most;

-- name: drop_deduped_articles
DELETE FROM deduped_articles USING incoming i
WHERE deduped_articles.article_id = i.article_id
  AND NOT EXISTS (SELECT 1 FROM article_sources c WHERE c.article_id = i.article_id);

-- name: outdated_dedup_cache
-- What is remembered of an article that is still there stays; so does what a feed may still show: until its next document is read, nobody
-- knows, and that renews what is in it (see `commit.py`).
SELECT content_hash, expires_at, CAST(NULL AS BIGINT) AS bytes FROM dedup_cache d
WHERE expires_at < :before
  AND NOT EXISTS (SELECT 1 FROM deduped_articles a WHERE a.article_id = d.article_id)
  AND NOT EXISTS (
      SELECT 1 FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
      WHERE s.feed_id = d.feed_id AND f.deleted_at IS NULL AND CAST(s.reading ->> 'at' AS TIMESTAMPTZ) <= d.expires_at)
LIMIT :most;

-- name: drop_dedup_cache
DELETE FROM dedup_cache USING incoming i WHERE dedup_cache.content_hash = i.content_hash AND dedup_cache.expires_at = i.expires_at;

-- name: outdated_headline_groups
-- Those that no article is left of.
SELECT g.group_id, CAST(NULL AS BIGINT) AS bytes FROM headline_groups g
WHERE NOT EXISTS (
    SELECT 1 FROM deduped_articles a LEFT JOIN @outdated_deduped_articles AS gone ON gone.article_id = a.article_id
    WHERE a.group_id = g.group_id AND gone.article_id IS NULL)
LIMIT :most;

-- name: drop_headline_groups
DELETE FROM headline_groups USING incoming i
WHERE headline_groups.group_id = i.group_id AND NOT EXISTS (SELECT 1 FROM deduped_articles a WHERE a.group_id = i.group_id);

-- name: outdated_examined_articles
-- Of articles that no window reaches any more.
SELECT article_id, examined_at, CAST(NULL AS BIGINT) AS bytes FROM examined_articles WHERE examined_at < :before LIMIT :most;

-- name: drop_examined_articles
DELETE FROM examined_articles USING incoming i
WHERE examined_articles.article_id = i.article_id AND examined_articles.examined_at = i.examined_at;

-- name: outdated_article_analysis
SELECT n.article_id, n.analyzer, n.prompt_version, CAST(NULL AS BIGINT) AS bytes FROM article_analysis n
WHERE NOT EXISTS (
    SELECT 1 FROM deduped_articles a LEFT JOIN @outdated_deduped_articles AS gone ON gone.article_id = a.article_id
    WHERE a.article_id = n.article_id AND gone.article_id IS NULL)
LIMIT :most;

-- name: drop_article_analysis
DELETE FROM article_analysis USING incoming i
WHERE article_analysis.article_id = i.article_id AND article_analysis.analyzer = i.analyzer
  AND article_analysis.prompt_version = i.prompt_version
  AND NOT EXISTS (SELECT 1 FROM deduped_articles a WHERE a.article_id = i.article_id);

-- name: outdated_analysis_spending
SELECT day, CAST(NULL AS BIGINT) AS bytes FROM analysis_spending WHERE CAST(day AS DATE) < CAST(:before AS DATE) LIMIT :most;

-- name: drop_analysis_spending
DELETE FROM analysis_spending USING incoming i WHERE analysis_spending.day = i.day;

-- name: outdated_events
-- Delivered or not: news of a month ago is no news.
SELECT event_id, CAST(NULL AS BIGINT) AS bytes FROM events WHERE created_at < :before LIMIT :most;

-- name: drop_events
DELETE FROM events USING incoming i WHERE events.event_id = i.event_id;

-- name: outdated_deliveries
-- Of events that are gone.
SELECT d.event_id, d.receiver, CAST(NULL AS BIGINT) AS bytes FROM deliveries d
WHERE NOT EXISTS (
    SELECT 1 FROM events e LEFT JOIN @outdated_events AS gone ON gone.event_id = e.event_id
    WHERE e.event_id = d.event_id AND gone.event_id IS NULL)
LIMIT :most;

-- name: drop_deliveries
DELETE FROM deliveries USING incoming i WHERE deliveries.event_id = i.event_id AND deliveries.receiver = i.receiver;

-- name: outdated_recent_headlines
SELECT headline_key, expires_at, CAST(NULL AS BIGINT) AS bytes FROM recent_headlines WHERE expires_at < :before LIMIT :most;

-- name: drop_recent_headlines
DELETE FROM recent_headlines USING incoming i
WHERE recent_headlines.headline_key = i.headline_key AND recent_headlines.expires_at = i.expires_at;

-- name: outdated_article_changes
SELECT article_id, changed_at, CAST(NULL AS BIGINT) AS bytes FROM article_changes WHERE changed_at < :before LIMIT :most;

-- name: drop_article_changes
DELETE FROM article_changes USING incoming i WHERE article_changes.article_id = i.article_id AND article_changes.changed_at = i.changed_at;

-- name: outdated_host_states
SELECT host, CAST(NULL AS BIGINT) AS bytes FROM host_states
WHERE busy_token IS NULL AND coalesce(last_request_at, :before) <= :before AND coalesce(blocked_until, :before) <= :before
LIMIT :most;

-- name: drop_host_states
DELETE FROM host_states USING incoming i WHERE host_states.host = i.host AND host_states.busy_token IS NULL;

-- name: outdated_first_responses
-- Nobody came for them while they were fresh.
SELECT feed_id, fetched_at, octet_length(body) AS bytes FROM first_responses WHERE fetched_at < :before LIMIT :most;

-- name: drop_unused_first_responses
DELETE FROM first_responses USING incoming i WHERE first_responses.feed_id = i.feed_id AND first_responses.fetched_at = i.fetched_at;

-- name: outdated_cached_feeds
-- The XML of feeds that were deleted long ago.
SELECT feed_id, CAST(NULL AS BIGINT) AS bytes FROM cached_feeds WHERE feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at < :before)
LIMIT :most;

-- name: drop_cached_feeds
DELETE FROM cached_feeds USING incoming i
WHERE cached_feeds.feed_id = i.feed_id AND cached_feeds.feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at IS NOT NULL);
