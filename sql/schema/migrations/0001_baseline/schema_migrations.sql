CREATE TABLE IF NOT EXISTS schema_migrations
(
    version UInt32 COMMENT 'Number of the migration',
    name String COMMENT 'Name of its file',
    checksum String COMMENT 'SHA-256 of its text',
    applied_at DateTime64(6, 'UTC') COMMENT 'When it was applied',
    leadsman_version String COMMENT 'Version of Leadsman that applied it'
)
ENGINE = ReplacingMergeTree
ORDER BY version
COMMENT 'Migrations that were applied here'
