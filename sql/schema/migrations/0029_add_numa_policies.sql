ALTER TABLE numa_skew
    ADD COLUMN IF NOT EXISTS cpu_manager_policy LowCardinality(String) COMMENT 'CPU manager policy; empty where no source tells it, and for scope cluster',
    ADD COLUMN IF NOT EXISTS topology_manager_policy LowCardinality(String) COMMENT 'Topology manager policy; empty where no source tells it',
    ADD COLUMN IF NOT EXISTS topology_manager_scope LowCardinality(String) COMMENT 'Topology manager scope: container or pod; empty where no source tells it'
