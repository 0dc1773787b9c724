"""1,000 nodes and 10,000 pods that kwok keeps alive on the real API server, and one watcher of them."""

import asyncio
import re
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from bench.shapes import Json
from components.cluster.kubernetes import Cluster
from components.processes import HOST, Process, free_port
from components.programs.extras import kwok_program
from ingest.apiserver.connect import configuration
from ingest.apiserver.watch_events import pages
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation

from .cluster import LargeCluster
from .tables import two_columns

CHANGED: Final = 10
"""One pod of so many is deleted, and as many others are made."""
STAGES: Final = Path(__file__).with_name("stages.yaml")
QUIET_SECONDS: Final = 30.0
_AT_ONCE: Final = 16
_LIMIT_SECONDS: Final = 900.0
_LOOK_SECONDS: Final = 1.0
_ROLE: Final = "rbac.authorization.k8s.io/v1"
_OURS: Final = re.compile(
    r'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="(\S+?)".*\} (\S+)$', re.MULTILINE
)
_KINDS: Final = ("nodes", "pods")


class _Object(msgspec.Struct, frozen=True):
    class Metadata(msgspec.Struct, frozen=True):
        uid: str

    class Status(msgspec.Struct, frozen=True):
        phase: str = ""

    metadata: Metadata
    status: Status = Status()


class Outcome(NamedTuple):
    """Has what was seen, in seconds, requests and objects."""

    nodes: int
    pods: int
    filled_seconds: float
    list_seconds: float
    list_requests: float
    list_cpu_seconds: float
    changes_told: int
    change_seconds: float
    others_a_second: float
    """Requests, of kwok and of the harness, while pods were changed."""
    ours_a_second: float
    quiet_ours_a_second: float
    quiet_others_a_second: float
    missed: int
    """Objects that the last list has and that were not told, or not in their last phase."""
    ghosts: int
    """Objects that were told, of which no deletion was told, and that the last list does not have."""
    peak_mib: int


class _Reported:
    """The objects that exist as far as a watcher was told."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
        """Phases by resource and uid."""
        self.changes: Counter[str] = Counter()

    def add(self, observation: Observation) -> None:
        if observation.resource not in self.objects or observation.type in {"ERROR", "INVENTORY", "BOOKMARK"}:
            return
        seen = msgspec.json.decode(observation.object, type=_Object)
        self.changes[observation.type] += 1
        if observation.type == "DELETED":
            self.objects[observation.resource].pop(seen.metadata.uid, None)
        else:
            self.objects[observation.resource][seen.metadata.uid] = seen.status.phase


def run(folder: Path, nodes: int, pods: int) -> Outcome:
    """Measure; what is not as it should be is in the outcome."""
    cluster = LargeCluster(folder, 0)
    config = cluster.kubeconfig()
    kwok = Process(
        "kwok",
        [
            str(kwok_program()),
            f"--kubeconfig={config}",
            f"--config={STAGES}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            f"--server-address={HOST}:{free_port()}",
        ],
        folder / "kwok.log",
    )
    cluster.start()
    try:
        _allow(cluster)
        kwok.start()
        return asyncio.run(_run(cluster, nodes, pods))
    finally:
        kwok.stop()
        cluster.stop()


async def _run(cluster: Cluster, nodes: int, pods: int) -> Outcome:
    async with _calls(cluster) as calls:
        began = time.monotonic()
        await calls.make("/api/v1/nodes", (_node(number) for number in range(nodes)))
        await calls.make("/api/v1/namespaces/default/pods", (_pod(number, nodes) for number in range(pods)))
        await calls.until_running(pods)
        filled = time.monotonic() - began
        return await _watched(calls, cluster, nodes, pods, filled)


async def _watched(calls: "_Calls", cluster: Cluster, nodes: int, pods: int, filled: float) -> Outcome:
    reported = _Reported()
    at_first, began, cpu = await calls.dispatched(), time.monotonic(), time.process_time()
    following = asyncio.create_task(_follow(cluster, reported))
    await _until(following, lambda: [len(reported.objects[kind]) for kind in _KINDS] == [nodes, pods])
    listed, listed_seconds = await calls.dispatched(), time.monotonic() - began
    cpu = time.process_time() - cpu
    reported.changes.clear()
    began = time.monotonic()
    names = "/api/v1/namespaces/default/pods"
    await calls.make(names, (_pod(number, nodes) for number in range(pods, pods + pods // CHANGED)))
    await calls.delete(f"{names}/{_pod(number, nodes)['metadata']['name']}" for number in range(pods // CHANGED))
    await calls.until_running(pods)
    changed, change_seconds = await calls.dispatched(), time.monotonic() - began
    changes = sum(reported.changes.values())
    await asyncio.sleep(QUIET_SECONDS)
    quiet = await calls.dispatched()
    missed, ghosts = await calls.compared(reported)
    following.cancel()
    return Outcome(
        nodes,
        pods,
        filled,
        listed_seconds,
        listed.ours - at_first.ours,
        cpu,
        changes,
        change_seconds,
        (changed.others - listed.others) / change_seconds,
        (changed.ours - listed.ours) / change_seconds,
        (quiet.ours - changed.ours) / QUIET_SECONDS,
        (quiet.others - changed.others) / QUIET_SECONDS,
        missed,
        ghosts,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


async def _follow(cluster: Cluster, reported: _Reported) -> None:
    settings = LiveSettings(
        cluster="kwok",
        kubeconfig=cluster.kubeconfig("leadsman"),
        resources=("nodes", "pods", "events"),
        kubelet=KubeletSettings(access="off"),
    )
    live = await Live.connect(settings)
    async with live.deliveries() as deliveries:
        async for delivery in deliveries:
            reported.add(delivery.observation)
            live.acknowledge(delivery)


async def _until(following: "asyncio.Task[None]", holds: Any) -> None:
    async with asyncio.timeout(_LIMIT_SECONDS):
        while not holds():
            if following.done():
                following.result()
            await asyncio.sleep(0.02)


class _Dispatched(NamedTuple):
    """Requests so far."""

    ours: float
    others: float


class _Calls:
    """Many calls of the API at once, as admin."""

    def __init__(self, session: aiohttp.ClientSession, client: ApiClient) -> None:
        self._session = session
        self._client = client
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def make(self, path: str, objects: Iterable[Json]) -> None:
        await asyncio.gather(*[self._call("POST", path, each) for each in objects])

    async def delete(self, paths: Iterable[str]) -> None:
        await asyncio.gather(*[self._call("DELETE", path) for path in paths])

    async def until_running(self, pods: int) -> None:
        """Until so many pods are there, and all of them are Running."""
        async with asyncio.timeout(_LIMIT_SECONDS):
            while Counter((await self._list("pods")).values()) != {"Running": pods}:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(_LOOK_SECONDS)

    async def dispatched(self) -> _Dispatched:
        """The watcher is who is neither admin nor a part of Kubernetes: its flow schema is `global-default`."""
        async with self._session.get("/metrics") as answer:
            counts: Counter[str] = Counter()
            for schema, count in _OURS.findall(await answer.text()):
                counts[schema] += float(count)  # type: ignore[assignment]  # a Counter of floats adds up as well
        ours = counts.pop("global-default", 0)
        return _Dispatched(ours, sum(counts.values()))

    async def compared(self, reported: _Reported) -> tuple[int, int]:
        """Return the number of missed objects and of ghosts in a list now."""
        missed = ghosts = 0
        for kind in _KINDS:
            there = await self._list(kind)
            missed += len(there.items() - reported.objects[kind].items())
            ghosts += len(reported.objects[kind].keys() - there.keys())
        return missed, ghosts

    async def _list(self, kind: str) -> dict[str, str]:
        listed: dict[str, str] = {}
        async with aclosing(pages(self._client, f"/api/v1/{kind}", "")) as steps:
            async for page in steps:
                for each in page.objects:
                    seen = msgspec.json.decode(each, type=_Object)
                    listed[seen.metadata.uid] = seen.status.phase
        return listed

    async def _call(self, method: str, path: str, body: Json | None = None) -> None:
        async with self._free, self._session.request(method, path, json=body) as answer:
            await answer.read()
            answer.raise_for_status()


@asynccontextmanager
async def _calls(cluster: Cluster) -> AsyncIterator[_Calls]:
    headers = {"Authorization": f"Bearer {cluster.token()}"}
    access = await configuration(cluster.kubeconfig())
    connector = aiohttp.TCPConnector(ssl=cluster._tls())
    async with (
        aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session,
        ApiClient(access) as client,
    ):
        yield _Calls(session, client)


def _allow(cluster: Cluster) -> None:
    """The watcher's own user may list and watch, no more."""
    rules = [{"apiGroups": [""], "resources": ["nodes", "pods", "events"], "verbs": ["list", "watch"]}]
    name = {"metadata": {"name": "leadsman-scale"}}
    cluster.request("POST", f"/apis/{_ROLE}/clusterroles", {**name, "rules": rules})
    binding = {
        "roleRef": {"apiGroup": _ROLE.partition("/")[0], "kind": "ClusterRole", "name": "leadsman-scale"},
        "subjects": [{"kind": "User", "name": "leadsman"}],
    }
    cluster.request("POST", f"/apis/{_ROLE}/clusterrolebindings", {**name, **binding})


def _node(number: int) -> Json:
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    metadata = {"name": f"kwok-{number:04}", "labels": {"kubernetes.io/os": "linux"}}
    return {"metadata": metadata, "status": {"capacity": amounts, "allocatable": amounts}}


def _pod(number: int, nodes: int) -> Json:
    containers = [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]
    spec = {"nodeName": f"kwok-{number % nodes:04}", "containers": containers, "automountServiceAccountToken": False}
    return {"metadata": {"name": f"pod-{number:05}"}, "spec": spec}


def text(seen: Outcome) -> str:
    """The outcome as Markdown."""
    changed = seen.pods // CHANGED
    ours = f"{seen.ours_a_second:.2f} / {seen.quiet_ours_a_second:.2f}"
    others = f"{seen.others_a_second:.0f} / {seen.quiet_others_a_second:.0f}"
    rows = {
        f"nodes and pods that kwok made Ready and Running, in {seen.filled_seconds:.0f} s": (
            f"{seen.nodes:,} + {seen.pods:,}"
        ),
        "initial list, until the watcher had told every object": f"{seen.list_seconds:.1f} s",
        "CPU time of it": f"{seen.list_cpu_seconds:.1f} s",
        "requests of it, with the watches that follow": f"{seen.list_requests:.0f}",
        f"changes told while {changed:,} pods were deleted and {changed:,} made, in {seen.change_seconds:.0f} s": (
            f"{seen.changes_told:,}"
        ),
        "objects of a list at the end that were missed, or told in another phase": f"{seen.missed}",
        "objects that were told and are not in it": f"{seen.ghosts}",
        f"requests a second of the watcher: during the changes / in {QUIET_SECONDS:.0f} quiet seconds": ours,
        "requests a second of everyone else (kwok's leases, the harness)": others,
        "memory at its peak, watcher and harness in one process": f"{seen.peak_mib} MiB",
    }
    return two_columns(rows)
