"""Summaries of made-up nodes: the recorded shape, with numbers that grow, drift and differ as real ones do."""

import math
from copy import deepcopy
from datetime import datetime, timedelta
from random import Random
from typing import Final

from .shapes import Json, Shapes

MIB: Final = 1 << 20
NAMESPACES: Final = ("shop", "payments", "search", "kube-system", "monitoring", "batch", "web", "ml")
BEFORE: Final = timedelta(hours=6)
"""Age of the pods at the first sample."""


def node_name(node: int) -> str:
    return f"node-{node:05}"


def pod_names(node: int, pod: int) -> tuple[str, str, str]:
    """Give namespace, name and uid."""
    number = (node << 12) + pod
    tail = f"{number * 2654435761 % (1 << 32):08x}"
    return NAMESPACES[pod % len(NAMESPACES)], f"app-{pod % 50}-{tail[:5]}-{tail[3:]}", _uid("c0de", number)


def node_uid(node: int) -> str:
    return _uid("beef", node)


def _uid(kind: str, number: int) -> str:
    return f"{number * 2654435761 % (1 << 32):08x}-{kind}-4aab-b2ac-{number:012x}"


class Summaries:
    """Makes the summary of any node at any time from a seed; keeps one summary in memory and writes it anew."""

    def __init__(self, shapes: Shapes, pods: int, seed: int, begin: datetime) -> None:
        self._seed = seed
        self._begin = begin
        self._summary = deepcopy(shapes.summary)
        shape = self._summary["pods"][0]
        self._summary["pods"] = [deepcopy(shape) for _ in range(pods)]
        for pod in self._summary["pods"][::2]:
            # with a side-car in every other pod and a volume in every fourth, 30 pods make 82 KB
            pod["containers"].append({**deepcopy(pod["containers"][0]), "name": "proxy"})
        for pod in self._summary["pods"][::4]:
            pod["volume"].append({**deepcopy(pod["volume"][0]), "name": "scratch", "usedBytes": 5 * MIB})

    def at(self, node: int, ts: datetime) -> Json:
        """Give the summary of a node; it is overwritten by the next call."""
        steady = Random(f"{self._seed}/{node}")  # noqa: S311  # the same input each time is the point
        lively = Random(f"{self._seed}/{node}/{ts}")  # noqa: S311
        seconds = (ts - self._begin + BEFORE).total_seconds()
        self._summary["node"]["nodeName"] = node_name(node)
        time = f"{ts:%Y-%m-%dT%H:%M:%SZ}"
        for number, pod in enumerate(self._summary["pods"]):
            _fill_pod(pod, node, number, time, steady.random(), lively.random(), seconds)
        _fill_node(self._summary["node"], time, steady.random(), lively.random(), seconds)
        return self._summary


def _fill_node(node: Json, time: str, steady: float, lively: float, seconds: float) -> None:
    _fill_use(node, time, steady * 1500, lively, seconds, 8000 * MIB)
    memory, fs, runtime = node["memory"], node["fs"], node["runtime"]
    memory["availableBytes"] = 24_684_096 * 1024 - memory["workingSetBytes"]
    _fill_use(node["systemContainers"][0], time, steady * 1200, lively, seconds, 6000 * MIB)
    pods_memory = node["systemContainers"][0]["memory"]
    pods_memory["availableBytes"] = 24_581_696 * 1024 - pods_memory["workingSetBytes"]
    # a node in three fills its disk again and again, so that there is something to forecast
    filling = int(seconds * max(0.0, steady - 0.67) * 2 * MIB) % int(fs["capacityBytes"] * 0.4)
    for filesystem in (fs, runtime["imageFs"], runtime["containerFs"]):
        filesystem["time"] = time
        filesystem["availableBytes"] = int(filesystem["capacityBytes"] * 0.5) - filling - int(lively * MIB)
        filesystem["inodesFree"] = 16_101_539 - int(lively * 1000)
    fs["usedBytes"] = fs["capacityBytes"] - fs["availableBytes"]
    node["rlimit"]["time"] = node["network"]["time"] = node["swap"]["time"] = time
    node["rlimit"]["curproc"] = 300 + int(200 * lively)
    node["network"]["rxBytes"] = int(seconds * steady * 1e6)


def _fill_pod(pod: Json, node: int, number: int, time: str, steady: float, lively: float, seconds: float) -> None:
    namespace, name, uid = pod_names(node, number)
    reference = pod["podRef"]
    reference["namespace"], reference["name"], reference["uid"] = namespace, name, uid
    _fill_use(pod, time, steady * 400, lively, seconds, int(steady * 900 * MIB))
    containers = pod["containers"]
    written = int(seconds * steady * 3000)
    for container in containers:
        _fill_use(container, time, steady * 400 / len(containers), lively, seconds, int(steady * 450 * MIB))
        for part in ("rootfs", "logs"):
            container[part]["time"] = time
            container[part]["usedBytes"] = written
            container[part]["inodesUsed"] = 8 + int(steady * 200)
    ephemeral = pod["ephemeral-storage"]
    for part in (ephemeral, *pod["volume"]):
        part["time"] = time
    ephemeral["usedBytes"] = 2 * written * len(containers) + 4096
    ephemeral["inodesUsed"] = 20 + int(steady * 400) * len(containers)
    pod["process_stats"]["process_count"] = 1 + int(lively * 30)


def _fill_use(part: Json, time: str, millicores: float, lively: float, seconds: float, memory_bytes: int) -> None:
    cpu, memory, io = part["cpu"], part["memory"], part["io"]
    cpu["time"] = memory["time"] = io["time"] = part["swap"]["time"] = time
    cpu["usageNanoCores"] = int(millicores * 1e6 * (0.5 + lively))
    cpu["usageCoreNanoSeconds"] = int(millicores * 1e6 * seconds)
    working_set = memory_bytes + int(memory_bytes * 0.1 * (math.sin(seconds / 600) + lively))
    memory["workingSetBytes"] = working_set
    memory["usageBytes"] = working_set + working_set // 4
    memory["rssBytes"] = working_set - working_set // 8
    memory["pageFaults"] = int(seconds * millicores)
    for resource, factor in ((cpu, 1.0), (memory, 0.01), (io, 0.3)):
        if "psi" in resource:
            _fill_psi(resource["psi"], lively * factor, seconds)


def _fill_psi(psi: Json, share: float, seconds: float) -> None:
    for kind, factor in (("some", 1.0), ("full", 0.5)):
        totals = psi[kind]
        totals["total"] = int(share * factor * seconds * 1e6)
        totals["avg10"] = round(share * factor, 2)
        totals["avg60"] = round(share * factor * 0.8, 2)
        totals["avg300"] = round(share * factor * 0.7, 2)
