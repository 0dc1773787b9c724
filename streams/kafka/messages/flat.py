"""Encodes flat messages: one JSON object per row, one topic per table, for consumers of a single table.

`leadsman.flat.<table>` has the columns of that table. Its key is that of the log, `cluster/node` or `cluster`, so a
node's rows arrive in their order. A later row replaces an earlier one of the same natural key, as in the table.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final, get_args, get_type_hints

import msgspec
import structlog

from common.text import plain
from ingest.model.observation import UNDECODABLE
from ingest.model.records import AnyRecord, SampleRecord, SummaryRecord
from ingest.model.samples import NodeSample, PodColumns
from ingest.model.topics import Headers, event_headers
from streams.fold.findings import TABLES, Row, stored_types, stored_values
from streams.kafka.messages.findings import ROW_TYPES, unknown

KIND: Final = "flat"
_OF_NODE: Final = {"cluster": str, "ts": datetime, "node": str}
_OF_SAMPLES: Final = {
    "node_samples": get_type_hints(NodeSample),
    "pod_samples": {name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()},
}
_NAMES: Final = {table: tuple(stored_types(row_type)) for table, row_type in ROW_TYPES.items()}
FLAT_TABLES: Final = frozenset(ROW_TYPES | _OF_SAMPLES)
"""Tables that can be published flat."""
log = structlog.get_logger(__name__)
_encode: Final = msgspec.json.Encoder().encode
_summary: Final = msgspec.json.Decoder(SummaryRecord)


def columns(table: str) -> dict[str, object]:
    """Return the types of a flat message's fields by name."""
    return _OF_NODE | _OF_SAMPLES[table] if table in _OF_SAMPLES else stored_types(ROW_TYPES[table])


def flat_rows(tables: Collection[str], rows: Sequence[Row]) -> Iterator[tuple[str, bytes]]:
    """Yield the table and the message of each row that belongs to one of these tables."""
    for row in rows:
        if (table := TABLES[type(row)]) in tables:
            (values,) = stored_values(type(row), [row])
            yield table, _encode(dict(zip(_NAMES[table], values, strict=True)))


def flat_samples(tables: Collection[str], record: AnyRecord, value: bytes) -> Iterator[tuple[str, bytes]]:
    """Encode a summary for `node_samples` and `pod_samples`; `value` is the message that it was decoded from."""
    if not isinstance(record, SampleRecord):
        return
    of_node = {"cluster": record.cluster, "ts": record.ts, "node": record.node}
    if "node_samples" in tables:
        yield "node_samples", _encode(of_node | msgspec.structs.asdict(record.sample))
    if "pod_samples" in tables:
        try:
            pods = msgspec.structs.asdict(_summary.decode(value).pods)
        except UNDECODABLE as error:  # columns that no reducer reads
            log.warning("a summary has no flat rows of pods", node=record.node, reason=plain(error))
            return
        pods["volumes"] = pods["volumes"] or [""] * len(pods["uid"])  # an older version has none
        for values in zip(*pods.values(), strict=True):
            yield "pod_samples", _encode(of_node | dict(zip(pods, values, strict=True)))


def flat_headers(table: str, record: AnyRecord, identity: str) -> Headers:
    return event_headers(table, f"{KIND}.{table}", identity, record.cluster, record.node, record.ts.isoformat())


def message_types() -> type[msgspec.Struct]:
    """Return a struct with the message of each table, for the JSON Schema, which readers of any version accept."""
    messages = []
    for table in sorted(FLAT_TABLES):
        fields = [(name, hint, unknown(hint)) for name, hint in columns(table).items()]
        message = msgspec.defstruct("".join(map(str.title, table.split("_"))), fields)
        messages.append((table, message | None, None))
    return msgspec.defstruct("Flat", messages)
