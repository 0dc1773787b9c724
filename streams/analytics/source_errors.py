"""What could not be read, was silent, or may have been missed: table `source_errors`."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.records import SourceErrorRecord
from streams.fold.findings import SourceError
from streams.fold.reducer import Output, Reducer

_SILENT: Final = re.compile(r"stream silent for (\d{1,12}) s$")
"""As `ingest.live.run` words it."""
_GAP: Final = "gap: "
"""As `ingest.apiserver.watch` words it: versions between a lost watch and the new list were not seen."""


class State(msgspec.Struct, frozen=True):
    """Nothing: each record stands for itself."""


def step(state: State, record: SourceErrorRecord) -> tuple[State, Sequence[Output]]:
    silent = _SILENT.match(record.error)
    kind = "silent" if silent else "gap" if record.error.startswith(_GAP) else "unreadable"
    row = SourceError(
        cluster=record.cluster,
        ts=record.ts,
        node=record.node,
        resource=record.resource,
        kind=kind,
        silent_seconds=float(silent[1]) if silent else None,
        error=record.error,
    )
    return state, (row,)


REDUCER: Final = Reducer(
    name="source_errors", version=1, log="node", takes=(SourceErrorRecord,), state=State, step=step
)
CLUSTER_REDUCER: Final = Reducer(
    name="cluster_source_errors", version=1, log="cluster", takes=(SourceErrorRecord,), state=State, step=step
)
