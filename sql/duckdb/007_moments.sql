-- The newest articles of a feed, without looking at all that it has ever brought.
ALTER TABLE article_sources ADD COLUMN moment_at TIMESTAMPTZ;
UPDATE article_sources SET moment_at = least(a.published_at, a.fetched_at)
FROM deduped_articles a WHERE a.article_id = article_sources.article_id;
