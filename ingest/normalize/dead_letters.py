"""Dead letters in Kafka: the value is what was received, its headers say where it came from and why it lies there."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from common.errors import BadRecord
from ingest.model.observation import Position
from ingest.model.topics import Headers
from ingest.normalize.redact import without_secrets

EPOCH: Final = datetime.fromtimestamp(0, UTC)
PAYLOAD_BYTES: Final = 64 * 1024
"""What is kept of the bytes that were received."""


class Buried(NamedTuple):
    """Why and where something could not be used."""

    cluster: str
    ts: datetime
    """The observation's; the epoch where it could not be read."""
    position: Position
    error_type: str
    reason: str

    @classmethod
    def of(cls, cluster: str, ts: datetime | None, position: Position, error: BadRecord) -> "Buried":
        """What a BadRecord says of it."""
        return cls(cluster, ts or EPOCH, position, error.error_type, str(error))

    def headers(self) -> Headers:
        """Everything but the payload; `kind` is `dead_letter`."""
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


def read_headers(headers: Sequence[tuple[str, bytes]]) -> Buried:
    """What `headers` wrote; what lacks or cannot be read is empty, and the epoch for a time."""
    fields = {name: value.decode(errors="replace") for name, value in headers}
    try:
        ts = datetime.fromisoformat(fields.get("ts", ""))
    except ValueError:
        ts = EPOCH
    position = Position(fields.get("source", ""), fields.get("place", ""))
    return Buried(
        fields.get("cluster", ""),
        ts if ts.tzinfo else EPOCH,
        position,
        fields.get("error_type", ""),
        fields.get("reason", ""),
    )


def kept(raw: bytes) -> bytes:
    """The payload of what was received: its beginning, without secrets."""
    return without_secrets(raw)[:PAYLOAD_BYTES]


def payload_text(raw: bytes) -> str:
    """What was received as a row of `dead_letters` has it."""
    return stored_text(kept(raw))


def stored_text(payload: bytes) -> str:
    """The same of a payload that `kept` gave, or that nobody has looked at."""
    return payload[:PAYLOAD_BYTES].decode(errors="replace")
