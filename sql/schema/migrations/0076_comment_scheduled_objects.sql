ALTER TABLE scheduled_objects
    COMMENT COLUMN resource 'What it is, by the plural under which the API has it, as persistentvolumeclaims or namespaces'
