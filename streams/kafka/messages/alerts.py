"""Alerts as messages of the topic `leadsman.alerts`, with the field names of an Alertmanager v2 alert.

The key is the fingerprint; headers are CloudEvents 1.0 in Kafka's binary mode. The topic is compacted: the last
message of a key is that alert's current state. A repeated message has the same `ce_id`.
"""

from datetime import datetime
from typing import Final, Literal

import msgspec

from ingest.model.topics import Headers, event_headers
from streams.fold.findings import Alert

KIND: Final = "alert"


class AlertMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert that fires or was resolved. `labels` are its identity, `annotations` are texts for people."""

    status: Literal["firing", "resolved"]
    fingerprint: str
    """Hash of all labels, in 16 hexadecimal digits."""
    labels: dict[str, str]
    """`alertname`, `severity`, `cluster`, `node` if any, and labels that distinguish it from others of its name."""
    annotations: dict[str, str]
    """`summary`, `description` and `runbook_url`."""
    starts_at: datetime
    """When it fired, in event time."""
    ends_at: datetime | None = None
    """When it was resolved, in event time; null while it fires."""
    updated_at: datetime
    """When its annotations last changed, in event time."""
    reason: str = ""
    """Reason why it was resolved: `unknown`, `deleted`, `cordoned`, or empty if it is over."""


_encode: Final = msgspec.json.Encoder().encode
_decoder: Final = msgspec.json.Decoder(AlertMessage)


def message_of(alert: Alert) -> AlertMessage:
    return AlertMessage(**{name: getattr(alert, name) for name in AlertMessage.__struct_fields__})


def encode_alert(alert: Alert) -> bytes:
    return _encode(message_of(alert))


def alert_headers(alert: Alert) -> Headers:
    """Return the headers of an alert's message; the subject is its node, the time that of its last update."""
    identity = f"{alert.fingerprint}@{alert.starts_at.isoformat()}#{alert.status}@{alert.updated_at.isoformat()}"
    return event_headers(KIND, KIND, identity, alert.cluster, alert.node, alert.updated_at.isoformat())


def decode_alert(value: bytes) -> AlertMessage:
    """Decode an alert. Raises msgspec.MsgspecError for other bytes."""
    return _decoder.decode(value)
