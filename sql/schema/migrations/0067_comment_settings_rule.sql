ALTER TABLE settings_warnings
    COMMENT COLUMN rule 'nothing_reserved, nothing_left, allocatable_differs, pods_not_enforced, reservation_is_limit, reservation_failed, cgroup_driver, daemon_set_evicted_again, soft_threshold, oscillation, image_gc_late or memory_qos'
