"""A share of the nodes' logs, folded by a process of its own, and what it exchanges with the one that owns the order.

A node's log learns of its cluster's what the reducers that `informs_nodes` emit. Each share folds these too, over all
that comes from outside for the cluster's log and what its own nodes emit, so it waits for nobody.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from common.errors import BadRecord
from ingest.model.records import AnyRecord, Record, SampleRecord
from ingest.model.topics import key_of
from ingest.normalize.decoded import Decoded
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.findings import Row
from streams.fold.fold import Rejected
from streams.fold.reducer import AnyReducer, Withdrawal
from streams.local.logs import Logs
from streams.local.replay import BATCH_ROWS


class Refused(msgspec.Struct, frozen=True, tag_field="kind", tag="refused"):
    """A `Rejected` on its way."""

    reducer: str
    error_type: str
    reason: str

    def rejected(self) -> Rejected:
        """Return the rejection that it stands for."""
        return Rejected(self.reducer, BadRecord(self.error_type, self.reason))


Answer: TypeAlias = list[AnyRecord | Refused]


class Resumed(NamedTuple):
    """States that a cluster goes on with, by node."""

    cluster: str
    states: dict[str, bytes]


class Chunk(msgspec.Struct, array_like=True, frozen=True):
    """The input of a share at once, in this order."""

    resumed: list[Resumed]
    items: list[Decoded]
    checkpoint: bool = False
    """All rows and states are wanted behind it."""


class Outcome(msgspec.Struct, array_like=True):
    """The result of a chunk."""

    steps: int = 0
    """Records of nodes' logs that were folded."""
    answers: dict[int, Answer] = {}
    """Outputs that are not rows, by their number from 1."""
    states: list[Entry] = []
    rows: dict[str, int] = {}
    """That were landed, by type."""


def share_of(cluster: str, node: str, shares: int) -> int:
    """Return the share that has the log of a node: the key is that of its messages in Kafka."""
    return crc32(key_of(cluster, node)) % shares


class Share:
    """Number `number` of `shares`. `land` takes rows and samples when there are enough."""

    def __init__(
        self, reducers: Sequence[AnyReducer], number: int, shares: int, land: Callable[[Batch], object]
    ) -> None:
        self._number = number
        self._shares = shares
        self._land = land
        self._logs = Logs([each for each in reducers if each.log == "node" or each.informs_nodes])
        self._batch = Batch()
        self._owned: dict[tuple[str, str], bool] = {}

    def fold(self, chunk: Chunk) -> Outcome:
        """Fold the next chunk."""
        self._outcome = Outcome()
        for cluster, states in chunk.resumed:
            self._logs.resume(cluster, states)
        for item in chunk.items:
            for record in item.records:
                if item.numbers is not None and isinstance(record, SampleRecord):
                    self._batch.add_sample(record, item.numbers)
                self._fold_record(record)
        if chunk.checkpoint or self._batch.size >= BATCH_ROWS:
            self._outcome.rows = {kind.__name__: len(rows) for kind, rows in self._batch.rows.items()}
            self._land(self._batch)
            self._batch = Batch()
        if chunk.checkpoint:
            self._outcome.states = [each for each in self._logs.changed(()) if each.key]
        return self._outcome

    def _fold_record(self, record: Record) -> None:
        if record.node and not self._owns(record.cluster, record.node):
            return
        outputs = self._logs.step(record)
        if record.node:
            self._answer(outputs)
        for output in outputs:
            if isinstance(output, Record):
                self._fold_record(output)

    def _answer(self, outputs: Sequence[object]) -> None:
        self._outcome.steps += 1
        rows: list[Row] = []
        answer: Answer = []
        for output in outputs:
            if isinstance(output, Record):
                answer.append(output)  # type: ignore[arg-type]  # every record is one of AnyRecord
            elif isinstance(output, Rejected):
                answer.append(Refused(output.reducer, output.error.error_type, str(output.error)))
            elif not isinstance(output, Withdrawal):
                rows.append(output)  # type: ignore[arg-type]  # what is left of Output
        self._batch.add(rows)
        if answer:
            self._outcome.answers[self._outcome.steps] = answer

    def _owns(self, cluster: str, node: str) -> bool:
        owned = self._owned.get((cluster, node))
        if owned is None:
            owned = self._owned[cluster, node] = share_of(cluster, node, self._shares) == self._number
        return owned
