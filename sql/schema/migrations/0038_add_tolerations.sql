ALTER TABLE pod_bindings
    ADD COLUMN IF NOT EXISTS tolerations Array(String) COMMENT 'Tolerations as key=value:effect, or key:effect for any value; an empty key or effect means every one'
