ALTER TABLE numa_allocations
    ADD COLUMN IF NOT EXISTS reserved_cpuset String COMMENT 'CPU list of what the kubelet reserves; empty where the source has no CPU ids',
    ADD COLUMN IF NOT EXISTS core_sockets Array(Int64) COMMENT 'Socket of each of core_cpusets; empty where the source has no CPU ids'