"""Does for a message what every peer does: reads the state of its log, runs the same reducers, and sends the results.

It runs in the peers' environment, which borrows our pure code's few dependencies.
"""

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from common.cycles import OBJECTS_BETWEEN_SEARCHES
from ingest.model.records import Record
from ingest.model.topics import decode_record, encode_record, key_of
from leadsman.run.settings import Settings, load
from streams.analytics.registry import REDUCERS
from streams.fold.findings import Row
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Withdrawal
from streams.kafka.messages.findings import encode_findings

PROGRESS: Final = "LEADSMAN_SCALE_PROGRESS"
"""The file that says how many messages of the nodes' logs were folded."""
_TELL_SECONDS: Final = 0.1


class Output(NamedTuple):
    """A message to send."""

    topic: str
    key: bytes
    value: bytes


class Folding:
    """Folds, and tells how far it is."""

    def __init__(self) -> None:
        gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)  # as Leadsman's worker
        self.settings: Settings = load()
        self.topics = self.settings.kafka.topics()
        self._fold = Fold(REDUCERS)
        self._folded = 0
        threading.Thread(target=self._tell, daemon=True).start()

    def __call__(self, state: LogState, key: bytes, value: bytes) -> Iterator[Output]:
        """Fold a message into the state; the state is changed."""
        record, rows = decode_record(value), list[Row]()
        for output in self._fold.step(state, record):
            if isinstance(output, Record):
                to = key_of(output.cluster, output.node)
                yield Output(self.topics.cluster.name, to, encode_record(output))
            elif not isinstance(output, Rejected | Withdrawal):
                rows.append(output)
        if rows:
            findings = encode_findings(record.cluster, record.node, record.ts, rows)
            yield Output(self.topics.findings.name, key, findings)
        if record.node:
            self._folded += 1

    def _tell(self) -> None:
        progress = Path(os.environ[PROGRESS])
        unfinished = progress.with_suffix(".new")
        while True:
            unfinished.write_text(str(self._folded))
            unfinished.replace(progress)
            time.sleep(_TELL_SECONDS)
