"""The on-node agent beside a real kubelet: its files, its socket and the machine's own sysfs
(rules: cpu-checkpoint, memory-checkpoint, podresources, cpu-topology).
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.cluster.kubelet import RealNode
from ingest.model.cpuset import parse_cpuset
from ingest.model.podresources import ContainerResources
from ingest.model.records import (
    CpuManagerRecord,
    CpuTopologyRecord,
    MemoryManagerRecord,
    NumaUsageRecord,
    PodResourcesRecord,
)
from ingest.node.agent import Agent, AgentSettings
from ingest.normalize.normalize import normalize
from streams.rules.numa.cpu_checkpoint import parse_cpu_manager_state
from streams.rules.numa.memory_checkpoint import parse_memory_manager_state

pytestmark = pytest.mark.xdist_group("cluster")

NAME = "agent-pinned"
ONE_CPU = {"cpu": "1", "memory": "32Mi"}


@pytest.fixture
def mounted(real_node: RealNode) -> Iterator[Path]:
    """The folders as a DaemonSet mounts them; the path is short because the socket's may have only 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="lm-") as folder:
        root = Path(folder)
        (root / "var/lib").mkdir(parents=True)
        (root / "var/lib/kubelet").symlink_to(real_node.folder / "kubelet")
        (root / "sys").symlink_to("/sys")
        yield root


@pytest.fixture
def pinned_uid(real_node: RealNode) -> Iterator[str]:
    """A Guaranteed pod of one whole CPU, while it runs."""
    real_node.run_pod(NAME, "wait", requests=ONE_CPU, limits=ONE_CPU)
    try:
        yield real_node.await_phase(NAME, "Running")["metadata"]["uid"]
    finally:
        real_node.cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{NAME}", {"gracePeriodSeconds": 1})
        real_node.await_free_cpus()


def test_the_pinned_cpu_is_seen_from_the_checkpoint_and_from_podresources(
    real_node: RealNode, mounted: Path, pinned_uid: str
) -> None:
    """CPU 0 is reserved: it is not allocatable, and every other CPU may be the pod's."""
    seen = Agent(AgentSettings("lab", real_node.name, mounted)).look()
    topology, cpu, memory, usage, pods = (record for each in seen for record in normalize(each))
    assert isinstance(topology, CpuTopologyRecord)
    assert isinstance(usage, NumaUsageRecord)
    assert isinstance(cpu, CpuManagerRecord)
    assert isinstance(memory, MemoryManagerRecord)
    assert isinstance(pods, PodResourcesRecord)
    parse_memory_manager_state(memory.checkpoint)
    held = parse_cpuset(parse_cpu_manager_state(cpu.checkpoint).entries[pinned_uid]["w"])
    machine = {each.cpu for each in topology.cpus}
    assert {each.numa_node for each in usage.nodes} == {each.numa for each in topology.cpus}
    assert all(0 < each.memory_free_bytes < each.memory_total_bytes for each in usage.nodes)
    assert len(held) == 1
    assert held <= machine - {0}
    (pod,) = [pod for pod in pods.pods if pod.name == NAME]
    assert (pod.namespace, pod.containers) == ("default", (ContainerResources(name="w", cpu_ids=tuple(held)),))
    assert pods.allocatable is not None
    assert set(pods.allocatable.cpu_ids) == machine - {0}
