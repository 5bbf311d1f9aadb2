-- The queries of feed_assets, by name. `:name` is a parameter; lists come as arrays and are unnested.
-- `incoming` is the staged batch of rows: a pandas frame on DuckDB, a temporary table filled by COPY on Postgres.
-- sql/<engine>/queries.sql overrides the few that engines spell differently.

-- name: insert_feeds
INSERT INTO feeds (feed_id, url, source_name, root_domain, enabled, polling, refresh_interval_minutes, priority, feed_group,
                   enforce_feed_domain, error_policy, created_at, updated_at)
SELECT feed_id, url, source_name, root_domain, enabled, polling, refresh_interval_minutes, priority, feed_group,
       enforce_feed_domain, error_policy, created_at, updated_at
FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    url = excluded.url, source_name = excluded.source_name, root_domain = excluded.root_domain, enabled = excluded.enabled,
    polling = excluded.polling, refresh_interval_minutes = excluded.refresh_interval_minutes, priority = excluded.priority,
    feed_group = excluded.feed_group, enforce_feed_domain = excluded.enforce_feed_domain, error_policy = excluded.error_policy,
    updated_at = excluded.updated_at, deleted_at = NULL;

-- name: insert_schedules
-- A feed that comes back keeps its lease columns: a fetch that is still running stays the only one.
INSERT INTO feed_schedules (feed_id, next_run_at, next_run_reason)
SELECT feed_id, next_run_at, next_run_reason FROM incoming
ON CONFLICT (feed_id) DO UPDATE SET
    next_run_at = excluded.next_run_at, next_run_reason = excluded.next_run_reason, consecutive_errors = 0, last_error = NULL,
    etag = NULL, last_modified = NULL, body_sha256 = NULL, redirect_url = NULL, redirect_count = 0;

-- name: get_feed
SELECT * FROM feeds WHERE feed_id = :feed_id;

-- name: feeds_by_id
SELECT * FROM feeds WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: live_feeds
SELECT * FROM feeds WHERE deleted_at IS NULL ORDER BY feed_id;

-- name: feeds_at_url
SELECT * FROM feeds WHERE url = :url ORDER BY CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END, deleted_at DESC;

-- name: all_feeds
SELECT * FROM feeds ORDER BY feed_id;

-- name: all_feed_ids
SELECT feed_id FROM feeds;

-- name: live_feed_ids
SELECT feed_id FROM feeds WHERE deleted_at IS NULL ORDER BY created_at, feed_id;

-- name: update_feed
UPDATE feeds SET
    url = :url, source_name = :source_name, root_domain = :root_domain, enabled = :enabled, polling = :polling,
    refresh_interval_minutes = :refresh_interval_minutes, priority = :priority, feed_group = :feed_group,
    enforce_feed_domain = :enforce_feed_domain, error_policy = :error_policy, updated_at = :updated_at
WHERE feed_id = :feed_id;

-- name: delete_feed
UPDATE feeds SET deleted_at = :now, updated_at = :now WHERE feed_id = :feed_id;

-- name: unschedule
UPDATE feed_schedules SET next_run_at = NULL, next_run_reason = :reason WHERE feed_id = :feed_id;

-- name: reschedule
UPDATE feed_schedules SET next_run_at = :at, interval_seconds = :interval_seconds, next_run_reason = :reason WHERE feed_id = :feed_id;

-- name: revive
UPDATE feed_schedules SET next_run_at = :at, next_run_reason = :reason, consecutive_errors = 0 WHERE feed_id = :feed_id;

-- name: forget_validators
UPDATE feed_schedules SET etag = NULL, last_modified = NULL, body_sha256 = NULL, redirect_url = NULL, redirect_count = 0,
    identity_mode = 'id', identity_reason = NULL
WHERE feed_id = :feed_id;

-- name: get_schedule
SELECT * FROM feed_schedules WHERE feed_id = :feed_id;

-- name: get_stats
SELECT * FROM feed_stats WHERE feed_id = :feed_id;

-- name: overview
SELECT f.*, s.fetch_status, s.next_run_at, s.queued_at, s.fetch_started_at, s.locked_until, s.lease_token, s.last_fetched_at,
       s.last_success_at, s.last_status, s.last_error, s.consecutive_errors, s.etag, s.last_modified, s.body_sha256,
       s.interval_seconds, s.next_run_reason, s.redirect_url, s.redirect_count, s.last_body_at,
       s.identity_mode, s.identity_reason, s.reading, t.articles_per_hour, t.hourly_distribution, t.current_hour_multiplier,
       t.avg_articles_per_fetch, t.total_articles_fetched, t.last_fetch_time, t.last_successful_fetch
FROM feeds f
JOIN feed_schedules s ON s.feed_id = f.feed_id
LEFT JOIN feed_stats t ON t.feed_id = f.feed_id
WHERE f.deleted_at IS NULL AND (CAST(:feed_id AS TEXT) IS NULL OR f.feed_id = :feed_id)
ORDER BY f.feed_id;

-- name: claim_due
UPDATE feed_schedules SET fetch_status = 'queued', queued_at = :now, fetch_started_at = NULL, locked_until = :until, lease_token = :token
WHERE feed_id IN (
    SELECT s.feed_id FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
    WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)
    ORDER BY f.priority DESC, s.next_run_at, s.feed_id
    LIMIT :batch
)
RETURNING feed_id;

-- name: claim_feeds
UPDATE feed_schedules SET fetch_status = 'queued', queued_at = :now, fetch_started_at = NULL, locked_until = :until, lease_token = :token
WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
  AND (locked_until IS NULL OR locked_until <= :now)
  AND feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at IS NULL)
RETURNING feed_id;

-- name: start_batch
UPDATE feed_schedules SET fetch_status = 'fetching', fetch_started_at = :now, locked_until = :until
WHERE lease_token = :token AND feed_id IN (SELECT feed_id FROM feeds WHERE deleted_at IS NULL AND (enabled OR NOT :only_enabled));

-- name: renew_lease
UPDATE feed_schedules SET locked_until = :until WHERE lease_token = :token RETURNING feed_id;

-- name: release_lease
UPDATE feed_schedules SET fetch_status = 'idle', locked_until = NULL, lease_token = NULL WHERE lease_token = :token RETURNING feed_id;

-- name: expire_leases
UPDATE feed_schedules SET fetch_status = 'idle', locked_until = NULL, lease_token = NULL WHERE locked_until <= :now RETURNING feed_id;

-- name: open_batch
INSERT INTO batches (token, run_id, started_at, alive_at) VALUES (:token, :run_id, :now, :now)
ON CONFLICT (token) DO UPDATE SET run_id = excluded.run_id, started_at = excluded.started_at, alive_at = excluded.alive_at;

-- name: keep_batch_alive
UPDATE batches SET alive_at = :now WHERE token = :token;

-- name: close_batch
DELETE FROM batches WHERE token = :token;

-- name: batches_in_flight
-- What was claimed, and what is worked on: a batch that waits for its run has no row in `batches`, one that has stored all its feeds has no lease.
SELECT coalesce(held.token, b.token) AS token, coalesce(held.feeds, 0) AS feeds, held.queued_at, held.locked_until, b.run_id, b.started_at, b.alive_at
FROM (
    SELECT lease_token AS token, count(*) AS feeds, min(queued_at) AS queued_at, min(locked_until) AS locked_until
    FROM feed_schedules WHERE lease_token IS NOT NULL GROUP BY lease_token
) held
FULL JOIN batches b ON b.token = held.token
ORDER BY 1;

-- name: mend_clock
-- Feeds that were fetched in the future: the clock was set back, and they must not wait until it has caught up.
UPDATE feed_schedules SET
    next_run_at = CAST(:now AS TIMESTAMPTZ) + coalesce(interval_seconds, 0) * INTERVAL '1 second',
    next_run_reason = 'the clock was set back, and the interval counts from then'
WHERE last_fetched_at > :latest AND next_run_at > CAST(:latest AS TIMESTAMPTZ) + coalesce(interval_seconds, 0) * INTERVAL '1 second'
RETURNING feed_id;

-- name: stale_feeds
-- Feeds that should have been asked and were not, for twice their interval.
SELECT s.feed_id FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.enabled AND f.deleted_at IS NULL AND s.next_run_at <= :now
  AND coalesce(s.last_fetched_at, f.created_at) + 2 * coalesce(s.interval_seconds, :usual) * INTERVAL '1 second' < CAST(:now AS TIMESTAMPTZ)
ORDER BY s.feed_id;

-- name: held_feeds
SELECT f.* FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id
WHERE s.lease_token = :token AND s.fetch_status = 'fetching'
ORDER BY f.priority DESC, s.next_run_at, f.feed_id;

-- name: held_schedules
SELECT * FROM feed_schedules WHERE lease_token = :token AND fetch_status = 'fetching';

-- name: held_stats
SELECT t.* FROM feed_stats t JOIN feed_schedules s ON s.feed_id = t.feed_id
WHERE s.lease_token = :token AND s.fetch_status = 'fetching';

-- name: fence
-- Which of these feeds this worker still holds.
SELECT feed_id FROM feed_schedules WHERE lease_token = :token AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: leases_of
SELECT feed_id, lease_token, locked_until FROM feed_schedules
WHERE locked_until > :now AND feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])));

-- name: queue_counts
SELECT
    count(*) FILTER (WHERE f.enabled AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)) AS due,
    count(*) FILTER (WHERE s.locked_until > :now) AS in_flight,
    count(DISTINCT s.lease_token) FILTER (WHERE s.locked_until > :now) AS batches,
    count(*) FILTER (WHERE s.locked_until <= :now) AS stuck,
    count(*) FILTER (WHERE f.enabled AND s.next_run_at IS NULL AND s.last_status <> 'success') AS dead,
    min(s.next_run_at) FILTER (WHERE f.enabled AND s.locked_until IS NULL) AS next_run_at,
    min(s.next_run_at) FILTER (WHERE f.enabled AND s.next_run_at <= :now AND (s.locked_until IS NULL OR s.locked_until <= :now)) AS oldest_due_at,
    count(*) AS feeds
FROM feed_schedules s JOIN feeds f ON f.feed_id = s.feed_id
WHERE f.deleted_at IS NULL;

-- name: save_schedules
UPDATE feed_schedules SET
    fetch_status = 'idle', locked_until = NULL, lease_token = NULL,
    next_run_at = i.next_run_at, last_fetched_at = i.last_fetched_at, last_success_at = i.last_success_at, last_status = i.last_status,
    last_error = i.last_error, consecutive_errors = i.consecutive_errors, etag = i.etag, last_modified = i.last_modified,
    body_sha256 = i.body_sha256, interval_seconds = i.interval_seconds, next_run_reason = i.next_run_reason,
    redirect_url = i.redirect_url, redirect_count = i.redirect_count, last_body_at = i.last_body_at, check_states = i.check_states,
    identity_mode = i.identity_mode, identity_reason = i.identity_reason, reading = i.reading
FROM incoming i WHERE feed_schedules.feed_id = i.feed_id;

-- name: postpone
-- Feeds that were claimed and not asked for. What is paused stays paused, and nothing comes sooner than it was due.
UPDATE feed_schedules SET
    fetch_status = 'idle', locked_until = NULL, lease_token = NULL,
    next_run_at = CASE WHEN feed_schedules.next_run_at < i.next_run_at THEN i.next_run_at ELSE feed_schedules.next_run_at END,
    next_run_reason = CASE WHEN feed_schedules.next_run_at IS NULL THEN feed_schedules.next_run_reason ELSE i.next_run_reason END
FROM incoming i WHERE feed_schedules.feed_id = i.feed_id AND feed_schedules.lease_token = i.lease_token;

-- name: mark_reported
UPDATE feed_schedules SET reported_sha256 = i.body_sha256 FROM incoming i WHERE feed_schedules.feed_id = i.feed_id;

-- name: expire_hosts
UPDATE host_states SET busy_token = NULL WHERE busy_token IS NOT NULL AND busy_until <= :now;

-- name: reserve_hosts
INSERT INTO host_states (host, busy_token, busy_until, free_at)
SELECT host, busy_token, busy_until, free_at FROM incoming
ORDER BY host
ON CONFLICT (host) DO UPDATE SET busy_token = excluded.busy_token, busy_until = excluded.busy_until, free_at = excluded.free_at
WHERE host_states.busy_token IS NULL OR host_states.busy_token = excluded.busy_token;

-- name: get_hosts
SELECT * FROM host_states WHERE host IN (SELECT unnest(CAST(:hosts AS TEXT[])));

-- name: renew_hosts
UPDATE host_states SET busy_until = :until WHERE busy_token = :token;

-- name: learn_hosts
-- Written by the batch that has the host, and by no other.
INSERT INTO host_states (host, last_request_at, consecutive_failures, blocked_until, blocked_reason, busy_token)
SELECT host, last_request_at, consecutive_failures, blocked_until, blocked_reason, busy_token FROM incoming
ORDER BY host
ON CONFLICT (host) DO UPDATE SET
    busy_token = NULL, busy_until = NULL, free_at = NULL, last_request_at = excluded.last_request_at,
    consecutive_failures = excluded.consecutive_failures, blocked_until = excluded.blocked_until, blocked_reason = excluded.blocked_reason
WHERE host_states.busy_token IS NULL OR host_states.busy_token = excluded.busy_token;

-- name: free_new_hosts
-- Rows that learn_hosts has added are nobody's.
UPDATE host_states SET busy_token = NULL WHERE busy_token = :token AND busy_until IS NULL;

-- name: release_hosts
UPDATE host_states SET busy_token = NULL, busy_until = NULL, free_at = NULL, last_request_at = :now WHERE busy_token = :token;

-- name: unblock_hosts
UPDATE host_states SET blocked_until = NULL, blocked_reason = NULL, consecutive_failures = 0
WHERE host IN (SELECT unnest(CAST(:hosts AS TEXT[])));

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

-- name: prune_headlines
DELETE FROM recent_headlines WHERE expires_at < :now RETURNING headline_key;

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

-- name: note_changes
INSERT INTO article_changes (article_id, changed_at) SELECT article_id, now() FROM incoming
ON CONFLICT (article_id) DO UPDATE SET changed_at = excluded.changed_at;

-- name: save_sources
INSERT INTO article_sources (article_id, feed_id, item_hash)
SELECT article_id, feed_id, item_hash FROM incoming
ON CONFLICT (feed_id, item_hash) DO UPDATE SET article_id = excluded.article_id;

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
SELECT feed_id, article_id, item_hash, guid, url, headline, author, published_at, content, raw AS extra
FROM (
    SELECT c.feed_id, a.article_id, c.item_hash, r.public_id AS guid, coalesce(r.url, a.url) AS url, a.headline, r.author, a.published_at, a.content,
           r.raw,
           row_number() OVER (PARTITION BY c.feed_id ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id, c.item_hash) AS place
    FROM article_sources c
    JOIN deduped_articles a ON a.article_id = c.article_id
    JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
    WHERE c.feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[])))
) AS ranked
WHERE place <= :items
ORDER BY feed_id, place;

-- name: responses_of
SELECT fetch_id FROM raw_fetches WHERE feed_id IN (SELECT unnest(CAST(:feed_ids AS TEXT[]))) ORDER BY fetched_at, fetch_id;

-- name: raw_fetches
SELECT fetch_id, feed_id, fetched_at, status_code, url, headers, body FROM raw_fetches
WHERE fetch_id IN (SELECT unnest(CAST(:fetch_ids AS TEXT[]))) ORDER BY fetched_at, fetch_id;

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

-- name: save_events
INSERT INTO events (event_id, event_type, payload, created_at)
SELECT event_id, event_type, payload, created_at FROM incoming
ON CONFLICT (event_id) DO NOTHING;

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

-- name: take_totals
-- Old rows go, and come back as one: see `save_totals`.
DELETE FROM fetch_totals WHERE noted_at < :before RETURNING *;

-- name: feed_states
-- As `catalog.state_of` has it, for all feeds at once.
SELECT CASE
    WHEN NOT f.enabled THEN 'disabled'
    WHEN s.fetch_status <> 'idle' THEN s.fetch_status
    WHEN s.next_run_at IS NULL THEN CASE WHEN s.last_status <> 'success' THEN 'dead' ELSE 'paused' END
    WHEN s.consecutive_errors > 0 THEN 'failing'
    WHEN s.last_success_at IS NOT NULL THEN 'ok'
    ELSE 'new'
END AS state, count(*) AS feeds
FROM feeds f JOIN feed_schedules s ON s.feed_id = f.feed_id WHERE f.deleted_at IS NULL GROUP BY 1;

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
WHERE (CAST(:feed_id AS TEXT) IS NULL OR EXISTS (
          SELECT 1 FROM article_sources c WHERE c.article_id = a.article_id AND c.feed_id = :feed_id))
  AND (CAST(:source AS TEXT) IS NULL OR a.source = :source)
  AND (CAST(:group_id AS TEXT) IS NULL OR a.group_id = :group_id)
  AND (CAST(:since AS TIMESTAMPTZ) IS NULL OR a.published_at >= :since)
  AND (CAST(:fetched_since AS TIMESTAMPTZ) IS NULL OR a.fetched_at >= :fetched_since)
  AND (CAST(:word_1 AS TEXT) IS NULL OR a.headline ILIKE :word_1 ESCAPE '\')
  AND (CAST(:word_2 AS TEXT) IS NULL OR a.headline ILIKE :word_2 ESCAPE '\')
  AND (CAST(:word_3 AS TEXT) IS NULL OR a.headline ILIKE :word_3 ESCAPE '\')
  AND (CAST(:word_4 AS TEXT) IS NULL OR a.headline ILIKE :word_4 ESCAPE '\')
  AND (CAST(:after_at AS TIMESTAMPTZ) IS NULL OR least(a.published_at, a.fetched_at) < :after_at
       OR (least(a.published_at, a.fetched_at) = :after_at AND a.article_id < :after_id))
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id DESC
LIMIT :articles;

-- name: article_at_url
SELECT a.* FROM deduped_articles a WHERE a.canonical_url = :canonical_url OR a.url = :url
ORDER BY least(a.published_at, a.fetched_at) DESC, a.article_id DESC LIMIT 1;

-- name: carriers
SELECT c.article_id, c.feed_id, f.source_name, r.url, r.author, r.raw AS extra, r.first_seen_at
FROM article_sources c
JOIN feeds f ON f.feed_id = c.feed_id
LEFT JOIN raw_items r ON r.feed_id = c.feed_id AND r.item_hash = c.item_hash
WHERE c.article_id IN (SELECT unnest(CAST(:article_ids AS TEXT[])))
ORDER BY c.article_id, r.first_seen_at, c.feed_id;

-- name: feed_history
SELECT * FROM fetch_history WHERE feed_id = :feed_id ORDER BY fetch_time DESC LIMIT :rows;

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

-- name: prune_dedup_cache
-- What is remembered of an article that is still there stays.
DELETE FROM dedup_cache WHERE expires_at < :now AND article_id NOT IN (SELECT article_id FROM deduped_articles) RETURNING content_hash;

-- name: prune_events
-- Delivered or not: news of a month ago is no news.
DELETE FROM events WHERE created_at < :before RETURNING event_id;

-- name: prune_changes
DELETE FROM article_changes WHERE changed_at < :before RETURNING article_id;

-- name: prune_hosts
DELETE FROM host_states
WHERE busy_token IS NULL AND coalesce(last_request_at, :before) <= :before AND coalesce(blocked_until, :before) <= :before
RETURNING host;

-- name: has_migrations
SELECT 1 AS present FROM information_schema.tables WHERE table_name = 'schema_migrations' AND table_schema = current_schema();

-- name: schema_version
SELECT max(version) AS version FROM schema_migrations;

-- name: first_migration_turn
-- Before there is any table to lock.
SELECT 1;

-- name: lock_migrations
-- DuckDB has one writer at a time anyway.
SELECT 1;

-- name: migration_applied
SELECT version FROM schema_migrations WHERE version = :version;

-- name: record_migration
INSERT INTO schema_migrations (version, name, applied_at) VALUES (:version, :name, :now);
