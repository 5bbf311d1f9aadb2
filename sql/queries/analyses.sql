-- Queries of feed_assets/store/analyses.py; see README.md in this folder.

-- name: analysis_queue
-- Articles that could be analysed now (`due`), are (`running`), will be tried again (`later`) or never (`failed`), by this version.
SELECT count(*) FILTER (WHERE n.article_id IS NULL OR (n.status = 'waiting' AND n.next_attempt_at <= :now)
                           OR (n.status = 'running' AND n.locked_until <= :now)) AS due,
       count(*) FILTER (WHERE n.status = 'running' AND n.locked_until > :now) AS running,
       count(*) FILTER (WHERE n.status = 'waiting' AND n.next_attempt_at > :now) AS later,
       count(*) FILTER (WHERE n.status = 'failed') AS failed,
       count(*) FILTER (WHERE n.status = 'done') AS done,
       min(n.next_attempt_at) FILTER (WHERE n.status = 'waiting' AND n.next_attempt_at > :now) AS next_attempt_at
FROM deduped_articles a
JOIN feeds f ON f.feed_id = a.feed_id AND f.deleted_at IS NULL
LEFT JOIN article_analysis n ON n.article_id = a.article_id AND n.analyzer = :analyzer AND n.prompt_version = :prompt_version
WHERE a.fetched_at >= :since
  AND (CAST(:feed_ids AS TEXT[]) IS NULL OR a.feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))));

-- name: give_up_lost
-- Whatever ended their workers so often will end the next one, too.
UPDATE article_analysis SET status = 'failed', last_error = :reason, lease_token = NULL, locked_until = NULL
WHERE status = 'running' AND locked_until <= :now AND attempts >= :most;

-- name: claim_analyses
-- The newest first. Claims come one after the other: each holds the day's row of `analysis_spending`.
INSERT INTO article_analysis (article_id, analyzer, prompt_version, feed_id, status, attempts, lease_token, locked_until)
SELECT a.article_id, :analyzer, :prompt_version, a.feed_id, 'running', 1, :token, CAST(:until AS TIMESTAMPTZ)
FROM deduped_articles a
JOIN feeds f ON f.feed_id = a.feed_id AND f.deleted_at IS NULL
LEFT JOIN article_analysis n ON n.article_id = a.article_id AND n.analyzer = :analyzer AND n.prompt_version = :prompt_version
WHERE a.fetched_at >= :since
  AND (CAST(:feed_ids AS TEXT[]) IS NULL OR a.feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))))
  AND (n.article_id IS NULL OR (n.status = 'waiting' AND n.next_attempt_at <= :now) OR (n.status = 'running' AND n.locked_until <= :now))
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id
LIMIT :most
ON CONFLICT (article_id, analyzer, prompt_version) DO UPDATE SET
    status = 'running', attempts = article_analysis.attempts + 1, lease_token = excluded.lease_token, locked_until = excluded.locked_until
RETURNING article_id;

-- name: claimed_articles
SELECT a.article_id, a.feed_id, a.url, a.headline, a.source, a.published_at, a.content, n.attempts
FROM article_analysis n JOIN deduped_articles a ON a.article_id = n.article_id
WHERE n.lease_token = :token AND a.article_id IN (SELECT unnest(CAST(:article_ids AS TEXT[])))
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id;

-- name: renew_analyses
UPDATE article_analysis SET locked_until = :until WHERE lease_token = :token;

-- name: fence_analyses
-- What this worker still holds.
SELECT article_id FROM article_analysis WHERE lease_token = :token;

-- name: save_analyses
UPDATE article_analysis SET
    status = i.status, score = i.score, summary = i.summary, facts = i.facts, tokens = article_analysis.tokens + i.tokens,
    attempts = i.attempts, last_error = i.last_error, analyzed_at = i.analyzed_at, next_attempt_at = i.next_attempt_at,
    lease_token = NULL, locked_until = NULL
FROM incoming i WHERE article_analysis.article_id = i.article_id AND article_analysis.lease_token = i.lease_token;

-- name: release_analyses
-- Back into the queue, as if nobody had taken them.
UPDATE article_analysis SET status = 'waiting', attempts = attempts - 1, next_attempt_at = :now, lease_token = NULL, locked_until = NULL
WHERE lease_token = :token RETURNING article_id;

-- name: note_analyses
-- For readers with a copy of their own: what is said of these articles has changed.
INSERT INTO article_changes (article_id, changed_at) SELECT article_id, now() FROM incoming
ON CONFLICT (article_id) DO UPDATE SET changed_at = excluded.changed_at;

-- name: analyses_of
-- The latest of each article, by whatever version.
SELECT article_id, score, summary, facts, analyzer, prompt_version, analyzed_at FROM (
    SELECT *, row_number() OVER (PARTITION BY article_id ORDER BY analyzed_at DESC, analyzer, prompt_version) AS place
    FROM article_analysis WHERE status = 'done' AND article_id IN (SELECT unnest(CAST(:article_ids AS TEXT[])))
) AS ranked
WHERE place = 1;

-- name: analyses_by_feed
-- With the version of the articles that Dagster was told of last.
SELECT s.feed_id, count(n.article_id) AS done, max(n.analyzed_at) AS latest_at, min(coalesce(s.reported_sha256, s.body_sha256)) AS body_sha256
FROM feed_schedules s
LEFT JOIN article_analysis n ON n.feed_id = s.feed_id AND n.status = 'done' AND n.analyzer = :analyzer AND n.prompt_version = :prompt_version
WHERE s.feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
GROUP BY s.feed_id;

-- name: open_day
-- What was spent on a day so far; the row stays locked until the commit.
INSERT INTO analysis_spending (day, requests, tokens) VALUES (:day, 0, 0)
ON CONFLICT (day) DO UPDATE SET requests = analysis_spending.requests
RETURNING requests;

-- name: spent
SELECT requests, tokens FROM analysis_spending WHERE day = :day;

-- name: spend
UPDATE analysis_spending SET requests = requests + :requests, tokens = tokens + :tokens WHERE day = :day;
