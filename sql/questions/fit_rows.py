"""Builds a candidate of `streams.questions.fit` from the latest rows of its node."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ingest.model.cpuset import parse_cpuset
from streams.questions.fit import Candidate
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.resolve import RESERVED_CPUS, SINGLE_NUMA_NODE
from streams.rules.numa.sources import POD_SPEC, PODRESOURCES
from streams.rules.numa.topology_manager import Devices, Machine
from streams.rules.scheduling.constraints import preferred, restored
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.fit_machine import NumaCpus, Policies, machine_of, options_not_followed, settings_of
from streams.rules.scheduling.neighbours import Neighbour

CHECKPOINT: Final = "memory_manager_state"
MEMORY_TYPES: Final = ("memory", "hugepages-")
_ASSUMED: Final = {
    RESERVED_CPUS: "which CPUs are reserved was concluded, not reported",
    SINGLE_NUMA_NODE: "it is assumed to have one NUMA node",
}

RowDict: TypeAlias = dict[str, Any]
"""A row by column name."""


class NodeRows(NamedTuple):
    """Rows of one node; at most one row each of settings and of skew."""

    node: RowDict
    settings: Sequence[RowDict]
    skew: Sequence[RowDict]
    allocations: Sequence[RowDict]
    resources: Sequence[RowDict]
    whatif: Sequence[RowDict]


def candidate(rows: NodeRows, pods: Sequence[Neighbour] = ()) -> Candidate:
    """Build the candidate. `pods` are those bound to the node, if pods were requested."""
    configz, skew = next(iter(rows.settings), None), next(iter(rows.skew), None)
    known = _policies(configz, skew)
    state = NodeState(
        node=rows.node["node"],
        allocatable=rows.node["allocatable"],
        requested=rows.node["requested"],
        pods=rows.node["pods"],
        ready=None if rows.node["ready"] is None else bool(rows.node["ready"]),
        unschedulable=bool(rows.node["unschedulable"]),
        taints=tuple(rows.node["taints"]),
        settings=settings_of(known),
        machine=_machine(skew, rows.allocations, rows.resources, configz),
        free_cpus=skew["free_cpus"] if skew else None,
        labels=rows.node["labels"],
        neighbours=tuple(pods),
    )
    return Candidate(
        state=state,
        source=skew["source"] if skew else "",
        fidelity=skew["fidelity"] if skew else "",
        largest_fit_cpus=skew["largest_fit_cpus"] if skew else None,
        numa_doubts=(*options_not_followed(known), *_doubts(skew)),
        largest_fits={each["strategy"]: each["largest_fit_cpus"] for each in rows.whatif},
    )


def neighbours(rows: Sequence[RowDict]) -> dict[str, list[Neighbour]]:
    """Return the pods of each node; equal pods are one object."""
    found = defaultdict[str, list[Neighbour]](list)
    for row in rows:
        pod = neighbour(row)
        for node in row["nodes"]:
            found[node].append(pod)
    return found


def neighbour(row: RowDict) -> Neighbour:
    """Read the fields of a pod that affect other pods."""
    return Neighbour(
        row["namespace"],
        row["labels"],
        restored(row["constraints"]),
        bool(row["terminating"]),
        preferred(row["preferences"]),
    )


def _policies(configz: RowDict | None, skew: RowDict | None) -> Policies:
    """Return the policies by the kubelet's settings, else by the source of NUMA numbers.

    If a container holds exclusive CPUs, the static policy is on.
    """
    if configz is not None:
        return Policies(
            configz["cpu_manager_policy"],
            configz["topology_manager_policy"],
            configz["topology_manager_scope"],
            configz["cpu_manager_policy_options"],
            configz["topology_manager_policy_options"],
        )
    if skew is None:
        return Policies()
    holds = bool(skew["exclusive_cpus"]) and skew["source"] != POD_SPEC
    cpu = skew["cpu_manager_policy"] or ("static" if holds else "")
    return Policies(cpu, skew["topology_manager_policy"], skew["topology_manager_scope"])


def _doubts(skew: RowDict | None) -> list[str]:
    if skew is None:
        return ["no source reports its NUMA nodes"]
    doubts = [_ASSUMED[each] for each in skew["assumed"] if each in _ASSUMED]
    if skew["fidelity"] == "count":
        doubts.append(
            f"{skew['source']} reports how many CPUs are free, not which: free cores are assumed to be whole"
        )
    if skew["fidelity"] == "none" and skew["explanation"]:
        doubts.append(skew["explanation"])
    return doubts


def _machine(
    skew: RowDict | None, allocations: Sequence[RowDict], resources: Sequence[RowDict], configz: RowDict | None
) -> Machine | None:
    if skew is None or skew["fidelity"] == "none":
        return None
    parts = [_numa_cpus(each) for each in allocations if each["cpus"] != 0 and each["source"] == skew["source"]]
    is_static = configz is not None and configz["memory_manager_policy"] == "Static"
    return machine_of(parts, _memory(resources, is_static=is_static), _devices(resources))


def _numa_cpus(row: RowDict) -> NumaCpus:
    return NumaCpus(
        numa_node=row["numa_node"],
        cpus=row["cpus"],
        free_cpus=row["free_cpus"],
        cores=row["cores"],
        free=parse_cpuset(row["free_cpuset"]),
        core_cpus=tuple(map(parse_cpuset, row["core_cpusets"])),
        core_sockets=tuple(row["core_sockets"]),
        reserved=parse_cpuset(row["reserved_cpuset"]),
    )


def _memory(resources: Sequence[RowDict], *, is_static: bool) -> dict[int, MemoryNode]:
    """Return the memory by the kubelet's checkpoint, else, if its policy is Static, by another source."""
    rows = [row for row in resources if row["resource"].startswith(MEMORY_TYPES) and row["available"] is not None]
    sources = {row["source"] for row in rows if is_static or row["source"] == CHECKPOINT}
    if not sources:
        return {}
    best = min(sources, key=lambda source: (source != CHECKPOINT, source))
    nodes: dict[int, MemoryNode] = {}
    for row in (row for row in rows if row["source"] == best):
        capacity, allocatable, free = row["capacity"], row["allocatable"], row["available"]
        table = MemoryTable(capacity, max(0, capacity - allocatable), allocatable, allocatable - free, free)
        node = nodes.get(row["numa_node"], MemoryNode(0, {}, ()))
        nodes[row["numa_node"]] = MemoryNode(
            # only the existence of blocks is stored, not their number: enough to decide which nodes may join a group
            assignments=max(node.assignments, int(free < allocatable)),
            tables={**node.tables, row["resource"]: table},
            cells=tuple(row["cells"]) or node.cells,
        )
    return nodes


def _devices(resources: Sequence[RowDict]) -> dict[str, Devices]:
    """Return the devices by the kubelet itself, else by the first other source, if it has their number."""
    rows = [row for row in resources if not row["resource"].startswith(("cpu", *MEMORY_TYPES))]
    devices: dict[str, Devices] = {}
    for name in sorted({row["resource"] for row in rows}):
        of_name = [row for row in rows if row["resource"] == name]
        best = min((row["source"] for row in of_name), key=lambda source: (source != PODRESOURCES, source))
        chosen = [row for row in of_name if row["source"] == best]
        if all(row["available"] is not None for row in chosen):
            devices[name] = Devices(
                {row["numa_node"]: row["allocatable"] for row in chosen},
                {row["numa_node"]: row["available"] for row in chosen},
            )
    return devices
