ALTER TABLE evictions
    ADD COLUMN IF NOT EXISTS found_late UInt8 COMMENT '1 where the first witness was seen minutes after the eviction: nobody watched then'