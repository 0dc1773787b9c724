"""A new node like one that is there, for `leadsman fit --like` (rules: scheduler-fit, exclusive-cpus)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from streams.questions.fit import Candidate
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology_manager import Devices, Machine
from streams.rules.pod_ends.when import DRAINERS
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.volume_needs import NodeVolumes

HOSTNAME: Final = "kubernetes.io/hostname"
_STATE: Final = "node.kubernetes.io/"
"""Prefix of taints that say how a node is, not what it is for."""


class Staying(NamedTuple):
    """A pod that each new node gets as well: of a DaemonSet, or static."""

    requests: Mapping[str, int]
    """Effective requests in base units, cpu in millicores."""
    itself: Neighbour


def as_new(each: Candidate, staying: Sequence[Staying], name: str) -> Candidate:
    """Return the node as it would be when it is new: ready, with no pods but those that stay."""
    state = each.state
    requested = Counter[str]()
    for pod in staying:
        requested.update(pod.requests)
    labels = dict(state.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    limits = state.volumes.limits
    return each._replace(
        state=state._replace(
            node=name,
            requested=dict(requested),
            pods=len(staying),
            ready=True,
            unschedulable=False,
            taints=tuple(taint for taint in state.taints if not _says_how_it_is(taint)),
            machine=_empty(state.machine),
            free_cpus=None,
            labels=labels,
            neighbours=tuple(pod.itself for pod in staying),
            volumes=NodeVolumes(limits=limits),
        ),
        largest_fit_cpus=None,
        largest_fits={},
    )


def _says_how_it_is(taint: str) -> bool:
    return taint.startswith((_STATE, *DRAINERS))


def _empty(machine: Machine | None) -> Machine | None:
    """Nobody holds anything; None where the CPUs that the kubelet reserves are not known."""
    if machine is None or not machine.reserved:
        return None
    return machine._replace(
        free=machine.topology.cpus - machine.reserved,
        memory={numa: MemoryNode(0, _unused(node.tables), ()) for numa, node in machine.memory.items()},
        devices={name: Devices(kind.total, dict(kind.total)) for name, kind in machine.devices.items()},
    )


def _unused(tables: Mapping[str, MemoryTable]) -> dict[str, MemoryTable]:
    return {name: table._replace(reserved=0, free=table.allocatable) for name, table in tables.items()}
