ALTER TABLE nodes
    ADD COLUMN IF NOT EXISTS labels Map(LowCardinality(String), String) COMMENT 'Its labels' AFTER pool
