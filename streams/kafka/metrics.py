"""Defines the metrics of workers and landers. All label values are from bounded sets."""

from typing import Final

from common.telemetry import Figure

FOLDED: Final = Figure("folded_messages", "counter", "Messages that were folded", ("topic",))
FOLDED_AT: Final = Figure(
    "folded_timestamp_seconds", "gauge", "Kafka's time of the newest message that was folded", ("topic",)
)
LANDED: Final = Figure("landed_messages", "counter", "Messages that were stored", ("topic",))
LANDED_AT: Final = Figure(
    "landed_timestamp_seconds", "gauge", "Kafka's time of the newest message that was stored", ("topic",)
)
LAG: Final = Figure(
    "lag_messages", "gauge", "Messages that a part has not processed yet, in its own partitions", ("topic",)
)
GAPS: Final = Figure(
    "gap_messages",
    "counter",
    "Messages that retention deleted unread (lost), perhaps (unknown), or that no state has (unfolded)",
    ("topic", "kind"),
)
STATE_BYTES: Final = Figure("state_bytes_written", "counter", "States that were written to changelogs", ("topic",))
STATE_LEFT_OUT: Final = Figure(
    "state_entries_left_out", "counter", "Entries of states that had no room, the oldest of a log", ("topic",)
)
RETENTION_NEAR: Final = Figure(
    "retention_near_partitions", "gauge", "Partitions of which Kafka will soon delete unread messages", ("topic",)
)
SOURCE_ERRORS: Final = Figure(
    "source_errors", "counter", "Rows of source_errors that were concluded", ("kind", "resource")
)
FLOODED: Final = Figure(
    "flood_messages", "counter", "Messages that are not records, beyond the limit of dead letters", ("topic",)
)
BUFFERED: Final = Figure("land_buffered_bytes", "gauge", "Received and not stored yet")
NOT_STORED: Final = Figure("land_refusals", "counter", "Failed attempts to use the database, which are retried")
