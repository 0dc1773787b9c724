"""The topics: one catalogue of names, partitions, retention, keys and headers, and the messages' encoding."""

from typing import Final, NamedTuple

import msgspec

from ingest.records import AnyRecord, Record

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Of producer, broker and consumer alike."""
SCHEMA_VERSION: Final = "1"
CONTENT_TYPE: Final = "application/json"
_HOUR_MS: Final = 3_600_000


class Topic(NamedTuple):
    """A topic as it is created, or checked at start."""

    name: str
    partitions: int
    retention_hours: int
    what: str

    def config(self) -> dict[str, str]:
        return {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention_hours * _HOUR_MS),
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
        }


NODES: Final = Topic("leadsman.nodes", 12, 168, "Every record about one node, keyed cluster/node: one log a node")
CLUSTER: Final = Topic("leadsman.cluster", 12, 168, "Records of no single node, keyed cluster: one log a cluster")
FINDINGS: Final = Topic("leadsman.findings", 12, 168, "What the analytics concluded, keyed as its record")
DEAD_LETTERS: Final = Topic("leadsman.dead-letters", 3, 336, "What could not be decoded or made no sense, and why")
CATALOGUE: Final = (NODES, CLUSTER, FINDINGS, DEAD_LETTERS)

_encode: Final = msgspec.json.Encoder().encode
_decoder: Final[msgspec.json.Decoder[AnyRecord]] = msgspec.json.Decoder(AnyRecord)


def topic_of(record: Record) -> Topic:
    """The log that a record belongs to."""
    return NODES if record.node else CLUSTER


def key_of(cluster: str, node: str) -> bytes:
    """The key of a log: `cluster/node`, or `cluster` for the cluster's own."""
    return (f"{cluster}/{node}" if node else cluster).encode()


def encode_record(record: Record) -> bytes:
    """The value of a record's message: JSON with its `kind`."""
    return _encode(record)


def decode_record(value: bytes) -> AnyRecord:
    """A message's record; raises msgspec.MsgspecError."""
    return _decoder.decode(value)


def headers_of(record: Record, identity: str) -> list[tuple[str, bytes]]:
    """Headers of a record's message: its `kind`, and CloudEvents 1.0 in Kafka's binary mode.

    `identity` tells the message from every other, so that a repeated one can be known.
    """
    kind = str(record.__struct_config__.tag)
    fields = {
        "kind": kind,
        "ce_specversion": "1.0",
        "ce_id": identity,
        "ce_source": f"/leadsman/clusters/{record.cluster}",
        "ce_type": f"dev.leadsman.record.{kind}.v{SCHEMA_VERSION}",
        "ce_subject": record.node,
        "ce_time": record.ts.isoformat().replace("+00:00", "Z"),
        "content-type": CONTENT_TYPE,
    }
    return [(name, value.encode()) for name, value in fields.items()]
