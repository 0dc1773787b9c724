"""The size of a real kube-scheduler's cache (rules: scheduler-cache)."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from components.cluster.kubernetes import Cluster
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Delivery, Live
from ingest.live.settings import LiveSettings, SchedulerSettings
from ingest.model.records import SchedulerCacheRecord
from ingest.normalize.normalize import normalize
from leadsman.run.validate import check_schedulers
from waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def settings_of(cluster: Cluster, user: str, *resources: str) -> LiveSettings:
    scheduler = SchedulerSettings(urls=(cluster.scheduler_url,), ca_file=cluster.scheduler_ca_file, seconds=1)
    return LiveSettings(
        kubeconfig=cluster.kubeconfig(user),
        resources=resources,
        kubelet=KubeletSettings(access="off"),
        scheduler=scheduler,
    )


async def of_the_cache(deliveries: AsyncIterator[Delivery], kind: str) -> AsyncIterator[Any]:
    async for delivery in deliveries:
        seen = delivery.observation
        if (seen.resource, seen.type) == ("scheduler_cache", kind):
            yield seen


async def test_its_cache_has_the_nodes_that_the_api_server_has(cluster: Cluster) -> None:
    names = [f"cached-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for name in names:
        await asyncio.to_thread(cluster.request, "POST", "/api/v1/nodes", {"metadata": {"name": name}})
    try:
        listed = len((await asyncio.to_thread(cluster.request, "GET", "/api/v1/nodes"))["items"])
        live = await Live.connect(settings_of(cluster, "admin", "nodes"))
        found: SchedulerCacheRecord | None = None
        # it tells nothing in its first minute
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            async for seen in of_the_cache(deliveries, "SNAPSHOT"):
                (record,) = normalize(seen)
                assert isinstance(record, SchedulerCacheRecord)
                if record.nodes == listed:
                    found = record
                    break
        assert live.degraded() == {}
    finally:
        for name in names:
            await asyncio.to_thread(cluster.request, "DELETE", f"/api/v1/nodes/{name}")
    assert found is not None
    assert found.scheduler == urlsplit(cluster.scheduler_url).netloc


async def test_an_account_needs_get_on_metrics_and_nothing_else(cluster: Cluster) -> None:
    settings = settings_of(cluster, "leadsman", "nodes")
    live = await Live.connect(settings)
    async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
        refused = await anext(of_the_cache(deliveries, "ERROR"))
    assert "403 Forbidden" in msgspec.json.decode(refused.object)["error"]
    assert (
        "allow get on the nonResourceURL /metrics"
        in live.degraded()[f"scheduler/{urlsplit(cluster.scheduler_url).netloc}"]
    )

    name = f"metrics-{uuid.uuid4().hex[:8]}"
    role = {"metadata": {"name": name}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "leadsman"}],
    }
    await asyncio.to_thread(cluster.request, "POST", f"{RBAC}/clusterroles", role)
    await asyncio.to_thread(cluster.request, "POST", f"{RBAC}/clusterrolebindings", binding)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:  # a scheduler keeps a refusal for 10 s
                (checked,) = [each async for each in check_schedulers(settings)]
                if "403" not in checked.problem:
                    break
                await asyncio.sleep(1)
    finally:
        await asyncio.to_thread(cluster.request, "DELETE", f"{RBAC}/clusterrolebindings/{name}")
        await asyncio.to_thread(cluster.request, "DELETE", f"{RBAC}/clusterroles/{name}")
    assert checked.problem in {"", "its cache has no nodes: it may not list them, or fills it once it leads"} or (
        "less than a minute ago" in checked.problem
    )
