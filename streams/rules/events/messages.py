"""The kubelet's texts about a node and about admission, parsed (rules: admission-failures, eviction-messages), and
what all texts share.

The texts come from a cluster and may be anything: nothing here raises, and what is not one of the known texts is
None, never a guess. Texts of eviction and of image GC are in `streams.rules.eviction.messages` and
`streams.rules.image_gc.messages`.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.values.quantity import INT64_MAX

LONGEST_MESSAGE: Final = 16 * 1024
"""Characters; no known text is nearly as long, except lists of errors, of which only the beginning is read."""

_COMBINED: Final = "(combined from similar events): "
_REJECTED: Final = ("Pod was rejected: ", "Pod ")
"""Before an admission's message in the pod's status: newer, and older (seen in clusters of 2019 to 2021)."""


def is_combined(message: str) -> bool:
    """Whether one event stands for several like it (rules: dropped-events), so its text is only the first one's."""
    return message.startswith(_COMBINED)


def plain(message: str) -> str:
    """The text itself, without the prefix of combined events and surrounding space, cut at `LONGEST_MESSAGE`."""
    return message[: LONGEST_MESSAGE + len(_COMBINED)].removeprefix(_COMBINED)[:LONGEST_MESSAGE].strip()


def without_rejection(text: str) -> str:
    """An admission's message, from a pod's status as from its event."""
    for prefix in _REJECTED:
        if text.startswith(prefix):
            return text.removeprefix(prefix)
    return text


def whole_number(digits: str) -> int | None:
    """A number of a message; None where it is more than 64 bits hold."""
    number = int(digits)
    return number if number <= INT64_MAX else None


NodeCondition: TypeAlias = Literal["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]


class ConditionChange(NamedTuple):
    condition: NodeCondition
    status: bool


_EVENT_REASONS: Final = {
    "NodeHasInsufficientMemory": ConditionChange("MemoryPressure", status=True),
    "NodeHasSufficientMemory": ConditionChange("MemoryPressure", status=False),
    "NodeHasDiskPressure": ConditionChange("DiskPressure", status=True),
    "NodeHasNoDiskPressure": ConditionChange("DiskPressure", status=False),
    "NodeHasInsufficientPID": ConditionChange("PIDPressure", status=True),
    "NodeHasSufficientPID": ConditionChange("PIDPressure", status=False),
    "NodeReady": ConditionChange("Ready", status=True),
    "NodeNotReady": ConditionChange("Ready", status=False),
}
_CONDITION_REASONS: Final = {
    "KubeletHasInsufficientMemory": ConditionChange("MemoryPressure", status=True),
    "KubeletHasSufficientMemory": ConditionChange("MemoryPressure", status=False),
    "KubeletHasDiskPressure": ConditionChange("DiskPressure", status=True),
    "KubeletHasNoDiskPressure": ConditionChange("DiskPressure", status=False),
    "KubeletHasInsufficientPID": ConditionChange("PIDPressure", status=True),
    "KubeletHasSufficientPID": ConditionChange("PIDPressure", status=False),
}
START_UP_REASONS: Final = frozenset({"NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"})
"""Emitted at every start of a kubelet too: alone they are no recovery."""

_STATUS_IS_NOW: Final = re.compile(r"Node (\S{1,253}) status is now: ([A-Za-z]{1,64})")


def parse_node_status(reason: str, message: str) -> ConditionChange | None:
    """Parse a node event such as NodeHasDiskPressure; None for others and where reason and message disagree."""
    match = _STATUS_IS_NOW.fullmatch(plain(message))
    if match is None or match[2] != reason:
        return None
    return _EVENT_REASONS.get(reason)


def parse_condition_reason(reason: str) -> ConditionChange | None:
    """Parse the reason of a node's condition, such as KubeletHasDiskPressure; None for others."""
    return _CONDITION_REASONS.get(reason)


def is_kubelet_start(reason: str, message: str) -> bool:
    """Whether an event is the kubelet's own at its start; kube-proxy has the same reason."""
    return reason == "Starting" and plain(message) == "Starting kubelet."


class AdmissionFailure(NamedTuple):
    """A pod that its node's kubelet did not admit. None where the text has no number."""

    reason: str
    resource: str = ""
    """The resource that was short; `cpu` for exclusive CPUs; empty where the text names none."""
    requested: int | None = None
    """Base units; millicores for `OutOfcpu`, CPUs for `SMTAlignmentError`."""
    used: int | None = None
    capacity: int | None = None
    cpus_per_core: int | None = None
    available_cpus: int | None = None
    """Free CPUs of wholly free cores."""


_OUT_OF: Final = re.compile(r"OutOf([a-z0-9][-a-z0-9./]{0,252})")
_OUT_OF_MESSAGE: Final = re.compile(
    r"Node didn't have enough resource: ([-A-Za-z0-9./]{1,253}), "
    r"requested: ([0-9]{1,19}), used: ([0-9]{1,19}), capacity: ([0-9]{1,19})"
)
_NOT_MULTIPLE: Final = re.compile(
    r"SMT Alignment Error: requested ([0-9]{1,9}) cpus not multiple cpus per core = ([0-9]{1,9})"
)
_NOT_ENOUGH_CORES: Final = re.compile(
    r"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ([0-9]{1,9}), "
    r"requested CPUs = ([0-9]{1,9}), CPUs per core = ([0-9]{1,9})"
)


def parse_admission_failure(reason: str, message: str) -> AdmissionFailure | None:
    """Why a kubelet did not admit a pod, by reason; the message, of event or status, adds numbers where it can.

    None for a reason that is no admission failure. Rejection under pressure has the reason Evicted: see
    `streams.rules.eviction.messages.parse_evicted`.
    """
    text = without_rejection(plain(message))
    if reason == "TopologyAffinityError":
        return AdmissionFailure(reason, "cpu")
    if reason == "SMTAlignmentError":
        return _smt_alignment(text)
    if reason == "UnexpectedAdmissionError":
        return AdmissionFailure(reason)
    out_of = _OUT_OF.fullmatch(reason)
    return _out_of(reason, out_of[1], text) if out_of else None


def _smt_alignment(text: str) -> AdmissionFailure:
    if match := _NOT_MULTIPLE.match(text):
        return AdmissionFailure("SMTAlignmentError", "cpu", requested=int(match[1]), cpus_per_core=int(match[2]))
    if match := _NOT_ENOUGH_CORES.match(text):
        return AdmissionFailure(
            "SMTAlignmentError",
            "cpu",
            requested=int(match[2]),
            cpus_per_core=int(match[3]),
            available_cpus=int(match[1]),
        )
    return AdmissionFailure("SMTAlignmentError", "cpu")


def _out_of(reason: str, resource: str, text: str) -> AdmissionFailure:
    match = _OUT_OF_MESSAGE.match(text)
    if match is None or match[1] != resource:
        return AdmissionFailure(reason, resource)
    return AdmissionFailure(
        reason,
        resource,
        requested=whole_number(match[2]),
        used=whole_number(match[3]),
        capacity=whole_number(match[4]),
    )
