-- Events on their way to others: who hears of them, what was sent, and what is still to be sent.

CREATE TABLE receivers (
    receiver TEXT PRIMARY KEY,
    hears_since_at TIMESTAMPTZ NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    lease_token TEXT,
    locked_until TIMESTAMPTZ,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    blocked_until TIMESTAMPTZ
);

-- `feed_id` is the line that an event stands in: within it events are delivered in order. It is empty for events about no feed.
CREATE TABLE deliveries (
    event_id TEXT NOT NULL,
    receiver TEXT NOT NULL,
    feed_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TIMESTAMPTZ NOT NULL,
    last_error TEXT,
    delivered_at TIMESTAMPTZ,
    PRIMARY KEY (event_id, receiver)
);
CREATE INDEX deliveries_pending ON deliveries (receiver, feed_id) WHERE status = 'pending';
CREATE INDEX events_undelivered ON events (created_at) WHERE delivered_at IS NULL;

-- What others were told of a feed's present trouble: once per incident.
ALTER TABLE feed_schedules ADD COLUMN incident TEXT;
UPDATE feed_schedules SET incident = 'feed.dead' WHERE next_run_at IS NULL AND last_status <> 'success';
