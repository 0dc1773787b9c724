"""Describes rejections at admission: why pods were rejected, and who owns them."""

from collections.abc import Mapping
from heapq import nsmallest
from typing import Final

import msgspec

from common.amounts import how_often
from ingest.model.records import RejectionRecord
from streams.alerting.active import MAX_MEMBERS, Group
from streams.alerting.words import SHOWN, name, shorten_list
from streams.fold.findings import PodEnd
from streams.rules.eviction.shortage import PRESSURES

REMOVE_OR_CORDON: Final = "Remove the cause or cordon the node"
_MAX_OWNERS: Final = 100
"""Number of owners that are counted by name; pods of further owners count as those of others."""
_OTHERS: Final = "others"
_LABELS: Final = "the node's labels, as the kubelet had them, did not match their selector or affinity"
_SYSTEM: Final = "they were for another operating system"
_OS_LABEL: Final = "their label kubernetes.io/os did not match the node's"
_SHUTDOWN: Final = "the node was shutting down"
_PORT: Final = "a host port that they need was taken"
_WORDS: Final = {
    "OutOfcpu": "the kubelet counted too little free CPU",
    "OutOfmemory": "the kubelet counted too little free memory",
    "OutOfpods": "the kubelet counted as many pods as the node takes",
    "OutOfephemeral-storage": "the kubelet counted too little free ephemeral storage",
    "TopologyAffinityError": "their resources could not be aligned on NUMA nodes",
    "SMTAlignmentError": "their CPUs could not be given in whole physical cores",
    "UnexpectedAdmissionError": "their kubelet met an error that it did not expect",
    "NodeAffinity": _LABELS,
    "MatchNodeSelector": _LABELS,
    "NodeSelectorMismatching": _LABELS,
    "TaintToleration": "they did not tolerate a taint of the node",
    "PodOSNotSupported": _SYSTEM,
    "PodOSSelectorNodeLabelDoesNotMatch": _OS_LABEL,
    "HostPortConflict": _PORT,
    "NodePorts": _PORT,
    "PodFitsHostPorts": _PORT,
    "SysctlForbidden": "they asked for a sysctl that the kubelet forbids",
    "AppArmor": "their AppArmor profile could not be used",
    "NodeShutdown": _SHUTDOWN,
    "Shutdown": _SHUTDOWN,
    "Terminated": _SHUTDOWN,
    "VolumeAttachmentLimitExceeded": "the node could attach no more volumes",
}
"""Words for the kubelet's reasons (rules: admission-failures), in the past tense."""
_OUT_OF: Final = "OutOf"


def reason_of(row: PodEnd) -> str:
    """Return the kubelet's reason, or the node conditions for which a pod was rejected."""
    return row.resource if row.refused_by == "node_pressure" else row.reason


def because(reason: str) -> str:
    """Return the text after "because"."""
    return known_cause(reason) or "of what the kubelet's message names"


def known_cause(reason: str) -> str:
    """Return the text after "because"; empty if the reason alone says nothing."""
    if reason in _WORDS:
        return _WORDS[reason]
    if reason.startswith(_OUT_OF):
        return f"the kubelet counted too few free {name(reason.removeprefix(_OUT_OF))}"
    conditions = [PRESSURES[each] for each in reason.split(",") if each in PRESSURES]
    return f"the node was under {' and '.join(conditions)}" if conditions else ""


_FEWER: Final = {
    "ReplicaSet": "Scale the Deployment of ReplicaSet {} down",
    **{kind: f"Scale {kind} {{}} down" for kind in ("Deployment", "ReplicationController", "StatefulSet")},
    "Job": "Suspend Job {}",
    "DaemonSet": "Keep DaemonSet {} off these nodes",
    "StaticPod": "Remove the manifest of the static pod {} from its node",
    **dict.fromkeys(("", "Pod"), "Delete Pod {}"),
}


def fewer(kind: str, owner: str) -> str:
    """Advise how to keep a workload's pods off a node, by its kind: a bare pod or a Job cannot be scaled."""
    known = _FEWER.get(kind)
    return known.format(name(owner)) if known else f"Have {name(kind)} {name(owner)} make fewer pods"


def plus(row: PodEnd | RejectionRecord, group: Group) -> Group | None:
    """Return the group with one more rejected pod; None if it has it already. A later witness can add the owner."""
    of_nobody, owner = owned_by(row.namespace, "", ""), owned_by(row.namespace, row.owner_kind, row.owner_name)
    unowned = f"{row.uid} without an owner"
    if row.uid in group.members or (unowned in group.members and not row.owner_name):
        return None
    if unowned in group.members:
        members = {row.uid if each == unowned else each: times for each, times in group.members.items()}
        breakdown = {each: times - (each == of_nobody) for each, times in group.breakdown.items()}
        breakdown[owner] = breakdown.get(owner, 0) + 1
        return msgspec.structs.replace(
            group, members=members, breakdown={key: times for key, times in breakdown.items() if times}
        )
    at = row.ts if isinstance(row, PodEnd) else row.rejected_at
    if len(group.members) >= MAX_MEMBERS:
        return group.plus("", at, under=_OTHERS)
    under = owner if owner in group.breakdown or len(group.breakdown) < _MAX_OWNERS else _OTHERS
    return group.plus(row.uid if row.owner_name else unowned, at, under=under)


def owners_of(group: Group) -> str:
    """Describe the owners of a group's pods with namespace and count, most pods first."""
    most = nsmallest(SHOWN, ((-times, owner) for owner, times in group.breakdown.items()))
    return shorten_list((f"{owner}, {how_often(-times)}" for times, owner in most), "; ", count=len(group.breakdown))


def owned_by(namespace: str, kind: str, owner: str) -> str:
    """Describe a workload, for example `ReplicaSet web-98cbc7457 in shop`."""
    return (
        f"{name(kind)} {name(owner)} in {name(namespace)}" if owner else f"pods without an owner in {name(namespace)}"
    )


def workload_labels(row: RejectionRecord) -> Mapping[str, str]:
    """Return labels that give one alert for each workload, on any number of nodes."""
    return {"namespace": name(row.namespace), "workload": f"{name(row.owner_kind)}/{name(row.owner_name)}"}
