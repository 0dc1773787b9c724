"""Rejections at admission in words: for what pods were rejected, and whose they are."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ingest.model.records import RejectionRecord
from streams.alerting.active import Group
from streams.alerting.words import name, some
from streams.fold.findings import PodEnd
from streams.rules.eviction.messages import AdmissionRejection, parse_evicted

MAX_MEMBERS: Final = 1000
"""Pods of one alert that are kept apart; of more, the rest are counted by row."""
_CONDITIONS: Final = {
    "MemoryPressure": "memory pressure",
    "DiskPressure": "disk pressure",
    "PIDPressure": "process id pressure",
}
_LABELS: Final = "the node's labels do not match their node affinity"
_SYSTEM: Final = "they are for another operating system"
_PORT: Final = "a host port that they need is taken"
_WORDS: Final = {
    "OutOfcpu": "not enough CPU is left",
    "OutOfmemory": "not enough memory is left",
    "OutOfpods": "the node has as many pods as it takes",
    "OutOfephemeral-storage": "not enough ephemeral storage is left",
    "TopologyAffinityError": "their CPUs and devices cannot be aligned on NUMA nodes",
    "SMTAlignmentError": "they do not ask for whole physical cores",
    "UnexpectedAdmissionError": "the kubelet could not allocate what they request",
    "NodeAffinity": _LABELS,
    "MatchNodeSelector": _LABELS,
    "NodeSelectorMismatching": _LABELS,
    "TaintToleration": "they do not tolerate a taint of the node",
    "PodOSNotSupported": _SYSTEM,
    "PodOSSelectorNodeLabelDoesNotMatch": _SYSTEM,
    "HostPortConflict": _PORT,
    "NodePorts": _PORT,
    "PodFitsHostPorts": _PORT,
    "SysctlForbidden": "they ask for a sysctl that the kubelet forbids",
    "AppArmor": "their AppArmor profile cannot be used",
    "NodeShutdown": "the node is shutting down",
}
"""By the kubelet's reason (rules: admission-failures)."""
_OUT_OF: Final = "OutOf"


def reason_of(row: PodEnd) -> str:
    """The kubelet's reason, or the node's conditions that a pod was rejected for."""
    parsed = parse_evicted(row.message) if row.reason == "Evicted" else None
    return ",".join(parsed.conditions) if isinstance(parsed, AdmissionRejection) else row.reason


def because(reason: str) -> str:
    """Words for a reason, as they follow "because"."""
    if reason in _WORDS:
        return _WORDS[reason]
    if reason.startswith(_OUT_OF):
        return f"not enough {name(reason.removeprefix(_OUT_OF))} is left"
    conditions = [_CONDITIONS[each] for each in reason.split(",") if each in _CONDITIONS]
    if conditions:
        return f"the node is under {' and '.join(conditions)}"
    return "of what the kubelet's message names"


def fewer(kind: str, owner: str) -> str:
    """How fewer of a workload's pods come to a node, by what its owner allows: nobody scales a bare pod or a Job."""
    if kind in _SCALED:
        return f"Scale {kind} {name(owner)} down"
    if kind == "Job":
        return f"Suspend Job {name(owner)}"
    if kind == "DaemonSet":
        return f"Keep DaemonSet {name(owner)} off these nodes"
    return f"Have {name(kind)} {name(owner)} make fewer pods" if kind not in _BARE else f"Delete Pod {name(owner)}"


_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_BARE: Final = frozenset({"", "Node", "Pod"})


def plus(group: Group, row: PodEnd | RejectionRecord) -> Group | None:
    """The group with one more rejected pod; None where it is there. A later witness can add the pod's owner."""
    prefix = f"{row.uid} "
    known = next((member for member in group.members if member.startswith(prefix)), None)
    member = f"{prefix}{row.namespace} {row.owner_kind} {row.owner_name}"
    if known is None:
        at = row.ts if isinstance(row, PodEnd) else row.rejected_at
        return group.plus(member if len(group.members) < MAX_MEMBERS else "", at)
    if known == member or not row.owner_name:
        return None
    members = {member if each == known else each: times for each, times in group.members.items()}
    return Group(members, group.first_at, group.last_at)


def whose(group: Group) -> str:
    """The owners of a group's pods, those of most pods first: who they are, where, and how often."""
    counts: Counter[str] = Counter()
    for member, times in group.members.items():
        counts[owner_of(member)] += times
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return some((f"{owner}, {_often(times)}" for owner, times in ordered), "; ")


def owner_of(member: str) -> str:
    if not member:
        return "others"
    _, namespace, kind, owner = member.split(" ", 3)
    return owned_by(namespace, kind, owner)


def owned_by(namespace: str, kind: str, owner: str) -> str:
    """A workload, as `ReplicaSet web-98cbc7457 in shop`."""
    return (
        f"{name(kind)} {name(owner)} in {name(namespace)}" if owner else f"pods without an owner in {name(namespace)}"
    )


def workload_labels(row: RejectionRecord) -> Mapping[str, str]:
    """Of one alert for each workload, on however many nodes."""
    return {"namespace": name(row.namespace), "workload": f"{name(row.owner_kind)}/{name(row.owner_name)}"}


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
