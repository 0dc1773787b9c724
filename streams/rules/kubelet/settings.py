"""Finds kubelet settings that deserve a warning, by one table of rules (rules: kubelet-warnings, allocatable).

Each rule uses `/configz`, the Node, its pods and Events, and gives no warning if these do not show enough.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from common.amounts import cpus, size, two_sizes
from common.durations import in_words, parse_duration
from ingest.model.cpuset import parse_cpuset
from ingest.model.objects.node import KubeletConfiguration
from streams.rules.eviction.signals import CONDITIONS, IMAGEFS_AVAILABLE, MEMORY_AVAILABLE, NODEFS_AVAILABLE
from streams.rules.eviction.thresholds import effective_thresholds, threshold_value
from streams.rules.image_gc.thresholds import DEFAULT_HIGH_PERCENT, gc_threshold_available_bytes, is_disabled
from streams.rules.values.quantity import in_base_units

_HUGEPAGES: Final = "hugepages-"
_MILLICORES: Final = 1000
_THRESHOLD_OF: Final = {"memory": MEMORY_AVAILABLE, "ephemeral-storage": NODEFS_AVAILABLE}


def reserved(config: KubeletConfiguration) -> dict[str, int]:
    """Return the non-zero reservations for system and kubelet, in base units, cpu in millicores. Raises BadValue.

    `reservedSystemCPUs` replaces the cpu in both.
    """
    system, kube = in_base_units(config.system_reserved), in_base_units(config.kube_reserved)
    both = {resource: system.get(resource, 0) + kube.get(resource, 0) for resource in (*system, *kube)}
    if config.reserved_system_cpus:
        both["cpu"] = _MILLICORES * len(parse_cpuset(config.reserved_system_cpus))
    return {resource: amount for resource, amount in both.items() if amount}


def hard_thresholds(config: KubeletConfiguration, version: str, capacity: Mapping[str, int]) -> dict[str, int]:
    """Return the memory and ephemeral storage withheld so that pods do not reach the threshold. Raises
    BadValue.
    """
    by_signal = effective_thresholds(config, version).by_signal
    return {
        resource: threshold_value(by_signal[signal].hard or "", capacity[resource])
        for resource, signal in _THRESHOLD_OF.items()
        if resource in capacity and signal in by_signal and by_signal[signal].hard is not None
    }


def allocatable(config: KubeletConfiguration, version: str, capacity: Mapping[str, int]) -> dict[str, int]:
    """Return allocatable cpu, memory and ephemeral storage, as far as the capacity has them. Raises BadValue."""
    kept, hard = reserved(config), hard_thresholds(config, version, capacity)
    left = {
        resource: max(0, capacity[resource] - kept.get(resource, 0) - hard.get(resource, 0))
        for resource in ("cpu", "memory", "ephemeral-storage")
        if resource in capacity
    }
    if "memory" in left:
        pages = sum(amount for resource, amount in capacity.items() if resource.startswith(_HUGEPAGES))
        left["memory"] = max(0, left["memory"] - pages)
    return left


SWINGS: Final = 3
"""A condition that begins this often within SWINGS_WITHIN oscillates."""
SWINGS_WITHIN: Final = timedelta(hours=1)
_REMEMBERED: Final = timedelta(days=1)
_WHOLE: Final = 100 * 1024**4
"""A capacity for comparing two percentages."""


class Kubelet(NamedTuple):
    """Facts about a kubelet with a complete `/configz`."""

    now: datetime
    config: KubeletConfiguration
    version: str
    capacity: Mapping[str, int]
    """The Node's capacity in base units, cpu in millicores; empty if the Node was not seen."""
    allocatable: Mapping[str, int]
    settled: bool
    """True if settings and Node were seen long enough after the last change of either to belong together."""
    amplified: bool
    """True if another program than the kubelet sets the Node's cpu or memory (rules: koordinator)."""
    pressures: Mapping[str, tuple[datetime, ...]]
    """When each condition last began, at most SWINGS times."""
    daemon_sets: frozenset[str]
    """DaemonSets whose pods are evicted for memory again and again, as namespace/name."""
    events: Mapping[str, str]
    """Messages since the kubelet started, by the rule that they support."""


class Concern(NamedTuple):
    subject: str
    """A resource, signal, condition or DaemonSet."""
    problem: str
    advice: str


Rule: TypeAlias = Callable[[Kubelet], Iterator[Concern]]


def _nothing_reserved(kubelet: Kubelet) -> Iterator[Concern]:
    kept = reserved(kubelet.config)
    for resource in ("cpu", "memory"):
        if resource not in kept:
            yield Concern(
                resource,
                f"No {resource} is reserved for the kubelet, the container runtime and the system.",
                f"Set {resource} in systemReserved or kubeReserved; how much they use: leadsman query node_sizing.",
            )


def _nothing_left(kubelet: Kubelet) -> Iterator[Concern]:
    capacity = kubelet.capacity
    kept, hard = reserved(kubelet.config), hard_thresholds(kubelet.config, kubelet.version, capacity)
    for resource, left in allocatable(kubelet.config, kubelet.version, capacity).items():
        if left == 0 and capacity[resource]:
            parts = [f"reserved {_amount(kept.get(resource, 0), resource)}"]
            if resource in hard:
                parts.append(f"hard threshold {_amount(hard[resource], resource)}")
            yield Concern(
                resource,
                f"Nothing is left for pods: {' and '.join(parts)}, of {_amount(capacity[resource], resource)}.",
                "Reserve less: the sum must stay below the node's capacity.",
            )


_SAME_BYTES: Final = 1 << 20
"""A smaller difference is ignored, because a file system's capacity is measured more than once."""


def _allocatable_differs(kubelet: Kubelet) -> Iterator[Concern]:
    if not kubelet.settled:
        return
    for resource, expected in allocatable(kubelet.config, kubelet.version, kubelet.capacity).items():
        actual = kubelet.allocatable.get(resource)
        is_amplified = kubelet.amplified and resource != "ephemeral-storage"
        slack = 0 if resource == "cpu" else _SAME_BYTES
        if actual is None or is_amplified or abs(actual - expected) <= slack:
            continue
        offered, due = (cpus(actual), cpus(expected)) if resource == "cpu" else two_sizes(actual, expected)
        yield Concern(
            resource,
            f"The node offers {offered}; by its settings it would be {due}.",
            "Find what else changes the Node's allocatable, or whether the kubelet still reports its status.",
        )


def _pods_not_enforced(kubelet: Kubelet) -> Iterator[Concern]:
    if "pods" not in (kubelet.config.enforce_node_allocatable or ()):
        yield Concern(
            "pods",
            "enforceNodeAllocatable lacks pods: pods together may use what is reserved, and no eviction guards it.",
            "Add pods, which is the default, to enforceNodeAllocatable.",
        )


def _reservation_is_limit(kubelet: Kubelet) -> Iterator[Concern]:
    kept = {"system-reserved": kubelet.config.system_reserved, "kube-reserved": kubelet.config.kube_reserved}
    for each, amounts in kept.items():
        if each in (kubelet.config.enforce_node_allocatable or ()) and "memory" in (amounts or {}):
            yield Concern(
                each,
                f"enforceNodeAllocatable has {each}: what is reserved is a limit too, and beyond it the kernel kills "
                "system processes.",
                f"Remove {each} unless its cgroup was measured for long; the reservation counts without it.",
            )


def _reservation_failed(kubelet: Kubelet) -> Iterator[Concern]:
    if text := kubelet.events.get("reservation_failed"):
        yield Concern(
            "enforceNodeAllocatable",
            f"The kubelet could not enforce a reservation: {text}",
            "Create the cgroup before the kubelet starts, or take it out of enforceNodeAllocatable.",
        )


def _cgroup_driver(kubelet: Kubelet) -> Iterator[Concern]:
    if (text := kubelet.events.get("cgroup_driver")) and kubelet.config.cgroup_driver != "systemd":
        yield Concern(
            "cgroupDriver",
            f"The container runtime expects systemd cgroups, the kubelet makes others: no pod starts. {text}",
            "Set cgroupDriver to systemd, or SystemdCgroup to false in the runtime; then drain and restart.",
        )


def _daemon_sets(kubelet: Kubelet) -> Iterator[Concern]:
    for name in sorted(kubelet.daemon_sets):
        yield Concern(
            f"DaemonSet {name}",
            "Its pods request no memory and are not critical: under memory pressure they are evicted first, and "
            "replacements come to the same node at once.",
            "Give it a memory request that it stays below, or priorityClassName system-node-critical.",
        )


def _soft_thresholds(kubelet: Kubelet) -> Iterator[Concern]:
    by_signal = effective_thresholds(kubelet.config, kubelet.version).by_signal
    for signal, text in (kubelet.config.eviction_soft or {}).items():
        each = by_signal.get(signal)
        if each is None or text not in {each.soft, each.hard}:
            continue
        if not each.soft_grace_seconds:
            problem = "The soft threshold has a grace period of 0 s: it acts at once, like a hard one."
            yield Concern(f"evictionSoftGracePeriod {signal}", problem, "Set a longer period, such as 1m30s.")
        if not kubelet.config.eviction_max_pod_grace_period:
            yield Concern(
                "evictionMaxPodGracePeriod",
                "evictionMaxPodGracePeriod is 0: a soft eviction kills pods at once and ignores their grace periods.",
                "Set evictionMaxPodGracePeriod to the seconds that pods need to stop.",
            )
        below = each.soft and each.hard and _below(each.soft, each.hard, kubelet.capacity.get("memory"), signal)
        if below:
            yield Concern(
                signal,
                f"The soft threshold {each.soft} is not above the hard one {each.hard}: the hard one acts first.",
                "Raise the soft threshold above the hard one.",
            )


def _below(soft: str, hard: str, memory: int | None, signal: str) -> bool:
    """Tell whether the soft threshold is not above the hard one; False if the two cannot be compared."""
    if soft.endswith("%") == hard.endswith("%"):
        return threshold_value(soft, _WHOLE) <= threshold_value(hard, _WHOLE)
    if signal != MEMORY_AVAILABLE or not memory:
        return False
    return threshold_value(soft, memory) <= threshold_value(hard, memory)


def _swings(kubelet: Kubelet) -> Iterator[Concern]:
    for condition, began in kubelet.pressures.items():
        if len(began) < SWINGS or began[-1] - began[0] > SWINGS_WITHIN or kubelet.now - began[-1] > _REMEMBERED:
            continue
        signals = [signal for signal, each in CONDITIONS.items() if each == condition]
        minimum_reclaim = kubelet.config.eviction_minimum_reclaim or {}
        reclaim = any(
            threshold_value(minimum_reclaim[signal], _WHOLE) for signal in signals if signal in minimum_reclaim
        )
        what = (
            "what evictionMinimumReclaim asks for is soon used again"
            if reclaim
            else "evictionMinimumReclaim is 0 for its signals, so eviction stops right above the threshold"
        )
        yield Concern(
            condition,
            f"{condition} began {SWINGS} times within {in_words((began[-1] - began[0]).total_seconds())}; {what}.",
            "Set evictionMinimumReclaim above what the pod that comes back uses, or move that pod.",
        )


def _image_gc(kubelet: Kubelet) -> Iterator[Concern]:
    config = kubelet.config
    high = config.image_gc_high_threshold_percent
    high = DEFAULT_HIGH_PERCENT if high is None else high
    age = parse_duration(config.image_maximum_gc_age) if config.image_maximum_gc_age else 0.0
    if is_disabled(high, age):
        problem = "imageGCHighThresholdPercent is 100: image GC never runs, and images stay until pods are evicted."
        yield Concern("imageGCHighThresholdPercent", problem, "Set it below 100 minus imagefs.available, such as 85.")
        return
    each = effective_thresholds(config, kubelet.version).by_signal.get(IMAGEFS_AVAILABLE)
    text = (each.hard if each is not None else None) or ""
    if text.endswith("%") and threshold_value(text, _WHOLE) > gc_threshold_available_bytes(_WHOLE, high):
        yield Concern(
            "imageGCHighThresholdPercent",
            f"Image GC begins at {high} % used, after eviction at {text} available: pods are at risk first.",
            "Lower imageGCHighThresholdPercent below 100 less imagefs.available.",
        )


def _memory_qos(kubelet: Kubelet) -> Iterator[Concern]:
    if not (kubelet.config.feature_gates or {}).get("MemoryQoS"):
        return
    factor = kubelet.config.memory_throttling_factor
    share = "a part" if factor is None else f"{100 * factor:g} %"
    yield Concern(
        "MemoryQoS",
        "MemoryQoS is on: with cgroup v2 a container is slowed down (memory.high) once it uses its memory request "
        f"plus {share} of what lies between that and its limit, or the node's allocatable if it has no limit.",
        "See which pods stall on memory: leadsman query stalls. If it hurts, turn the feature gate off.",
    )


def _amount(value: int, resource: str) -> str:
    return cpus(value) if resource == "cpu" else size(value)


RULES: Final[Mapping[str, Rule]] = {
    "nothing_reserved": _nothing_reserved,
    "nothing_left": _nothing_left,
    "allocatable_differs": _allocatable_differs,
    "pods_not_enforced": _pods_not_enforced,
    "reservation_is_limit": _reservation_is_limit,
    "reservation_failed": _reservation_failed,
    "cgroup_driver": _cgroup_driver,
    "daemon_set_evicted_again": _daemon_sets,
    "soft_threshold": _soft_thresholds,
    "oscillation": _swings,
    "image_gc_late": _image_gc,
    "memory_qos": _memory_qos,
}
FADING: Final = frozenset({"oscillation"})
"""Rules whose warnings can end without a new record."""


def concerns(kubelet: Kubelet) -> dict[tuple[str, str], Concern]:
    """Return the concerns by rule and subject; the first of a rule on a subject counts."""
    found: dict[tuple[str, str], Concern] = {}
    for name, rule in RULES.items():
        for each in rule(kubelet):
            found.setdefault((name, each.subject), each)
    return found
