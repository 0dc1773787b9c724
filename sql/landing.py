"""Batches into tables: columns are made and inserted on one thread of their own, while the next batch is folded."""

from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Final, Literal, Self

from sql.database import Database
from sql.schema import NODE_SAMPLES, POD_SAMPLES, node_samples, pod_samples, to_arrow
from streams.batch import Batch
from streams.findings import TABLES

WAITING: Final = 1
"""Batches that may wait; more of them make the runtime wait."""
UNMERGED: Final = 200
"""Batches up to which the embedded engine puts off merging parts: `sql.settle` merges them all at once, for less."""


def land(database: Database, batch: Batch, token: str | None = None) -> None:
    """Insert a batch, one insert a table; what was inserted under the same token is not inserted again."""
    for row_type, rows in batch.rows.items():
        database.insert(TABLES[row_type], to_arrow(row_type, rows), token)
    if batch.keys:
        database.insert(NODE_SAMPLES, node_samples(batch.keys, batch.samples), token)
        database.insert(POD_SAMPLES, pod_samples(batch.keys, batch.pod_columns), token)


class Lander:
    """A sink whose inserts run on their own thread. The first failure is raised by the next `write` or `drain`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._landed = 0
        self._waiting: Queue[Batch | None] = Queue(WAITING)
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._land, name="lander", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self._merges("STOP")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.put(None)
        self._thread.join()
        self._merges("START")

    def write(self, batch: Batch) -> None:
        self._raise()
        self._waiting.put(batch)

    def drain(self) -> None:
        self._waiting.join()
        self._raise()

    def _land(self) -> None:
        while (batch := self._waiting.get()) is not None:
            try:
                if self._failure is None:
                    land(self._database, batch)
                    self._landed += 1
                    if self._landed == UNMERGED:
                        self._merges("START")
            except BaseException as failure:  # noqa: BLE001  # it is raised where the runtime looks next
                self._failure = failure
            finally:
                self._waiting.task_done()

    def _merges(self, how: Literal["START", "STOP"]) -> None:
        if self._database.embedded:
            self._database.command(f"SYSTEM {how} MERGES")

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure
