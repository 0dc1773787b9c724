"""Dumps of any size, as `kubectl get nodes,pods,events -A -o json` writes them."""

import json
from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from .generate import BEGIN, node_object, pod_object
from .shapes import Json, Shapes, load_shapes
from .summaries import node_name, pod_names

_REJECTED = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    "Requested: 1, Available: 0, which is unexpected"
)
_MISFIT = "Pod was rejected: Resources cannot be allocated with Topology locality"
_UNHEALTHY = "Readiness probe failed: HTTP probe failed with statuscode: 503"
_UNSCHEDULABLE = (
    "0/{nodes} nodes are available: {nodes} Insufficient cpu. preemption: 0/{nodes} nodes are available: "
    "{nodes} No preemption victims found for incoming pod."
)


class Size(NamedTuple):
    """Number of objects of each kind in a dump."""

    nodes: int = 10
    pods: int = 10
    """Running ones of each node."""
    ended: int = 0
    """Failed ones, refused by the kubelet of the first node."""
    killed: int = 0
    """Failed ones whose container the kernel killed."""
    misfits: int = 0
    """Failed ones, refused by the Topology Manager."""
    pending: int = 0
    events: int = 0
    """Warnings of a probe, about one pod after the other."""
    pulls: int = 0
    """Events of images that were pulled."""


def write_dump(path: Path, size: Size) -> int:
    """Write one List and return its bytes."""
    with path.open("w") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[')
        for number, item in enumerate(_items(load_shapes(), size)):
            file.write(("," if number else "") + json.dumps(item))
        file.write("]}\n")
    return path.stat().st_size


def _items(shapes: Shapes, size: Size) -> Iterator[Json]:
    yield from (node_object(shapes, node) for node in range(size.nodes))
    yield from (pod_object(shapes, node, pod) for node in range(size.nodes) for pod in range(size.pods))
    for number in range(size.ended):
        yield _failed(shapes, number, "UnexpectedAdmissionError", _REJECTED)
    for number in range(size.misfits):
        yield _failed(shapes, number, "TopologyAffinityError", _MISFIT)
    for number in range(size.killed):
        killed = _apart(shapes, number, "killed")
        (container,) = killed["status"]["containerStatuses"]
        ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": _at(0), "finishedAt": _at(number)}
        container.update(state={"terminated": ended}, ready=False, started=False)
        killed["status"].update(phase="Failed", startTime=_at(0))
        yield killed
    for number in range(size.pending):
        pending = _apart(shapes, number, "pending")
        del pending["spec"]["nodeName"]
        why = _UNSCHEDULABLE.format(nodes=size.nodes)
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        pending["status"] = {"phase": "Pending", "conditions": [condition | {"lastTransitionTime": _at(number)}]}
        yield pending
    for number in range(size.events):
        yield _event(shapes, size, number, "Unhealthy", _UNHEALTHY)
    for number in range(size.pulls):
        image = f"registry.example.com/app-{number % 50}:1"
        took = "in 1.2s (1.2s including waiting). Image size: 25000000 bytes."
        yield _event(shapes, size, number, "Pulled", f'Successfully pulled image "{image}" {took}')


def _failed(shapes: Shapes, number: int, reason: str, message: str) -> Json:
    failed = _apart(shapes, number, reason.lower())
    failed["status"] = {"phase": "Failed", "reason": reason, "message": message, "startTime": _at(number)}
    return failed


def _apart(shapes: Shapes, number: int, kind: str) -> Json:
    """A pod beside the running ones, of the first node."""
    pod = pod_object(shapes, 0, 0)
    uid = f"{number:08x}-{kind[:4].encode().hex()[:4]}-4aab-b2ac-{number:012x}"
    pod["metadata"].update(name=f"{kind}-{number}", uid=uid, creationTimestamp=_at(number))
    return pod


def _event(shapes: Shapes, size: Size, number: int, reason: str, message: str) -> Json:
    node = number % size.nodes
    namespace, name, uid = pod_names(node, number // size.nodes % max(size.pods, 1))
    event = deepcopy(shapes.events[0])
    event["metadata"].update(
        namespace=namespace, name=f"{name}.{reason.lower()}{number:x}", uid=f"{number:08x}-{uid[9:24]}{number:012x}"
    )
    event["involvedObject"].update(kind="Pod", namespace=namespace, name=name, uid=uid)
    event.update(
        reason=reason, message=message, eventTime=None, firstTimestamp=_at(number), lastTimestamp=_at(number)
    )
    event.update(source={"component": "kubelet", "host": node_name(node)}, reportingComponent="kubelet")
    event.update(type="Normal" if reason == "Pulled" else "Warning", count=1)
    return event


def _at(number: int) -> str:
    return f"{BEGIN + timedelta(seconds=number % 36_000):%Y-%m-%dT%H:%M:%SZ}"
