ALTER TABLE pod_ends
    ADD COLUMN IF NOT EXISTS refused_by LowCardinality(String) COMMENT 'What in the kubelet refused the pod at admission, by its text: resources, device_manager, cpu_manager, memory_manager, topology_manager, node_labels, node_name, taint, host_port, node_pressure, node_shutdown, system, security, feature, node_info; empty where the text does not tell, and for other causes',
    ADD COLUMN IF NOT EXISTS resource LowCardinality(String) COMMENT 'Resource that it was refused over; empty where the text names none',
    ADD COLUMN IF NOT EXISTS requested Nullable(Int64) COMMENT 'How much of it was requested, by the text of the kubelet, in base units, cpu in millicores; null where it has no number',
    ADD COLUMN IF NOT EXISTS available Nullable(Int64) COMMENT 'How much of it the kubelet counted as free then, in the same unit; null where its text has no number',
    ADD COLUMN IF NOT EXISTS explanation String COMMENT 'The text in words; empty where nothing is known beyond it'
