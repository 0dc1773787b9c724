ALTER TABLE pod_samples_5m
    ADD COLUMN IF NOT EXISTS memory_psi_some_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which some task waited for memory, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS memory_psi_some_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which some task waited for memory, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS memory_psi_full_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which all tasks waited for memory, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS memory_psi_full_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which all tasks waited for memory, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS io_psi_some_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which some task waited for I/O, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS io_psi_some_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which some task waited for I/O, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS io_psi_full_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which all tasks waited for I/O, since boot (PSI)',
    ADD COLUMN IF NOT EXISTS io_psi_full_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which all tasks waited for I/O, since boot (PSI)'
