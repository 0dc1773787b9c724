ALTER TABLE pod_ends
    ADD COLUMN IF NOT EXISTS time_known UInt8 DEFAULT 1 COMMENT '1 where a witness has the time; with 0, ts is one of the bounds',
    ADD COLUMN IF NOT EXISTS earliest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not before then, where no witness has the time',
    ADD COLUMN IF NOT EXISTS latest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not after then, where no witness has the time',
    ADD COLUMN IF NOT EXISTS restart_policy LowCardinality(String) COMMENT 'Restart policy of the pod; empty where only an Event was seen'
