"""Reasons that kubelets set in a pod's status, each in one spelling (rules: admission-failures, how-pods-end), and
prefixes of messages: one list for both redaction and rules. Pure.
"""

import re
from typing import Final

COMBINED: Final = "(combined from similar events): "
REJECTED: Final = ("Pod was rejected: ", "Pod ")
"""Prefixes of an admission's message in the pod's status: since 1.26, and before (rules: admission-failures)."""
_SHUTDOWN: Final = "Pod was rejected as "
"""Start of a whole message: "... the node is shutting down."."""
_BEFORE: Final = re.compile(rf"(?:{re.escape(COMBINED)})?(?:{'|'.join(map(re.escape, REJECTED))})?")


STARTING: Final = "Starting"
STARTS: Final = ("Starting kubelet.", f"{COMBINED}Starting kubelet.")
"""Messages of the kubelet's Event with that reason; kube-proxy uses the same reason with another message."""


def is_kubelet_start(reason: str, message: str) -> bool:
    """Tell whether an Event about a Node reports that its kubelet started."""
    return reason == STARTING and message.strip() in STARTS


def prefix_of(message: str) -> str:
    """Return the prefixes before the message itself, or an empty text.

    A complete message can begin like the older prefix ("Pod sandbox changed"), so readers must first try it as a
    whole.
    """
    found = _BEFORE.match(message)
    return found[0] if found else ""


def without_rejection(text: str) -> str:
    """Return an admission's message without its prefix, from a pod's status or its Event."""
    if text.startswith(_SHUTDOWN):
        return text
    return next((text.removeprefix(each) for each in REJECTED if text.startswith(each)), text)


_SPELLED: Final = {
    "Topology Affinity Error": "TopologyAffinityError",
    "OutOfCPU": "OutOfcpu",
    "OutOfCpu": "OutOfcpu",
    "OutOfMemory": "OutOfmemory",
    "OutOfPods": "OutOfpods",
}
"""The current spelling of a reason, by its other spellings: from kubelets before 1.18, and from tools that repeat
it.
"""
OUT_OF: Final = re.compile(r"OutOf[A-Za-z0-9][-A-Za-z0-9./]{0,252}")
"""Reason of a refusal because the node has too little of a resource."""
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
"""All other reasons of refusals."""
_ENDS: Final = frozenset({"DeadlineExceeded", "Evicted", "Preempting", "Shutdown", "Terminated"})


def spell_out(reason: str) -> str:
    return _SPELLED.get(reason, reason)


def is_by_kubelet(reason: str) -> bool:
    """Tell whether a pod failed for a reason that only its kubelet gives."""
    return reason in REFUSALS or reason in _ENDS or OUT_OF.fullmatch(reason) is not None
