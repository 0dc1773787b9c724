ALTER TABLE pod_bindings
    ADD COLUMN IF NOT EXISTS labels Map(LowCardinality(String), String) COMMENT 'Its labels',
    ADD COLUMN IF NOT EXISTS constraints String COMMENT 'What the scheduler heeds of it beside requests and tolerations, as JSON: nodes, ports, affinity, anti_affinity, spread, gates, volumes and claims; empty where there is nothing',
    ADD COLUMN IF NOT EXISTS terminating UInt8 COMMENT '1 where its deletion was asked for and it has not finished yet'
