"""Dead letters: unusable input with its source and the reason, as rows, and in Kafka with the input as the message's
value.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from common.errors import BadRecord
from ingest.model.observation import EARLIEST, LATEST, Position
from ingest.model.records import DeadLetterRecord
from ingest.model.topics import Headers

EPOCH: Final = datetime.fromtimestamp(0, UTC)
PAYLOAD_BYTES: Final = 64 * 1024
"""Number of bytes of a received payload that are kept."""
NOT_A_RECORD: Final = "not_a_record"


class Letter(NamedTuple):
    """Unusable input, with its source and the reason."""

    cluster: str
    ts: datetime
    """Time of the observation; the epoch if unknown."""
    position: Position
    error_type: str
    reason: str
    payload: bytes
    """PAYLOAD_BYTES at most."""

    @classmethod
    def of(cls, cluster: str, ts: datetime | None, position: Position, error: BadRecord, payload: bytes) -> "Letter":
        """Build one from the error type and reason of a BadRecord."""
        return cls(cluster, ts or EPOCH, position, error.error_type, str(error), payload[:PAYLOAD_BYTES])

    @classmethod
    def undecodable(cls, position: Position, ts: datetime, payload: bytes, error: Exception) -> "Letter":
        """Build the dead letter for a message that is not a record. Every reader builds the same row."""
        return cls.of("", ts, position, BadRecord(NOT_A_RECORD, str(error)), payload)

    @classmethod
    def read(cls, headers: Sequence[tuple[str, bytes]], payload: bytes) -> "Letter":
        """Read a dead letter from Kafka; missing or unreadable fields are empty, and a missing time is the epoch."""
        fields = {name: value.decode(errors="replace") for name, value in headers}
        try:
            ts = datetime.fromisoformat(fields.get("ts", ""))
        except ValueError:
            ts = EPOCH
        position = Position(fields.get("source", ""), fields.get("place", ""))
        return cls(
            fields.get("cluster", ""),
            ts if ts.tzinfo and EARLIEST <= ts < LATEST else EPOCH,
            position,
            fields.get("error_type", ""),
            fields.get("reason", ""),
            payload[:PAYLOAD_BYTES],
        )

    def headers(self) -> Headers:
        """Return the headers: every field but the payload; `kind` is `dead_letter`."""
        fields = {
            "kind": "dead_letter",
            "cluster": self.cluster,
            "ts": self.ts.isoformat(),
            "source": self.position.source,
            "place": self.position.place,
            "error_type": self.error_type,
            "reason": self.reason,
        }
        return [(name, value.encode(errors="replace")) for name, value in fields.items()]

    def record(self) -> DeadLetterRecord | None:
        """Return the record that the analytics count; None without a time."""
        if self.ts == EPOCH:
            return None
        return DeadLetterRecord(ts=self.ts, cluster=self.cluster, error_type=self.error_type)

    @property
    def text(self) -> str:
        """Return the payload in the form of a row."""
        return self.payload.decode(errors="replace")
