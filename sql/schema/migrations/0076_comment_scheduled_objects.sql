ALTER TABLE scheduled_objects
    COMMENT COLUMN resource 'What it is: persistentvolumeclaims, persistentvolumes, storageclasses, csinodes, csidrivers, volumeattachments, resourceclaims, deviceclasses, resourceslices'
