"""Models a new node that resembles an existing one, for `leadsman fit --like` (rules: scheduler-fit,
exclusive-cpus).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from streams.questions.fit import Candidate
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology_manager import Devices, Machine
from streams.rules.pod_ends.when import DRAINERS
from streams.rules.scheduling.device_claims import Devices as ClaimedDevices
from streams.rules.scheduling.device_claims import NodeDevices, node_devices
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.volume_needs import NodeVolumes

HOSTNAME: Final = "kubernetes.io/hostname"
_STATE: Final = "node.kubernetes.io/"
"""Prefix of taints about a node's state, not its purpose."""


class PerNodePod(NamedTuple):
    """A pod that each new node also gets: from a DaemonSet, or static."""

    requests: Mapping[str, int]
    """Effective requests in base units, cpu in millicores."""
    itself: Neighbour


def adds_up(pod: PodRequest | None) -> bool:
    """Tell whether a second new node takes as many such pods as the first.

    It may not, if they share what a zone or a claim allows. `pod` is from a manifest, if there is one.
    """
    if pod is None:
        return True
    wants = pod.itself.constraints
    each_on_its_node = all(term.topology_key == HOSTNAME for term in wants.anti_affinity)
    shared = any(each.volume not in pod.created_claims for each in wants.claimed) or any(
        each.claim for each in wants.devices
    )
    return each_on_its_node and not (wants.affinity or wants.spread or shared)


def as_new(each: Candidate, staying: Sequence[PerNodePod], name: str, devices: ClaimedDevices) -> Candidate:
    """Return the node as it would be when new: ready, with the staying pods alone, and no devices others claim."""
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
            taints=tuple(taint for taint in state.taints if not taint.startswith((_STATE, *DRAINERS))),
            machine=_empty(state.machine),
            free_cpus=None,
            labels=labels,
            neighbours=tuple(pod.itself for pod in staying),
            volumes=NodeVolumes(limits=limits),
            devices=_unclaimed(devices, state.node, state.labels),
        ),
        largest_fit_cpus=None,
        largest_fits={},
    )


def _unclaimed(devices: ClaimedDevices, node: str, labels: Mapping[str, str]) -> NodeDevices:
    own = {(each.driver, each.pool) for each in devices.slices if each.node == node}
    claims = {
        name: msgspec.structs.replace(claim, held=[each for each in claim.held if each[:2] not in own])
        for name, claim in devices.claims.items()
    }
    (found,) = node_devices(devices._replace(claims=claims), [(node, labels)])
    return found


def _empty(machine: Machine | None) -> Machine | None:
    """Return the node without pods that hold CPUs; None if the kubelet's reserved CPUs are unknown."""
    if machine is None or not machine.reserved:
        return None
    return machine._replace(
        free=machine.topology.cpus - machine.reserved,
        memory={numa: MemoryNode(0, _unused(node.tables), ()) for numa, node in machine.memory.items()},
        devices={name: Devices(kind.total, dict(kind.total)) for name, kind in machine.devices.items()},
    )


def _unused(tables: Mapping[str, MemoryTable]) -> dict[str, MemoryTable]:
    return {name: table._replace(reserved=0, free=table.allocatable) for name, table in tables.items()}
