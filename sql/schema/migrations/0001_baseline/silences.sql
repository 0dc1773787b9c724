CREATE TABLE IF NOT EXISTS silences
(
    id String COMMENT 'Identity of the silence, 16 hexadecimal digits',
    matchers Array(Tuple(
        String,
        String,
        String)) COMMENT 'Label, operator (=, !=, =~, !~) and value of each condition; an alert meets all of them',
    starts_at DateTime64(6, 'UTC') COMMENT 'From when it is in force, by the wall clock',
    ends_at DateTime64(6, 'UTC') COMMENT 'Until when; when it was expired, if that was earlier',
    created_by String COMMENT 'Who made it',
    comment String COMMENT 'Why',
    updated_at DateTime64(6, 'UTC') COMMENT 'When it was made or expired; the version of this row'
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY id
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Silences: each mutes matching alerts until a time (leadsman silence)'
