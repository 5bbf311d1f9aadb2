-- Queries of feed_assets/store/articles.py; see README.md in this folder.

-- name: get_stats
SELECT * FROM feed_stats WHERE feed_id = :feed_id;

-- name: stats_of
SELECT * FROM feed_stats WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: save_stats
INSERT INTO feed_stats (feed_id, articles_per_hour, hourly_distribution, current_hour_multiplier, avg_articles_per_fetch,
                        total_articles_fetched, last_fetch_time, last_successful_fetch, observed_articles, observed_hours,
                        newest_item_at, feed_hints, pace, learned_until, updated_at)
SELECT feed_id, articles_per_hour, hourly_distribution, current_hour_multiplier, avg_articles_per_fetch, total_articles_fetched,
       last_fetch_time, last_successful_fetch, observed_articles, observed_hours, newest_item_at, feed_hints, pace, learned_until,
       updated_at
FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    articles_per_hour = excluded.articles_per_hour, hourly_distribution = excluded.hourly_distribution,
    current_hour_multiplier = excluded.current_hour_multiplier, avg_articles_per_fetch = excluded.avg_articles_per_fetch,
    total_articles_fetched = excluded.total_articles_fetched, last_fetch_time = excluded.last_fetch_time,
    last_successful_fetch = excluded.last_successful_fetch, observed_articles = excluded.observed_articles,
    observed_hours = excluded.observed_hours, newest_item_at = excluded.newest_item_at, feed_hints = excluded.feed_hints,
    pace = excluded.pace, learned_until = excluded.learned_until,
    updated_at = excluded.updated_at;

-- name: recent_headlines
SELECT headline_key, article_id, headline, source, domain, published_at, lead FROM recent_headlines
WHERE headline_key IN (SELECT unnest(CAST(:keys AS TEXT[])));

-- name: save_headlines
-- The first of some days has the key, so that all later copies find the same story; one of long ago gives way.
INSERT INTO recent_headlines (headline_key, article_id, headline, source, domain, published_at, lead, expires_at)
SELECT headline_key, article_id, headline, source, domain, published_at, lead, expires_at FROM incoming
ORDER BY headline_key
ON CONFLICT (headline_key) DO UPDATE SET
    article_id = excluded.article_id, headline = excluded.headline, source = excluded.source, domain = excluded.domain,
    published_at = excluded.published_at, lead = excluded.lead, expires_at = excluded.expires_at
WHERE recent_headlines.expires_at < excluded.published_at;

-- name: save_articles
-- In order of their keys, here and in `remember`: two batches with the same stories then never wait for each other in a circle.
-- A story keeps the date it came with: publishers that re-date their items do not push them to the top again.
INSERT INTO deduped_articles (article_id, url, canonical_url, headline, source, feed_id, published_at, content, fetched_at,
                              published_at_estimated)
SELECT article_id, url, canonical_url, headline, source, feed_id, published_at, content, fetched_at, published_at_estimated FROM incoming
ORDER BY article_id
ON CONFLICT (article_id) DO UPDATE SET
    url = excluded.url, canonical_url = excluded.canonical_url, headline = excluded.headline, source = excluded.source,
    content = excluded.content
WHERE deduped_articles.feed_id = excluded.feed_id;

-- name: set_groups
UPDATE deduped_articles SET group_id = incoming.group_id FROM incoming WHERE incoming.article_id = deduped_articles.article_id;

-- name: note_changes
INSERT INTO article_changes (article_id, changed_at) SELECT article_id, now() FROM incoming
ON CONFLICT (article_id) DO UPDATE SET changed_at = excluded.changed_at;

-- name: save_sources
-- `moment_at` is the article's place among all others of the feed, and as lasting as the article.
INSERT INTO article_sources (article_id, feed_id, item_hash, moment_at)
SELECT i.article_id, i.feed_id, i.item_hash, least(a.published_at, a.fetched_at)
FROM incoming i LEFT JOIN deduped_articles a ON a.article_id = i.article_id
ON CONFLICT (feed_id, item_hash) DO UPDATE SET article_id = excluded.article_id, moment_at = excluded.moment_at;

-- name: sources_of
SELECT article_id, feed_id, item_hash FROM article_sources WHERE article_id IN (SELECT unnest(CAST(:article_ids AS TEXT[])));

-- name: remembered
SELECT content_hash, article_id FROM dedup_cache WHERE content_hash IN (SELECT unnest(CAST(:hashes AS TEXT[])));

-- name: remember
INSERT INTO dedup_cache (content_hash, feed_id, article_id, created_at, expires_at)
SELECT content_hash, feed_id, article_id, created_at, expires_at FROM incoming
ORDER BY content_hash
ON CONFLICT (content_hash) DO UPDATE SET expires_at = excluded.expires_at;

-- name: latest_items
SELECT c.feed_id, a.article_id, c.item_hash, r.public_id AS guid, coalesce(r.url, a.url) AS url, a.headline, r.author, a.published_at,
       a.content, r.raw AS extra
FROM (
    SELECT feed_id, article_id, item_hash, row_number() OVER (PARTITION BY feed_id ORDER BY moment_at DESC, article_id, item_hash) AS place
    FROM article_sources
    WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))) AND moment_at IS NOT NULL
) AS c
JOIN deduped_articles a ON a.article_id = c.article_id
JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
WHERE c.place <= :items
ORDER BY c.feed_id, c.place;

-- name: save_cached_feeds
INSERT INTO cached_feeds (feed_id, xml_header, item_refs, xml_content, etag, created_at, updated_at)
SELECT feed_id, xml_header, item_refs, xml_content, etag, created_at, updated_at FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    xml_header = excluded.xml_header, item_refs = excluded.item_refs, xml_content = excluded.xml_content, etag = excluded.etag,
    updated_at = excluded.updated_at;

-- name: cached_feed
SELECT * FROM cached_feeds WHERE feed_id = :feed_id;

-- name: editions
SELECT feed_id, etag, created_at, updated_at FROM cached_feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: lock_editions
SELECT feed_id, etag, created_at, updated_at FROM cached_feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: save_events
INSERT INTO events (event_id, event_type, payload, created_at)
SELECT event_id, event_type, payload, created_at FROM incoming
ON CONFLICT (event_id) DO NOTHING;
