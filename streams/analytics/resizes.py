"""In-place resizes of pods that are waiting or impossible, and how each ended: table `resizes` (rules: resizes)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.objects.pod import Pod
from ingest.model.records import PodRecord
from streams.fold.findings import Resize
from streams.fold.reducer import Output, Reducer
from streams.rules.pods.qos import has_ended
from streams.rules.pods.requests import resizing, running_requests, wanted_requests


class State(msgspec.Struct, frozen=True):
    resizes: dict[str, Resize] = {}
    """The last row of each open resize, by the pod's uid."""


def step(state: State, record: PodRecord) -> tuple[State, Sequence[Output]]:
    pod = record.object
    uid = pod.metadata.uid
    before = state.resizes.get(uid)
    after = None if has_ended(record) else _resize(record, pod)
    if before is not None and after is not None:
        after = after._replace(ts=record.ts)
    if after == (before and before._replace(ts=record.ts)):
        return state, ()
    others = {key: each for key, each in state.resizes.items() if key != uid}
    if after is not None:
        return State(others | {uid: after}), (after,)
    ended = () if before is None else (before._replace(ts=record.ts, state=_end(record, before), message=""),)
    return State(others), ended


def _end(record: PodRecord, before: Resize) -> str:
    if has_ended(record):
        return "gone"
    return "done" if running_requests(record.object) == before.wanted else "withdrawn"


def _resize(record: PodRecord, pod: Pod) -> Resize | None:
    found = resizing(pod)
    if found is None:
        return None
    return Resize(
        record.cluster,
        min(found.since or record.ts, record.ts),
        record.node,
        pod.metadata.namespace,
        pod.metadata.name,
        pod.metadata.uid,
        found.state,
        found.message,
        wanted_requests(pod),
        running_requests(pod),
    )


REDUCER: Final = Reducer(name="resizes", version=1, log="node", takes=(PodRecord,), state=State, step=step)
