ALTER TABLE nodes
    ADD COLUMN IF NOT EXISTS pool LowCardinality(String) COMMENT 'Node pool that made it, by its labels; empty where none names one' AFTER ready_message
