"""The logs that one process folds: their states, and which of them changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from ingest.model.records import Record
from streams.fold.checkpoints import Entry, StateCodec, packed, unpacked
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.reducer import AnyReducer, Output


class Logs:
    """Logs by cluster and node. States are stored under the kind `state`, a log's under the name of its node."""

    def __init__(self, reducers: Sequence[AnyReducer]) -> None:
        self._fold = Fold(reducers)
        self._codec = StateCodec(reducers)
        self._logs: dict[LogKey, LogState] = {}
        self._changed: set[LogKey] = set()

    def step(self, record: Record) -> Sequence[Output | Rejected]:
        """Fold a record into its log; gives what is concluded."""
        key = LogKey(record.cluster, record.node)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = LogState()
        self._changed.add(key)
        concluded = self._fold.step(log, record)
        if not log.states:
            self._logs.pop(key, None)
        return concluded

    def resume(self, cluster: str, stored: Mapping[str, bytes]) -> None:
        """Have these logs of a cluster, by node, and no others."""
        self._changed = {key for key in self._changed if key.cluster != cluster}
        self._logs = {key: log for key, log in self._logs.items() if key.cluster != cluster}
        for node, value in stored.items():
            if value:
                self._logs[LogKey(cluster, node)] = self._codec.decode(unpacked(value))

    def changed(self, apart: Collection[str]) -> Iterator[Entry]:
        """Yield the entries of logs that changed since the last call; empty for a forgotten one. Clusters that are
        folded apart have none.
        """
        for key in sorted(self._changed):
            if key.cluster not in apart:
                log = self._logs.get(key)
                yield Entry(key.cluster, "state", key.node, b"" if log is None else packed(self._codec.encode(log)))
        self._changed.clear()
