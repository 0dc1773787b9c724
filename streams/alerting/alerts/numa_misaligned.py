"""NUMAMisaligned: devices or pinned memory on other NUMA nodes than a container's CPUs (rules: numa-alignment)."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from common.amounts import counted
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import SHOWN, name, place
from streams.fold.findings import NumaAlignment

LOCAL: Final = 10
"""The distance of a NUMA node from itself."""


class State(msgspec.Struct, frozen=True):
    misaligned: dict[str, str] = msgspec.field(name="apart", default_factory=dict)
    """A sentence about each misaligned container."""


def step(
    _settings: RuleSettings, state: State, rows: Sequence[NumaAlignment], _now: Now
) -> tuple[State, Sequence[Change]]:
    if not rows:
        return state, []
    misaligned = dict(state.misaligned)
    for row in rows:
        container = f"{row.namespace}/{row.pod}/{row.container}"
        misaligned.pop(container, None)
        if text := _describe_misaligned(row):
            misaligned[container] = text
    if not misaligned:
        return State(), [Ends({})]
    pods = {each.rpartition("/")[0] for each in misaligned}
    subject = counted(len(pods), "pod has devices or memory", "pods have devices or memory")
    return State(misaligned), [
        Holds(
            {},
            f"{place(rows[-1].cluster, rows[-1].node)}: {subject} on other NUMA nodes than the exclusive CPUs",
            f"{_shown(misaligned)}. Each access crosses to the other NUMA node. "
            "The kubelet admits such pods under the Topology Manager policies none and best-effort; restricted and "
            "single-numa-node refuse them. Recreate a pod when one NUMA node has room for all that it requests. See "
            "leadsman query numa_pods, and what would fit: leadsman query numa_largest_room.",
        )
    ]


def _shown(misaligned: Mapping[str, str]) -> str:
    more = len(misaligned) - SHOWN
    text = ". ".join(misaligned[each] for each in sorted(misaligned)[:SHOWN])
    return f"{text}. The same holds for {counted(more, 'more container')}" if more > 0 else text


def _describe_misaligned(row: NumaAlignment) -> str:
    """Describe a container; empty if only its CPUs span NUMA nodes, because it may need more than one node has."""
    cpus = set(row.cpu_numa_nodes)
    held = {
        ", ".join(map(name, row.devices)) or "devices": row.device_numa_nodes,
        "memory": row.memory_numa_nodes,
        "huge pages": row.hugepages_numa_nodes,
    }
    far = [f"{what} on {_nodes(nodes)}" for what, nodes in held.items() if cpus and not cpus.issuperset(nodes)]
    if not far:
        return ""
    pod = name(f"{row.namespace}/{row.pod}")
    return f"The CPUs of {pod} are on {_nodes(sorted(cpus))}, {' and '.join(far)} ({_distance(row.distance)})"


def _distance(farthest: int | None) -> str:
    """Describe a distance.

    Some firmware has no table of distances (ACPI SLIT), or reports equal distances everywhere.
    """
    if farthest is None:
        return "the distance is unknown"
    if farthest <= LOCAL:
        return f"the firmware gives distance {farthest}, as if it were local"
    return f"distance {farthest}, where {LOCAL} is local"


def _nodes(numbers: Sequence[int]) -> str:
    return f"NUMA node{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


ALERT: Final = AlertDefinition(
    name="NUMAMisaligned",
    settings=RuleSettings,
    needs=(Need("numa", "the NUMA nodes of CPUs, memory and devices are unknown: it cannot fire"),),
    node_rows=(NumaAlignment,),
    step=step,
    state=State,
)
