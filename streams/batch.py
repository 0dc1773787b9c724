"""What a runtime hands to landing at once: rows of findings, and samples that are columns already."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, get_args, get_type_hints

from msgspec.structs import astuple

from ingest.records import NodeSample, PodColumns, SummaryRecord
from streams.columns import Numbers
from streams.findings import NodeFit, Row

Column: TypeAlias = Numbers | list[str]


def _types() -> dict[str, Any]:
    """The type of each column of the pods, its values None or not."""
    return {name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()}


PODS_A_ROW: Final = 8
_FIT_KEY: Final = NodeFit._fields.index("resource") + 1
"""The first so many fields of its rows are the natural key."""
_FLOATS: Final = frozenset(name for name, kind in _types().items() if float in {kind, *get_args(kind)})
_TEXTS: Final = frozenset(name for name, kind in _types().items() if kind is str)


class SampleKey(NamedTuple):
    """What all pods of one sample share."""

    cluster: str
    ts: datetime
    node: str
    pods: int


class Batch:
    """Rows by their type, and samples: `keys` go with `samples` (`node_samples`) and `pod_columns` (`pod_samples`).

    `keys[i].pods` says how many values of every column in `pod_columns` belong to sample i.
    """

    __slots__ = ("_fits", "keys", "pod_columns", "rows", "samples", "size")

    def __init__(self) -> None:
        self.rows: defaultdict[type[Row], list[Row]] = defaultdict(list)
        self.keys: list[SampleKey] = []
        self.samples: list[NodeSample] = []
        self.pod_columns: dict[str, Column] = {name: _column(name) for name in PodColumns.__struct_fields__}
        self._fits: dict[tuple[object, ...], int] = {}
        """Where the row of a natural key is among those of `node_fit`: a list of pods says each many times over."""
        self.size = 0
        """What it holds in memory, counted in rows; a pod of a sample, being packed numbers, is an eighth of one."""

    def add(self, rows: Collection[Row]) -> None:
        for row in rows:
            if type(row) is NodeFit:
                self._add_fit(row)
            else:
                self.rows[type(row)].append(row)
                self.size += 1

    def _add_fit(self, row: NodeFit) -> None:
        """The row, in place of one that it replaces."""
        fits = self.rows[NodeFit]
        place = self._fits.setdefault(row[:_FIT_KEY], len(fits))
        if place < len(fits):
            fits[place] = row
        else:
            fits.append(row)
            self.size += 1

    def add_summary(self, record: SummaryRecord) -> None:
        pods = record.pods
        count = len(pods.uid)
        self.keys.append(SampleKey(record.cluster, record.ts, record.node, count))
        self.samples.append(record.sample)
        for column, values in zip(self.pod_columns.values(), astuple(pods), strict=True):
            column.extend(values)
        self.size += 1 + count // PODS_A_ROW


def _column(name: str) -> Column:
    if name in _TEXTS:
        return []
    return Numbers("d" if name in _FLOATS else "q")


class Sink(Protocol):
    """Where batches land. `write` may return before a batch is stored; `drain` returns when all are."""

    def write(self, batch: Batch) -> None: ...

    def drain(self) -> None: ...
