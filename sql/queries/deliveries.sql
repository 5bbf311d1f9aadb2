-- Queries of feed_assets/store/deliveries.py; see README.md in this folder.

-- name: add_receivers
-- One that nobody has delivered to for long begins anew.
INSERT INTO receivers (receiver, hears_since_at, seen_at)
SELECT unnest(CAST(:receivers AS TEXT[])), CAST(:since AS TIMESTAMPTZ), CAST(:now AS TIMESTAMPTZ)
ON CONFLICT (receiver) DO UPDATE SET
    hears_since_at = CASE WHEN receivers.seen_at < :forgotten THEN excluded.hears_since_at ELSE receivers.hears_since_at END,
    seen_at = excluded.seen_at
WHERE receivers.seen_at < :since;

-- name: plan_deliveries
INSERT INTO deliveries (event_id, receiver, feed_id, created_at, next_attempt_at)
SELECT e.event_id, w.receiver, coalesce((e.payload ->> 'feed_id'), ''), e.created_at, CAST(:now AS TIMESTAMPTZ)
FROM (SELECT unnest(CAST(:receivers AS TEXT[])) AS receiver, unnest(CAST(:types AS TEXT[])) AS event_type) w
JOIN receivers r ON r.receiver = w.receiver
JOIN events e ON e.created_at >= r.hears_since_at AND (w.event_type IS NULL OR e.event_type = w.event_type)
WHERE e.delivered_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.event_id AND d.receiver = w.receiver)
ON CONFLICT (event_id, receiver) DO NOTHING;

-- name: close_events
-- Told by who wants an event rather than by what was planned: one that came in at this very moment is not taken for one that nobody wants.
UPDATE events SET delivered_at = :now
WHERE delivered_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM (SELECT unnest(CAST(:receivers AS TEXT[])) AS receiver, unnest(CAST(:types AS TEXT[])) AS event_type) w
    JOIN receivers r ON r.receiver = w.receiver
    LEFT JOIN deliveries d ON d.receiver = w.receiver AND d.event_id = events.event_id
    WHERE events.created_at >= r.hears_since_at AND (w.event_type IS NULL OR events.event_type = w.event_type)
      AND (d.status IS NULL OR d.status <> 'delivered')
);

-- name: backlog
SELECT CAST(coalesce(sum(l.pending) FILTER (WHERE l.ready_at <= :now), 0) AS BIGINT) AS due,
       CAST(coalesce(sum(l.pending), 0) AS BIGINT) AS pending,
       (SELECT count(*) FROM deliveries WHERE status = 'dead' AND receiver IN (SELECT unnest(CAST(:receivers AS TEXT[])))) AS dead,
       min(l.ready_at) AS next_attempt_at
FROM (
    SELECT count(*) AS pending,
           greatest(max(d.next_attempt_at), coalesce(max(r.blocked_until), max(d.next_attempt_at)),
                    coalesce(max(r.locked_until), max(d.next_attempt_at))) AS ready_at
    FROM deliveries d JOIN receivers r ON r.receiver = d.receiver
    WHERE d.status = 'pending' AND d.receiver IN (SELECT unnest(CAST(:receivers AS TEXT[])))
    GROUP BY d.receiver, d.feed_id
) l;

-- name: claim_receiver
UPDATE receivers SET lease_token = :token, locked_until = :until
WHERE receiver = :receiver AND (locked_until IS NULL OR locked_until <= :now) AND (blocked_until IS NULL OR blocked_until <= :now)
RETURNING receiver;

-- name: renew_receiver
UPDATE receivers SET locked_until = :until WHERE receiver = :receiver AND lease_token = :token RETURNING receiver;

-- name: release_receiver
UPDATE receivers SET lease_token = NULL, locked_until = NULL WHERE receiver = :receiver AND lease_token = :token;

-- name: judge_receiver
UPDATE receivers SET consecutive_failures = :failures, blocked_until = :blocked_until WHERE receiver = :receiver;

-- name: receiver_failures
SELECT consecutive_failures FROM receivers WHERE receiver = :receiver;

-- name: next_deliveries
SELECT p.event_id, p.receiver, p.feed_id, e.event_type, e.payload, p.created_at, p.attempts
FROM (
    SELECT *, max(next_attempt_at) OVER (PARTITION BY feed_id) AS line_ready_at, max(attempts) OVER (PARTITION BY feed_id) AS line_attempts
    FROM deliveries WHERE receiver = :receiver AND status = 'pending'
) p
JOIN events e ON e.event_id = p.event_id
WHERE p.line_ready_at <= :now
ORDER BY p.line_attempts, p.created_at, p.event_id
LIMIT :deliveries;

-- name: save_tried
UPDATE deliveries SET
    status = i.status, attempts = i.attempts, next_attempt_at = i.next_attempt_at, last_error = i.last_error, delivered_at = i.delivered_at
FROM incoming i WHERE deliveries.event_id = i.event_id AND deliveries.receiver = i.receiver;

-- name: retry_deliveries
UPDATE deliveries SET status = 'pending', attempts = 0, next_attempt_at = :now
WHERE status = 'dead' AND (CAST(:event_ids AS TEXT[]) IS NULL OR event_id IN (SELECT unnest(CAST(:event_ids AS TEXT[]))))
RETURNING event_id;

-- name: unblock_receivers
UPDATE receivers SET consecutive_failures = 0, blocked_until = NULL;

-- name: list_events
SELECT event_id, event_type, payload, created_at, delivered_at FROM events e
WHERE (CAST(:event_type AS TEXT) IS NULL OR e.event_type = :event_type)
  AND (CAST(:status AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.event_id AND d.status = :status))
ORDER BY e.created_at DESC, e.event_id DESC
LIMIT :events;

-- name: deliveries_of
SELECT * FROM deliveries WHERE event_id IN (SELECT unnest(CAST(:event_ids AS TEXT[]))) ORDER BY event_id, receiver;
