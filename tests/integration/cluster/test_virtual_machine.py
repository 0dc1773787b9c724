"""Swap, stalls and throttling of pods, on a node with cgroups of version 2: a virtual machine (rules: psi-and-swap,
cpu-contention).

LEADSMAN_VM=short boots one, under emulation, and takes a minute or two on a machine with nothing else to do.
LEADSMAN_VM=long records the scenarios `pod_stalls_recorded` and `pod_cpu_recorded` again, in six;
LEADSMAN_VM_RECORDING names a folder that keeps the capture.
"""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.kubernetes import Cluster, etcd_program, kubernetes_programs
from components.command import leadsman_process, rows, succeeds
from components.machine.node import STATIC, VIRTUAL, VirtualNode
from components.machine.programs import busybox_program, emulator_programs, kernel_files, why_no_machine
from components.programs.cache import require
from ingest.files.envelope import encode_line
from ingest.node.agent import Agent, AgentSettings
from ingest.node.cgroups import read_cpu_throttling
from integration.cluster.node_story import CLUSTER, captured, watch_flags
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

MACHINE: Final = os.environ.get("LEADSMAN_VM")
short = pytest.mark.skipif(MACHINE != "short", reason="boots a virtual machine: LEADSMAN_VM=short")
long = pytest.mark.skipif(MACHINE != "long", reason="takes six minutes of a virtual machine: LEADSMAN_VM=long")

THROTTLED: Final = "throttled"
THRASHES: Final = "thrashes"
GROWS: Final = "grows"
MIB: Final = 1024 * 1024
SECOND: Final = 1_000_000_000
TIMEOUT_SECONDS: Final = 600.0
"""Time for steps that take seconds on an idle machine."""
EVERY_SECONDS: Final = 10
KEPT: Final = os.environ.get("LEADSMAN_VM_RECORDING")
PSI: Final = [(resource, kind) for resource in ("cpu", "memory", "io") for kind in ("some", "full")]
OF_THE_AGENT: Final = (
    "/sys/fs/cgroup/kubepods -name cpu.stat -o -name memory.numa_stat",
    "/sys/devices/system/cpu/online /sys/devices/system/cpu/cpu0/topology",
    "/sys/devices/system/node/node0 -maxdepth 1",
    "/proc/stat",
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualNode]:
    if reason := why_no_machine():
        pytest.skip(reason)
    require(kubernetes_programs, etcd_program, emulator_programs, kernel_files, busybox_program)
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), nodes=(VIRTUAL,))
    try:
        node = VirtualNode(cluster.start(), {"cpu": "50m", "memory": "32Mi"})
        try:
            yield node.start()
        finally:
            node.stop()
    finally:
        cluster.stop()


def run_throttled(node: VirtualNode) -> None:
    node.run_pod(THROTTLED, "spin", requests={"cpu": "50m"}, limits={"cpu": "100m"})
    node.await_phase(THROTTLED, "Running", TIMEOUT_SECONDS)


def run_thrashing(node: VirtualNode) -> None:
    """A pod that uses more memory than it may: the rest is swapped out and read back."""
    node.run_pod(THRASHES, "thrash", "240", requests={"memory": "150Mi"}, limits={"memory": "200Mi"})
    node.await_phase(THRASHES, "Running", TIMEOUT_SECONDS)


def delete(node: VirtualNode, *pods: str) -> None:
    for pod in pods:
        node.cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}", {"gracePeriodSeconds": 1})


@pytest.fixture(scope="module")
def busy(node: VirtualNode) -> Iterator[VirtualNode]:
    """A capture with a pod that is throttled, and one that thrashes."""
    run_throttled(node)
    run_thrashing(node)
    eventually(
        "the pod reads back what was swapped out",
        lambda: faults_of(sampled(node, THRASHES)) > 1000,
        TIMEOUT_SECONDS,
        every_seconds=2.0,
    )
    yield node
    delete(node, THROTTLED, THRASHES)


def sampled(node: VirtualNode, pod: str) -> Any:
    """Return the pod in the summary; nothing if it is not there yet, or the kubelet has no time to answer."""
    try:
        pods = node.summary()["pods"]
    except OSError:
        return {}
    return next((each for each in pods if each["podRef"]["name"] == pod), {})


def faults_of(pod: Any) -> int:
    return int(pod.get("memory", {}).get("majorPageFaults", 0))


def sampled_after(node: VirtualNode, pod: str, before: str) -> Any:
    """The pod's sample, of which every part is later than the time `before`."""
    found: list[Any] = []

    def is_later() -> bool:
        found[:] = [sampled(node, pod)]
        return all(found[0].get(part, {}).get("time", "") > before for part in ("cpu", "memory", "io", "swap"))

    eventually("a new sample of the pod", is_later, TIMEOUT_SECONDS, every_seconds=2.0)
    return found[0]


def folder_of(node: VirtualNode, pod: str) -> str:
    return f"/sys/fs/cgroup/kubepods/burstable/pod{node.pod(pod)['metadata']['uid']}"


@short
def test_stalls_of_a_pod_are_the_kernels_microseconds(busy: VirtualNode) -> None:
    """The kubelet's API says nanoseconds."""

    def counted() -> dict[tuple[str, str], int]:
        found = {}
        for resource in ("cpu", "memory", "io"):
            for line in busy.run(f"cat {folder_of(busy, THRASHES)}/{resource}.pressure").splitlines():
                found[resource, line.split()[0]] = int(line.rpartition("total=")[2])
        return found

    first, now = counted(), busy.run("date -u +%Y-%m-%dT%H:%M:%SZ").strip()
    pod = sampled_after(busy, THRASHES, now)
    last = counted()
    for resource, kind in PSI:
        total = pod[resource]["psi"][kind]["total"]
        assert first[resource, kind] <= total <= last[resource, kind], (resource, kind)
    assert last["memory", "full"] > first["memory", "full"] > 0
    assert last["io", "full"] > first["io", "full"] > 0


@short
def test_swap_in_use_and_free_are_the_machines(busy: VirtualNode) -> None:
    swap = busy.summary()["node"]["swap"]
    (total,) = [
        line.split()[1] for line in busy.run("cat /proc/meminfo").splitlines() if line.startswith("SwapTotal:")
    ]
    assert swap["swapUsageBytes"] > 20 * MIB
    assert swap["swapUsageBytes"] + swap["swapAvailableBytes"] == int(total) * 1024


@short
def test_the_agent_reads_cgroups_of_version_2_of_static_pods_too(busy: VirtualNode, tmp_path: Path) -> None:
    busy.copy_files(tmp_path, *OF_THE_AGENT)
    throttling = read_cpu_throttling(tmp_path)
    assert throttling is not None
    pods = {pod["uid"]: pod["cgroups"] for pod in throttling["cpu_throttling"]}
    uids = {name: busy.pod(name)["metadata"]["uid"] for name in (THROTTLED, THRASHES)}
    static = busy.pod(f"{STATIC}-{VIRTUAL}")["metadata"]["annotations"]["kubernetes.io/config.hash"]
    assert pods.keys() == {*uids.values(), static}
    own, container = pods[uids[THROTTLED]]
    assert (own["container"], len(container["container"])) == ("", 64)
    assert 0 < own["throttled_periods"] <= own["periods"]
    assert own["throttled_nanoseconds"] > 10_000_000 * own["throttled_periods"]  # of 100 ms each it may run 10


def samples_in(recording: Path, least: int = 0) -> int:
    """Return the number of samples in the capture, or 0 with fewer than `least`. Errors count too: while a kubelet
    is silent time passes.
    """
    found = captured(recording, '"stats/summary"')
    return found if found >= least else 0


def record(node: VirtualNode, folder: Path) -> None:
    """A throttled pod; one more that thrashes; that one alone; one that grows until memory and swap are used up."""
    recording, root = folder / "capture", folder / "files"
    agent = Agent(AgentSettings(CLUSTER, VIRTUAL, root))
    capture = leadsman_process("capture", f"--output={recording}", *watch_flags(node, EVERY_SECONDS), folder=folder)

    def look() -> None:
        shutil.rmtree(root, ignore_errors=True)
        node.copy_files(root, *OF_THE_AGENT)
        with (folder / "agent.jsonl").open("ab") as file:
            file.writelines(encode_line(seen) for seen in agent.look() if seen.type == "SNAPSHOT")

    def for_samples(count: int) -> None:
        for least in range(samples_in(recording) + 1, samples_in(recording) + 1 + count):
            look()
            eventually("a sample", partial(samples_in, recording, least), TIMEOUT_SECONDS)

    capture.start()
    try:
        capture.await_ready(lambda: captured(recording, '"BOOKMARK"') > 0 < captured(recording, '"configz"'))
        run_throttled(node)
        for_samples(5)
        run_thrashing(node)
        for_samples(10)
        delete(node, THROTTLED)
        for_samples(12)
        delete(node, THRASHES)
        for_samples(3)
        node.run_pod(GROWS, "grow", "40000", "3000", requests={"memory": "16Mi"}, limits={})
        eventually("memory and swap are used up", lambda: captured(recording, '"SystemOOM"'), TIMEOUT_SECONDS)
        for_samples(2)
    finally:
        capture.stop()


@long
def test_the_recording_shows_swap_stalls_and_what_comes_too_late(node: VirtualNode, tmp_path: Path) -> None:
    folder, db = Path(KEPT) if KEPT else tmp_path, tmp_path / "db"
    record(node, folder)
    succeeds("replay", "-q", folder / "capture", folder / "agent.jsonl", db=db)
    ((most, left),) = rows("SELECT max(swap_usage_bytes), min(memory_available_bytes) FROM node_samples", db)
    assert most > 300 * MIB, "swap was not used up"
    assert left > 50 * MIB, "memory was short long before the kernel killed"
    stalls = rows(
        "SELECT memory_some_percent, memory_full_percent, io_some_percent, io_full_percent FROM node_stalls", db
    )
    assert any(some > 5 for some, *_ in stalls)
    assert all(0 <= full <= some <= 100 for row in stalls for some, full in (row[:2], row[2:]))
    ((memory, io, swap),) = rows(
        f"SELECT max(memory_psi_full_total_nanoseconds), max(io_psi_full_total_nanoseconds), max(swap_usage_bytes) "
        f"FROM pod_samples WHERE pod = '{THRASHES}'",
        db,
    )
    assert memory > SECOND < io
    assert swap > 20 * MIB
    assert rows("SELECT object_kind FROM node_events WHERE reason = 'SystemOOM'", db) == [("Node",)]
