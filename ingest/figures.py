"""Every metric of ours: one catalogue of names, kinds, helps and labels. Labels are of bounded vocabularies."""

from typing import Final

from prometheus_client import Counter, Histogram

from common.telemetry import Figure

STAGE_SECONDS: Final = Histogram(
    "leadsman_stage_seconds",
    "How long a stage took: publish (an observation, until Kafka has it), fold and land (a batch)",
    ["stage"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)

HAPPENINGS: Final = Figure("source_happenings", "counter", "What happened at the sources", ("stream", "what"))
STREAM_AGE: Final = Figure(
    "stream_age_seconds", "gauge", "Since a stream was heard; of the kubelets the oldest", ("stream",)
)
DEGRADED: Final = Figure("stream_degraded", "gauge", "1 for a stream that cannot be read now", ("stream",))
KUBELETS: Final = Figure("kubelets", "gauge", "Kubelets that are asked, and those that are silent", ("state",))
LEADS: Final = Figure("leads", "gauge", "1 for the watcher that has the Lease")

SENT: Final = Figure("kafka_messages_sent", "counter", "Messages that were handed over for Kafka")
UNACKNOWLEDGED: Final = Figure("kafka_messages_unacknowledged", "gauge", "Messages that Kafka does not have yet")
PRODUCERS: Final = Figure("kafka_producers_broken", "counter", "Producers that broke and were made anew")
RECORDS: Final = Counter("leadsman_records", "Records that were sent to the logs", ["kind"])
DEAD_LETTERS: Final = Counter("leadsman_dead_letters", "What could not be used", ["error_type"])

FOLDED: Final = Figure("folded_messages", "counter", "Messages that were folded", ("topic",))
FOLDED_AT: Final = Figure(
    "folded_timestamp_seconds", "gauge", "Kafka's time of the newest message that was folded", ("topic",)
)
LANDED: Final = Figure("landed_messages", "counter", "Messages that were stored", ("topic",))
LANDED_AT: Final = Figure(
    "landed_timestamp_seconds", "gauge", "Kafka's time of the newest message that was stored", ("topic",)
)
LAG: Final = Figure(
    "lag_messages", "gauge", "Messages that a part has still to do, in its own partitions", ("topic",)
)
BUFFERED: Final = Figure("land_buffered_bytes", "gauge", "Received and not stored yet")
NOT_STORED: Final = Figure(
    "land_refusals", "counter", "Portions that the database did not take, and that are tried again"
)

ALERT_DELIVERIES: Final = Figure(
    "alert_deliveries", "counter", "Messages to receivers: delivered, retried, refused", ("receiver", "what")
)

LOOKS: Final = Figure("agent_looks", "counter", "Looks at this machine")
UNREADABLE: Final = Figure("agent_unreadable", "gauge", "1 for what cannot be read on this machine", ("resource",))
PART_STARTS: Final = Figure("part_starts", "counter", "Starts of a part by `up`", ("part",))
