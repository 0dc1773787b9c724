"""Reports how often CPU quotas throttled pods and containers: table `cpu_throttling` (rules: cpu-contention)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.records import CpuThrottlingRecord
from streams.fold.findings import CpuThrottling
from streams.fold.reducer import Output, Reducer


class State(msgspec.Struct, frozen=True):
    """A sample stands for itself."""


def step(state: State, record: CpuThrottlingRecord) -> tuple[State, Sequence[Output]]:
    return state, [
        CpuThrottling(
            record.cluster,
            record.ts,
            record.node,
            pod.uid,
            [each.container for each in pod.cgroups],
            [each.periods for each in pod.cgroups],
            [each.throttled_periods for each in pod.cgroups],
            [each.throttled_nanoseconds for each in pod.cgroups],
        )
        for pod in record.pods
    ]


REDUCER: Final = Reducer(
    name="cpu_throttling", version=1, log="node", takes=(CpuThrottlingRecord,), state=State, step=step
)
