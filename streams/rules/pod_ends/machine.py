"""Bounds and explains ends on a node by its machine's shutdowns, reboots and silences (rules: how-pods-end)."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.node import Node
from ingest.model.objects.pod import ContainerTerminated
from streams.rules.pod_ends.causes import SIGKILL, SIGTERM, is_shutdown, known_code
from streams.rules.pod_ends.when import When
from streams.rules.scheduling.selectors import NODE_NAME, Terms, meets_any
from streams.rules.values.expressions import Operand, is_among

MAX_TIMES: Final = 40
"""Number of times of a kind that are kept, because later witnesses can complete them."""
RESTART: Final = timedelta(minutes=15)
"""The longest time from the end of a container to the Event that its machine was rebooted."""
EVENT_DELAY: Final = timedelta(minutes=1)
"""The longest time from a start after the reboot to that Event, which waits for the node's first status."""
DRAINS: Final = ("DeprovisioningTerminating", "DisruptionTerminating", "ScaleDown")
"""Reasons of Events with which Karpenter and the cluster autoscaler drain a node on purpose."""
INTERRUPTED: Final = "TerminatingOnInterruption"
"""Reason with which Karpenter drains a node because the cloud takes its machine."""
CONFIGURES: Final = ("Cordon", "Drain", "OSUpdateStarted", "Reboot", "Uncordon")
"""Reasons with which OpenShift's machine config drains, updates and reboots a node."""
_CONFIGURERS: Final = (
    "machineconfigdaemon",
    "machine-config-controller",
    "machineconfigcontroller",
    "machineconfigcontroller-updatecontroller",
)
_ENDS: Final = (
    *("DeletingNode", "InstanceStopping", "InstanceTerminating", "NodeShutdown", "Rebooted", "Shutdown"),
    "SpotInterrupted",
)
_LOST_CODE: Final = 255
"""Exit code that container runtimes write for a container that is gone when they start."""


class Machine(msgspec.Struct, frozen=True):
    shut_down: tuple[datetime, ...] = ()
    """Times at which its kubelet reported a shutdown."""
    rebooted: tuple[datetime, ...] = ()
    """Times at which its kubelet found another boot id."""
    returned: tuple[datetime, ...] = ()
    """Times at which its kubelet worked again."""
    lost: tuple[datetime, ...] = ()
    """Times at which its kubelet stopped reporting."""
    labels: dict[str, str] | None = None
    """Labels of its Node as last seen; None if it was not seen."""


def concerns_machine(kind: Operand, reason: Operand, component: Operand) -> Operand:
    """Tell whether an Event is about a node's machine, for example a drain or a reboot."""
    configured = is_among(component, _CONFIGURERS) & is_among(reason, (*CONFIGURES, "FailedToDrain"))
    return (kind == "Node") & (is_among(reason, (*DRAINS, INTERRUPTED, *_ENDS)) | configured)


def with_event(machine: Machine, reason: str, message: str, at: datetime) -> Machine:
    if is_shutdown(reason, message):
        return msgspec.structs.replace(machine, shut_down=_with(machine.shut_down, at))
    if reason == "Rebooted":
        rebooted, returned = _with(machine.rebooted, at), _with(machine.returned, at)
        return msgspec.structs.replace(machine, rebooted=rebooted, returned=returned)
    if is_kubelet_start(reason, message):
        return msgspec.structs.replace(machine, returned=_with(machine.returned, at))
    return machine


def with_node(machine: Machine, node: Node) -> Machine:
    labels = node.metadata.labels or {}
    if labels != machine.labels:
        machine = msgspec.structs.replace(machine, labels=labels)
    for each in node.status.conditions or ():
        if each.type == "Ready" and each.last_transition_time is not None:
            if each.status == "True":
                return msgspec.structs.replace(machine, returned=_with(machine.returned, each.last_transition_time))
            if each.status == "Unknown":
                return msgspec.structs.replace(machine, lost=_with(machine.lost, each.last_transition_time))
    return machine


def _with(times: tuple[datetime, ...], at: datetime) -> tuple[datetime, ...]:
    return times if at in times else tuple(sorted((*times, at))[-MAX_TIMES:])


def narrowed(machine: Machine, cause: str, when: When) -> When:
    """Narrow the bounds of an end: not before the sign of its cause, and not after the machine's next return."""
    begins = {"node_shutdown": machine.shut_down, "node_lost": machine.lost}.get(cause, ())
    if when.is_known or when.latest is None:
        return when
    signs = [at for at in begins if (when.earliest or at) <= at <= when.latest]
    if not signs:
        return when
    # a pod outlives earlier losses of its node
    began = signs[-1 if cause == "node_lost" else 0]
    ended = next((at for at in machine.returned if began < at <= when.latest), when.latest)
    return When(began, is_known=False, earliest=began, latest=ended)


def compared(machine: Machine, node: str, terms: Terms | None) -> str:
    """Return a sentence on whether the Node has the labels that a pod asks for; empty if it was not seen."""
    if machine.labels is None or terms is None:
        return ""
    has_them = meets_any(terms, {**machine.labels, NODE_NAME: node})
    return f"The Node object, as last seen, {'has labels that match' if has_them else 'has none that match either'}."


def may_be_of_a_reboot(terminated: ContainerTerminated) -> bool:
    """Tell whether a container ended as a reboot ends it: killed, or gone when its runtime started."""
    return known_code(terminated) in {None, _LOST_CODE, SIGKILL, SIGTERM}


def end_of_container(terminated: ContainerTerminated) -> When | None:
    """Return when a container ended. A runtime that found it gone after a reboot writes its own start instead."""
    at = terminated.finished_at
    is_known = known_code(terminated) in {SIGKILL, SIGTERM}
    return None if at is None else When(at, is_known, latest=None if is_known else at)


def was_rebooted(
    machine: Machine, began_at: datetime | None, ended_at: datetime, started_at: datetime | None
) -> bool:
    """Tell whether the machine was rebooted between the end of a container and its next start.

    A container that began after the reboot ended by something else, and so may one that was not started again.
    """
    return started_at is not None and any(
        ended_at - EVENT_DELAY <= at <= min(ended_at + RESTART, started_at + EVENT_DELAY)
        and (began_at is None or began_at < at)
        for at in machine.rebooted
    )
