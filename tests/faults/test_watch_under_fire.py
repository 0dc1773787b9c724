"""A watcher's way to the API server breaks: no hot loop, told within 2 minutes, at the end all that exists is seen.

The short form is in `make test`, the long one in `make faults`.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import accumulate, count
from pathlib import Path

import msgspec
import pytest

from common.clock import SYSTEM, Clock
from components.kubernetes import ApiError, Cluster
from components.toxiproxy import Proxy, Toxiproxy
from faults.form import LONG
from faults.result import Watched, note
from faults.stormy import Stormy
from ingest.live.run import Live
from ingest.model.settings import KubeletSettings, LiveSettings

pytestmark = [pytest.mark.asyncio, pytest.mark.xdist_group("cluster")]

STREAMS = ("nodes", "pods", "events")
STORM_SECONDS = 150.0 if LONG else 6.0
RESTARTS = 5 if LONG else 1
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
                elif seen.resource == "pods":
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
        await self.request("POST", "/api/v1/namespaces", {"metadata": {"name": self._space}})
        with suppress(ApiError):  # the controller that makes it may have been faster
            accounts = f"/api/v1/namespaces/{self._space}/serviceaccounts"
            await self.request("POST", accounts, {"metadata": {"name": "default"}})
        await self.make("stays", "goes")

    async def end(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self.request("DELETE", f"/api/v1/namespaces/{self._space}")

    async def all_is_seen(self) -> int:
        """Return when what was told is what exists; how many pods that are."""
        async with asyncio.timeout(CATCH_UP_SECONDS):
            while True:
                self._check()
                pods = (await asyncio.to_thread(self.cluster.request, "GET", PODS))["items"]
                if self.existing == {pod["metadata"]["uid"] for pod in pods} and not self.live.degraded():
                    return len(pods)
                await asyncio.sleep(0.2)

    async def told(self) -> None:
        """Return when a person can see that something is wrong with the pods."""
        while not ("pods" in self.live.degraded() or "pods" in self.failed):
            self._check()
            await asyncio.sleep(0.05)

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
    """Of all streams in the time: with each failure they wait twice as long; in each of the server's lives they list
    and watch.
    """
    waits = accumulate(min(FIRST_BACKOFF_SECONDS * 2**each, LONGEST_BACKOFF_SECONDS) for each in count())
    failures = next(number for number, waited in enumerate(waits) if waited > seconds)
    return len(STREAMS) * (failures + 2 * lives)


@pytest.mark.parametrize("status", [410, 429])
async def test_a_storm_of_refusals(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path, status: int) -> None:
    async with _sky(cluster, toxiproxy, tmp_path) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        sky.stormy.begin(status)
        told = await _storming(sky)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        sky.stormy.end()
        await _came_through(sky, f"storm of {status}", ended - began, requests, told)


async def test_the_api_server_restarts(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path) -> None:
    async with _sky(cluster, toxiproxy, tmp_path) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        cluster.api_server.stop(3)
        await _told_in_time(sky)
        told = time.monotonic() - began
        await asyncio.to_thread(cluster.start_api_server)
        for _ in range(RESTARTS - 1):
            await asyncio.to_thread(cluster.restart_api_server)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        await sky.make("comes")
        await sky.delete("goes")
        await _came_through(
            sky, f"API server restarted {RESTARTS} times", ended - began, requests, told, RESTARTS + 1
        )


async def test_a_half_open_connection(cluster: Cluster, toxiproxy: Toxiproxy, tmp_path: Path) -> None:
    """In the short form the watcher's clock runs 20 times as fast, but for the time-outs of its sockets: so the
    connections are ended for it, and how soon it tells is left to the long form.
    """
    speed = 1 if LONG else 20
    async with _sky(cluster, toxiproxy, tmp_path, _faster(speed)) as sky:
        began, before = time.monotonic(), sky.stormy.requests
        sky.wire.hang()
        told = await _storming(sky)
        ended, requests = time.monotonic(), sky.stormy.requests - before
        if not LONG:
            sky.wire.cut()
        sky.wire.heal()
        await _came_through(sky, "connections to the API server half open", ended - began, requests, told * speed)


async def _storming(sky: Sky) -> float:
    """Let pods come and go in a storm, until it has lasted; gives after how many seconds it was told."""
    began = time.monotonic()
    await sky.make("comes")
    await sky.delete("goes")
    await _told_in_time(sky)
    told = time.monotonic() - began
    await asyncio.sleep(max(0.0, STORM_SECONDS - told))
    return told


async def _told_in_time(sky: Sky) -> None:
    async with asyncio.timeout(TOLD_WITHIN_SECONDS):
        await sky.told()


async def _came_through(sky: Sky, fault: str, seconds: float, requests: int, told: float, lives: int = 1) -> None:
    began = time.monotonic()
    objects = await sky.all_is_seen()
    caught_up = time.monotonic() - began
    assert objects >= 2
    assert requests <= most_requests(seconds, lives)
    note(
        Watched(
            fault=fault,
            fault_seconds=round(seconds, 1),
            requests=requests,
            told_after_seconds=round(told, 1),
            caught_up_seconds=round(caught_up, 1),
            objects=objects,
        )
    )


def _faster(times: int) -> Clock:
    began, began_at = time.monotonic(), datetime.now(UTC)
    return SYSTEM._replace(
        monotonic=lambda: began + (time.monotonic() - began) * times,
        now=lambda: began_at + (datetime.now(UTC) - began_at) * times,
        sleep=lambda seconds: asyncio.sleep(seconds / times),
    )
