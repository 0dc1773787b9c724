ALTER TABLE pod_bindings
    ADD COLUMN IF NOT EXISTS local_volumes Array(String) COMMENT 'Names of its volumes that the eviction ranking counts: hostPath, configMap, gitRepo, emptyDir on disk'