"""Finds what ended a pod or one of its containers, by what API server and kubelet leave behind (rules: how-pods-end).

A pod that was evicted, preempted or deleted looks the same in its phase; the condition DisruptionTarget separates
them. Texts are hostile: an unknown text gives no cause, and nothing is guessed.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.messages.reasons import OUT_OF, REFUSALS, REJECTED, without_rejection
from ingest.model.objects.base import Condition
from ingest.model.objects.pod import ContainerState, ContainerStatus, ContainerTerminated, Pod
from streams.rules.events.admission import is_refused_at_shutdown
from streams.rules.events.messages import message_body
from streams.rules.eviction.messages import (
    AdmissionRejection,
    Eviction,
    LimitEviction,
    PressureEviction,
    UnexplainedEviction,
    parse_evicted,
)
from streams.rules.pod_ends.when import When, ended_by_status
from streams.rules.pods.qos import FINISHED
from streams.rules.scheduling.constraints import DEFAULT_SCHEDULER

Cause: TypeAlias = Literal[
    "node_pressure",
    "own_limit",
    "kubelet_eviction",
    "admission",
    "api_eviction",
    "scheduler_preemption",
    "kubelet_preemption",
    "taint_manager",
    "node_shutdown",
    "pod_gc",
    "node_lost",
    "node_reboot",
    "deadline",
    "oom_kill",
    "liveness",
    "exited",
    "deleted",
]
KUBELET: Final = "kubelet"
OOM_KILLED: Final = "OOMKilled"
SIGKILL: Final = 137
"""The exit code of a process that got SIGKILL: from the kernel, from a kubelet after the grace period, or others."""
SIGTERM: Final = 143
"""The exit code of a process that SIGTERM ended."""
OUTLIVED_KILL: Final = frozenset({0, SIGTERM})
"""Exit codes beside which OOMKilled shows an earlier kill of another process in the cgroup (rules: how-pods-end)."""

_CONDITIONS: Final[dict[str, tuple[Cause, str]]] = {
    "EvictionByEvictionAPI": ("api_eviction", "eviction API"),
    "PreemptionByScheduler": ("scheduler_preemption", DEFAULT_SCHEDULER),
    "PreemptionByKubeScheduler": ("scheduler_preemption", DEFAULT_SCHEDULER),  # 1.25
    "DeletionByTaintManager": ("taint_manager", "taint-eviction-controller"),
    "DeletionByPodGC": ("pod_gc", "pod-garbage-collector"),
    "DeletionByGCPControllerManager": ("pod_gc", "gcp-controller-manager"),  # GKE, where the node is gone too
}
_STATUSES: Final[dict[str, tuple[Cause, str]]] = {
    "Preempting": ("kubelet_preemption", KUBELET),
    "Terminated": ("node_shutdown", KUBELET),
    "Shutdown": ("node_shutdown", KUBELET),
    "NodeLost": ("node_lost", "node-controller"),
    "DeadlineExceeded": ("deadline", KUBELET),
}
_NOT_ENOUGH: Final = "Node didn't have enough"
_OF_EVICTED: Final[dict[type[Eviction | UnexplainedEviction], Cause]] = {
    PressureEviction: "node_pressure",
    LimitEviction: "own_limit",
    AdmissionRejection: "admission",
    UnexplainedEviction: "kubelet_eviction",
}
EVICTED: Final = frozenset(_OF_EVICTED.values())
"""Causes of pods with the kubelet's reason Evicted."""
_OF_KUBELET: Final[tuple[tuple[str, Cause], ...]] = (
    ("Pod was preempted by Kubelet to accommodate a critical pod.", "kubelet_preemption"),
    ("Pod was terminated in response to imminent node shutdown.", "node_shutdown"),
)
"""Starts of the message of a condition TerminationByKubelet, beside those of evictions."""
PREEMPTED: Final = "Preempted"
_PREEMPTED: Final = ("Preempted by ", "by ")
"""Starts of a scheduler's text, since 1.14 and before."""
_SHUTDOWN: Final = frozenset({"NodeShutdown", "Shutdown"})
_PROBE: Final = re.compile(r"Container (\S{1,63}) failed (?:liveness|startup) probe, will be restarted")
_FAILED_PROBES: Final = ("Liveness probe ", "Startup probe ")
_DEFAULT_GRACE_SECONDS: Final = 30
_LONGEST_GRACE_SECONDS: Final = 3_600
_PROBE_SLACK: Final = timedelta(seconds=30)
"""Time besides the grace period from a failed probe to the status of the killed container."""
_EVENT: Final = timedelta(seconds=1)
"""Events have whole seconds."""
_CODE_UNKNOWN: Final = "ContainerStatusUnknown"
"""The kubelet lost the container, and invented its exit code 137."""


WITHOUT_WITNESS: Final = frozenset({"exited", "deleted"})
"""Causes of an end whose author is unknown so far."""


class End(NamedTuple):
    cause: Cause
    actor: str
    """The component that ended it; empty if unknown."""
    reason: str
    message: str
    when: When | None
    """None if the end is dated by its observation."""


class ContainerEnd(NamedTuple):
    container: str
    attempt: int
    """Number of restarts before this end."""
    restarted: bool
    terminated: ContainerTerminated
    started_at: datetime | None = None
    """The next start after this end; None if unknown."""


def pod_end(pod: Pod, read_at: datetime, *, is_gone: bool, is_first: bool = True) -> End | None:
    """Return the end that the pod itself shows; None if nothing ended it, or if the cause is not shown.

    A condition of the API server's comes before the deletion that it announces, which may fail.
    """
    conditions, status = pod.status.conditions or (), pod.status
    ends = is_gone or pod.metadata.deletion_timestamp is not None or status.phase in FINISHED
    target = next((c for c in conditions if c.type == "DisruptionTarget" and c.status == "True"), None)
    if target is not None and (end := _disrupted(pod, target, ends=ends)):
        return end
    if not status.reason or not (status.phase in FINISHED or status.reason == "NodeLost" or _is_shut_down(pod)):
        return None
    cause = None if is_refused_at_shutdown(status.message) else _STATUSES.get(status.reason)
    if cause is not None:
        return End(*cause, status.reason, status.message, ended_by_status(pod, read_at, starts_with_it=False))
    if is_evicted_without_text(pod):
        end = End("kubelet_eviction", KUBELET, status.reason, "", None)
    else:
        end = kubelet_end(status.reason, status.message, None) or _rejected(pod)
    if end is not None and end.cause == "admission" and _ran(pod):
        return None
    return end and end._replace(
        when=ended_by_status(
            pod, read_at, starts_with_it=end.cause == "admission" and is_first, is_rejection=end.cause == "admission"
        )
    )


def _is_shut_down(pod: Pod) -> bool:
    """Tell whether a shutdown ended all containers of a pod that 1.22 leaves Running; if it runs again, not."""
    states = [each.state for each in pod.status.container_statuses or ()]
    ended = bool(states) and all(each is not None and each.terminated is not None for each in states)
    return ended and pod.status.reason in {"Shutdown", "Terminated"}


def is_evicted_without_text(pod: Pod) -> bool:
    """Tell whether a pod's status shows an eviction by the kubelet and lacks its message, as kubectl's tables do."""
    status = pod.status
    return (status.phase, status.reason) == ("Failed", "Evicted") and not status.message.strip()


def _rejected(pod: Pod) -> End | None:
    """Return the end of a pod that its kubelet rejected for another reason, by how the message begins.

    The older beginning is a word that others use too, so it counts only before a sentence of its own, and if no
    container of the pod has ended.
    """
    status, (newer, older) = pod.status, REJECTED
    text = without_rejection(status.message)
    is_rejected = status.message.startswith(newer) or (
        status.message.startswith(older) and text[:1].isupper() and exited_container(pod) is None
    )
    if not is_rejected or status.reason == "Evicted":
        return None
    return End("admission", KUBELET, status.reason, text, None)


def _ran(pod: Pod) -> bool:
    """Tell whether a pod with the reason of a refusal has run, and nothing else shows that a kubelet refused it."""
    status = pod.status
    refused = status.reason == "Evicted" or status.message.startswith((*REJECTED, _NOT_ENOUGH))
    return not refused and exited_container(pod) is not None


def own_end(pod: Pod, read_at: datetime) -> End | None:
    """Return the end of a pod whose processes exited by themselves; None while it runs.

    A pod that its kubelet evicted did not end by itself, even if the text is unknown.
    """
    if pod.status.phase not in FINISHED or pod.status.reason == "Evicted":
        return None
    container = exited_container(pod)
    ended = container.state.terminated if container and container.state else None
    reason = ended.reason if ended else pod.status.reason
    return End("exited", "", reason, pod.status.message, ended_by_status(pod, read_at, starts_with_it=False))


def exited_container(pod: Pod) -> ContainerStatus | None:
    """Return the container whose exit code `exit_code` returns."""
    ended = [each for each in pod.status.container_statuses or () if each.state and each.state.terminated]
    failed = (each for each in ended if each.state and each.state.terminated and each.state.terminated.exit_code)
    return next(failed, ended[0] if ended else None)


def _disrupted(pod: Pod, target: Condition, *, ends: bool) -> End | None:
    at, message = target.last_transition_time, target.message
    when = None if at is None else When(at)
    if target.reason == "TerminationByKubelet":
        cause = _of_text(message) or ("kubelet_preemption" if pod.status.reason == "Preempting" else None)
        return cause and End(cause, KUBELET, target.reason, message, when)
    known = _CONDITIONS.get(target.reason)
    if known is None or not ends:
        return None
    cause, actor = known
    if cause == "scheduler_preemption":
        actor = pod.spec.scheduler_name or actor
    return End(cause, actor, target.reason, message, when)


def kubelet_end(reason: str, message: str, when: When | None) -> End | None:
    """Return the end that a reason and text of the kubelet show, in a pod's status or an Event about it."""
    if reason == "Evicted":
        cause = _of_text(message) if message else "kubelet_eviction"
        text = without_rejection(message) if cause == "admission" else message
        return cause and End(cause, KUBELET, reason, text, when)
    if reason == "Preempting":
        return End("kubelet_preemption", KUBELET, reason, message, when)
    if reason in _STATUSES and not is_refused_at_shutdown(message):
        return None
    if reason in REFUSALS or reason in _STATUSES or OUT_OF.fullmatch(reason):
        return End("admission", KUBELET, reason, without_rejection(message), when)
    return None


def preempted_end(reason: str, message: str, scheduler: str, when: When) -> End | None:
    if reason != PREEMPTED or not message_body(message).startswith(_PREEMPTED):
        return None
    return End("scheduler_preemption", scheduler, reason, message, when)


def _of_text(message: str) -> Cause | None:
    evicted = parse_evicted(message)
    if evicted is not None:
        return _OF_EVICTED[type(evicted)]
    return next((cause for beginning, cause in _OF_KUBELET if message_body(message).startswith(beginning)), None)


def is_end_by_probe(pod: Pod, failed_at: datetime, ended_at: datetime) -> bool:
    """Tell whether a pod that is over ended so soon after a failed probe that the probe was the cause."""
    grace = pod.spec.termination_grace_period_seconds
    grace_seconds = min(_DEFAULT_GRACE_SECONDS if grace is None else max(grace, 0), _LONGEST_GRACE_SECONDS)
    return -_EVENT <= ended_at - failed_at <= timedelta(seconds=grace_seconds) + _PROBE_SLACK


def container_ends(pod: Pod) -> Iterator[ContainerEnd]:
    """Yield the ends of the containers: now, and before their last restart.

    The last state of a container that waits for its restart is of the same attempt that its count is of.
    """
    for each in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ())):
        now, before = each.state or ContainerState(), each.last_state or ContainerState()
        waits = now.running is None and now.terminated is None
        attempt = each.restart_count if waits else each.restart_count - 1
        if before.terminated is not None and attempt >= 0:
            started_at = now.running.started_at if now.running else None
            yield ContainerEnd(each.name, attempt, True, before.terminated, started_at)
        if now.terminated is not None:
            yield ContainerEnd(each.name, each.restart_count, False, now.terminated)


def restarted_by_probe(message: str) -> str | None:
    """Return the container restarted after a failed liveness or startup probe, by the Event Killing."""
    match = _PROBE.match(message_body(message))
    return match[1] if match else None


def is_shutdown(reason: str, message: str) -> bool:
    """Tell whether an Event about a node is its kubelet's report that the machine shuts down."""
    return reason in _SHUTDOWN and message_body(message) == "Shutdown manager detected shutdown event"


def is_failed_probe(message: str) -> bool:
    """Tell whether the Event Unhealthy is about a probe whose failure ends a container."""
    return message_body(message).startswith(_FAILED_PROBES)


def exit_code(pod: Pod) -> int | None:
    """Return the exit code of the first container that failed, else of the first that ended; None if unknown."""
    codes = [
        code
        for each in pod.status.container_statuses or ()
        if each.state is not None and each.state.terminated is not None
        if (code := known_code(each.state.terminated)) is not None
    ]
    return next((code for code in codes if code), codes[0] if codes else None)


def known_code(terminated: ContainerTerminated) -> int | None:
    """Return the exit code, signed as in the API; None if the kubelet made it up, or a text lacks it."""
    code = terminated.exit_code
    if code is None or terminated.reason == _CODE_UNKNOWN:
        return None
    return code - (1 << 32) if code >= 1 << 31 else code


class Restarts(NamedTuple):
    number: int
    started_at: datetime | None
    """When it last started; None while it waits for its next start."""
    exit_codes: tuple[tuple[int, int], ...] = ()
    """Number and exit code of each attempt whose end the status shows."""


def restarts_of(pod: Pod) -> dict[str, Restarts]:
    """Return the restarts of each container that was restarted or waits for it, by its name."""
    codes: dict[str, tuple[tuple[int, int], ...]] = {}
    for each in container_ends(pod):
        if (code := known_code(each.terminated)) is not None:
            codes[each.container] = (*codes.get(each.container, ()), (each.attempt, code))
    return {
        each.name: Restarts(
            each.restart_count,
            each.state.running.started_at if each.state and each.state.running else None,
            codes.get(each.name, ()),
        )
        for each in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        if each.restart_count or (each.last_state and each.last_state.terminated)
    }


def attempt_that_ended(restarts: Restarts | None, at: datetime, before: datetime | None = None) -> int:
    """Return the attempt that ended then, 0 the first: an Event can arrive after the status of the restart that it
    caused.

    `before` is the end of the attempt before the last start, if known. It decides if an end is in the second of that
    start, because these times are in whole seconds.
    """
    if restarts is None:
        return 0
    started_at = restarts.started_at
    is_earlier = started_at is not None and (at < started_at or (at == started_at and before in (None, at)))
    return restarts.number - 1 if is_earlier else restarts.number
