"""Computes the QoS class of a pod, and whether the pod still holds resources (rules: qos-class)."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ingest.model.objects.base import ResourceList, Resources
from ingest.model.objects.pod import Pod
from ingest.model.records import PodRecord
from streams.rules.pods.containers import all_containers, declared_limits, declared_requests, memoize
from streams.rules.values.quantity import nano_units

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"

UNKNOWN: Final = "Unknown"
"""The class of a pod of pasted text, which lacks its limits."""
_CLASSES: Final = frozenset({GUARANTEED, BURSTABLE, BEST_EFFORT, UNKNOWN})
_COMPARED: Final = ("cpu", "memory")


@memoize
def qos_class(pod: Pod) -> str:
    """Return `Guaranteed`, `Burstable`, `BestEffort` or `Unknown`, by status, else spec. Raises InvalidQuantity."""
    if pod.status.qos_class in _CLASSES:
        return pod.status.qos_class
    if pod.spec.resources is not None:
        return _class_of([pod.spec.resources])
    return _class_of([container.resources for container in all_containers(pod)])


def _class_of(resources: Iterable[Resources | None]) -> str:
    requests: Counter[str] = Counter()
    limits: Counter[str] = Counter()
    limited_everywhere = True
    for each in resources:
        requests.update(_positive(declared_requests(each)))
        own_limits = _positive(declared_limits(each))
        limits.update(own_limits)
        limited_everywhere = limited_everywhere and len(own_limits) == len(_COMPARED)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited_everywhere and requests == limits else BURSTABLE


def _positive(resources: ResourceList) -> dict[str, int]:
    amounts = {name: nano_units(resources[name]) for name in _COMPARED if name in resources}
    return {name: nanos for name, nanos in amounts.items() if nanos > 0}


FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases that a pod never leaves: its containers have ended."""


def has_ended(record: PodRecord) -> bool:
    """Tell whether the pod was deleted or has finished, so that it holds no resources."""
    return record.change == "DELETED" or record.object.status.phase in FINISHED
