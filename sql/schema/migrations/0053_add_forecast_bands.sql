ALTER TABLE eviction_signals
    ADD COLUMN IF NOT EXISTS seconds_to_soft_earliest Nullable(Float64) COMMENT 'Earliest seconds until the soft threshold is met: before in one of ten cases',
    ADD COLUMN IF NOT EXISTS seconds_to_soft_latest Nullable(Float64) COMMENT 'Latest seconds until the soft threshold is met: later in one of ten cases',
    ADD COLUMN IF NOT EXISTS seconds_to_hard_earliest Nullable(Float64) COMMENT 'Earliest seconds until the hard threshold is met: before in one of ten cases',
    ADD COLUMN IF NOT EXISTS seconds_to_hard_latest Nullable(Float64) COMMENT 'Latest seconds until the hard threshold is met: later in one of ten cases',
    ADD COLUMN IF NOT EXISTS acts_first LowCardinality(String) COMMENT 'What acts first if all goes on as it is: hard, soft, image_gc or another signal of the resource; the other times hold only if it does not help; empty where nothing approaches',
    COMMENT COLUMN seconds_to_soft 'Likely seconds until the soft threshold is met; null when it does not approach or nothing can be foretold',
    COMMENT COLUMN seconds_to_hard 'Likely seconds until the hard threshold is met, if nothing in acts_first acts before; null when it does not approach or nothing can be foretold'
