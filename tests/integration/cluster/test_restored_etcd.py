"""Etcd is restored from a snapshot: versions go back, and pass the old ones again with other objects (attack on real
etcd and API server; delivery.md#reconciling).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from common.clock import SYSTEM, Clock
from components.cluster.kubernetes import Cluster, etcd_program, kubernetes_programs
from components.programs.cache import require
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from integration.cluster.test_reconciliation import Logs
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]

PODS = "/api/v1/namespaces/default/pods"
FASTER = 20
"""The clock by which a watcher compares, so that its seconds are no test's."""


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    require(kubernetes_programs, etcd_program)
    control_plane = Cluster(tmp_path, {"disable-admission-plugins": "ServiceAccount"}, managed=False)
    try:
        yield control_plane.start()
    finally:
        control_plane.stop()


def faster() -> Clock:
    began = time.monotonic()
    return SYSTEM._replace(
        monotonic=lambda: began + (time.monotonic() - began) * FASTER,
        sleep=lambda seconds: asyncio.sleep(seconds / FASTER),
        random=lambda: 0.0,
    )


class Watched:
    """Return the logs' knowledge of the pods of a cluster, for any watcher."""

    def __init__(self, cluster: Cluster, versions: Path) -> None:
        self.cluster = cluster
        self.logs = Logs("default")
        self._settings = LiveSettings(
            cluster="lab",
            kubeconfig=cluster.kubeconfig(),
            resources=("pods",),
            kubelet=KubeletSettings(access="off"),
            versions_file=versions,
        )

    @asynccontextmanager
    async def watcher(self) -> AsyncIterator[None]:
        following = asyncio.ensure_future(self._follow())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _follow(self) -> None:
        live = await Live.connect(self._settings, clock=faster())
        async with live.deliveries() as deliveries:
            async for delivery in deliveries:
                for record in delivery.received.normalize_with_warning()[0]:
                    self.logs.take(record.folded())
                live.acknowledge(delivery)

    async def make(self, names: str, number: int) -> None:
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "none"}], "terminationGracePeriodSeconds": 0}
        for each in range(number):
            await self._request("POST", PODS, {"metadata": {"name": f"{names}-{each}"}, "spec": spec})

    async def pods(self) -> set[str]:
        return {pod["metadata"]["uid"] for pod in (await self._request("GET", PODS))["items"]}

    async def version(self) -> int:
        return int((await self._request("GET", PODS))["metadata"]["resourceVersion"])

    async def pass_version(self, version: int) -> None:
        """Advance the version by changes of something that nobody watches."""
        number = 0
        while await self.version() <= version:
            for _ in range(10):
                number += 1
                body = {"metadata": {"name": f"x-{number}"}}
                await self._request("POST", "/api/v1/namespaces/default/configmaps", body)

    async def all_is_known(self) -> None:
        async def is_so() -> bool:
            return set(self.logs.pods) == await self.pods()

        await until(is_so)

    async def _request(self, method: str, path: str, body: object = None) -> Any:
        found: list[Any] = []

        async def answers() -> bool:
            """The API server is there again, and has its etcd."""
            try:
                found.append(await asyncio.to_thread(self.cluster.request, method, path, body))
            except OSError:
                return False
            return True

        await until(answers)
        return found[0]


@pytest.mark.parametrize("running", [True, False], ids=["while a watcher runs", "while none does"])
async def test_after_a_restore_of_etcd_tables_match_the_cluster(
    own_cluster: Cluster, tmp_path: Path, *, running: bool
) -> None:
    """Without ghosts and nothing missing, also of before the version that the watcher had reached."""
    watched = Watched(own_cluster, tmp_path / "versions.json")
    await watched.make("base", 3)
    snapshot = tmp_path / "snapshot"
    await asyncio.to_thread(own_cluster.keep, snapshot)

    async def restored() -> None:
        before = await watched.version()
        await asyncio.to_thread(own_cluster.restore, snapshot)
        await watched.make("early", 5)
        await watched.pass_version(before)
        await watched.make("late", 2)

    async with watched.watcher():
        await watched.make("lost", 5)
        await watched.all_is_known()
        assert len(watched.logs.pods) == 8
        if running:
            await restored()
            await watched.all_is_known()
    if not running:
        await restored()
        async with watched.watcher():
            await watched.all_is_known()
    assert len(watched.logs.pods) == 10
    gaps = [row for row in watched.logs.errors if row.kind == "gap"]
    assert bool(gaps) or not running
