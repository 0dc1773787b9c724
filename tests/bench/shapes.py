"""Shapes of a real kubelet's and a real API server's answers, which the generator fills."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from ingest.files.capture import read_capture
from ingest.files.lines import SourceFile
from ingest.model.observation import Observation, Observed
from paths import NODE_PRESSURE

Json: TypeAlias = dict[str, Any]

"""A summary of a kubelet 1.36 with PSI. Its pods have one container, no network of their own and no volume."""
EVENTS: Final = 8


class Shapes(NamedTuple):
    node: Json
    pod: Json
    """Running, bound, of one container."""
    configz: Json
    events: list[Json]
    """About the node or one of its pods."""
    summary: Json
    """Its `pods` hold one pod of one container, with what the recorded one lacked: a volume, processes."""


def load_shapes(capture: Path = NODE_PRESSURE) -> Shapes:
    """Take the shapes from a capture that has each of them."""
    with SourceFile(capture) as file:
        observations = [entry.observation for entry in read_capture(file) if isinstance(entry, Observed)]
    summary = max(_objects(observations, "stats/summary", "SNAPSHOT"), key=lambda each: len(each.get("pods") or ()))
    pod = max(summary["pods"], key=lambda each: len(msgspec.json.encode(each)))
    _complete(pod)
    return Shapes(
        node=next(_objects(observations, "nodes", "ADDED")),
        pod=next(p for p in _objects(observations, "pods", "ADDED") if p["status"].get("phase") == "Running"),
        configz=next(_objects(observations, "configz", "SNAPSHOT")),
        events=list(_objects(observations, "events", "ADDED"))[:EVENTS],
        summary={**summary, "pods": [pod]},
    )


def _objects(observations: list[Observation], resource: str, change: str) -> Iterator[Json]:
    """Give the objects of one resource; each may be changed by whoever asked."""
    for each in observations:
        if each.resource == resource and each.type == change:
            yield msgspec.json.decode(each.object)


def _complete(pod: Json) -> None:
    """Add what every pod has on a usual node: the volume of its token, and its processes."""
    ephemeral: Json = deepcopy(pod["ephemeral-storage"])
    pod["volume"] = [{**ephemeral, "name": "kube-api-access-x8zq4", "usedBytes": 12288, "inodesUsed": 9}]
    pod["process_stats"] = {"process_count": 0}
