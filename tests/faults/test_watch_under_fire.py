"""A watcher's way to the API server breaks: no hot loop, told within 2 minutes, at the end all that exists is seen.

The short form is in `make test`, the long one in `make faults`.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import accumulate, count
from pathlib import Path

import msgspec
import pytest

from common.clock import SYSTEM, Clock
from components.cluster.kubernetes import Cluster
from components.toxiproxy import Proxy, Toxiproxy
from faults.form import LONG, RESTARTS, STORM_SECONDS
from faults.result import Watched, note
from faults.stormy import Stormy
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from waiting import unhurried, until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]

STREAMS = ("nodes", "pods", "events")
TOLD_WITHIN_SECONDS = 120.0
CATCH_UP_SECONDS = 120.0
FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 0.8, 30.0
PODS = "/api/v1/pods"


class Sky:
    """A watcher of a cluster, a storm and a poisoned wire before that, and a namespace whose pods come and go."""

    def __init__(self, cluster: Cluster, stormy: Stormy, wire: Proxy, live: Live) -> None:
        self.cluster = cluster
        self.stormy = stormy
        self.wire = wire
        self.live = live
        self.existing: set[str] = set()
        self.failed: set[str] = set()
        """Resources of which an error was told."""
        self._space = f"fire-{uuid.uuid4().hex[:8]}"
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        async with self.live.deliveries() as deliveries:
            async for delivery in deliveries:
                seen = delivery.observation
                if seen.type == "ERROR":
                    self.failed.add(seen.resource)
                elif seen.resource == "pods" and seen.type not in {"INVENTORY", "BOOKMARK"}:
                    uid = msgspec.json.decode(seen.object)["metadata"]["uid"]
                    (self.existing.discard if seen.type == "DELETED" else self.existing.add)(uid)
                self.live.acknowledge(delivery)

    async def request(self, method: str, path: str, body: object = None) -> object:
        return await asyncio.to_thread(self.cluster.request, method, path, body)

    async def make(self, *names: str) -> None:
        """Pods that no scheduler touches."""
        spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "none"}]}
        for name in names:
            pod = {"metadata": {"name": name}, "spec": {**spec, "terminationGracePeriodSeconds": 0}}
            await self.request("POST", f"/api/v1/namespaces/{self._space}/pods", pod)

    async def delete(self, name: str) -> None:
        await self.request("DELETE", f"/api/v1/namespaces/{self._space}/pods/{name}")

    async def begin(self) -> None:
        await asyncio.to_thread(self.cluster.make_namespace, self._space)
        await self.make("stays", "goes")

    async def end(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self.request("DELETE", f"/api/v1/namespaces/{self._space}")

    async def all_is_seen(self) -> int:
        """Return when what was told is what exists; how many pods that are."""

        async def is_seen() -> bool:
            self._check()
            pods = (await asyncio.to_thread(self.cluster.request, "GET", PODS))["items"]
            return self.existing == {pod["metadata"]["uid"] for pod in pods} and not self.live.degraded()

        await until(is_seen, unhurried(CATCH_UP_SECONDS))
        return len(self.existing)

    async def reported(self) -> None:
        """Return when a person can see that something is wrong with the pods; TimeoutError where that is too late."""

        def is_told() -> bool:
            self._check()
            return "pods" in self.live.degraded() or "pods" in self.failed

        await until(is_told, unhurried(TOLD_WITHIN_SECONDS))

    def _check(self) -> None:
        if self._watching.done():
            self._watching.result()


@pytest.fixture
def toxiproxy(tmp_path: Path) -> Iterator[Toxiproxy]:
    with Toxiproxy(tmp_path) as running:
        yield running


@asynccontextmanager
async def _sky(cluster: Cluster, toxiproxy: Toxiproxy, folder: Path, clock: Clock = SYSTEM) -> AsyncIterator[Sky]:
    async with Stormy(cluster).running() as stormy:
        wire = toxiproxy.before(stormy.port)
        kubeconfig = folder / "kubeconfig"
        given = cluster.kubeconfig().read_text()
        kubeconfig.write_text(given.replace(cluster.url, f"https://127.0.0.1:{wire.port}"))
        off = KubeletSettings(access="off")
        settings = LiveSettings(cluster="lab", kubeconfig=kubeconfig, resources=STREAMS, kubelet=off)
        sky = Sky(cluster, stormy, wire, await Live.connect(settings, clock=clock))
        try:
            await sky.begin()
            await sky.all_is_seen()
            yield sky
        finally:
            await sky.end()


def most_requests(seconds: float, lives: int) -> int:
    """Return the most requests of all streams in the time: with each failure they wait twice as long; in each of the
    server's lives they list and watch.
    """
    waits = accumulate(min(FIRST_BACKOFF_SECONDS * 2**each, LONGEST_BACKOFF_SECONDS) for each in count())
    failures = next(number for number, waited in enumerate(waits) if waited > seconds)
    return len(STREAMS) * (failures + 2 * lives)


@pytest.mark.parametrize("status", [410, 429])
async def test_a_storm_of_refusals(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path, status: int) -> None:
    async with _sky(cluster, toxiproxy, tmp_path) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        sky.stormy.begin(status)
        reported = await _storming(sky)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        sky.stormy.end()
        watched = await _came_through(sky, f"storm of {status}", ended - began, requests, reported)
        assert watched.requests <= most_requests(ended - began, lives=1)


async def test_the_api_server_restarts(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path) -> None:
    async with _sky(cluster, toxiproxy, tmp_path) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        cluster.api_server.stop(3)
        await sky.reported()
        reported = time.monotonic() - began
        await asyncio.to_thread(cluster.start_api_server)
        for _ in range(RESTARTS - 1):
            await asyncio.to_thread(cluster.restart_api_server)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        await sky.make("comes")
        await sky.delete("goes")
        fault = f"API server restarted {RESTARTS} times"
        watched = await _came_through(sky, fault, ended - began, requests, reported)
        assert watched.requests <= most_requests(ended - began, lives=RESTARTS + 1)


async def test_a_half_open_connection(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path) -> None:
    """In the short form the watcher's clock runs 20 times as fast, but for the time-outs of its sockets: so the
    connections are ended for it, and how soon it tells is left to the long form.
    """
    speed = 1 if LONG else 20
    async with _sky(cluster, toxiproxy, tmp_path, _faster(speed)) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        sky.wire.hang()
        reported = await _storming(sky)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        if not LONG:
            sky.wire.cut()
        sky.wire.heal()
        fault = "connections to the API server half open"
        watched = await _came_through(sky, fault, ended - began, requests, reported * speed)
        assert watched.requests <= most_requests(ended - began, lives=1)


async def _storming(sky: Sky) -> float:
    """Let pods come and go in a storm, until it has lasted; gives after how many seconds it was told."""
    began = time.monotonic()
    await sky.make("comes")
    await sky.delete("goes")
    await sky.reported()
    reported = time.monotonic() - began
    await asyncio.sleep(max(0.0, STORM_SECONDS - reported))  # how long a storm lasts is the fault itself
    return reported


async def _came_through(sky: Sky, fault: str, seconds: float, requests: int, reported: float) -> Watched:
    """Note the result once all that exists is seen."""
    began = time.monotonic()
    objects = await sky.all_is_seen()
    watched = Watched(
        fault=fault,
        fault_seconds=round(seconds, 1),
        requests=requests,
        told_after_seconds=round(reported, 1),
        caught_up_seconds=round(time.monotonic() - began, 1),
        objects=objects,
    )
    assert objects >= 2
    note(watched)
    return watched


def _faster(times: int) -> Clock:
    began, began_at = time.monotonic(), datetime.now(UTC)
    return SYSTEM._replace(
        monotonic=lambda: began + (time.monotonic() - began) * times,
        now=lambda: began_at + (datetime.now(UTC) - began_at) * times,
        sleep=lambda seconds: asyncio.sleep(seconds / times),
    )
