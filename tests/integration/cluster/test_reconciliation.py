"""Watchers come and go in front of a real kube-apiserver, and nothing stays for ever (delivery.md#watching)."""

import asyncio
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from components.cluster.kubernetes import Cluster
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.records import Record
from streams.analytics.registry import REDUCERS
from streams.fold.findings import SourceError
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.shelves import items
from waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]

NODES = 6
PODS = 80
"""Pods that are created while nobody watches; half of the existing ones are deleted."""
RESTARTS = 3


class Logs:
    """Return the reducers' knowledge of one namespace and its nodes."""

    def __init__(self, name: str) -> None:
        self.errors: list[SourceError] = []
        self._name = name
        self._fold = Fold(REDUCERS)
        self._logs: defaultdict[LogKey, LogState] = defaultdict(LogState)

    def take(self, record: Record) -> None:
        for output in self._fold.step(self._logs[LogKey(record.cluster, record.node)], record):
            if isinstance(output, Record):
                self.take(output)
            elif isinstance(output, SourceError):
                self.errors.append(output)

    @property
    def pods(self) -> dict[str, str]:
        """The node of each pod, by uid; of pending ones none."""
        states: list[Any] = [log.states for log in self._logs.values()]
        known = [each[name].pods for each in states for name in ("pod_bindings", "pending_pods") if name in each]
        return {uid: row.node for pods in known for uid, row in items(pods) if row.namespace == self._name}

    @property
    def nodes(self) -> dict[str, str]:
        """The uid of each node, as its own log and the cluster's know it."""
        states: list[Any] = [log.states for log in self._logs.values()]
        last = [each["nodes"].last for each in states if "nodes" in each and each["nodes"].last]
        of_cluster: Any = self._logs[LogKey("lab", "")].states["scheduling"]
        own = {row.node: row.uid for row in last if not row.deleted}
        shared = {name: node.uid for name, node in of_cluster.nodes.nodes.items()}
        return {name: uid for name, uid in own.items() if self._is_ours(name) and shared.get(name) == uid} | {
            name: f"{uid} on the cluster's log alone"
            for name, uid in shared.items()
            if self._is_ours(name) and own.get(name) != uid
        }

    def _is_ours(self, node: str) -> bool:
        return node.startswith(self._name)


class Space:
    """A namespace with pods, and nodes of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.name = f"reconcile-{uuid.uuid4().hex[:6]}"
        self._cluster = cluster
        self._pods = f"/api/v1/namespaces/{self.name}/pods"
        cluster.make_namespace(self.name)

    async def request(self, method: str, path: str, body: object = None) -> Any:
        return await asyncio.to_thread(self._cluster.request, method, path, body)

    async def make_nodes(self) -> None:
        for number in range(NODES):
            await self.request("POST", "/api/v1/nodes", {"metadata": {"name": f"{self.name}-{number}"}})

    async def nodes(self) -> dict[str, str]:
        found = (await self.request("GET", "/api/v1/nodes"))["items"]
        metadata = [node["metadata"] for node in found]
        return {each["name"]: each["uid"] for each in metadata if each["name"].startswith(self.name)}

    async def pods(self) -> dict[str, str]:
        found = (await self.request("GET", self._pods))["items"]
        return {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in found}

    async def change(self, nodes: list[str]) -> None:
        """Delete every second pod and make others, bound to some of these nodes and pending."""
        found = (await self.request("GET", self._pods))["items"]
        for pod in found[::2]:
            await self.request("DELETE", f"{self._pods}/{pod['metadata']['name']}")
        for number in range(PODS):
            node = nodes[number % len(nodes)] if number % 3 else ""
            spec: dict[str, Any] = {
                "containers": [{"name": "c", "image": "none"}],
                "terminationGracePeriodSeconds": 0,
            }
            spec |= {"nodeName": node} if node else {"schedulerName": "nobody"}
            body = {"metadata": {"generateName": "pod-"}, "spec": spec}
            await self.request("POST", self._pods, body)

    async def delete_node(self, name: str) -> None:
        """Delete a node with its pods, like the pod garbage collection a little later."""
        for pod in (await self.request("GET", f"{self._pods}?fieldSelector=spec.nodeName={name}"))["items"]:
            await self.request("DELETE", f"{self._pods}/{pod['metadata']['name']}")
        await self.request("DELETE", f"/api/v1/nodes/{name}")


@asynccontextmanager
async def _space(cluster: Cluster) -> AsyncIterator[Space]:
    space = Space(cluster)
    try:
        yield space
    finally:
        for name in await space.nodes():
            await space.request("DELETE", f"/api/v1/nodes/{name}")
        await space.request("DELETE", f"/api/v1/namespaces/{space.name}")


async def _watched(cluster: Cluster, space: Space, logs: Logs) -> None:
    """Watch anew, as another replica does that has no versions, until the logs know what the API server has."""
    settings = LiveSettings(
        cluster="lab",
        kubeconfig=cluster.kubeconfig(),
        resources=("nodes", "pods"),
        kubelet=KubeletSettings(access="off"),
    )
    live = await Live.connect(settings)
    async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
        async for delivery in deliveries:
            for record in delivery.received.normalize_with_warning()[0]:
                logs.take(record.folded())
            live.acknowledge(delivery)
            is_listed = delivery.observation.type == "BOOKMARK"
            if is_listed and logs.pods == await space.pods() and logs.nodes == await space.nodes():
                return


async def test_objects_deleted_during_a_gap_leave_no_ghosts(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        logs = Logs(space.name)
        await space.make_nodes()
        names = sorted(await space.nodes())
        for restart in range(RESTARTS + 1):
            await space.change(names[restart:])
            await _watched(cluster, space, logs)
            # nobody looks now: a node goes with its pods, one is made anew, and one loses all its pods
            await space.delete_node(names[restart])
            if restart == 1:
                await space.delete_node(names[-1])
                await space.request("POST", "/api/v1/nodes", {"metadata": {"name": names[-1]}})
        await _watched(cluster, space, logs)
        assert logs.pods == await space.pods()
        assert logs.nodes == await space.nodes()
        assert len(logs.nodes) == NODES - RESTARTS - 1
    gaps = [row for row in logs.errors if row.kind == "gap"]
    assert Counter(row.resource for row in gaps) == {"nodes": RESTARTS + 1, "pods": RESTARTS + 1}
    assert all(row.silent_seconds is not None and row.silent_seconds > 0 for row in gaps)
