"""Lists the fields that `kubectl describe` prints at column 0 for a pod and a node, in its order."""

from typing import Final

OF_POD: Final = [
    "Name",
    "Namespace",
    "Priority",
    "Priority Class Name",
    "PriorityClassName",
    "Runtime Class Name",
    "Service Account",
    "Node",
    "Start Time",
    "Labels",
    "Annotations",
    "Status",
    "Termination Grace Period",
    "Reason",
    "Message",
    "SeccompProfile",
    "LocalhostProfile",
    "IP",
    "IPs",
    "Controlled By",
    "NominatedNodeName",
    "Resources",
    "Init Containers",
    "Containers",
    "Ephemeral Containers",
    "Readiness Gates",
    "Conditions",
    "Volumes",
    "QoS Class",
    "Node-Selectors",
    "Tolerations",
    "Topology Spread Constraints",
    "Events",
]
"""Headings that kubectl prints at column 0, in its order."""
OF_NODE: Final = [
    "Name",
    "Roles",
    "Role",
    "Labels",
    "Annotations",
    "CreationTimestamp",
    "Taints",
    "Unschedulable",
    "Lease",
    "Conditions",
    "Addresses",
    "Capacity",
    "Allocatable",
    "Allocated Dynamic Resources",
    "System Info",
    "PodCIDR",
    "PodCIDRs",
    "ProviderID",
    "Non-terminated Pods",
    "Pods",
    "Allocated resources",
    "Events",
]
RANKS: Final = {
    second: {name: rank for rank, name in enumerate(order)}
    for order, seconds in ((OF_POD, ("Namespace", "Priority")), (OF_NODE, ("Roles", "Role", "Labels")))
    for second in seconds
}
"""Ranks of headings, by the field that follows the name: that of a pod or of a node."""
