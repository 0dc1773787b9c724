"""Kubelets asked directly: TLS against the real API server, and a real kubelet (rules: recorded-behaviour)."""

import asyncio
import subprocess
from pathlib import Path

import msgspec
import pytest

from components.cluster.kubelet import RealNode
from components.cluster.kubernetes import Cluster
from ingest.apiserver.connect import configuration
from ingest.files.envelope import encode_line
from ingest.kubelet.access import Address, DirectAccess, KubeletUnreachable
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation
from ingest.normalize.normalize import normalize
from waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.asyncio, pytest.mark.components("cluster")]


@pytest.fixture
def other_ca(tmp_path: Path) -> Path:
    """A certificate that signed nothing of the cluster's."""
    path = tmp_path / "ca.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-days", "1"]
    subprocess.run(
        [*command, "-keyout", str(tmp_path / "key.pem"), "-out", str(path)], check=True, capture_output=True
    )
    return path


async def _ready(cluster: Cluster, ca_file: Path | None = None, *, insecure: bool = False) -> bytes:
    """Answers like a TLS server that wants our token: the API server's own."""
    access = await configuration(cluster.kubeconfig())
    direct = DirectAccess(access, lambda _: Address("127.0.0.1", cluster.port), ca_file, insecure=insecure)
    try:
        return await direct.fetch("n1", "api/v1/namespaces/default")
    finally:
        await direct.close()


async def test_a_certificate_is_checked_against_the_clusters_ca_and_the_token_is_sent(cluster: Cluster) -> None:
    assert b'"Namespace"' in await _ready(cluster)


async def test_a_certificate_of_another_ca_is_refused(cluster: Cluster, other_ca: Path) -> None:
    with pytest.raises(KubeletUnreachable, match="not trusted"):
        await _ready(cluster, other_ca)


async def test_only_the_explicit_switch_turns_the_check_off(cluster: Cluster, other_ca: Path) -> None:
    assert b'"Namespace"' in await _ready(cluster, other_ca, insecure=True)


async def test_a_real_kubelets_answers_can_be_normalized(real_node: RealNode) -> None:
    settings = LiveSettings(
        cluster="lab",
        kubeconfig=real_node.cluster.kubeconfig(),
        resources=("nodes",),
        kubelet=KubeletSettings(
            access="direct",
            insecure=True,
            addresses={real_node.name: f"127.0.0.1:{real_node.port}"},
            summary_seconds=1,
        ),
    )
    wanted = {"nodes", "stats/summary", "metrics", "configz"}
    seen: dict[str, Observation] = {}
    live = await Live.connect(settings)
    async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
        async for delivery in deliveries:
            one = delivery.observation
            if one.type not in {"ERROR", "INVENTORY", "BOOKMARK"} and real_node.name in (one.node, _name(one)):
                seen[one.resource] = one
            if seen.keys() >= wanted:
                break
    assert all(normalize(one) for one in seen.values())
    lines = {resource: encode_line(one) for resource, one in seen.items()}
    assert {line.count(b"\n") for line in lines.values()} == {1}
    assert b'"object":{"node":{"nodeName":"' in lines["stats/summary"], "a kubelet indents its answers"
    assert "kubelet_cpu_manager" in msgspec.json.decode(seen["metrics"].object)["text"]


def _name(observation: Observation) -> str:
    return str(msgspec.json.decode(observation.object).get("metadata", {}).get("name", ""))
