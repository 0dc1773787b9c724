CREATE TABLE IF NOT EXISTS schema_views
(
    name String COMMENT 'Name of the view',
    checksum String COMMENT 'SHA-256 of the statement that made it',
    stored UInt64 COMMENT 'Hash of its definition as the server stores it',
    applied_at DateTime64(6, 'UTC') COMMENT 'When it was made or replaced; the version of this row',
    leadsman_version String COMMENT 'Version of Leadsman that made it'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY name
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Definitions of the views: a view is replaced where its definition changed'
