-- What reading feeds right needs to remember: by what else an item may be recognised, how a document was read, recent headlines.

ALTER TABLE raw_items ADD COLUMN id_key TEXT;
ALTER TABLE raw_items ADD COLUMN link_key TEXT;
ALTER TABLE raw_items ADD COLUMN title_key TEXT;
ALTER TABLE raw_items ADD COLUMN text_key TEXT;
-- The id under which the item is served: the publisher's, unless several items share that.
ALTER TABLE raw_items ADD COLUMN public_id TEXT;
UPDATE raw_items SET id_key = item_hash, public_id = guid;

ALTER TABLE deduped_articles ADD COLUMN published_at_estimated BOOLEAN DEFAULT FALSE;

ALTER TABLE feed_schedules ADD COLUMN identity_mode TEXT DEFAULT 'id';
ALTER TABLE feed_schedules ADD COLUMN identity_reason TEXT;
ALTER TABLE feed_schedules ADD COLUMN reading JSON;

-- Headlines of the last days, each under a few keys that similar headlines share.
CREATE TABLE recent_headlines (
    headline_key TEXT PRIMARY KEY,
    article_id TEXT NOT NULL,
    headline TEXT NOT NULL,
    source TEXT NOT NULL,
    domain TEXT,
    published_at TIMESTAMPTZ NOT NULL,
    lead TEXT,
    expires_at TIMESTAMPTZ NOT NULL
);
