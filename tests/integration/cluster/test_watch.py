"""The watch loop against a real kube-apiserver (delivery.md#watching)."""

import asyncio
import dataclasses
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from kubernetes_asyncio.client.api_client import ApiClient

from common.clock import SYSTEM
from components.cluster.kubernetes import Cluster
from fakes.wire import Wire
from ingest.apiserver.changes import Step
from ingest.apiserver.connect import configuration
from ingest.apiserver.leader import LeaderElection, LeaseName
from ingest.apiserver.watch import Watch
from ingest.apiserver.watch_events import PAGE_OBJECTS, Page, pages
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation
from ingest.model.reports import Tally
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]


class Space:
    """A namespace of its own, what is made in it, and watches of it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = f"watch-{uuid.uuid4().hex[:8]}"
        self.tally: Tally = Counter()
        self.stack = AsyncExitStack()
        cluster.make_namespace(self.name)

    @property
    def pods(self) -> ApiResource[Any]:
        return dataclasses.replace(PODS, paths=(f"/api/v1/namespaces/{self.name}/pods",))

    async def make_pod(self, name: str, args: list[str] | None = None) -> None:
        """A pod that no scheduler touches."""
        containers = [{"name": "c", "image": "none", "args": args or []}]
        spec = {"schedulerName": "nobody", "containers": containers, "terminationGracePeriodSeconds": 0}
        await self.request("POST", self.pods.paths[0], {"metadata": {"name": name}, "spec": spec})

    async def delete_pod(self, name: str) -> None:
        await self.request("DELETE", f"{self.pods.paths[0]}/{name}")

    async def request(self, method: str, path: str, body: object = None) -> Any:
        return await asyncio.to_thread(self.cluster.request, method, path, body)

    async def client(self, port: int | None = None, user: str = "admin") -> ApiClient:
        access = await configuration(self.cluster.kubeconfig(user))
        if port:
            access.host = f"https://127.0.0.1:{port}"
        return await self.stack.enter_async_context(ApiClient(access))

    async def watch(self, *, port: int | None = None, **options: Any) -> "Running":
        client = await self.client(port)
        watch = Watch(self.pods, "lab", client, clock=SYSTEM, tally=self.tally, **options)
        steps = await self.stack.enter_async_context(aclosing(watch.follow()))
        return Running(steps)


class Running:
    """A watch's steps so far."""

    def __init__(self, steps: AsyncIterator[Step]) -> None:
        self._steps = steps
        self.seen: list[Step] = []

    async def until(self, enough: Callable[["Running"], bool], seconds: float = 120) -> "Running":
        async with asyncio.timeout(seconds):
            while not enough(self):
                self.seen.append(await anext(self._steps))
        return self

    @property
    def observations(self) -> list[Observation]:
        """Return the observations, with errors among them."""
        return [
            step.observation
            for step in self.seen
            if step.observation and step.observation.type not in {"INVENTORY", "BOOKMARK"}
        ]

    @property
    def reported(self) -> list[tuple[str, str, str]]:
        return [
            (one.source, one.type, msgspec.json.decode(one.object)["metadata"]["name"])
            for one in self.observations
            if one.type != "ERROR"
        ]

    @property
    def errors(self) -> list[str]:
        return [msgspec.json.decode(one.object)["error"] for one in self.observations if one.type == "ERROR"]

    @property
    def version(self) -> str:
        return next((step.version for step in reversed(self.seen) if step.version), "")


@asynccontextmanager
async def _space(cluster: Cluster) -> AsyncIterator[Space]:
    space = Space(cluster)
    try:
        yield space
    finally:
        await space.stack.aclose()
        await space.request("DELETE", f"/api/v1/namespaces/{space.name}")


async def test_pods_are_listed_watched_and_deleted(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        await space.make_pod("before")
        running = await space.watch()
        await running.until(lambda it: bool(it.version))
        await space.make_pod("after")
        await space.delete_pod("before")
        await running.until(lambda it: ("watch", "DELETED", "before") in it.reported)
    assert running.reported[0] == ("list", "ADDED", "before")
    assert ("watch", "ADDED", "after") in running.reported
    assert running.errors == []


async def test_a_list_comes_in_pages_that_make_the_whole(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        path = f"/api/v1/namespaces/{space.name}/configmaps"
        count = PAGE_OBJECTS + 20
        for start in range(0, count, 20):
            made = [{"metadata": {"name": f"c-{start + number}"}} for number in range(20)]
            await asyncio.gather(*(space.request("POST", path, one) for one in made))
        got: list[Page] = [page async for page in pages(await space.client(), path, "")]
    names = [msgspec.json.decode(data)["metadata"]["name"] for page in got for data in page.objects]
    assert len(got[0].objects) == PAGE_OBJECTS
    assert [page.last for page in got] == [False, True]
    assert {f"c-{number}" for number in range(count)} <= set(names)
    assert len(names) == len(set(names))
    assert len({page.version for page in got}) == 1


async def test_after_compaction_and_410_every_object_and_every_deletion_is_reported(cluster: Cluster) -> None:
    async with _space(cluster) as space, Wire(cluster.port).running() as wire:
        for name in ("stays", "goes"):
            await space.make_pod(name)
        running = await space.watch(port=wire.port)
        await running.until(lambda it: bool(it.version))
        before = len(running.seen)

        wire.cut()
        await space.delete_pod("goes")
        await space.make_pod("comes")
        await asyncio.to_thread(cluster.compact)
        await asyncio.to_thread(cluster.restart_api_server)
        wire.mend()
        await running.until(lambda it: any(error.startswith("gap: ") for error in it.errors))

    del running.seen[:before]
    assert [change for change in running.reported if change[2] != "stays"] == [
        ("list", "ADDED", "comes"),
        ("list", "DELETED", "goes"),
    ]
    assert ("list", "ADDED", "stays") not in running.reported
    assert space.tally["pods", "gap"] == 1


async def test_a_restart_of_ours_goes_on_where_it_was(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        for name in ("stays", "goes"):
            await space.make_pod(name)
        version = (await (await space.watch()).until(lambda it: bool(it.version))).version
        await space.delete_pod("goes")
        await space.make_pod("comes")
        running = await space.watch(version=version)
        await running.until(lambda it: ("watch", "ADDED", "comes") in it.reported)
    assert ("watch", "DELETED", "goes") in running.reported
    assert "stays" not in {name for _, _, name in running.reported}
    assert running.errors == []


async def test_a_restart_of_ours_after_compaction_reports_a_gap(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        await space.make_pod("stays")
        version = (await (await space.watch()).until(lambda it: bool(it.version))).version
        await space.make_pod("comes")
        await asyncio.to_thread(cluster.compact)
        await asyncio.to_thread(cluster.restart_api_server)
        running = await space.watch(version=version)
        await running.until(lambda it: bool(it.version))
    assert {name for _, _, name in running.reported} == {"stays", "comes"}
    assert any(f"between version {version} and " in error for error in running.errors)


async def test_what_happens_after_a_restart_of_the_api_server_is_seen(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        await space.make_pod("before")
        running = await space.watch()
        await running.until(lambda it: bool(it.version))
        async with asyncio.TaskGroup() as group:
            group.create_task(running.until(lambda it: "after" in {name for _, _, name in it.reported}))
            await asyncio.to_thread(cluster.restart_api_server)
            await space.make_pod("after")
    assert [name for _, change, name in running.reported if change == "ADDED"] == ["before", "after"]


async def test_a_watch_without_changes_or_bookmarks_still_gives_signs_of_life(cluster: Cluster) -> None:
    """Etcd reports the progress of a quiet watch every 10 minutes by default (rules: list-and-watch).

    The API server sends no bookmark before that.
    """
    heard: list[str] = []
    async with _space(cluster) as space:
        unused = dataclasses.replace(PODS, name="limitranges", paths=("/api/v1/limitranges",))
        client = await space.client()
        watch = Watch(
            unused, "lab", client, clock=SYSTEM, tally=space.tally, contact=heard.append, silence_seconds=2.0
        )
        async with aclosing(watch.follow()) as steps:
            following = asyncio.ensure_future(Running(steps).until(lambda _: False))
            await until(lambda: space.tally["limitranges", "silent"])
            before = len(heard)
            await until(lambda: len(heard) > before)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def test_a_connection_that_hangs_is_made_anew_and_loses_nothing(cluster: Cluster) -> None:
    async with _space(cluster) as space, Wire(cluster.port).running() as wire:
        running = await space.watch(port=wire.port, silence_seconds=1.0)
        await running.until(lambda it: bool(it.version))
        await space.make_pod("before")
        await running.until(lambda it: ("watch", "ADDED", "before") in it.reported)
        wire.hang()
        await space.make_pod("meanwhile")
        began = time.monotonic()
        following = asyncio.ensure_future(running.until(lambda it: ("watch", "ADDED", "meanwhile") in it.reported))
        await until(lambda: space.tally["pods", "silent"])
        wire.cut()
        wire.mend()
        await following
    assert time.monotonic() - began < 120


async def test_an_object_of_3_mb_is_reported_whole(cluster: Cluster) -> None:
    """Etcd takes 1.5 MiB: "<" is one byte there and six in the JSON of the API server."""
    async with _space(cluster) as space:
        running = await space.watch()
        await running.until(lambda it: bool(it.version))
        await space.make_pod("large", ["<" * 550_000])
        await running.until(lambda it: ("watch", "ADDED", "large") in it.reported)
    (large,) = running.observations
    assert len(large.object) > 3_000_000
    assert msgspec.json.decode(large.object)["spec"]["containers"][0]["args"] == ["<" * 550_000]


async def test_an_object_past_the_limit_is_reported_by_its_name_and_the_stream_goes_on(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        running = await space.watch(line_limit_bytes=1_000_000)
        await running.until(lambda it: bool(it.version))
        await space.make_pod("large", ["<" * 550_000])
        await space.make_pod("small")
        await running.until(lambda it: ("watch", "ADDED", "small") in it.reported)
    assert space.tally["pods", "oversized"] == 1
    (error,) = running.errors
    assert f"ADDED {space.name}/large, version " in error


async def test_a_heartbeat_of_a_node_is_dropped_and_counted(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        node = f"node-{space.name}"
        await space.request("POST", "/api/v1/nodes", {"metadata": {"name": node}})
        watch = Watch(NODES, "lab", await space.client(), clock=SYSTEM, tally=space.tally)
        async with aclosing(watch.follow()) as steps:
            running = Running(steps)
            await running.until(lambda it: bool(it.version))
            ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
            at = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z")
            for heartbeat in at:
                condition = {**ready, "lastHeartbeatTime": heartbeat, "lastTransitionTime": at[0]}
                body = {"status": {"conditions": [condition]}}
                await asyncio.to_thread(cluster.request, "PATCH", f"/api/v1/nodes/{node}/status", body)
            await space.request("DELETE", f"/api/v1/nodes/{node}")
            await running.until(lambda it: ("watch", "DELETED", node) in it.reported)
    seen = [
        found
        for one in running.observations
        if one.type in {"ADDED", "MODIFIED"}
        and (found := msgspec.json.decode(one.object))["metadata"]["name"] == node
    ]
    heartbeats = [
        condition.pop("lastHeartbeatTime", "")
        for found in seen
        for condition in found["status"].get("conditions", ())
    ]
    for found in seen:
        del found["metadata"]["resourceVersion"]
    assert heartbeats[:1] == [at[0]]
    assert all(before != after for before, after in pairwise(seen)), "controllers change taints, with any heartbeat"
    assert space.tally["nodes", "unchanged"] >= 1


async def test_without_permission_for_pods_the_nodes_are_still_seen(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        name = f"nodes-{space.name}"
        rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        await space.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "name": "leadsman", "apiGroup": "rbac.authorization.k8s.io"}],
        }
        await space.request("POST", f"{rbac}/clusterrolebindings", binding)
        await space.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        settings = LiveSettings(
            cluster="lab",
            kubeconfig=cluster.kubeconfig("leadsman"),
            resources=("nodes", "pods"),
            kubelet=KubeletSettings(access="off"),
        )
        try:
            degraded = await _degraded_when_seen(await Live.connect(settings), name)
        finally:
            await space.request("DELETE", f"/api/v1/nodes/{name}")
            await space.request("DELETE", f"{rbac}/clusterrolebindings/{name}")
            await space.request("DELETE", f"{rbac}/clusterroles/{name}")
    assert degraded.keys() == {"pods"}
    assert "403 Forbidden" in degraded["pods"]


async def _degraded_when_seen(live: Live, node: str) -> Mapping[str, str]:
    """Return what is degraded once the node was seen and the pods were refused."""
    reported = set()
    async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
        async for delivery in deliveries:
            if delivery.observation.type in {"INVENTORY", "BOOKMARK"}:
                continue
            thing = msgspec.json.decode(delivery.observation.object)
            reported.add((delivery.observation.resource, thing.get("error") or thing["metadata"]["name"]))
            if ("nodes", node) in reported and "pods" in live.degraded():
                break
    return live.degraded()


async def test_the_lease_of_a_leader_that_ended_is_taken_by_the_next(cluster: Cluster) -> None:
    async with _space(cluster) as space:
        name = LeaseName(space.name, "watch")
        holders = []

        async def work() -> None:
            lease = await space.request(
                "GET", f"/apis/coordination.k8s.io/v1/namespaces/{name.namespace}/leases/watch"
            )
            holders.append((lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]))

        async with asyncio.timeout(PATIENCE_SECONDS):
            for identity in ("a", "b"):
                election = LeaderElection(await space.client(), name, identity, SYSTEM)
                await election.acquire()
                await election.hold(work)
    assert holders == [("a", 0), ("b", 1)]
