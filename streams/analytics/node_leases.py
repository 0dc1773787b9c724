"""Reports the age of kubelets' Leases: table `node_leases` (rules: nodes-that-do-not-report)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.records import NodeLeaseRecord
from streams.fold.findings import NodeLease
from streams.fold.reducer import Output, Reducer


class State(msgspec.Struct, frozen=True):
    """A Lease stands for itself."""


def step(state: State, record: NodeLeaseRecord) -> tuple[State, Sequence[Output]]:
    age = (record.ts - record.renewed_at).total_seconds() if record.renewed_at else -1.0
    # renewed after it was seen: clocks differ, nobody knows by how much; just then: a saved file has nothing later
    known = age if age > 0 else None
    return state, (NodeLease(record.cluster, record.ts, record.node, known, record.duration_seconds),)


REDUCER: Final = Reducer(name="node_leases", version=1, log="node", takes=(NodeLeaseRecord,), state=State, step=step)
