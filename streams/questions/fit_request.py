"""The question of `leadsman fit`, by amounts, JSON lines or a manifest (rules: pod-requests, exclusive-cpus)."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from common.errors import WrongUsage
from ingest.model.objects.base import Resources
from ingest.model.objects.pod import Container, Pod, PodSpec, Toleration
from ingest.model.objects.storage import PersistentVolumeClaimSpec
from streams.rules.numa.topology_manager import Request
from streams.rules.pods.containers import all_containers, declared_requests, is_sidecar
from streams.rules.pods.qos import GUARANTEED, qos_class
from streams.rules.pods.requests import effective_requests, exclusive_cpus, is_critical, nanos
from streams.rules.scheduling.constraints import constraints_of, preferences_of, unknown_volume_text
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.storage import Claim, claim_of_spec
from streams.rules.values.quantity import NANO, InvalidQuantity, base_units, in_base_units, millicores, nano_units

MILLI: Final = 1000
_NOT_DEVICES: Final = frozenset({"cpu", "memory", "pods"})
MOST_CONTAINERS: Final = 100
_HUGE: Final = "hugepages-"
MEMORY_TYPES: Final = ("memory", _HUGE)


class BadFitRequest(WrongUsage):
    """An impossible pod; the message has what to write instead."""


class FitRequest(NamedTuple):
    """`count` identical pods of `containers` identical containers each; amounts are those of one container."""

    cpu_millicores: int
    memory_bytes: int = 0
    exclusive: bool = False
    devices: dict[str, int] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Amounts of every other resource in base units; huge pages in bytes."""
    containers: int = 1
    count: int = 1  # type: ignore[assignment]  # the command's word; tuple.count is not used


class RequestLine(msgspec.Struct, forbid_unknown_fields=True):
    """A question as a line of JSON: quantities as in a manifest, as text or number."""

    cpu: str | int | float
    id: Any = None
    """Any value that identifies the question in its answer."""
    memory: str | int | float = "0"
    containers: Annotated[int, msgspec.Meta(ge=1, le=MOST_CONTAINERS)] = 1
    exclusive: bool = False
    count: Annotated[int, msgspec.Meta(ge=1)] = 1
    devices: dict[str, str | int] = {}
    node: str = ""
    """The node to ask about; empty for all nodes."""

    def fit_request(self) -> FitRequest:
        """Build the request. Raises BadFitRequest."""
        devices = [f"{name}={amount}" for name, amount in self.devices.items()]
        return fit_request(
            str(self.cpu),
            str(self.memory),
            devices,
            exclusive=self.exclusive,
            containers=self.containers,
            count=self.count,
        )


_read_line: Final = msgspec.json.Decoder(RequestLine).decode


def parse_line(line: bytes | str) -> RequestLine:
    """Parse a question. Raises BadFitRequest."""
    try:
        return _read_line(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadFitRequest(f"not a question: {error}") from None


def line_id(line: bytes | str) -> Any:
    """Return the id of a line that may not be a question, or None."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found.get("id") if isinstance(found, dict) else None


def fit_request(
    cpu: str, memory: str, devices: Iterable[str], *, exclusive: bool, containers: int = 1, count: int = 1
) -> FitRequest:
    """Parse quantities as in a manifest, and devices as `name=quantity`. Raises BadFitRequest."""
    if not 1 <= containers <= MOST_CONTAINERS or count < 1:
        raise BadFitRequest(f"a pod has 1 to {MOST_CONTAINERS} containers here, and there is at least one pod")
    request = FitRequest(_amount("cpu", cpu), _amount("memory", memory), exclusive, {}, containers, count)
    for text in devices:
        name, equals, quantity = text.partition("=")
        if not equals or not name or name in _NOT_DEVICES or name in request.devices:
            raise BadFitRequest(f"{text[:200]!r}: write each device once, as nvidia.com/gpu=1")
        request.devices[name] = _amount(name, quantity)
    if exclusive and (request.cpu_millicores % MILLI or not request.cpu_millicores):
        raise BadFitRequest("exclusive CPUs are whole ones: write --cpu 8, not a part of a CPU")
    return request


def pod_of(request: FitRequest) -> PodRequest:
    """Return the pod of the request.

    An exclusive one is Guaranteed, so its memory is pinned, too (rules: exclusive-cpus).
    """
    amounts = {"cpu": request.cpu_millicores, "memory": request.memory_bytes, **request.devices}
    pinned = {name: size for name, size in amounts.items() if name.startswith(MEMORY_TYPES)}
    container = Request(
        cpus=request.cpu_millicores // MILLI if request.exclusive else 0,
        memory_bytes=pinned if request.exclusive else {},
        devices={name: size for name, size in request.devices.items() if name not in pinned},
    )
    requests = {name: size * request.containers for name, size in amounts.items() if size}
    return PodRequest((container,) * request.containers, requests)


def _amount(name: str, text: str) -> int:
    try:
        amount = millicores(text) if name == "cpu" else base_units(text)
    except InvalidQuantity as error:
        raise BadFitRequest(f"{name}: {error}") from None
    if amount < 0:
        raise BadFitRequest(f"{name}: {text[:80]} is below 0")
    return amount


_OF_DAEMONS: Final = (
    *(("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("unschedulable", "NoSchedule")),
    *(("disk-pressure", "NoSchedule"), ("memory-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule")),
)
"""Taints that the pods of every DaemonSet tolerate (rules: scheduler-fit)."""
_OF_NETWORK: Final = ("network-unavailable", "NoSchedule")
"""Taints that its pods on the host's network also tolerate."""
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priorities by class of critical pods; other classes end below these."""
_TEMPLATES: Final = ("jobTemplate", "template")


def request_of_manifest(manifest: Any, count: int | None, *, insists: bool = False) -> tuple[FitRequest, PodRequest]:
    """Read the pod of a manifest, or of its template. A `count` of None means the workload's replicas. With
    `insists` it has to get CPUs of its own.

    Raises BadFitRequest.
    """
    try:
        pod, given = _pod_in(manifest)
        _check_amounts(pod)
        requests = effective_requests(pod)
        request = _request(pod, requests)
        if request.node_name and request.itself.constraints.gates:
            raise BadFitRequest("nodeName cannot be set until all schedulingGates have been cleared")
        request = request._replace(
            created_claims=given.created_claims,
            unknown=(*request.unknown, *map(unknown_volume_text, given.of_a_set)),
        )
    except (msgspec.ValidationError, InvalidQuantity, AttributeError, KeyError, TypeError) as error:
        raise BadFitRequest(f"not the manifest of a pod: {error}") from None
    count = given.count if count is None else count
    if not isinstance(count, int) or count < 1:
        raise BadFitRequest("the manifest has no positive number of pods: ask with --count")
    fit = fit_request_of(requests, request, count)
    if insists and not fit.exclusive:
        raise BadFitRequest("this pod gets no exclusive CPUs anywhere: it is not Guaranteed with whole CPUs")
    return fit, request._replace(insists=insists)


def fit_request_of(requests: Mapping[str, int], pod: PodRequest, count: int = 1) -> FitRequest:
    """Return a request for `count` such pods as if each had one container."""
    rest = {name: amount for name, amount in requests.items() if name not in {"cpu", "memory"}}
    return FitRequest(requests.get("cpu", 0), requests.get("memory", 0), pod.exclusive_cpus > 0, rest, 1, count)


def _check_amounts(pod: Pod) -> None:
    """Refuse amounts that the API server refuses: negative ones, which would reduce a sum, and amounts that no
    kubelet has. A LimitRange can add a missing limit, except for a resource that cannot be overcommitted.
    """
    _check_resources(pod.spec.resources or Resources())
    _refuse_below_0(nanos(pod.spec.overhead))
    for each in all_containers(pod):
        names = _check_resources(each.resources or Resources())
        if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
            raise BadFitRequest("HugePages require cpu or memory")


def _check_resources(given: Resources) -> AbstractSet[str]:
    """Check the resources of a container, and return their names."""
    requests, limits = nanos(given.requests), nanos(given.limits)
    for amounts in (requests, limits):
        _refuse_below_0(amounts)
    for name, amount in requests.items():
        if amount > limits.get(name, amount):
            raise BadFitRequest(f"{name[:80]}: its request must be less than or equal to its limit")
    for name in limits | requests:
        if _is_whole(name):
            _check_whole(name, requests.get(name), limits.get(name))
    return requests.keys() | limits.keys()


def _refuse_below_0(amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount < 0:
            raise BadFitRequest(f"{name[:80]}: an amount of it is below 0")


def _check_whole(name: str, request: int | None, limit: int | None) -> None:
    """Check a resource that must be whole and cannot be overcommitted: a device, or huge pages."""
    if limit is None:
        raise BadFitRequest(f"{name[:80]}: limit must be set for non overcommit resources")
    if request is not None and request != limit:
        raise BadFitRequest(f"{name[:80]}: its request must be equal to its limit")
    page = nano_units(name.removeprefix(_HUGE)) if name.startswith(_HUGE) else NANO
    if page <= 0 or limit % page:
        whole = "an integer" if page == NANO else "a multiple of its page size"
        raise BadFitRequest(f"{name[:80]}: an amount of it must be {whole}")


def _is_whole(name: str) -> bool:
    return name.startswith(_HUGE) or ("/" in name and "kubernetes.io/" not in name)


class _Given(NamedTuple):
    count: Any
    """Number of wanted pods."""
    created_claims: dict[str, Claim]
    """Claims that are created with each pod, by volume."""
    of_a_set: list[str]
    """Volumes of a StatefulSet, whose claims may already exist."""


def _pod_in(manifest: Any) -> tuple[Pod, _Given]:
    found, namespace = manifest, "default"
    count: Any = 1
    of_a_set: list[str] = []
    is_of_daemons = False
    while isinstance(found, dict) and isinstance(spec := found.get("spec"), dict):
        metadata = found.get("metadata") or {}
        namespace = metadata.get("namespace", namespace)
        inner = next((spec[name] for name in _TEMPLATES if name in spec), None)
        if inner is None:
            if "containers" not in spec:
                break
            named = {"name": "", **metadata, "namespace": namespace}
            pod = msgspec.convert({"metadata": named, "spec": spec}, Pod)
            if is_of_daemons:
                pod = _of_daemon_set(pod)
            return pod, _Given(count, dict(_created_claims(spec.get("volumes") or ())), of_a_set)
        of_a_set = [each["metadata"]["name"] for each in spec.get("volumeClaimTemplates") or ()]
        is_of_daemons = found.get("kind") == "DaemonSet"
        found, count = inner, spec.get("replicas", _at_once(spec, count))
    raise BadFitRequest("not the manifest of a pod, nor of anything with a template of one")


def _at_once(spec: dict[str, Any], count: Any) -> Any:
    """Return how many pods a Job runs at the same time: at most its completions."""
    at_once, completions = spec.get("parallelism", count), spec.get("completions")
    return min(at_once, completions) if isinstance(at_once, int) and isinstance(completions, int) else at_once


def _of_daemon_set(pod: Pod) -> Pod:
    """Return the pod with the tolerations that the DaemonSet controller adds."""
    taints = (*_OF_DAEMONS, _OF_NETWORK) if pod.spec.host_network else _OF_DAEMONS
    added = [Toleration(f"node.kubernetes.io/{name}", "Exists", "", effect) for name, effect in taints]
    return replace(pod, spec=replace(pod.spec, tolerations=[*(pod.spec.tolerations or ()), *added]))


def _created_claims(volumes: Any) -> Iterator[tuple[str, Claim]]:
    for each in volumes:
        if "ephemeral" in each:
            template = each["ephemeral"]["volumeClaimTemplate"]["spec"]
            yield each["name"], claim_of_spec(msgspec.convert(template, PersistentVolumeClaimSpec))


def _request(pod: Pod, requests: dict[str, int]) -> PodRequest:
    guaranteed = qos_class(pod) == GUARANTEED
    pins = exclusive_cpus(pod) > 0
    inits = pod.spec.init_containers or ()
    overhead = pod.spec.runtime_class_name and pod.spec.overhead is None
    return PodRequest(
        containers=tuple(
            _container(each, guaranteed=guaranteed, pins=pins)._replace(
                is_init=index < len(inits) and not is_sidecar(each)
            )
            for index, each in enumerate((*inits, *pod.spec.containers))
        ),
        requests={name: amount for name, amount in requests.items() if amount},
        itself=Neighbour(
            pod.metadata.namespace,
            pod.metadata.labels or {},
            constraints_of(pod),
            preferences=preferences_of(pod),
        ),
        tolerations=tuple(pod.spec.tolerations or ()),
        node_name=pod.spec.node_name,
        is_critical=is_critical(pod) or pod.spec.priority_class_name in _SYSTEM_CLASSES,
        priority=_priority(pod.spec),
        unknown=(f"the overhead of runtime class {pod.spec.runtime_class_name}",) if overhead else (),
    )


def _priority(spec: PodSpec) -> int | None:
    """Return the pod's priority as the API server sets it; None if only the API server knows the class."""
    if spec.priority is None and spec.priority_class_name:
        return _SYSTEM_CLASSES.get(spec.priority_class_name)
    return spec.priority or 0


def _container(container: Container, *, guaranteed: bool, pins: bool) -> Request:
    amounts = in_base_units(declared_requests(container.resources))
    cpus = amounts.pop("cpu", 0)
    memory = {name: amount for name, amount in amounts.items() if name.startswith(MEMORY_TYPES)}
    return Request(
        cpus=cpus // MILLI if pins and cpus % MILLI == 0 else 0,
        memory_bytes=memory if guaranteed else {},
        devices={name: amount for name, amount in amounts.items() if name not in memory and "/" in name},
    )
