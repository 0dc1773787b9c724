"""Writes the capture of the late-joiner effect: `python tests/bench/late_joiners.py examples/late-joiners.jsonl.gz`.

Three masters of 38 days, node-1 to node-4 of 2 days and 1 hour, node-5 and node-6 of 32 hours, all v1.28.8. A
worker has two NUMA nodes of 16 CPUs (8 cores); its first core is reserved. Exclusive pods fill the older workers, and
what is free on the younger ones lies in pieces of 6: a pod of 8 exclusive CPUs of one NUMA node waits, 44 are free.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fakes.checkpoints import write_cpu_manager_state
from ingest.model.cpuset import format_cpuset
from streams.rules.numa.cpu_checkpoint import CpuManagerState

START = datetime(2026, 3, 10, 8, tzinfo=UTC)
VERSION = "v1.28.8"
MASTERS = {f"master-{i}": timedelta(days=38) for i in (1, 2, 3)}
WORKERS = {f"node-{i}": timedelta(days=2, hours=1) if i < 5 else timedelta(hours=32) for i in range(1, 7)}
RESERVED = frozenset({0, 16})
NUMA_CPUS = ([1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23], [c for i in range(8, 16) for c in (i, i + 16)])
"""CPUs of each NUMA node in the order in which they are given: a core's two threads together."""
PODS = {
    "node-1": ([4, 4, 4], [4, 4, 4]),
    "node-2": ([4, 4, 4], [4, 4, 4]),
    "node-3": ([4, 4, 4], [4, 4, 4, 4]),
    "node-4": ([4, 4, 4], [4, 4, 4]),
    "node-5": ([4, 4], [4, 6]),
    "node-6": ([4, 4], [4, 6]),
}
"""CPUs of the pods on each NUMA node of each worker, in the order of their arrival."""


def lines() -> Iterator[str]:
    """The capture, line by line."""
    for index, observation in enumerate(_observations()):
        ts = (START + observation.pop("after") + timedelta(milliseconds=index)).isoformat(timespec="microseconds")
        yield json.dumps({"ts": ts.replace("+00:00", "Z"), "cluster": "late-joiners", **observation})


def _observations() -> Iterator[dict[str, Any]]:
    at_once = timedelta()
    for name, age in (MASTERS | WORKERS).items():
        yield _observed(at_once, "list", "nodes", "ADDED", _node(name, age))
    for node in WORKERS:
        for pod, _, _ in _pods(node):
            yield _observed(at_once, "list", "pods", "ADDED", pod)
    yield _observed(timedelta(seconds=5), "watch", "pods", "ADDED", _waiting())
    for poll in (timedelta(seconds=10), timedelta(seconds=70)):
        for node in WORKERS:
            yield _observed(poll, "kubelet", "configz", "SNAPSHOT", {"kubeletconfig": _config("static")}, node)
            yield _observed(poll, "agent", "cpu_topology", "SNAPSHOT", _topology(), node)
            yield _observed(poll, "agent", "cpu_manager_state", "SNAPSHOT", _checkpoint(node), node)
        for node in MASTERS:
            yield _observed(poll, "kubelet", "configz", "SNAPSHOT", {"kubeletconfig": _config("none")}, node)
            yield _observed(poll, "agent", "cpu_topology", "SNAPSHOT", _topology(), node)
            none = json.loads(write_cpu_manager_state(CpuManagerState("none", "", {}, {}, 2)))
            yield _observed(poll, "agent", "cpu_manager_state", "SNAPSHOT", none, node)


def _observed(
    after: timedelta, source: str, resource: str, change: str, thing: object, node: str = ""
) -> dict[str, Any]:
    asked = {"node": node} if node else {}
    return {"after": after, "source": source, "resource": resource, "type": change, **asked, "object": thing}


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(name: str, age: timedelta) -> dict[str, Any]:
    is_master = name in MASTERS
    role = {"node-role.kubernetes.io/control-plane": ""} if is_master else {}
    taints = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}] if is_master else []
    amounts = {"memory": "131072000Ki", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": _time(START - age),
            "labels": {"kubernetes.io/os": "linux", **role},
        },
        "spec": {"taints": taints},
        "status": {
            "capacity": {"cpu": "32", **amounts},
            "allocatable": {"cpu": "30", **amounts},
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": VERSION, "operatingSystem": "linux"},
        },
    }


def _pods(node: str) -> Iterator[tuple[dict[str, Any], str, list[int]]]:
    """Each pod of a worker with its uid and its CPUs, in the order of arrival."""
    joined = START - WORKERS[node]
    order = 0
    for numa, sizes in enumerate(PODS[node]):
        free = iter(NUMA_CPUS[numa])
        for size in sizes:
            order += 1
            uid = f"uid-{node}-{order:02}"
            bound = joined + timedelta(minutes=10 * order, seconds=int(node[-1]))
            yield (
                _pod(f"exclusive-{node[-1]}-{order:02}", uid, node, size, bound),
                uid,
                [next(free) for _ in range(size)],
            )


def _pod(name: str, uid: str, node: str, cpus: int, bound: datetime) -> dict[str, Any]:
    amounts = {"cpu": str(cpus), "memory": f"{cpus}Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "creationTimestamp": _time(bound)},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "app", "resources": {"requests": amounts, "limits": amounts}}],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Guaranteed",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": _time(bound)}],
        },
    }


def _waiting() -> dict[str, Any]:
    pod = _pod("needs-8", "uid-needs-8", "", 8, START)
    del pod["spec"]["nodeName"]
    message = (
        "0/9 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, "
        "6 cannot align container. preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling.."
    )
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod["status"] = {"phase": "Pending", "qosClass": "Guaranteed", "conditions": [condition]}
    return pod


def _config(policy: str) -> dict[str, Any]:
    return {
        "cpuManagerPolicy": policy,
        "topologyManagerPolicy": "single-numa-node" if policy == "static" else "none",
        "topologyManagerScope": "container",
        "reservedSystemCPUs": format_cpuset(RESERVED) if policy == "static" else "",
    }


def _topology() -> dict[str, Any]:
    return {"cpus": [{"cpu": c, "core": c % 16 % 8, "socket": c % 16 // 8, "numa": c % 16 // 8} for c in range(32)]}


def _checkpoint(node: str) -> dict[str, Any]:
    held = {uid: {"app": format_cpuset(cpus)} for _, uid, cpus in _pods(node)}
    exclusive = {cpu for _, _, cpus in _pods(node) for cpu in cpus}
    shared = format_cpuset(set(range(32)) - exclusive)
    document: dict[str, Any] = json.loads(write_cpu_manager_state(CpuManagerState("static", shared, held, {}, 2)))
    return document


if __name__ == "__main__":
    text = "".join(f"{line}\n" for line in lines())
    Path(sys.argv[1]).write_bytes(
        gzip.compress(text.encode(), mtime=0) if sys.argv[1].endswith(".gz") else text.encode()
    )
