-- Queries of feed_assets/store/reading.py; see README.md in this folder.

-- name: editions_since
SELECT feed_id, etag, updated_at FROM cached_feeds WHERE updated_at >= :since;

-- name: cached_feeds_by_id
SELECT * FROM cached_feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: addresses
-- What is needed to know which feed a request means, and whether it may have it.
SELECT f.feed_id, f.url, f.source_name, f.enabled, f.root_domain, f.feed_group, s.interval_seconds
FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id
WHERE f.deleted_at IS NULL AND (CAST(:feed_ids AS TEXT[]) IS NULL OR f.feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))));

-- name: addresses_version
SELECT count(*) AS feeds, count(*) FILTER (WHERE enabled) AS enabled, count(deleted_at) AS deleted,
       sum(CAST(extract(epoch FROM updated_at) AS DOUBLE PRECISION)) AS moments
FROM feeds;

-- name: articles_page
SELECT a.article_id, a.url, a.canonical_url, a.headline, a.source, a.feed_id, a.published_at, a.published_at_estimated, a.content,
       a.fetched_at, a.group_id, least(a.published_at, a.fetched_at) AS moment_at
FROM deduped_articles a
WHERE (CAST(:source AS TEXT) IS NULL OR a.source = :source)
  AND (CAST(:group_id AS TEXT) IS NULL OR a.group_id = :group_id)
  AND (CAST(:since AS TIMESTAMPTZ) IS NULL OR a.published_at >= :since)
  AND (CAST(:fetched_since AS TIMESTAMPTZ) IS NULL OR a.fetched_at >= :fetched_since)
  AND (CAST(:word_1 AS TEXT) IS NULL OR a.headline ILIKE :word_1 ESCAPE '\')
  AND (CAST(:word_2 AS TEXT) IS NULL OR a.headline ILIKE :word_2 ESCAPE '\')
  AND (CAST(:word_3 AS TEXT) IS NULL OR a.headline ILIKE :word_3 ESCAPE '\')
  AND (CAST(:word_4 AS TEXT) IS NULL OR a.headline ILIKE :word_4 ESCAPE '\')
  AND (CAST(:max_score AS DOUBLE PRECISION) IS NULL OR NOT EXISTS (
          SELECT 1 FROM article_analysis n
          WHERE n.article_id = a.article_id AND n.status = 'done' AND n.score > CAST(:max_score AS DOUBLE PRECISION)
            AND n.analyzed_at = (SELECT max(l.analyzed_at) FROM article_analysis l WHERE l.article_id = a.article_id AND l.status = 'done')))
  AND (CAST(:after_at AS TIMESTAMPTZ) IS NULL OR least(a.published_at, a.fetched_at) < :after_at
       OR (least(a.published_at, a.fetched_at) = :after_at AND a.article_id < :after_id))
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id DESC
LIMIT :articles;

-- name: articles_page_of_feed
-- The same along the articles of one feed: no two of its items are the same story.
SELECT a.article_id, a.url, a.canonical_url, a.headline, a.source, a.feed_id, a.published_at, a.published_at_estimated, a.content,
       a.fetched_at, a.group_id, c.moment_at
FROM article_sources c JOIN deduped_articles a ON a.article_id = c.article_id
WHERE c.feed_id = :feed_id
  AND (CAST(:source AS TEXT) IS NULL OR a.source = :source)
  AND (CAST(:group_id AS TEXT) IS NULL OR a.group_id = :group_id)
  AND (CAST(:since AS TIMESTAMPTZ) IS NULL OR a.published_at >= :since)
  AND (CAST(:fetched_since AS TIMESTAMPTZ) IS NULL OR a.fetched_at >= :fetched_since)
  AND (CAST(:word_1 AS TEXT) IS NULL OR a.headline ILIKE :word_1 ESCAPE '\')
  AND (CAST(:word_2 AS TEXT) IS NULL OR a.headline ILIKE :word_2 ESCAPE '\')
  AND (CAST(:word_3 AS TEXT) IS NULL OR a.headline ILIKE :word_3 ESCAPE '\')
  AND (CAST(:word_4 AS TEXT) IS NULL OR a.headline ILIKE :word_4 ESCAPE '\')
  AND (CAST(:max_score AS DOUBLE PRECISION) IS NULL OR NOT EXISTS (
          SELECT 1 FROM article_analysis n
          WHERE n.article_id = a.article_id AND n.status = 'done' AND n.score > CAST(:max_score AS DOUBLE PRECISION)
            AND n.analyzed_at = (SELECT max(l.analyzed_at) FROM article_analysis l WHERE l.article_id = a.article_id AND l.status = 'done')))
  AND (CAST(:after_at AS TIMESTAMPTZ) IS NULL OR c.moment_at < :after_at
       OR (c.moment_at = :after_at AND c.article_id < :after_id))
ORDER BY c.moment_at DESC, c.article_id DESC
LIMIT :articles;

-- name: article_at_url
-- Articles with one URL have one canonical URL, too, and that has an index.
SELECT a.* FROM deduped_articles a WHERE a.canonical_url = :canonical_url
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id DESC LIMIT 1;

-- name: carriers
SELECT c.article_id, c.feed_id, f.source_name, r.url, r.author, r.raw AS extra, r.first_seen_at
FROM article_sources c
JOIN feeds f ON f.feed_id = c.feed_id
LEFT JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
WHERE c.article_id IN (SELECT unnest(CAST(:article_ids AS TEXT[])))
ORDER BY c.article_id, r.first_seen_at, c.feed_id;
