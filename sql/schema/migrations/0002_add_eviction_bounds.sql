ALTER TABLE evictions
    ADD COLUMN IF NOT EXISTS earliest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not before then, where no witness has the time',
    ADD COLUMN IF NOT EXISTS latest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not after then, where no witness has the time'
