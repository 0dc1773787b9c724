ALTER TABLE evictions
    ADD COLUMN IF NOT EXISTS time_known UInt8 DEFAULT 1 COMMENT '1 where a witness has the time; with 0, ts is when the evicted pod was seen'
