"""Reasons that kubelets give in a pod's status, each in one spelling (rules: admission-failures, how-pods-end)."""

import re
from typing import Final

_SPELLED: Final = {
    "Topology Affinity Error": "TopologyAffinityError",
    "OutOfCPU": "OutOfcpu",
    "OutOfCpu": "OutOfcpu",
    "OutOfMemory": "OutOfmemory",
    "OutOfPods": "OutOfpods",
}
"""Current spelling of a reason, by its other spellings: from kubelets before 1.18, and from tools that repeat it."""
OUT_OF: Final = re.compile(r"OutOf[A-Za-z0-9][-A-Za-z0-9./]{0,252}")
"""The reason of a refusal because of too little of a resource."""
REFUSALS: Final = frozenset(
    {
        "AppArmor",
        "EmptyPodSharedPoolError",
        "HostName",
        "HostPortConflict",
        "InitContainerRestartPolicyForbidden",
        "InvalidNodeInfo",
        "MatchNodeSelector",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeSelectorMismatching",
        "NodeShutdown",
        "PodFeatureUnsupported",
        "PodFitsHostPorts",
        "PodLevelResourcesNotSupported",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SMTAlignmentError",
        "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden",
        "TaintToleration",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
        "UnknownReason",
        "VolumeAttachmentLimitExceeded",
    }
)
"""All other reasons of a refusal."""
_ENDS: Final = frozenset({"DeadlineExceeded", "Evicted", "Preempting", "Shutdown", "Terminated"})


def spelled(reason: str) -> str:
    """Return a reason as kubelets spell it now."""
    return _SPELLED.get(reason, reason)


def is_by_kubelet(reason: str) -> bool:
    """Tell whether a pod failed for a reason that only its kubelet gives."""
    return reason in REFUSALS or reason in _ENDS or OUT_OF.fullmatch(reason) is not None
