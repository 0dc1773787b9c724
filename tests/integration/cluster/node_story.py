"""The story of a real node in the tests of the live parts: a pinned pod, and a pod that grows until it is evicted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from components.cluster.image import IMAGE
from components.cluster.kubelet import EVICTION, RealNode
from components.cluster.node import ClusterNode
from components.processes import HOST
from components.rows import dicts
from sql.database.open import Database
from waiting import eventually

CLUSTER: Final = "lab"
PINNED: Final = "pinned"
GROWER: Final = "grower"
CANARY: Final = "canary-7b1f0c55"
"""It stands where secrets stand, and is to be found nowhere."""
TAKEN_MIB: Final = 9_000
MICROSECONDS_PER_MIB: Final = 10_000
"""100 MiB a second, for a minute and a half: enough samples for forecasts, and far more than others take and give."""
BEYOND_MIB: Final = 4_000
"""More than others give back while it grows."""
EVERY_SECONDS: Final = 2
_PODS: Final = "/api/v1/namespaces/default/pods"
_EVENTS: Final = "/api/v1/namespaces/default/events"
_ONE_CPU: Final = {"cpu": "1", "memory": "32Mi"}


def watch_flags(node: ClusterNode, every_seconds: int = EVERY_SECONDS) -> list[str]:
    """Arguments with which `leadsman capture`, `watch` and `up` reach the node and its API server."""
    return [
        f"--cluster={CLUSTER}",
        f"--kubeconfig={node.cluster.kubeconfig()}",
        "--kubelet=direct",
        "--kubelet-insecure",
        f"--kubelet-address={node.name}={HOST}:{node.port}",
        f"--every={every_seconds}",
    ]


def captured(folder: Path, *texts: str) -> int:
    """Return the number of lines of the capture in `folder` that have all these texts."""
    lines = (line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    return sum(all(text in line for text in texts) for line in lines)


@contextmanager
def restored(node: RealNode, pods: Sequence[str] = (PINNED, GROWER)) -> Iterator[None]:
    """Begin without the Events of another story; remove this one's pods and its eviction threshold at the end.

    A kubelet that was stopped runs again then.
    """
    node.cluster.request("DELETE", _EVENTS)
    try:
        yield
    finally:
        for pod in pods:
            if exists(node, pod):
                node.cluster.request("DELETE", f"{_PODS}/{pod}", {"gracePeriodSeconds": 0})
        eventually("the story's pods are gone", lambda: not any(exists(node, pod) for pod in pods))
        node.restart_kubelet({"evictionHard": EVICTION})
        node.await_free_cpus()


def pin(node: RealNode) -> None:
    """A Guaranteed pod of one whole CPU (rules: exclusive-cpus), with secrets in its environment and annotations."""
    container = {
        "name": "w",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": ["wait", CANARY],
        "env": [{"name": "PASSWORD", "value": CANARY}],
        "resources": {"requests": _ONE_CPU, "limits": _ONE_CPU},
    }
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": CANARY, "example.com/note": CANARY}
    metadata = {"name": PINNED, "annotations": annotations}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
    node.cluster.request("POST", _PODS, {"metadata": metadata, "spec": spec})
    node.await_phase(PINNED, "Running")


def start_growing(node: RealNode) -> int:
    """A pod without limit that takes ever more memory; gives the threshold in bytes at which it is evicted."""
    threshold = node.evict_after(TAKEN_MIB)
    memory = {"memory": "16Mi"}
    node.run_pod(GROWER, "grow", str(MICROSECONDS_PER_MIB), str(TAKEN_MIB + BEYOND_MIB), requests=memory, limits={})
    return threshold


def await_eviction(node: RealNode) -> None:
    """Returns when the pod is evicted and the node, which was under pressure, is out of it again."""
    node.await_phase(GROWER, "Failed")
    eventually("the node tells of memory pressure", lambda: told_of_pressure(node))
    eventually("the node is out of memory pressure", lambda: under_pressure(node) == "False")


def under_pressure(node: RealNode) -> str:
    """The status of the condition MemoryPressure."""
    found = node.node()["status"]["conditions"]
    return str({each["type"]: each["status"] for each in found}["MemoryPressure"])


def told_of_pressure(node: RealNode) -> bool:
    """Return whether an Event of this story says so; the condition may be over before anybody looks."""
    events: list[Any] = node.cluster.request("GET", _EVENTS)["items"]
    return any(each["reason"] == "NodeHasInsufficientMemory" for each in events)


def exists(node: RealNode, name: str) -> bool:
    """Return whether the API server has the pod `default/name`."""
    pods: list[Any] = node.cluster.request("GET", _PODS)["items"]
    return any(pod["metadata"]["name"] == name for pod in pods)


def check_story(db: Database, node: RealNode, threshold_bytes: int) -> None:
    """SQL has the story: binding, exclusive CPU, eviction and its rank, pressure."""
    names = {"node": node.name, "cluster": CLUSTER}
    of_node = "cluster = {cluster:String} AND node = {node:String}"

    bindings = dicts(
        db,
        f"SELECT pod, qos_class, cpu_request_millicores, memory_request_bytes, exclusive_cpus FROM pod_bindings "
        f"WHERE {of_node} AND change = 'bound' ORDER BY ts",
        **names,
    )
    mib = 1024 * 1024
    assert [tuple(each.values()) for each in bindings] == [
        (PINNED, "Guaranteed", 1000, 32 * mib, 1),
        (GROWER, "Burstable", 0, 16 * mib, 0),
    ]

    # CPU 0 is reserved, the pinned pod holds another one (rules: cpu-checkpoint, kubelet-metrics)
    exclusive = dicts(
        db,
        f"SELECT max(exclusive_cpus) AS most, max(reserved_cpus) AS reserved FROM numa_allocations WHERE {of_node}",
        **names,
    )
    assert exclusive == [{"most": 1, "reserved": 1}]

    (eviction,) = dicts(
        db,
        f"SELECT namespace, pod, cause, resource, signal, threshold, predicted_rank, ranked_pods, evidence "
        f"FROM evictions WHERE {of_node}",
        **names,
    )
    # it alone is above its request, so it goes first (rules: eviction-order); the other pod of the node is the pinned
    # one
    assert eviction == {
        "namespace": "default",
        "pod": GROWER,
        "cause": "pressure",
        "resource": "memory",
        "signal": "memory.available",
        "threshold": threshold_bytes,
        "predicted_rank": 1,
        "ranked_pods": 2,
        "evidence": "both",
    }
    assert dicts(db, "SELECT was_next FROM rank_accuracy") == [{"was_next": 1}]

    changes = dicts(
        db,
        f"SELECT status, lasted_seconds, kubelet_restart FROM pressure_changes "
        f"WHERE {of_node} AND condition = 'MemoryPressure' AND NOT kubelet_restart ORDER BY ts",
        **names,
    )
    assert [each["status"] for each in changes][-2:] == [1, 0]
    assert changes[-1]["lasted_seconds"] >= 10  # the transition period in kubelet.CONFIG


def check_forecasts(db: Database, node: RealNode) -> None:
    """Forecasts were made before the threshold was met, one of them right to half a minute. What other processes take
    and give makes some of them wrong.
    """
    names = {"node": node.name, "cluster": CLUSTER}
    of_node = "cluster = {cluster:String} AND node = {node:String}"
    (forecasts,) = dicts(
        db,
        "SELECT count() AS made, min(abs(error_seconds)) AS error_seconds "
        "FROM forecast_accuracy "
        f"WHERE {of_node} AND signal = 'memory.available' AND threshold = 'hard' AND outcome = 'met'",
        **names,
    )
    seen = dicts(
        db,
        f"SELECT ts, available, slope_per_second, seconds_to_hard, hard_met FROM eviction_signals "
        f"WHERE {of_node} AND signal = 'memory.available' ORDER BY ts",
        **names,
    )
    assert forecasts["made"] > 0, seen
    assert forecasts["error_seconds"] < 30, seen
