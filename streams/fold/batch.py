"""Batches for landing: rows of findings, and samples that are columns already."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from ingest.model.records import SampleRecord
from ingest.model.samples import TYPE_CODES, NodeSample, Packed, PodColumns
from ingest.normalize.dead_letters import Letter
from streams.fold.findings import DeadLetter, NodeFit, Row

PODS_A_ROW: Final = 8
_TEXTS: Final = tuple(name for name in PodColumns.__struct_fields__ if name not in TYPE_CODES)
_FIT_KEY: Final = NodeFit._fields.index("resource") + 1
"""Number of leading fields of its rows that form the natural key."""


class SampleKey(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    pods: int


class Batch:
    """Rows by their type, and samples.

    Sample i has the key `keys[i]` and the row `samples[i]` of `node_samples`. Its `keys[i].pods` pods are rows of
    `pod_samples`: `texts` has their texts by column, after those of earlier samples, and `numbers[i]` their numbers.
    """

    __slots__ = ("_fits", "keys", "numbers", "rows", "samples", "size", "texts")

    def __init__(self) -> None:
        self.rows: defaultdict[type[Row], list[Row]] = defaultdict(list)
        self.keys: list[SampleKey] = []
        self.samples: list[NodeSample] = []
        self.texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self.numbers: list[Packed] = []
        self._fits: dict[tuple[object, ...], int] = {}
        """Position of each natural key in `node_fit`, because a list of pods repeats a key often."""
        self.size = 0
        """Size in memory, counted in rows; a pod of a sample is packed, and counts an eighth of a row."""

    def add(self, rows: Collection[Row]) -> None:
        for row in rows:
            if type(row) is NodeFit:
                self._add_fit(row)
            else:
                self.rows[type(row)].append(row)
                self.size += 1

    def add_dead_letter(self, letter: Letter) -> None:
        place = str(letter.position)
        row = DeadLetter(
            letter.cluster, letter.ts, letter.position.source, place, letter.error_type, letter.reason, letter.text
        )
        self.add((row,))

    def _add_fit(self, row: NodeFit) -> None:
        fits = self.rows[NodeFit]
        place = self._fits.setdefault(row[:_FIT_KEY], len(fits))
        if place < len(fits):
            fits[place] = row
        else:
            fits.append(row)
            self.size += 1

    def add_sample(self, record: SampleRecord, numbers: Packed) -> None:
        """Add a sample; `numbers` are its pods' numbers."""
        pods = record.pods
        count = len(pods.uid)
        self.keys.append(SampleKey(record.cluster, record.ts, record.node, count))
        self.samples.append(record.sample)
        for name, texts in self.texts.items():
            # an older version wrote no `volumes`
            texts.extend(getattr(pods, name) or [""] * count)
        self.numbers.append(numbers)
        self.size += 1 + count // PODS_A_ROW


class Sink(Protocol):
    """Receives batches. `write` may return before a batch is stored; `drain` returns when all are stored."""

    def write(self, batch: Batch) -> None: ...

    def drain(self) -> None: ...
