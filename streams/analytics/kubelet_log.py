"""Lines of the kubelets' logs about evictions, image GC and admission: table `kubelet_log` (rules: kubelet-log)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.records import EventRecord
from streams.fold.findings import KubeletLogLine
from streams.fold.reducer import Output, Reducer


class State(msgspec.Struct, frozen=True):
    """A line needs no other."""


def step(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    line = record.line
    if line is None:
        return state, ()
    namespace, _, pod = line.pod.rpartition("/")
    row = KubeletLogLine(
        cluster=record.cluster,
        ts=record.ts,
        node=record.node,
        said=line.said,
        resource=line.resource,
        namespace=namespace,
        pod=pod,
        uid=line.uid,
        pods=list(line.pods),
        image=line.image,
        amount_bytes=line.amount_bytes,
        message=line.message,
        time_known=line.earliest is None and line.latest is None,
        earliest=line.earliest,
        latest=line.latest,
    )
    return state, (row,)


REDUCER: Final = Reducer(name="kubelet_log", version=1, log="node", takes=(EventRecord,), state=State, step=step)
