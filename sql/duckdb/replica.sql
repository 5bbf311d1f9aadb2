-- What `store/replica.py` does while it has the file: `source` is the file, the tables without a name before them are its copy.
-- Statements with the same name run in order, in one transaction.

-- name: is_as_it_was
-- Whether the copy is of the same schema, and nothing was pruned since.
SELECT (SELECT max(version) FROM source.schema_migrations) = (SELECT max(version) FROM schema_migrations)
   AND (SELECT max(noted_at) FROM source.signals WHERE name = 'housekeeping') IS NOT DISTINCT FROM
       (SELECT max(noted_at) FROM signals WHERE name = 'housekeeping');

-- name: begin_anew
CREATE OR REPLACE TABLE feeds AS SELECT * FROM source.feeds LIMIT 0;
CREATE OR REPLACE TABLE feed_schedules AS SELECT * FROM source.feed_schedules LIMIT 0;
CREATE OR REPLACE TABLE feed_stats AS SELECT * FROM source.feed_stats LIMIT 0;
CREATE OR REPLACE TABLE batches AS SELECT * FROM source.batches LIMIT 0;
CREATE OR REPLACE TABLE signals AS SELECT * FROM source.signals LIMIT 0;
CREATE OR REPLACE TABLE fetch_totals AS SELECT * FROM source.fetch_totals LIMIT 0;
CREATE OR REPLACE TABLE host_states AS SELECT * FROM source.host_states LIMIT 0;
CREATE OR REPLACE TABLE schema_migrations AS SELECT * FROM source.schema_migrations LIMIT 0;
CREATE OR REPLACE TABLE cached_feeds AS SELECT * FROM source.cached_feeds LIMIT 0;
CREATE OR REPLACE TABLE deduped_articles AS SELECT * FROM source.deduped_articles LIMIT 0;
CREATE OR REPLACE TABLE article_sources AS SELECT * FROM source.article_sources LIMIT 0;
CREATE OR REPLACE TABLE raw_items AS SELECT * FROM source.raw_items LIMIT 0;
CREATE OR REPLACE TABLE article_analysis AS SELECT * FROM source.article_analysis LIMIT 0;
CREATE OR REPLACE TABLE article_changes AS SELECT * FROM source.article_changes LIMIT 0;
CREATE OR REPLACE TABLE headline_groups AS SELECT * FROM source.headline_groups LIMIT 0;
CREATE OR REPLACE TABLE fetch_history AS SELECT * FROM source.fetch_history LIMIT 0;

-- name: copy_small
-- As they are, each time. The others are large, and only what has changed in them is copied.
DELETE FROM feeds;
INSERT INTO feeds BY NAME SELECT * FROM source.feeds;
DELETE FROM feed_schedules;
INSERT INTO feed_schedules BY NAME SELECT * FROM source.feed_schedules;
DELETE FROM feed_stats;
INSERT INTO feed_stats BY NAME SELECT * FROM source.feed_stats;
DELETE FROM batches;
INSERT INTO batches BY NAME SELECT * FROM source.batches;
DELETE FROM signals;
INSERT INTO signals BY NAME SELECT * FROM source.signals;
DELETE FROM fetch_totals;
INSERT INTO fetch_totals BY NAME SELECT * FROM source.fetch_totals;
DELETE FROM host_states;
INSERT INTO host_states BY NAME SELECT * FROM source.host_states;
DELETE FROM schema_migrations;
INSERT INTO schema_migrations BY NAME SELECT * FROM source.schema_migrations;

-- name: changed_articles
-- Which articles differ, told by `article_changes`; commits are one after the other, so a short look back is enough.
CREATE OR REPLACE TEMP TABLE changed AS
SELECT c.article_id FROM source.article_changes c LEFT JOIN article_changes mine ON mine.article_id = c.article_id
WHERE c.changed_at >= coalesce((SELECT max(changed_at) FROM article_changes), TIMESTAMPTZ '1970-01-01') - INTERVAL '15 minutes'
  AND mine.changed_at IS DISTINCT FROM c.changed_at;

-- name: newest_articles
-- For a copy from scratch: no more than a reader can keep.
CREATE OR REPLACE TEMP TABLE changed AS
SELECT article_id FROM source.deduped_articles ORDER BY least(published_at, fetched_at) DESC, article_id DESC LIMIT $most;

-- name: copy_articles
DELETE FROM deduped_articles WHERE article_id IN (SELECT article_id FROM changed);
INSERT INTO deduped_articles BY NAME SELECT * FROM source.deduped_articles WHERE article_id IN (SELECT article_id FROM changed);
DELETE FROM article_sources WHERE article_id IN (SELECT article_id FROM changed);
DELETE FROM article_sources WHERE (feed_id, item_hash) IN (
    SELECT (feed_id, item_hash) FROM source.article_sources WHERE article_id IN (SELECT article_id FROM changed));
INSERT INTO article_sources BY NAME SELECT * FROM source.article_sources WHERE article_id IN (SELECT article_id FROM changed);
CREATE OR REPLACE TEMP TABLE changed_items AS
SELECT feed_id, item_hash FROM article_sources WHERE article_id IN (SELECT article_id FROM changed);
DELETE FROM raw_items WHERE (feed_id, item_hash) IN (SELECT (feed_id, item_hash) FROM changed_items);
INSERT INTO raw_items BY NAME
SELECT r.* REPLACE (NULL AS content) FROM source.raw_items r SEMI JOIN changed_items c ON c.feed_id = r.feed_id AND c.item_hash = r.item_hash;
DELETE FROM article_analysis WHERE article_id IN (SELECT article_id FROM changed);
INSERT INTO article_analysis BY NAME
SELECT * FROM source.article_analysis WHERE status = 'done' AND article_id IN (SELECT article_id FROM changed);
DELETE FROM article_changes WHERE article_id IN (SELECT article_id FROM changed);
INSERT INTO article_changes BY NAME SELECT * FROM source.article_changes WHERE article_id IN (SELECT article_id FROM changed);

-- name: copy_editions
DELETE FROM cached_feeds WHERE feed_id IN (
    SELECT mine.feed_id FROM cached_feeds mine LEFT JOIN source.cached_feeds s ON s.feed_id = mine.feed_id
    WHERE s.etag IS DISTINCT FROM mine.etag);
INSERT INTO cached_feeds BY NAME SELECT * FROM source.cached_feeds WHERE feed_id NOT IN (SELECT feed_id FROM cached_feeds);

-- name: copy_groups
DELETE FROM headline_groups WHERE group_id IN (
    SELECT mine.group_id FROM headline_groups mine LEFT JOIN source.headline_groups s ON s.group_id = mine.group_id
    WHERE s.updated_at IS DISTINCT FROM mine.updated_at);
INSERT INTO headline_groups BY NAME SELECT * FROM source.headline_groups WHERE group_id NOT IN (SELECT group_id FROM headline_groups);

-- name: copy_history
-- From scratch: the last days, and the latest attempts of feeds that are seldom asked.
INSERT INTO fetch_history BY NAME SELECT * FROM source.fetch_history
QUALIFY fetch_time >= now() - INTERVAL '3 days' OR row_number() OVER (PARTITION BY feed_id ORDER BY fetch_time DESC) <= 20;

-- name: add_history
INSERT INTO fetch_history BY NAME SELECT * FROM source.fetch_history h
WHERE h.fetch_time >= coalesce((SELECT max(fetch_time) FROM fetch_history), TIMESTAMPTZ '1970-01-01') - INTERVAL '15 minutes'
  AND h.fetch_id NOT IN (SELECT fetch_id FROM fetch_history);
