"""Reads the requests of a pod from its manifest (rules: pod-requests, exclusive-cpus)."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from ingest.model.objects.pod import Container, Pod
from ingest.model.objects.storage import PersistentVolumeClaimSpec
from streams.questions.asked import MEMORY_TYPES, MILLI, BadQuestion, Question
from streams.rules.numa.topology_manager import Request
from streams.rules.pods.containers import declared_requests, is_sidecar
from streams.rules.pods.qos import GUARANTEED, qos_class
from streams.rules.pods.requests import effective_requests, exclusive_cpus
from streams.rules.scheduling.constraints import constraints_of, unattached
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.storage import Claim, wanted
from streams.rules.values.quantity import InvalidQuantity, in_base_units

_TEMPLATES: Final = ("jobTemplate", "template")


def asked_by(manifest: Any, count: int | None, *, insists: bool = False) -> tuple[Question, PodRequest]:
    """The pod of a manifest, or of the template in it. `count` is, where None, what a workload wants of them. With
    `insists` it has to get CPUs of its own.

    Raises BadQuestion.
    """
    try:
        pod, given = _pod_in(manifest)
        requests = effective_requests(pod)
        request = _request(pod, requests)
        request = request._replace(made=given.made, unknown=(*request.unknown, *map(unattached, given.of_a_set)))
    except (msgspec.ValidationError, InvalidQuantity, AttributeError, KeyError, TypeError) as error:
        raise BadQuestion(f"not the manifest of a pod: {error}") from None
    count = given.count if count is None else count
    if not isinstance(count, int) or count < 1:
        raise BadQuestion("the manifest wants no pods: ask with --count")
    rest = {name: amount for name, amount in requests.items() if name not in {"cpu", "memory"}}
    cpus, memory = requests.get("cpu", 0), requests.get("memory", 0)
    exclusive = request.exclusive_cpus > 0
    if insists and not exclusive:
        raise BadQuestion("this pod gets no exclusive CPUs anywhere: it is not Guaranteed with whole CPUs")
    return Question(cpus, memory, exclusive, rest, 1, count), request._replace(insists=insists)


class _Given(NamedTuple):
    count: Any
    """Number of wanted pods."""
    made: dict[str, Claim]
    """Claims that are made with each pod, by volume."""
    of_a_set: list[str]
    """Volumes of a StatefulSet, whose claims may be there already."""


def _pod_in(manifest: Any) -> tuple[Pod, _Given]:
    found, namespace = manifest, "default"
    count: Any = 1
    of_a_set: list[str] = []
    while isinstance(found, dict) and isinstance(spec := found.get("spec"), dict):
        metadata = found.get("metadata") or {}
        namespace = metadata.get("namespace", namespace)
        inner = next((spec[name] for name in _TEMPLATES if name in spec), None)
        if inner is None:
            if "containers" not in spec:
                break
            named = {"name": "", **metadata, "namespace": namespace}
            pod = msgspec.convert({"metadata": named, "spec": spec}, Pod)
            return pod, _Given(count, dict(_made(spec.get("volumes") or ())), of_a_set)
        of_a_set = [each["metadata"]["name"] for each in spec.get("volumeClaimTemplates") or ()]
        found, count = inner, spec.get("replicas", spec.get("parallelism", count))
    raise BadQuestion("not the manifest of a pod, nor of anything with a template of one")


def _made(volumes: Any) -> Iterator[tuple[str, Claim]]:
    for each in volumes:
        if "ephemeral" in each:
            template = each["ephemeral"]["volumeClaimTemplate"]["spec"]
            yield each["name"], wanted(msgspec.convert(template, PersistentVolumeClaimSpec))


def _request(pod: Pod, requests: dict[str, int]) -> PodRequest:
    guaranteed = qos_class(pod) == GUARANTEED
    pins = exclusive_cpus(pod) > 0
    inits = pod.spec.init_containers or ()
    overhead = pod.spec.runtime_class_name and pod.spec.overhead is None
    return PodRequest(
        containers=tuple(
            _container(each, guaranteed=guaranteed, pins=pins)._replace(
                is_init=place < len(inits) and not is_sidecar(each)
            )
            for place, each in enumerate((*inits, *pod.spec.containers))
        ),
        requests={name: amount for name, amount in requests.items() if amount},
        itself=Neighbour(pod.metadata.namespace, pod.metadata.labels or {}, constraints_of(pod)),
        tolerations=tuple(pod.spec.tolerations or ()),
        node_name=pod.spec.node_name,
        unknown=(f"the overhead of runtime class {pod.spec.runtime_class_name}",) if overhead else (),
    )


def _container(container: Container, *, guaranteed: bool, pins: bool) -> Request:
    amounts = in_base_units(declared_requests(container.resources))
    cpus = amounts.pop("cpu", 0)
    memory = {name: amount for name, amount in amounts.items() if name.startswith(MEMORY_TYPES)}
    return Request(
        cpus=cpus // MILLI if pins and cpus % MILLI == 0 else 0,
        memory_bytes=memory if guaranteed else {},
        devices={name: amount for name, amount in amounts.items() if name not in memory and "/" in name},
    )
