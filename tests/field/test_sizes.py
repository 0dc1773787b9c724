"""A large dump: what a pod costs does not grow with the number of pods."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import thread_time_ns
from typing import Any, Final

import pytest

from field.folding import Stored
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from streams.analytics.registry import REDUCERS
from streams.fold.reducer import Reducer
from streams.local.replay import Replay

_PODS: Final = 2_000
_CHUNK: Final = 200
_GROWTH: Final = 4.0
"""Most factor by which a step may take longer: a copy of all pods for each comes to 5 and more."""


def pod(number: int, status: dict[str, Any], node: str = "n1") -> dict[str, Any]:
    metadata = {"name": f"web-{number}", "namespace": "shop", "uid": f"u{number}", "resourceVersion": f"{number + 1}"}
    owner = {"kind": "ReplicaSet", "name": f"web-{number % 7}", "uid": "r", "controller": True}
    requests = {"requests": {"cpu": "10m", "ephemeral-storage": "1Mi"}, "limits": {"ephemeral-storage": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | {"ownerReferences": [owner], "creationTimestamp": "2026-07-31T14:00:00Z"},
        "spec": {"containers": [{"name": "app", "resources": requests}], **({"nodeName": node} if node else {})},
        "status": {"startTime": "2026-07-31T14:00:00Z"} | status,
    }


REFUSED = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource"}
EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
}
SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "refused": lambda number: pod(number, REFUSED),
    "evicted": lambda number: pod(number, EVICTED),
    "running": lambda number: pod(number, {"phase": "Running"}),
    "pending": lambda number: pod(number, {"phase": "Pending", "conditions": [UNSCHEDULABLE]}, node=""),
}


class _Nowhere(Stored):
    def write(self, batch: Any) -> None:
        """Drop the rows: what they cost is not measured here."""


@pytest.mark.parametrize("shape", SHAPES)
def test_no_reducer_takes_longer_for_a_pod_of_many(tmp_path: Path, shape: str) -> None:
    """The median of its steps at the end, by that at the beginning: what else this machine does is in neither."""
    dump, nowhere = tmp_path / "pods.json", _Nowhere()
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*map(SHAPES[shape], range(_PODS))]}))
    took: defaultdict[str, list[int]] = defaultdict(list)
    reducers = [timed(each, took[each.name]) for each in REDUCERS]
    Replay(reducers, nowhere, nowhere).run(map(decode, read_sources([dump])))
    grew = {name: median(each[-_CHUNK:]) / median(each[:_CHUNK]) for name, each in took.items() if len(each) >= _PODS}
    assert grew.keys() & {"pod_ends", "scheduling"}
    assert {name: times for name, times in grew.items() if times > _GROWTH} == {}


def timed(reducer: Reducer[Any], into: list[int]) -> Reducer[Any]:
    def step(state: Any, given: Any) -> Any:
        began = thread_time_ns()
        stepped = reducer.step(state, given)
        into.append(thread_time_ns() - began)
        return stepped

    return replace(reducer, step=step)
