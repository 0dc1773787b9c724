ALTER TABLE nodes
    ADD COLUMN IF NOT EXISTS ready_since Nullable(DateTime64(6, 'UTC')) COMMENT 'When the condition Ready last changed, by its own time',
    ADD COLUMN IF NOT EXISTS ready_message String COMMENT 'Why it is not ready, as first reported; empty where it is'
