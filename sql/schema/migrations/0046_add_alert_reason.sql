ALTER TABLE alerts
    ADD COLUMN IF NOT EXISTS reason LowCardinality(String) COMMENT 'Why it was resolved: unknown (no data for an hour, so nobody knows whether it still holds), deleted (the node is gone); else empty: it is over'
