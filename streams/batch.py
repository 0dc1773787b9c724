"""What a runtime hands to landing at once: rows of findings, and samples that are columns already."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from ingest.records import PodColumns, SummaryRecord
from streams.findings import Row

POD_COLUMNS: Final = PodColumns.__struct_fields__


class SampleKey(NamedTuple):
    """What all pods of one sample share."""

    cluster: str
    ts: datetime
    node: str
    pods: int


class Batch:
    """Rows by their type, and samples: `summaries` for `node_samples`, `keys` and `pod_columns` for `pod_samples`.

    `keys[i].pods` says how many values of every list in `pod_columns` belong to sample i.
    """

    __slots__ = ("keys", "pod_columns", "rows", "size", "summaries")

    def __init__(self) -> None:
        self.rows: defaultdict[type[Row], list[Row]] = defaultdict(list)
        self.summaries: list[SummaryRecord] = []
        self.keys: list[SampleKey] = []
        self.pod_columns: dict[str, list[object]] = {name: [] for name in POD_COLUMNS}
        self.size = 0
        """Rows in all tables together."""

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.rows[type(row)].append(row)
            self.size += 1

    def add_summary(self, record: SummaryRecord) -> None:
        pods = record.pods
        count = len(pods.uid)
        self.summaries.append(record)
        self.keys.append(SampleKey(record.cluster, record.ts, record.node, count))
        for name, column in self.pod_columns.items():
            column.extend(getattr(pods, name))
        self.size += 1 + count


class Sink(Protocol):
    """Where batches land. `write` may return before a batch is stored; `drain` returns when all are."""

    def write(self, batch: Batch) -> None: ...

    def drain(self) -> None: ...
