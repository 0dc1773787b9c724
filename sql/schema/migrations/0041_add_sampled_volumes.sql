ALTER TABLE pod_samples
    ADD COLUMN IF NOT EXISTS volumes String COMMENT 'Volumes as name:bytes:inodes, separated by commas, without those of claims' AFTER io_psi_full_avg10_percent