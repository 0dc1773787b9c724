CREATE OR REPLACE VIEW node_history AS
SELECT * REPLACE
    (
        finalizeAggregation(cpu_usage_nanocores_last) AS cpu_usage_nanocores_last,
        finalizeAggregation(memory_available_bytes_last) AS memory_available_bytes_last,
        finalizeAggregation(memory_working_set_bytes_last) AS memory_working_set_bytes_last,
        finalizeAggregation(nodefs_available_bytes_last) AS nodefs_available_bytes_last,
        finalizeAggregation(nodefs_capacity_bytes_last) AS nodefs_capacity_bytes_last,
        finalizeAggregation(nodefs_inodes_free_last) AS nodefs_inodes_free_last,
        finalizeAggregation(imagefs_available_bytes_last) AS imagefs_available_bytes_last,
        finalizeAggregation(imagefs_capacity_bytes_last) AS imagefs_capacity_bytes_last,
        finalizeAggregation(imagefs_inodes_free_last) AS imagefs_inodes_free_last,
        finalizeAggregation(containerfs_available_bytes_last) AS containerfs_available_bytes_last,
        finalizeAggregation(containerfs_capacity_bytes_last) AS containerfs_capacity_bytes_last,
        finalizeAggregation(containerfs_inodes_free_last) AS containerfs_inodes_free_last,
        finalizeAggregation(pids_max_last) AS pids_max_last,
        finalizeAggregation(pids_current_last) AS pids_current_last
    )
FROM node_samples_5m FINAL
COMMENT 'The roll-up of a node, a row for each five minutes: kept longer than its samples'
