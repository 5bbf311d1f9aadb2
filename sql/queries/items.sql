-- Queries of feed_assets/store/items.py; see README.md in this folder.

-- name: save_first_response
INSERT INTO first_responses (feed_id, fetched_at, outcome, reason, status_code, url, headers, body)
SELECT feed_id, fetched_at, outcome, reason, status_code, url, headers, body FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    fetched_at = excluded.fetched_at, outcome = excluded.outcome, reason = excluded.reason, status_code = excluded.status_code, url = excluded.url, headers = excluded.headers,
    body = excluded.body;

-- name: first_responses
SELECT * FROM first_responses WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: drop_first_responses
DELETE FROM first_responses WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: save_raw_fetches
INSERT INTO raw_fetches (fetch_id, feed_id, fetched_at, status_code, url, headers, body, body_sha256)
SELECT fetch_id, feed_id, fetched_at, status_code, url, headers, body, body_sha256 FROM incoming
ON CONFLICT (fetch_id) DO NOTHING;

-- name: save_history
INSERT INTO fetch_history (fetch_id, feed_id, fetch_time, status_code, outcome, articles_found, articles_new, bytes, duration_ms,
                           error_message, run_id)
SELECT fetch_id, feed_id, fetch_time, status_code, outcome, articles_found, articles_new, bytes, duration_ms, error_message, run_id
FROM incoming
ON CONFLICT (fetch_id) DO NOTHING;

-- name: save_raw_items
-- An item is served under the id that it came with (`public_id`); `guid` and `id_key` follow the id that it has now.
INSERT INTO raw_items (feed_id, item_hash, guid, url, title, author, published_at, content, raw, content_hash, fetch_id,
                       first_seen_at, last_seen_at, id_key, link_key, title_key, text_key, public_id)
SELECT feed_id, item_hash, guid, url, title, author, published_at, content, raw, content_hash, fetch_id, first_seen_at, last_seen_at,
       id_key, link_key, title_key, text_key, CASE WHEN id_key = item_hash THEN guid END
FROM incoming
ON CONFLICT (feed_id, item_hash) DO UPDATE SET
    guid = excluded.guid, url = excluded.url, title = excluded.title, author = excluded.author,
    published_at = excluded.published_at, content = excluded.content, raw = excluded.raw, content_hash = excluded.content_hash, fetch_id = excluded.fetch_id,
    last_seen_at = excluded.last_seen_at, id_key = excluded.id_key, link_key = excluded.link_key, title_key = excluded.title_key,
    text_key = excluded.text_key;

-- name: touch_raw_items
UPDATE raw_items SET last_seen_at = i.last_seen_at FROM incoming i
WHERE raw_items.feed_id = i.feed_id AND raw_items.item_hash = i.item_hash;

-- name: known_by_id
SELECT r.feed_id, r.item_hash, r.id_key, r.content_hash, r.link_key, r.title_key, r.text_key, r.published_at
FROM raw_items r
JOIN (SELECT unnest(CAST(:feed_ids AS TEXT[])) AS feed_id, unnest(CAST(:keys AS TEXT[])) AS key) AS wanted
  ON wanted.feed_id = r.feed_id AND wanted.key = r.id_key;

-- name: known_alike
WITH wanted AS (SELECT unnest(CAST(:feed_ids AS TEXT[])) AS feed_id, unnest(CAST(:keys AS TEXT[])) AS key)
SELECT r.feed_id, r.item_hash, r.id_key, r.content_hash, r.link_key, r.title_key, r.text_key, r.published_at
FROM raw_items r JOIN wanted ON wanted.feed_id = r.feed_id AND wanted.key = r.link_key
UNION
SELECT r.feed_id, r.item_hash, r.id_key, r.content_hash, r.link_key, r.title_key, r.text_key, r.published_at
FROM raw_items r JOIN wanted ON wanted.feed_id = r.feed_id AND wanted.key = r.title_key
UNION
SELECT r.feed_id, r.item_hash, r.id_key, r.content_hash, r.link_key, r.title_key, r.text_key, r.published_at
FROM raw_items r JOIN wanted ON wanted.feed_id = r.feed_id AND wanted.key = r.text_key;

-- name: all_known
SELECT feed_id, item_hash, id_key, content_hash, link_key, title_key, text_key, published_at
FROM raw_items WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: publication_times
-- Dates that are believable: neither made up long before nor after the item was first seen.
SELECT feed_id, published_at FROM raw_items
WHERE published_at <= first_seen_at + INTERVAL '1 hour' AND published_at >= first_seen_at - INTERVAL '60 days'
ORDER BY feed_id, published_at;

-- name: published_since
-- As `decide/velocity.py` counts them: of a first document what it dates in its last month, later what is not dated back by days.
SELECT feed_id, least(coalesce(published_at, first_seen_at), first_seen_at) AS published_at
FROM (SELECT feed_id, published_at, first_seen_at, min(first_seen_at) OVER (PARTITION BY feed_id) AS began
      FROM raw_items WHERE first_seen_at >= :since AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))) AS seen
WHERE CASE WHEN first_seen_at = began THEN published_at > first_seen_at - INTERVAL '30 days'
           ELSE coalesce(published_at, first_seen_at) > first_seen_at - INTERVAL '2 days' END
ORDER BY 1, 2;

-- name: item_counts
SELECT feed_id, count(*) AS items FROM raw_items WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))) GROUP BY feed_id;

-- name: item_facts
-- What became of a feed's items: stories of its own, and stories that another feed had brought before.
SELECT count(*) AS items,
       count(*) FILTER (WHERE a.feed_id = c.feed_id) AS own_articles,
       count(*) FILTER (WHERE a.feed_id <> c.feed_id) AS shared_articles,
       count(*) FILTER (WHERE a.feed_id = c.feed_id AND a.published_at_estimated) AS estimated_dates
FROM article_sources c JOIN deduped_articles a ON a.article_id = c.article_id
WHERE c.feed_id = :feed_id;

-- name: responses_of
SELECT fetch_id FROM raw_fetches WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))) ORDER BY fetched_at, fetch_id;

-- name: raw_fetches
SELECT fetch_id, feed_id, fetched_at, status_code, url, headers, body FROM raw_fetches
WHERE fetch_id IN (SELECT unnest(CAST(:fetch_ids AS TEXT[]))) ORDER BY fetched_at, fetch_id;

-- name: feed_history
SELECT * FROM fetch_history WHERE feed_id = :feed_id ORDER BY fetch_time DESC LIMIT :rows;
