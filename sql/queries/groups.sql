-- Queries of feed_assets/store/groups.py; see README.md in this folder.

-- name: grouping_queue
-- What waits, and what tells whether another run was here meanwhile.
SELECT count(*) FILTER (WHERE e.article_id IS NULL) AS waiting, count(*) AS known,
       (SELECT max(examined_at) FROM examined_articles) AS examined_at,
       (SELECT noted_at FROM signals WHERE name = 'grouping') AS last_run_at
FROM deduped_articles a LEFT JOIN examined_articles e ON e.article_id = a.article_id
WHERE least(a.published_at, a.fetched_at) >= :since;

-- name: grouping_window
-- The newest, if there are more than can be compared.
SELECT a.article_id, a.headline, substr(a.content, 1, :characters) AS content, a.source, a.url, a.group_id,
       least(a.published_at, a.fetched_at) AS moment_at, e.article_id IS NOT NULL AS is_examined
FROM deduped_articles a LEFT JOIN examined_articles e ON e.article_id = a.article_id
WHERE least(a.published_at, a.fetched_at) >= :since
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id DESC
LIMIT :most;

-- name: groups_founded
SELECT group_id, founded_at FROM headline_groups WHERE group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])));

-- name: lock_groups
-- DuckDB has one writer at a time anyway.
SELECT 1;

-- name: group_members
SELECT article_id, group_id FROM deduped_articles WHERE group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])));

-- name: save_examined
INSERT INTO examined_articles (article_id, examined_at) SELECT article_id, examined_at FROM incoming
ON CONFLICT (article_id) DO NOTHING;

-- name: save_examined_older
-- What was told so long before the others that it was not compared.
INSERT INTO examined_articles (article_id, examined_at)
SELECT article_id, :now FROM deduped_articles
WHERE least(published_at, fetched_at) >= :since AND least(published_at, fetched_at) < :before
ON CONFLICT (article_id) DO NOTHING;

-- name: count_groups
-- As the articles and their carriers say it now: the headline is that of the article that told the story first.
INSERT INTO headline_groups (group_id, headline, first_at, last_at, articles, feeds, sources, founded_at, updated_at)
SELECT g.group_id, g.headline, g.first_at, g.last_at, g.articles, coalesce(c.feeds, 0), coalesce(c.sources, 0), i.founded_at, i.updated_at
FROM incoming i
JOIN (
    SELECT group_id, max(headline) FILTER (WHERE place = 1) AS headline, min(moment_at) AS first_at, max(moment_at) AS last_at,
           count(*) AS articles
    FROM (
        SELECT group_id, headline, least(published_at, fetched_at) AS moment_at,
               row_number() OVER (PARTITION BY group_id ORDER BY least(published_at, fetched_at), article_id) AS place
        FROM deduped_articles WHERE group_id IN (SELECT group_id FROM incoming)
    ) AS ranked
    GROUP BY group_id
) AS g ON g.group_id = i.group_id
LEFT JOIN (
    SELECT a.group_id, count(DISTINCT s.feed_id) AS feeds, count(DISTINCT f.source_name) AS sources
    FROM deduped_articles a
    JOIN article_sources s ON s.article_id = a.article_id
    JOIN feeds f ON f.feed_id = s.feed_id
    WHERE a.group_id IN (SELECT group_id FROM incoming)
    GROUP BY a.group_id
) AS c ON c.group_id = g.group_id
ON CONFLICT (group_id) DO UPDATE SET
    headline = excluded.headline, first_at = excluded.first_at, last_at = excluded.last_at, articles = excluded.articles,
    feeds = excluded.feeds, sources = excluded.sources, updated_at = excluded.updated_at
WHERE (headline_groups.headline, headline_groups.first_at, headline_groups.last_at, headline_groups.articles, headline_groups.feeds,
       headline_groups.sources)
      IS DISTINCT FROM (excluded.headline, excluded.first_at, excluded.last_at, excluded.articles, excluded.feeds, excluded.sources);

-- name: drop_groups
DELETE FROM headline_groups WHERE group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])));

-- name: groups_by_id
SELECT group_id, headline, first_at, last_at, articles, feeds, sources, founded_at, updated_at FROM headline_groups
WHERE group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])));

-- name: group_carriers
SELECT DISTINCT a.group_id, s.feed_id
FROM deduped_articles a JOIN article_sources s ON s.article_id = a.article_id
WHERE a.group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])))
ORDER BY a.group_id, s.feed_id;

-- name: top_groups
-- Those that most sources tell first, then the latest.
SELECT group_id, headline, first_at, last_at, articles, feeds, sources, founded_at, updated_at FROM headline_groups
WHERE last_at >= :since
  AND (CAST(:after_at AS TIMESTAMPTZ) IS NULL OR sources < :after_sources
       OR (sources = :after_sources AND (last_at < :after_at OR (last_at = :after_at AND group_id < :after_id))))
ORDER BY sources DESC, last_at DESC, group_id DESC
LIMIT :groups;

-- name: articles_of_groups
-- The latest few of each group.
SELECT article_id, url, headline, source, feed_id, published_at, group_id, moment_at
FROM (
    SELECT article_id, url, headline, source, feed_id, published_at, group_id, least(published_at, fetched_at) AS moment_at,
           row_number() OVER (PARTITION BY group_id ORDER BY least(published_at, fetched_at) DESC, article_id DESC) AS place
    FROM deduped_articles WHERE group_id IN (SELECT unnest(CAST(:group_ids AS TEXT[])))
) AS ranked
WHERE place <= :articles
ORDER BY group_id, place;
