ALTER TABLE source_errors
    COMMENT COLUMN kind 'silent (nothing was heard for longer than it should be), gap (changes may have been missed), behind (Kafka will delete messages before they are read) or unreadable'
