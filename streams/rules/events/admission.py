"""Parses the text with which a kubelet refuses a pod (rules: admission-texts), and puts it into words.

The text names who refused: the sum of requests (`OutOf...`), a manager of devices, CPUs, memory or topology, or a
check of labels, taints, ports, system or settings. Nothing is concluded that it does not name. Texts are hostile:
nothing here raises.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from common.amounts import count, counted, cpus, size
from ingest.messages.reasons import without_rejection
from streams.rules.events.messages import message_body, whole_number

RefusedBy: TypeAlias = Literal[
    "resources",
    "device_manager",
    "cpu_manager",
    "memory_manager",
    "topology_manager",
    "node_labels",
    "node_name",
    "taint",
    "host_port",
    "node_pressure",
    "node_shutdown",
    "system",
    "security",
    "feature",
    "node_info",
    "",
]
REFUSERS: Final = tuple(each for each in get_args(RefusedBy) if each)
CPU: Final = "cpu"
_OF_CPUS: Final = frozenset({"cpu_manager", "topology_manager"})


class Refusal(NamedTuple):
    """The refusal of a pod. Amounts are in base units, cpu in millicores; None if the text has none."""

    refused_by: RefusedBy = ""
    """The component that refused; empty if the text does not name it."""
    resource: str = ""
    """The resource; for `node_pressure` the node's conditions, joined by commas."""
    requested: int | None = None
    available: int | None = None
    capacity: int | None = None
    words: str = ""
    """A sentence about it; empty if nothing is known beyond the text itself."""

    @property
    def is_about_cpus(self) -> bool:
        return self.refused_by in _OF_CPUS or self.resource == CPU


_N: Final = r"(-?[0-9]{1,19})"
_NAME: Final = r"([A-Za-z0-9][-A-Za-z0-9._/]{0,316}?)"
_OUT_OF: Final = re.compile(
    rf"Node didn't have enough (?:resource|capacity): {_NAME}"
    rf"(?:, requested: {_N}(?:, used: {_N})?, capacity: {_N})?\.?"
)
_UNAVAILABLE: Final = re.compile(
    rf"requested number of devices unavailable for {_NAME}\. Requested: {_N}, Available: {_N}"
)
_FEWER_CPUS: Final = re.compile(rf"not enough cpus available to satisfy request(?:: requested={_N}, available={_N})?")
_SMT: Final = re.compile(
    rf"SMT Alignment Error: (?:requested {_N} cpus not multiple cpus per core = {_N}"
    rf"|not enough free physical CPUs: available physical CPUs = {_N}, requested CPUs = {_N}, CPUs per core = {_N})"
)
_UNKNOWN_THEN: Final = "The kubelet knew of no {} then: no device plugin had registered it, or it is gone."
_NONE_COUNTED: Final = "The kubelet counted no {} at all: it did not know yet how much it has, or it has none."
_CAUSE: Final = re.compile(
    r"(?:Allocate failed due to|Update plugin resources failed due to) (.*?)(?:, which is unexpected\.?)?", re.DOTALL
)
_CONDITION: Final = re.compile(
    r"The node (?:was low on resource|had condition): \[([A-Za-z]{1,64}(?: [A-Za-z]{1,64}){0,15})\]\.?"
)
_DEVICES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (
            rf"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {_NAME}",
            "Devices that the pod was given, {0}, are no longer healthy.",
        ),
        (
            rf"no healthy devices present; cannot allocate unhealthy devices {_NAME}",
            "The kubelet's device manager has no healthy {0}.",
        ),
        (
            rf"(?:cannot|[Cc]an't) allocate unregistered device {_NAME}",
            "No device plugin has registered {0} with the kubelet yet.",
        ),
        (
            rf"endpoint not found in cache for a registered resource: {_NAME}",
            "The kubelet has lost the device plugin of {0}.",
        ),
        (rf"unknown Device Plugin {_NAME}", "The kubelet knows no device plugin of {0}."),
        (
            r'pod "[^"]*" container "[^"]*" changed request for resource "([^"]*)" from .*',
            "A container requests a different number of {0} than it was given.",
        ),
        (
            (
                r"(?:device plugin .* rpc failed|rpc error: |no containers return|unexpectedly allocated less"
                r"|no devices found).*"
            ),
            "A device plugin failed.",
        ),
        (r"endpoint .{1,400} has been stopped.*", "The device plugin has stopped."),
        (r"failed to write checkpoint file .*", "The kubelet could not write the device manager's checkpoint."),
    )
)
_NO_ROOM_TO_PREEMPT: Final = re.compile(
    r"Unexpected error while attempting to recover from admission failure: preemption: .*"
    rf"[Nn]o set of running pods found to reclaim resources: \[\(res: {_NAME}, q: {_N}\).*",
    re.DOTALL,
)
"""A critical pod finds no room even if all pods are preempted that may be."""
_LACKED: Final = re.compile(rf"\(res: {_NAME}, q: {_N}\)")
_MOST_LACKED: Final = 8
_DISK_FULL: Final = "no space left on device"
_SHUTDOWNS: Final = frozenset(
    {
        "Node is in progress of shutting down, not admitting any new pods",
        "Pod was rejected as the node is shutting down.",
    }
)
"""Texts of pods that a shutdown ended: the reason in kubelets up to 1.21, and the text in later ones."""
_POD_BUDGET: Final = re.compile(r"pod rejected, .*\b(cpus?|memory|hugepages-\w{1,20})\b.*", re.DOTALL)
_BY_REASON: Final[dict[str, tuple[RefusedBy, str]]] = {
    "TopologyAffinityError": (
        "topology_manager",
        "The kubelet's Topology Manager found no placement on NUMA nodes that its policy allows.",
    ),
    "AppArmor": ("security", "The pod's AppArmor profile cannot be used on the node."),
    "SysctlForbidden": ("security", "The pod sets a sysctl that the kubelet forbids."),
    "HostPortConflict": ("host_port", "A host port that the pod needs was taken."),
    "NodePorts": ("host_port", "A host port that the pod needs was taken."),
    "PodFitsHostPorts": ("host_port", "A host port that the pod needs was taken."),
    "NodeName": ("node_name", "The pod names another node."),
    "HostName": ("node_name", "The pod names another node."),
    "TaintToleration": ("taint", "The pod did not tolerate a NoExecute taint of the node."),
    "NodeShutdown": ("node_shutdown", "The node was shutting down."),
    "VolumeAttachmentLimitExceeded": ("resources", "The node could attach no more volumes of the driver."),
    "InvalidNodeInfo": ("node_info", "The kubelet could not read its own Node object."),
    "PodOSNotSupported": ("system", "The pod is for another operating system."),
    "PodOSSelectorNodeLabelDoesNotMatch": ("system", "The pod's label kubernetes.io/os does not match the node's."),
    **dict.fromkeys(
        ("NodeAffinity", "MatchNodeSelector", "NodeSelectorMismatching"),
        (
            "node_labels",
            "The node's labels, as the kubelet had them then, did not match the pod's node selector or affinity.",
        ),
    ),
    **dict.fromkeys(
        (
            "InitContainerRestartPolicyForbidden",
            "SupplementalGroupsPolicyNotSupported",
            "PodLevelResourcesNotSupported",
            "PodFeatureUnsupported",
        ),
        ("feature", "The node lacks a feature that the pod uses."),
    ),
}


@lru_cache(maxsize=1024)
def parse_refusal(reason: str, message: str) -> Refusal:
    """Parse who refused the pod and for which resource, from the reason and text of a pod's status or an Event."""
    text = without_rejection(message_body(message)).strip()
    if reason == "UnexpectedAdmissionError":
        found = _CAUSE.fullmatch(text)
        cause = found[1] if found else text
        named = _others(text) or _devices(cause) or _cpus(cause) or _memory(cause) or _budget(cause)
        return named or _plugins(text) or Refusal()
    if reason == "SMTAlignmentError":
        return _smt(text)
    if is_refused_at_shutdown(text):
        return Refusal("node_shutdown", words="The node was shutting down.")
    if reason == "EmptyPodSharedPoolError":
        return _budget(text) or Refusal()
    if reason in _BY_REASON:
        refused_by, words = _BY_REASON[reason]
        return Refusal(refused_by, words=words)
    return _out_of(reason, text) or _pressure(text) or Refusal()


def is_refused_at_shutdown(message: str) -> bool:
    """Tell whether the kubelet refused the pod because its node was shutting down, by its text."""
    return without_rejection(message_body(message)).strip() in _SHUTDOWNS


def _out_of(reason: str, text: str) -> Refusal | None:
    found = _OUT_OF.fullmatch(text)
    if found is None:
        name = reason.removeprefix("OutOf")
        return Refusal("resources", name) if name != reason and name else None
    name, requested, used, capacity = found[1], *(_number(found[i]) for i in (2, 3, 4))
    if requested is None or capacity is None:
        return Refusal("resources", name)
    requests = amount(requested, name)
    if not capacity and name.startswith("hugepages-"):
        words = f"According to its kubelet, the node has no {name}."
    elif not capacity:
        words = (_UNKNOWN_THEN if "/" in name else _NONE_COUNTED).format(name)
    elif used is None or requested > capacity:
        words = f"The pod requests {requests}, the node can give {amount(capacity, name)}."
    elif name == "pods":
        words = f"The kubelet counts {counted(used, 'pod')}, and the node takes {capacity}."
    else:
        words = f"The pod requests {requests}; the kubelet counts {of(used, capacity, name)} as requested already."
    available = None if used is None else capacity - used
    return Refusal("resources", name, requested, available, capacity, words)


def _others(text: str) -> Refusal | None:
    """Parse a lack of room even after preemption, or a disk too full for the device manager's checkpoint."""
    if found := _NO_ROOM_TO_PREEMPT.fullmatch(text):
        each_missing = [_missing(name, _number(lacks)) for name, lacks in _LACKED.findall(text)[:_MOST_LACKED]]
        missing = " and ".join(filter(None, (", ".join(each_missing[:-1]), each_missing[-1])))
        words = f"The critical pod lacks {missing}, and the kubelet found no pods that it may preempt for that."
        return Refusal("resources", found[1], words=words)
    if "checkpoint" in text and _DISK_FULL in text:
        return Refusal("device_manager", words="The kubelet could not write its checkpoint: its disk is full.")
    return None


def _plugins(text: str) -> Refusal | None:
    """Parse a failure of the device manager to update its plugins during admission."""
    if not text.startswith("Update plugin resources failed due to "):
        return None
    return Refusal("device_manager", words="The kubelet could not count the devices that the pod was given.")


def _missing(name: str, lacks: int | None) -> str:
    return name if lacks is None or name == "pods" else amount(lacks, name)


def _devices(cause: str) -> Refusal | None:
    if found := _UNAVAILABLE.fullmatch(cause):
        name, requested, available = found[1], _number(found[2]), _number(found[3])
        words = f"The pod requests {found[2]} {name}; the kubelet's device manager has {found[3]} free."
        return Refusal("device_manager", name, requested, available, words=words)
    for pattern, words in _DEVICES:
        if found := pattern.fullmatch(cause):
            name = found[1] if found.groups() else ""
            return Refusal("device_manager", name, words=words.format(name))
    return None


def _cpus(cause: str) -> Refusal | None:
    found = _FEWER_CPUS.fullmatch(cause)
    if found is None:
        known = cause.startswith(("[cpumanager]", "failed to allocate cpus", "accounting error, "))
        words = "The kubelet's CPU manager could not allocate the CPUs."
        return Refusal("cpu_manager", CPU, words=words) if known else None
    requested, available = (_number(found[i]) for i in (1, 2))
    if requested is None or available is None:
        return Refusal("cpu_manager", CPU, words="The kubelet's CPU manager has too few free CPUs.")
    requests = counted(requested, "exclusive CPU")
    words = f"A container requests {requests}; the kubelet's CPU manager has {available} free."
    return Refusal("cpu_manager", CPU, requested * 1000, available * 1000, words=words)


def _smt(text: str) -> Refusal:
    found = _SMT.fullmatch(text)
    if found is None:
        return Refusal("cpu_manager", CPU)
    if found[1]:
        words = (
            f"The kubelet gives whole physical cores of {_cpus_of(found[2])}, and a container requests "
            f"{_cpus_of(found[1])}."
        )
        requested = _number(found[1])
        return Refusal("cpu_manager", CPU, None if requested is None else requested * 1000, words=words)
    asked_cpus, free_cpus = _cpus_of(found[4]), _cpus_of(found[3])
    words = f"A container requests {asked_cpus} in whole physical cores; such cores have {free_cpus} free."
    requested, free = _number(found[4]), _number(found[3])
    if requested is None or free is None:
        return Refusal("cpu_manager", CPU)
    return Refusal("cpu_manager", CPU, requested * 1000, free * 1000, words=words)


def _memory(cause: str) -> Refusal | None:
    if not cause.startswith("[memorymanager]"):
        return None
    found_none = "no NUMA nodes with enough memory" in cause or "failed to find NUMA nodes" in cause
    how = "found no NUMA nodes with enough memory" if found_none else "could not allocate the memory"
    return Refusal("memory_manager", "memory", words=f"The kubelet's memory manager {how}.")


def _budget(cause: str) -> Refusal | None:
    """Containers of a pod with resources of its own (seen 1.36)."""
    found = _POD_BUDGET.fullmatch(cause)
    if found is None:
        return None
    refused_by: RefusedBy = "cpu_manager" if found[1].startswith(CPU) else "memory_manager"
    resource = CPU if refused_by == "cpu_manager" else found[1]
    return Refusal(refused_by, resource, words="The pod's own resources leave nothing for its shared containers.")


def _pressure(text: str) -> Refusal | None:
    found = _CONDITION.fullmatch(text)
    if found is None:
        return None
    several = " " in found[1]
    named = found[1].replace(" ", " and ")
    return Refusal(
        "node_pressure", found[1].replace(" ", ","), words=f"The node had the condition{'s' * several} {named}."
    )


def _number(digits: str | None) -> int | None:
    return None if digits is None else whole_number(digits)


def _cpus_of(digits: str) -> str:
    return counted(int(digits), "CPU")


def amount(value: int, resource: str) -> str:
    """Return an amount in words, such as `1 CPU`, `2 GiB of memory` or `8 nvidia.com/gpu`."""
    if resource == CPU:
        return cpus(value)
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return f"{size(value)} of {resource.replace('ephemeral-', 'ephemeral ')}"
    return f"{count(value)} {resource}"


def of(part: int, whole: int, resource: str) -> str:
    """Return a part of an amount in words, such as `8 of 8 CPUs`."""
    given = amount(whole, resource)
    unit = given.partition(" of ")[2]
    return f"{(size(part) if unit else amount(part, resource).partition(' ')[0])} of {given}"
