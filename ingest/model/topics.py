"""The topics: their names, partitions, retention, keys and headers, and the encoding of records."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ingest.model.observation import EARLIEST, LATEST
from ingest.model.records import AnyRecord, Record

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a message, for producer, broker and consumer."""
SCHEMA_VERSION: Final = "1"
CONTENT_TYPE: Final = "application/json"
PARTITIONS: Final = 12
RETENTION_HOURS: Final = 168
COMPACTION_LAG_HOURS: Final = 1
"""Time for which Kafka keeps every message of a compacted topic, not only the last one of each key."""
_HOUR_MS: Final = 3_600_000

Headers = list[tuple[str, bytes]]


class Topic(NamedTuple):
    """A topic as it is created, or compared at start."""

    name: str
    partitions: int
    retention_hours: int
    what: str
    compacted: bool = False
    """True if Kafka keeps the last message of each key, however old it is."""
    min_insync_replicas: int = 1

    def config(self) -> dict[str, str]:
        """Return Kafka's settings of the topic; every important setting is explicit."""
        kept = {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention_hours * _HOUR_MS),
            "retention.bytes": "-1",
        }
        if self.compacted:
            kept = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(COMPACTION_LAG_HOURS * _HOUR_MS)}
        return {
            **kept,
            "message.timestamp.type": "LogAppendTime",  # a publisher's clock may be wrong: Kafka refuses future times
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
            "min.insync.replicas": str(self.min_insync_replicas),
        }


class Topics(NamedTuple):
    """The catalogue of topics. Logs have as many partitions as the changelogs of their states."""

    nodes: Topic
    cluster: Topic
    findings: Topic
    dead_letters: Topic
    alerts: Topic

    def of(self, record: Record) -> Topic:
        return self.nodes if record.node else self.cluster

    def flat(self, table: str) -> Topic:
        """Return the topic of a table's flat messages, one for each row."""
        name = f"{self.findings.name.removesuffix('findings')}flat.{table}"
        return self.findings._replace(name=name, what=f"Rows of {table}, a flat JSON object each")


def topics(
    prefix: str = "leadsman",
    *,
    partitions: int = PARTITIONS,
    retention_hours: int = RETENTION_HOURS,
    min_insync_replicas: int = 1,
) -> Topics:
    """Return the topics of one installation; installations that share Kafka have different prefixes."""
    of_records = (
        ("nodes", "Every record about one node, keyed cluster/node: one log per node"),
        ("cluster", "Records of no single node, keyed cluster: one log per cluster"),
        ("findings", "Findings of the analytics, keyed like the record from which they were concluded"),
        ("dead-letters", "Input that could not be decoded or made no sense, and why"),
    )
    others = [
        Topic(f"{prefix}.{name}", partitions, retention_hours, what, min_insync_replicas=min_insync_replicas)
        for name, what in of_records
    ]
    what = "Alerts that fire or are resolved, keyed by fingerprint: the last message of a key is its state"
    alerts = Topic(f"{prefix}.alerts", partitions, retention_hours, what, True, min_insync_replicas)
    return Topics(*[*others, alerts])


def changelogs(group: str, logs: Topics) -> Sequence[Topic]:
    """Return the topics from which workers recover states; Faust would create them with the broker's defaults."""
    return [
        source._replace(
            name=f"{group}-{table}-changelog", what=f"States of the logs in {source.name}", compacted=True
        )
        for source, table in ((logs.nodes, "node-logs"), (logs.cluster, "cluster-logs"))
    ]


_encode: Final = msgspec.json.Encoder().encode
_decoder: Final[msgspec.json.Decoder[AnyRecord]] = msgspec.json.Decoder(AnyRecord)


def key_of(cluster: str, node: str) -> bytes:
    """Return the key of a log: `cluster/node`, or `cluster` for the cluster's log."""
    escaped = cluster.replace("%", "%25").replace("/", "%2F")
    return (f"{escaped}/{node}" if node else escaped).encode()


def cluster_of(key: bytes) -> str:
    """Return the cluster of a log; any other key is read as far as possible."""
    escaped = key.partition(b"/")[0].decode(errors="replace")
    return escaped.replace("%2F", "/").replace("%25", "%")


def encode_record(record: Record) -> bytes:
    """Encode a record as JSON with its `kind`."""
    return _encode(record)


def decode_record(value: bytes) -> AnyRecord:
    """Decode a message's record. Raises msgspec.MsgspecError, RecursionError or UnicodeDecodeError."""
    record = _decoder.decode(value)
    if record.ts.tzinfo is None or not EARLIEST <= record.ts < LATEST:
        raise msgspec.ValidationError("the time has no zone, or is not in 1970 to 2199 - at `$.ts`")
    return record


def kind_of(record: Record) -> str:
    """Return the name of a record's type in headers and JSON."""
    return str(record.__struct_config__.tag)


def event_headers(kind: str, event_type: str, identity: str, cluster: str, node: str, time: str) -> Headers:
    """`kind` for consumers, and CloudEvents 1.0 in binary mode; a repeated message has the same `identity`."""
    fields = {
        "kind": kind,
        "ce_specversion": "1.0",
        "ce_id": identity,
        "ce_source": f"/leadsman/clusters/{cluster}",
        "ce_type": f"dev.leadsman.{event_type}.v{SCHEMA_VERSION}",
        "ce_subject": node,
        "ce_time": time.replace("+00:00", "Z"),
        "content-type": CONTENT_TYPE,
    }
    return [(name, value.encode()) for name, value in fields.items()]


def headers_of(record: Record, identity: str) -> Headers:
    kind = kind_of(record)
    return event_headers(kind, f"record.{kind}", identity, record.cluster, record.node, record.ts.isoformat())
