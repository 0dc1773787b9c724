"""NUMAMisaligned: devices or pinned memory on other NUMA nodes than a container's CPUs (rules: numa-alignment)."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from common.amounts import counted
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import SHOWN, name, place, sentence
from streams.fold.findings import NumaAlignment


class State(msgspec.Struct, frozen=True):
    misaligned: dict[str, str] = msgspec.field(name="apart", default_factory=dict)
    """A sentence about each misaligned container, and a space."""


def step(
    _settings: RuleSettings, state: State, rows: Sequence[NumaAlignment], _now: Now
) -> tuple[State, Sequence[Change]]:
    if not rows:
        return state, []
    misaligned = dict(state.misaligned)
    for row in rows:
        container = f"{row.namespace}/{row.pod}/{row.container}"
        misaligned.pop(container, None)
        if _is_misaligned(row):
            misaligned[container] = f"{name(f'{row.namespace}/{row.pod}')}: {sentence(row.explanation)}"
    if not misaligned:
        return State(), [Ends({})]
    pods = {each.rpartition("/")[0] for each in misaligned}
    subject = counted(len(pods), "pod has devices or memory", "pods have devices or memory")
    return State(misaligned), [
        Holds(
            {},
            f"{place(rows[-1].cluster, rows[-1].node)}: {subject} on other NUMA nodes than the exclusive CPUs",
            f"{_shown(misaligned)}Each access crosses to the other NUMA node. "
            "The kubelet admits such pods under the Topology Manager policies none and best-effort; restricted and "
            "single-numa-node refuse them. Recreate a pod when one NUMA node has room for all that it requests. See "
            "leadsman query numa_pods, and what would fit: leadsman query numa_largest_room.",
        )
    ]


def _shown(misaligned: Mapping[str, str]) -> str:
    more = len(misaligned) - SHOWN
    text = "".join(misaligned[each] for each in sorted(misaligned)[:SHOWN])
    return f"{text}The same holds for {counted(more, 'more container')}. " if more > 0 else text


def _is_misaligned(row: NumaAlignment) -> bool:
    """Tell whether it is apart from its CPUs; false if only these span NUMA nodes, because it may need several."""
    held = {*row.device_numa_nodes, *row.memory_numa_nodes, *row.hugepages_numa_nodes}
    return bool(row.cpu_numa_nodes) and not held.issubset(row.cpu_numa_nodes)


ALERT: Final = AlertDefinition(
    name="NUMAMisaligned",
    settings=RuleSettings,
    needs=(Need("numa", "the NUMA nodes of CPUs, memory and devices are unknown: it cannot fire"),),
    node_rows=(NumaAlignment,),
    step=step,
    state=State,
)
