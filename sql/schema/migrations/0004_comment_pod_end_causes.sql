ALTER TABLE pod_ends
    COMMENT COLUMN cause 'node_pressure, own_limit, admission, api_eviction, scheduler_preemption, kubelet_preemption, taint_manager, node_shutdown, pod_gc, node_lost, deadline, oom_kill, liveness, exited by itself, or deleted where no witness tells why'
