"""Computes effective requests and limits of a pod, also while it is resized (rules: pod-requests, eviction-order,
exclusive-cpus, eviction-loop, resizes).

Amounts are in base units, cpu in millicores, each rounded up once from the exact sum. Every function raises
`quantity.InvalidQuantity`. Results are shared: do not change them.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from ingest.model.objects.base import ResourceList, Resources
from ingest.model.objects.pod import Container, ContainerStatus, Pod
from streams.rules.pods.containers import all_containers, declared_limits, declared_requests, is_sidecar, memoize
from streams.rules.pods.qos import GUARANTEED, qos_class
from streams.rules.values.quantity import NANO, nano_in_base_units, nano_to_base_units, nano_units

_PENDING: Final = {"Deferred": "deferred", "Infeasible": "infeasible"}
"""States by the condition's reason."""
_FIELD: Final = {**_PENDING, "Proposed": "pending", "InProgress": "in_progress"}
"""States by `status.resize`, of kubelets 1.27 to 1.32 with their alpha gate."""


class Resizing(NamedTuple):
    state: str
    message: str = ""
    since: datetime | None = None
    """None if unknown."""


def resizing(pod: Pod) -> Resizing | None:
    """Return the kubelet's report about an unfinished resize, or None."""
    conditions = {each.type: each for each in pod.status.conditions or () if each.status == "True"}
    if pending := conditions.get("PodResizePending"):
        return Resizing(_PENDING.get(pending.reason, "pending"), pending.message, pending.last_transition_time)
    if going := conditions.get("PodResizeInProgress"):
        return Resizing("in_progress", going.message, going.last_transition_time)
    field = _FIELD.get(pod.status.resize)
    return Resizing(field) if field else None


def is_infeasible(pod: Pod) -> bool:
    """Tell whether the scheduler counts requests without the resize, because it is infeasible."""
    pending = [each.reason for each in pod.status.conditions or () if each.type == "PodResizePending"]
    return (pending[0] if pending else pod.status.resize) == "Infeasible"


_Amounts: TypeAlias = dict[str, int]
"""Nano-units by resource."""

CRITICAL_PRIORITY: Final = 2_000_000_000


class _Reported(NamedTuple):
    containers: dict[str, ContainerStatus]
    without_spec: bool
    """True if the additional amount of the resize does not count."""


@memoize
def effective_requests(pod: Pod) -> dict[str, int]:
    """Return what the scheduler reserves for a pod, overhead included, sorted by resource (rules: pod-requests)."""
    return _reserved(pod, without_spec=is_infeasible(pod))


_SCORED_AS: Final = {"cpu": NANO // 10, "memory": 200 * 1024 * 1024 * NANO}
"""Amounts that each container without a request of them has for the scheduler's scores: 100m and 200Mi."""


@memoize
def added_by_scores(pod: Pod) -> dict[str, int]:
    """Return what the scheduler's scores add to `effective_requests`, by resource (rules: scheduler-scores)."""
    requests = effective_requests(pod)
    # A pod's own requests are complete, as the API server fills them in from its containers.
    added = {
        name: each for name, each in _SCORED_AS.items() if not (_has_pod_level_resources(pod) and name in requests)
    }
    scored = _reserved(pod, without_spec=is_infeasible(pod), missing=added)
    return {name: more for name in _SCORED_AS if (more := scored.get(name, 0) - requests.get(name, 0))}


@memoize
def wanted_requests(pod: Pod) -> dict[str, int]:
    """Return `effective_requests` as if a resize of the pod were possible."""
    return _reserved(pod, without_spec=False)


@memoize
def running_requests(pod: Pod) -> dict[str, int]:
    """Return `effective_requests` without what a resize wants and the kubelet did not allocate."""
    return _reserved(pod, without_spec=True)


@memoize
def effective_limits(pod: Pod) -> dict[str, int]:
    """Return the sum of the limits that are declared, overhead added to each that is not zero (rules: pod-requests).

    A container without a limit counts as zero here; `cpu_limit` and `memory_limit` show whether the pod has one.
    """
    reported = _reported(pod)
    limits = _effective(pod, lambda container: _container_limits(container, reported))
    limits |= _pod_level(declared_limits(pod.spec.resources))
    return nano_in_base_units(_sum(limits, _where_present(nanos(pod.spec.overhead), limits)))


@memoize
def eviction_requests(pod: Pod) -> dict[str, int]:
    """Return the requests that the eviction ranking compares with usage, as the kubelet allocated them
    (rules: eviction-order).

    Overhead counts only with a request. A pod with pod-level resources has these alone.
    """
    reported = _reported(pod)
    allocated = _pod_level(pod.status.allocated_resources) or None
    requests = _requests(pod, lambda container: _allocated_requests(container, reported), allocated)
    if _has_pod_level_resources(pod):
        own = _own_names(pod)
        requests = {name: amount for name, amount in requests.items() if name in own}
    return nano_in_base_units(_sum(requests, _where_present(nanos(pod.spec.overhead), requests)))


@memoize
def cpu_limit(pod: Pod) -> int | None:
    """Return the pod's cpu limit in millicores; None if a container and the pod have none (rules: cgroup-values)."""
    return _declared_everywhere(pod, "cpu")


@memoize
def memory_limit(pod: Pod) -> int | None:
    """Return the pod's memory limit in bytes; None if a container and the pod have none (rules: cgroup-values)."""
    return _declared_everywhere(pod, "memory")


@memoize
def exclusive_cpus(pod: Pod) -> int:
    """Return how many CPUs the static CPU Manager pins for a pod, if it is the node's policy
    (rules: exclusive-cpus).

    Only containers of Guaranteed pods with a whole number of CPUs count, and no pod with pod-level resources (except
    with an alpha gate of 1.36). Later containers take over the CPUs of a finished init container, so they count
    once.
    """
    if qos_class(pod) != GUARANTEED or _has_pod_level_resources(pod):
        return 0
    reported = _reported(pod)
    pinned = _effective(pod, lambda container: _whole_cpus(container, reported))
    return nano_to_base_units(pinned.get("cpu", 0))


def hands_cpus_over(pod: Pod) -> bool:
    """Tell whether an init container gets exclusive CPUs that later containers take over (rules: exclusive-cpus)."""
    reported = _reported(pod)
    starting = (each for each in pod.spec.init_containers or () if not is_sidecar(each))
    return exclusive_cpus(pod) > 0 and any(_whole_cpus(each, reported).get("cpu") for each in starting)


def is_critical(pod: Pod) -> bool:
    """Tell whether pressure never evicts a pod: static, mirror, or of a system priority (rules: eviction-loop)."""
    annotations = pod.metadata.annotations
    if annotations is not None and (annotations.config_mirror or annotations.config_source not in {"", "api"}):
        return True
    return pod.spec.priority is not None and pod.spec.priority >= CRITICAL_PRIORITY


def _reserved(pod: Pod, *, without_spec: bool, missing: Mapping[str, int] = {}) -> dict[str, int]:
    reported = _reported(pod)._replace(without_spec=without_spec)
    own = _own_requests(pod, without_spec=without_spec)
    requests = _requests(pod, lambda container: {**missing, **_container_requests(container, reported)}, own)
    return nano_in_base_units(_sum(requests, nanos(pod.spec.overhead)))


def _requests(pod: Pod, amounts_of: Callable[[Container], _Amounts], own: _Amounts | None) -> _Amounts:
    """Return the requests without overhead. `own` are pod-level ones; None for those of the spec."""
    requests = _effective(pod, amounts_of)
    if pod.spec.resources is None:
        return requests
    own_limits = _pod_level(pod.spec.resources.limits)
    # The API server fills in a pod's missing request from its containers before it looks at the pod's limit.
    return own_limits | requests | (_pod_level(pod.spec.resources.requests) if own is None else own)


def _own_requests(pod: Pod, *, without_spec: bool) -> _Amounts | None:
    if pod.spec.resources is None or pod.status.resources is None:
        return None
    spec = pod.spec.resources.requests
    seen = [pod.status.allocated_resources, pod.status.resources.requests]
    resized = _larger_amount(spec or {}, seen, without_spec=without_spec)
    return {name: resized.get(name, 0) for name in _pod_level(spec)}


def _own_names(pod: Pod) -> set[str]:
    """Return the resources that the pod itself requests: with limits, the API server fills in the missing ones."""
    resources = pod.spec.resources or Resources()
    names = set(_pod_level(resources.requests)) | set(_pod_level(resources.limits))
    if resources.limits:
        names |= {name for each in all_containers(pod) for name in _pod_level(declared_requests(each.resources))}
    return names


def _effective(pod: Pod, amounts_of: Callable[[Container], _Amounts]) -> _Amounts:
    """Add up the containers that run together, for each resource at the moment of its highest need."""
    sidecars: _Amounts = {}
    starting: _Amounts = {}
    for container in pod.spec.init_containers or ():
        for name, amount in amounts_of(container).items():
            step = sidecars.get(name, 0) + amount
            starting[name] = max(starting.get(name, 0), step)
            if is_sidecar(container):
                sidecars[name] = step
    return _max(_sum(sidecars, *map(amounts_of, pod.spec.containers)), starting)


def _reported(pod: Pod) -> _Reported:
    """Return the reported resources; among init containers only sidecars have them, because no other is resized."""
    sidecars = {container.name for container in pod.spec.init_containers or () if is_sidecar(container)}
    starting = (status for status in pod.status.init_container_statuses or () if status.name in sidecars)
    statuses = (*starting, *(pod.status.container_statuses or ()))
    return _Reported({status.name: status for status in statuses}, is_infeasible(pod))


def _container_requests(container: Container, reported: _Reported) -> _Amounts:
    status = reported.containers.get(container.name)
    spec = declared_requests(container.resources)
    if status is None or status.resources is None:
        return nanos(spec)
    seen = [status.allocated_resources, status.resources.requests]
    return _larger_amount(spec, seen, without_spec=reported.without_spec)


def _allocated_requests(container: Container, reported: _Reported) -> _Amounts:
    status = reported.containers.get(container.name)
    allocated = status.allocated_resources if status else None
    return nanos(declared_requests(container.resources) if allocated is None else allocated)


def _container_limits(container: Container, reported: _Reported) -> _Amounts:
    status = reported.containers.get(container.name)
    spec = declared_limits(container.resources)
    if status is None or status.resources is None:
        return nanos(spec)
    return _larger_amount(spec, [status.resources.limits], without_spec=reported.without_spec)


def _larger_amount(spec: ResourceList, seen: list[ResourceList | None], *, without_spec: bool) -> _Amounts:
    """Return the larger amount during a resize; an infeasible resize does not count."""
    known = [nanos(each) for each in seen if each is not None]
    return _max(*known) if without_spec else _max(nanos(spec), *known)


def _whole_cpus(container: Container, reported: _Reported) -> _Amounts:
    """Return a container's exclusive CPUs by what the kubelet allocated to it, else by its spec."""
    status = reported.containers.get(container.name)
    allocated = status.allocated_resources if status else None
    requests = declared_requests(container.resources) if allocated is None else allocated
    cpu = nano_units(requests.get("cpu", 0))
    return {} if cpu % NANO else {"cpu": cpu}


def _declared_everywhere(pod: Pod, resource: str) -> int | None:
    limit = effective_limits(pod).get(resource, 0)
    in_pod = nano_units(declared_limits(pod.spec.resources).get(resource, 0)) > 0
    in_containers = all(
        nano_units(declared_limits(each.resources).get(resource, 0)) > 0 for each in all_containers(pod)
    )
    return limit if limit and (in_pod or in_containers) else None


def _has_pod_level_resources(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and bool(_pod_level(resources.requests) or _pod_level(resources.limits))


def _pod_level(resources: ResourceList | None) -> _Amounts:
    return {
        name: amount
        for name, amount in nanos(resources).items()
        if name in {"cpu", "memory"} or name.startswith("hugepages-")
    }


def nanos(resources: ResourceList | None) -> _Amounts:
    return {name: nano_units(text) for name, text in (resources or {}).items()}


def _where_present(addition: _Amounts, amounts: _Amounts) -> _Amounts:
    return {name: amount for name, amount in addition.items() if amounts.get(name)}


def _sum(*terms: _Amounts) -> _Amounts:
    total: _Amounts = {}
    for term in terms:
        for name, amount in term.items():
            total[name] = total.get(name, 0) + amount
    return total


def _max(*terms: _Amounts) -> _Amounts:
    largest: _Amounts = {}
    for term in terms:
        for name, amount in term.items():
            largest[name] = max(largest.get(name, amount), amount)
    return largest
