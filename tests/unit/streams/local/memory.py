"""A database in memory: what a replay of any form writes to."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ingest.model.observation import Observed, Unreadable
from ingest.normalize.decode import decode
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.findings import Row
from streams.local.replay import Replay, ReplayReport


class Killed(Exception):
    """The process ends here."""


class MemoryCheckpoints:
    """Checkpoints in memory; `dies` makes `save` the moment of a kill."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], bytes] = {}
        self.dies = False

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        return {k: v for (c, n, k), v in self.entries.items() if (c, n) == (cluster, kind) and key in {None, k}}

    def save(self, entries: Sequence[Entry]) -> None:
        if self.dies:
            raise Killed
        self.entries |= {(e.cluster, e.kind, e.key): e.value for e in entries}


class MemoryDatabase:
    """A sink that holds every row once, as replacing tables do, and checkpoints beside it."""

    def __init__(self) -> None:
        self.checkpoints = MemoryCheckpoints()
        self.rows: dict[str, Row] = {}
        self.writes = 0
        self.dies_at_write = 0

    def write(self, batch: Batch) -> None:
        self.writes += 1
        if self.writes == self.dies_at_write:
            raise Killed
        rows = [row for rows in batch.rows.values() for row in rows]
        self.rows |= {repr(row): row for row in rows}
        samples = zip(batch.keys, batch.samples, batch.numbers, strict=True)
        self.rows |= {repr(each): each for each in samples}  # type: ignore[misc]  # as a sample's row

    def drain(self) -> None:
        """Everything is stored at once."""

    def replay(self, items: Iterable[Observed | Unreadable], **limits: datetime) -> ReplayReport:
        return Replay(REDUCERS, self, self.checkpoints).run(decode(item, **limits) for item in items)

    def of(self, row_type: type[Row]) -> list[Any]:
        return [row for row in self.rows.values() if isinstance(row, row_type)]
