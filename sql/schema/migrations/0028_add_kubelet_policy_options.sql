ALTER TABLE kubelet_settings
    ADD COLUMN IF NOT EXISTS cpu_manager_policy_options Map(String, String) COMMENT 'Options of the CPU manager policy, as full-pcpus-only',
    ADD COLUMN IF NOT EXISTS topology_manager_policy_options Map(String, String) COMMENT 'Options of the topology manager policy, as prefer-closest-numa-nodes'
