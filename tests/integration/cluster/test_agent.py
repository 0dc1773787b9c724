"""The on-node agent beside a real kubelet: its files, its socket and the machine's own sysfs, and real cgroups
(rules: cpu-checkpoint, memory-checkpoint, podresources, cpu-topology, cpu-contention, eviction-signals,
unguarded-signals).
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.cluster import cgroups
from components.cluster.kubelet import RealNode
from ingest.model.cpuset import parse_cpuset
from ingest.model.podresources import ContainerResources
from ingest.model.records import (
    CgroupValuesRecord,
    CpuManagerRecord,
    CpuThrottlingRecord,
    CpuTopologyRecord,
    MemoryManagerRecord,
    NumaUsageRecord,
    PodResourcesRecord,
)
from ingest.node.agent import Agent, AgentSettings
from ingest.node.machine import read_file_systems, read_machine
from ingest.normalize.normalize import normalize
from streams.rules.numa.cpu_checkpoint import parse_cpu_manager_state
from streams.rules.numa.memory_checkpoint import parse_memory_manager_state
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

NAME = "agent-pinned"
ONE_CPU = {"cpu": "1", "memory": "32Mi"}
UID = "0a1b2c3d-0000-1111-2222-333344445555"
CONTAINER = "c0" * 32
PERIODS = 5
"""So many, since one is short where the process had to wait for a CPU first, as on a loaded machine."""


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


@pytest.fixture
def pod_cgroup() -> Iterator[tuple[Path, Path]]:
    """A hierarchy of our own with the CPU controller, of whichever version, and the cgroup of a pod in it."""
    name = f"leadsman-{os.getpid()}"
    levels = [name, f"{name}/kubepods", f"{name}/kubepods/burstable", f"{name}/kubepods/burstable/pod{UID}"]
    try:
        for level in levels:
            cgroups.make(level)
        counted = [each for each in cgroups.hierarchies() if _counts_periods(each / levels[-1])]
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    else:
        if not counted:
            pytest.skip("no cgroup file system with the CPU controller is here")
        yield counted[0] / name, counted[0] / levels[-1]
    finally:
        cgroups.end_processes(name)
        cgroups.remove(name)


def _counts_periods(group: Path) -> bool:
    return (group / "cpu.stat").exists() and "nr_periods" in (group / "cpu.stat").read_text()


def _throttled_periods(group: Path) -> int:
    return int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["nr_throttled"])


def test_what_the_kernel_throttles_is_counted_of_the_container_alone(
    pod_cgroup: tuple[Path, Path], tmp_path: Path
) -> None:
    """A container may use a tenth of a CPU and wants all of it; its pod has no quota."""
    hierarchy, pod = pod_cgroup
    container = pod / CONTAINER
    container.mkdir()
    is_v1 = (container / "cpu.cfs_quota_us").exists()
    (container / ("cpu.cfs_quota_us" if is_v1 else "cpu.max")).write_text("10000")
    mounted = tmp_path / "sys/fs/cgroup"
    mounted.parent.mkdir(parents=True)
    if is_v1:
        mounted.mkdir()
    (mounted / "cpu" if is_v1 else mounted).symlink_to(hierarchy)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            (container / "cgroup.procs").write_text(str(busy.pid))
            eventually("throttled periods", lambda: _throttled_periods(container) >= PERIODS)
            seen = Agent(AgentSettings("lab", "n", tmp_path)).look()
        finally:
            busy.kill()
    ((record,),) = [normalize(each) for each in seen if each.resource == "cpu_throttling"]
    ((values,),) = [normalize(each) for each in seen if each.resource == "cgroup_values"]
    assert isinstance(values, CgroupValuesRecord)
    quotas = {each.container: each.cpu_quota_microseconds for each in values.cgroups}
    assert quotas == {"": -1, CONTAINER: 10000}
    assert {each.cpu_period_microseconds for each in values.cgroups} == {100_000}
    assert isinstance(record, CpuThrottlingRecord)
    ((own, limited),) = [each.cgroups for each in record.pods if each.uid == UID]
    assert (own.container, own.periods, own.throttled_periods) == ("", 0, 0)
    assert limited.container == CONTAINER
    assert 0 < limited.throttled_periods <= limited.periods
    # 10 of 100 ms are its own
    assert limited.throttled_nanoseconds > 10_000_000


def test_what_a_kubelet_has_available_is_what_the_kernels_amounts_give(real_node: RealNode) -> None:
    """Memory of the kernel itself does not count as used (rules: eviction-signals)."""

    def missed_ratio() -> float:
        found = read_machine(Path("/"))
        assert found is not None
        memory = found["machine_memory"]
        file = memory["buffers_bytes"] + memory["cached_bytes"] + memory["swap_cached_bytes"]
        working_set = memory["anonymous_bytes"] + file - memory["inactive_file_bytes"]
        reported = json.loads(real_node.ask("/stats/summary?only_cpu_and_memory=true"))["node"]["memory"]
        return float(abs(reported["availableBytes"] - (memory["total_bytes"] - working_set)) / memory["total_bytes"])

    eventually("both are of one moment", lambda: missed_ratio() < 0.02, every_seconds=1.0)


def test_a_disk_that_the_machine_mounts_has_the_amounts_of_df(tmp_path: Path) -> None:
    image, point = tmp_path / "image", tmp_path / "a b"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    point.mkdir()
    make, unmount = ["mkfs.ext4", "-q", str(image)], ["umount", str(point)]
    mount = ["mount", "-o", "loop", str(image), str(point)]
    subprocess.run(make, check=True)
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (found,) = read_file_systems(tmp_path)
        df = ["df", "-B1", "--output=size,used,avail,itotal,iavail", str(point)]
        amounts = subprocess.run(df, check=True, capture_output=True, text=True).stdout.splitlines()[1]
    finally:
        subprocess.run(unmount, check=True)
    assert found["mount_point"] == "/a b"
    names = "capacity_bytes", "used_bytes", "available_bytes", "inodes", "inodes_free"
    assert [found[each] for each in names] == [int(each) for each in amounts.split()]
