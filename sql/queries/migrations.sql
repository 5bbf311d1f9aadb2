-- Queries of feed_assets/store/migrations.py; see README.md in this folder.

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

-- name: may_write
-- DuckDB says so when it opens the file.
SELECT TRUE AS may_write;
