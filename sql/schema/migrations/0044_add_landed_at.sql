-- of each: alerts dead_letters evictions image_gc late_joiners node_events numa_admission_failures numa_allocations numa_disagreements numa_pods numa_resources numa_skew pod_bindings pod_ends pressure_changes scheduler_blind_spots scheduling_failures source_errors
ALTER TABLE {each}
    ADD COLUMN IF NOT EXISTS landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
