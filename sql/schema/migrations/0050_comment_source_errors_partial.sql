ALTER TABLE source_errors
    COMMENT COLUMN kind 'silent (nothing was heard for longer than it should be), gap (changes may have been missed), behind (Kafka will delete messages before they are read), partial (what is concluded from then on lacks entries of a state) or unreadable'
