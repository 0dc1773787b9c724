"""Metrics of publishing. Labels are of bounded vocabularies."""

from typing import Final

from prometheus_client import Counter, Gauge

from common.telemetry import Figure

SENT: Final = Figure("kafka_messages_sent", "counter", "Messages handed over for Kafka")
UNACKNOWLEDGED: Final = Figure("kafka_messages_unacknowledged", "gauge", "Messages not acknowledged by Kafka yet")
PRODUCERS: Final = Figure("kafka_producers_broken", "counter", "Producers that broke and were replaced")
RECORDS: Final = Counter("leadsman_records", "Records sent to the logs", ["kind"])
DEAD_LETTERS: Final = Counter("leadsman_dead_letters", "Input that could not be used", ["error_type"])
DIFFERENT_TOPICS: Final = Gauge(
    "leadsman_kafka_topics_different", "Topics whose settings differed from the expected ones at start"
)
