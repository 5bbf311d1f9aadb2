-- The shape of a feed's days and weeks, and until when it has been learned.
ALTER TABLE feed_stats ADD COLUMN pace JSON;
ALTER TABLE feed_stats ADD COLUMN learned_until TIMESTAMPTZ;
