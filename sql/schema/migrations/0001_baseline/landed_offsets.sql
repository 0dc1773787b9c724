CREATE TABLE IF NOT EXISTS landed_offsets
(
    kafka String COMMENT 'Id of the Kafka cluster',
    topic LowCardinality(String) COMMENT 'Topic that is landed',
    partition UInt32 COMMENT 'Partition of the topic',
    stored_at DateTime DEFAULT now() COMMENT 'When this was written: of each ten minutes of the last day the last row is kept',
    written UInt64 COMMENT 'Grows with each write; the version of this row',
    end Int64 COMMENT 'Offset before which every message is stored here',
    timestamp_ms Int64 COMMENT 'Time that Kafka has of the last of them, in milliseconds since 1970, or -1',
    lost_parts Array(String) COMMENT 'Parts that ClickHouse had lost by then, of which this partition knows: all that it had in them is stored'
)
ENGINE = ReplacingMergeTree(written)
ORDER BY (kafka, topic, partition, intDiv(toUnixTimestamp(stored_at), 600) % 144)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'How far each partition of Kafka is stored: no finding, and not in a digest'
