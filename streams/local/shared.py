"""A replay whose nodes' logs are folded by other processes, a share each, while this one owns the order.

Here observations are taken in their order, and the clusters' logs are folded, with the answers of the shares where a
record of a node's log would be folded. Answers come in the order of the records, so it all is as in one process.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from ingest.model.records import Record
from ingest.normalize.decoded import Decoded
from streams.fold.batch import Sink
from streams.fold.checkpoints import Checkpoints, Entry
from streams.fold.fold import Rejected
from streams.fold.reducer import AnyReducer, Output
from streams.local.replay import Replay
from streams.local.share import Chunk, Outcome, Resumed, share_of

CHUNK: Final = 256
"""Observations."""
AHEAD: Final = 3
"""Chunks that the shares may have and this process waits for."""


class Shares(Protocol):
    """Processes with a `Share` each, by its number."""

    count: int

    def send(self, share: int, chunk: Chunk) -> None: ...

    def receive(self, share: int) -> Outcome:
        """Wait for the outcome of the oldest open chunk; its rows are with the sink."""
        ...


class SharesDiffer(RuntimeError):
    """A share folded other records than there are: a defect, of a reducer that `informs_nodes`."""


class _Sent(NamedTuple):
    resumed: list[Resumed]
    items: list[Decoded]


class SharedReplay(Replay):
    """A `Replay` over several processes, with the same rows."""

    def __init__(self, reducers: Sequence[AnyReducer], sink: Sink, checkpoints: Checkpoints, shares: Shares) -> None:
        super().__init__([each for each in reducers if each.log == "cluster"], sink, checkpoints)
        self._shares = shares
        self._owners: dict[tuple[str, str], int] = {}
        self._next = _Sent([], [])
        self._sent: deque[_Sent] = deque()
        self._outcomes: list[Outcome] = []
        self._steps = Counter[int]()
        self._stored: list[Entry] = []

    def take(self, item: Decoded) -> None:
        """Take an item like a `Replay`; it is folded with the following ones."""
        if self._is_new(item):
            self._next.items.append(item)
            if len(self._next.items) >= CHUNK * self._shares.count:
                self._send()

    def checkpoint(self, entries: Sequence[Entry] = ()) -> None:
        self._send(checkpoint=True)
        while self._sent:
            self._receive()
        super().checkpoint(entries)

    def _have(self, cluster: str, states: Mapping[str, bytes]) -> None:
        if self._next.items:
            self._send()
        self._next.resumed.append(Resumed(cluster, dict(states)))

    def _states(self) -> Iterable[Entry]:
        nodes = [each for each in self._stored if each.cluster not in self._apart]
        self._stored = []
        return [*super()._states(), *nodes]

    def _send(self, *, checkpoint: bool = False) -> None:
        resumed, items = self._next
        shared: list[list[Decoded]] = [[] for _ in range(self._shares.count)]
        for item in items:
            of_cluster = [record for record in item.records if not record.node]
            of_nodes = {self._owner(record) for record in item.records if record.node}
            for share in range(self._shares.count) if of_cluster else of_nodes:
                is_part = share not in of_nodes and len(of_cluster) < len(item.records)
                shared[share].append(msgspec.structs.replace(item, records=of_cluster) if is_part else item)
        for share, each in enumerate(shared):
            states = [
                Resumed(c, {n: v for n, v in s.items() if not n or self._is_of(c, n, share)}) for c, s in resumed
            ]
            self._shares.send(share, Chunk(states, each, checkpoint))
        self._sent.append(self._next)
        self._next = _Sent([], [])
        if len(self._sent) > AHEAD:
            self._receive()

    def _receive(self) -> None:
        """Fold the clusters' logs over the oldest chunk."""
        sent = self._sent.popleft()
        self._outcomes = [self._shares.receive(share) for share in range(self._shares.count)]
        self._steps.clear()
        for cluster, states in sent.resumed:
            self._logs.resume(cluster, {"": states[""]} if "" in states else {})
        for item in sent.items:
            self._fold(item)
        for share, outcome in enumerate(self._outcomes):
            if outcome.answers or outcome.steps != self._steps[share]:
                raise SharesDiffer(f"process {share} folded {outcome.steps} records of {self._steps[share]}")
            self._stored += outcome.states
            self.report.rows.update(outcome.rows)

    def _step(self, record: Record) -> Sequence[Output | Rejected]:
        if not record.node:
            return super()._step(record)
        share = self._owner(record)
        self._steps[share] += 1
        answer = self._outcomes[share].answers.pop(self._steps[share], ())
        return [each if isinstance(each, Record) else each.rejected() for each in answer]

    def _owner(self, record: Record) -> int:
        key = record.cluster, record.node
        owner = self._owners.get(key)
        if owner is None:
            owner = self._owners[key] = share_of(*key, self._shares.count)
        return owner

    def _is_of(self, cluster: str, node: str, share: int) -> bool:
        return share_of(cluster, node, self._shares.count) == share
