"""Observations written by hand, for scenarios and unit tests: what a test does not name is Kubernetes' default.

Times are clock times of one day (`at("12:00:05")`), objects have only the fields that some rule reads.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ingest.files.envelope import decode_line
from ingest.model.observation import Observed, Position
from ingest.model.records import Record
from ingest.normalize.normalize import normalize

DAY: Final = "2026-07-01"
CLUSTER: Final = "c"
GIB: Final = 1024**3
MIB: Final = 1024**2

Json = dict[str, Any]


def at(clock: str) -> str:
    """A clock time of the day as Kubernetes writes times: "12:00:05" or, finer, "12:00:05.25"."""
    return f"{DAY}T{clock}Z"


def observation(
    clock: str,
    resource: str,
    object_: Json,
    *,
    type_: str = "ADDED",
    source: str = "watch",
    node: str = "",
    cluster: str = CLUSTER,
) -> Json:
    """A line of a capture, as a dict."""
    line = {"ts": at(clock), "cluster": cluster, "source": source, "resource": resource, "type": type_}
    return line | ({"node": node} if node else {}) | {"object": object_}


def node(
    clock: str,
    name: str,
    *,
    type_: str = "MODIFIED",
    since: str = "08:00:00",
    pressure: Mapping[str, str] | None = None,
    relieved: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    capacity: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    version: str = "v1.36.3",
    heartbeat: str = "",
    spec: Json | None = None,
) -> Json:
    """A Node. `pressure` and `relieved` say since when a condition is True or, unlike the others, False."""
    transitions = dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure"), since) | dict(relieved or {})
    conditions = [
        {
            "type": condition,
            "status": "True" if condition in (pressure or {}) else "False",
            "lastHeartbeatTime": at(heartbeat or clock),
            "lastTransitionTime": at((pressure or {}).get(condition, transition)),
        }
        for condition, transition in transitions.items()
    ]
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": at(clock), "lastTransitionTime": at(since)}
    amounts = dict(capacity or {"cpu": "4", "memory": "8Gi", "pods": "110"})
    return observation(
        clock,
        "nodes",
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "creationTimestamp": at("08:00:00"),
                "labels": dict(labels or {}),
            },
            "spec": spec or {},
            "status": {
                "capacity": amounts,
                "allocatable": dict(allocatable or amounts),
                "conditions": [*conditions, ready],
                "nodeInfo": {"kubeletVersion": version, "operatingSystem": "linux"},
            },
        },
        type_=type_,
        source="list" if type_ == "ADDED" else "watch",
    )


def pod(
    clock: str,
    name: str,
    node: str = "",
    *,
    type_: str = "MODIFIED",
    uid: str = "",
    phase: str = "Running",
    requests: Mapping[str, str] | None = None,
    priority: int = 0,
    spec: Json | None = None,
    status: Json | None = None,
    metadata: Json | None = None,
) -> Json:
    """A Pod of namespace `default` with one container; `spec`, `status` and `metadata` replace or add fields."""
    resources = {"requests": dict(requests)} if requests else {}
    return observation(
        clock,
        "pods",
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": uid or f"uid-{name}",
                "creationTimestamp": at("08:00:00"),
                **(metadata or {}),
            },
            "spec": {
                **({"nodeName": node} if node else {}),
                "containers": [{"name": "main", "resources": resources}],
                "priority": priority,
                **(spec or {}),
            },
            "status": {"phase": phase, "qosClass": "Burstable" if requests else "BestEffort", **(status or {})},
        },
        type_=type_,
    )


def event(
    clock: str,
    name: str,
    reason: str,
    message: str,
    *,
    node: str = "",
    about: Mapping[str, str] | None = None,
    count: int | None = 1,
    first: str = "",
    last: str = "",
    type_: str = "ADDED",
    kind: str = "Normal",
    uid: str = "",
    source: str = "watch",
    fields: Json | None = None,
) -> Json:
    """An Event of core/v1 by the kubelet of `node`, about that node if `about` does not tell another object.

    It occurred first at `first` and last at `last`; by default when it was observed, to the second.
    """
    last = last or clock.partition(".")[0]
    return observation(
        clock,
        "events",
        {
            "metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"},
            "involvedObject": dict(about or {"kind": "Node", "name": node, "uid": node}),
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": node},
            "firstTimestamp": at(first or last),
            "lastTimestamp": at(last),
            "count": count,
            "type": kind,
            **(fields or {}),
        },
        type_=type_,
        source=source,
    )


def about_pod(name: str, uid: str = "") -> dict[str, str]:
    """The reference of an Event to a pod of `default`."""
    return {"kind": "Pod", "namespace": "default", "name": name, "uid": uid or f"uid-{name}"}


def filesystem(available: int, capacity: int, inodes_free: int = 900_000, inodes: int = 1_000_000) -> Json:
    """A filesystem of a summary: bytes and inodes."""
    return {
        "availableBytes": available,
        "capacityBytes": capacity,
        "usedBytes": capacity - available,
        "inodesFree": inodes_free,
        "inodes": inodes,
        "inodesUsed": inodes - inodes_free,
    }


def summary(
    clock: str,
    node: str,
    *,
    memory: tuple[int, int] | None = (6 * GIB, 2 * GIB),
    fs: Json | None = None,
    image_fs: Json | None = None,
    container_fs: Json | None = None,
    pods: Sequence[Json] = (),
    fields: Json | None = None,
) -> Json:
    """A `/stats/summary`; `memory` is available and working set in bytes. A part that is not named is missing."""
    parts: Json = {"nodeName": node}
    if memory is not None:
        parts["memory"] = {"availableBytes": memory[0], "workingSetBytes": memory[1]}
    if fs is not None:
        parts["fs"] = fs
    runtime = {"imageFs": image_fs, "containerFs": container_fs or image_fs}
    if image_fs is not None:
        parts["runtime"] = runtime
    return observation(
        clock,
        "stats/summary",
        {"node": parts | (fields or {}), "pods": list(pods)},
        type_="SNAPSHOT",
        source="kubelet",
        node=node,
    )


def pod_stats(
    name: str, *, uid: str = "", memory: int = 0, rootfs: int = 0, logs: int = 0, volumes: Sequence[Json] = ()
) -> Json:
    """A pod of a summary: working set, and bytes used by its one container and its volumes."""
    return {
        "podRef": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"},
        "memory": {"workingSetBytes": memory},
        "containers": [{"name": "main", "rootfs": {"usedBytes": rootfs}, "logs": {"usedBytes": logs}}],
        "volume": list(volumes),
    }


def configz(clock: str, node: str, **config: object) -> Json:
    """A kubelet's `/configz`; keys as Kubernetes writes them."""
    return observation(clock, "configz", {"kubeletconfig": config}, type_="SNAPSHOT", source="kubelet", node=node)


def jsonl(observations: Iterable[Json]) -> str:
    """The text of a capture file."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in observations)


def observed(observations: Iterable[Json]) -> list[Observed]:
    """Return the observations of a capture."""
    found = []
    for number, each in enumerate(observations, start=1):
        entry = decode_line(json.dumps(each).encode(), Position("capture.jsonl", str(number)))
        assert isinstance(entry, Observed), entry
        found.append(entry)
    return found


def records(*observations: Json) -> list[Record]:
    """The records of the observations, of all logs, in order."""
    return [record for each in observed(observations) for record in normalize(each.observation)]
