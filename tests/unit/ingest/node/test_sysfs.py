"""The CPU topology that sysfs tells (rules: cpu-topology)."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.machine import Thread, write, write_sysfs
from ingest.model.machine import Cpu
from ingest.node.sysfs import CannotReadError, read_cpu_topology
from profiles import EXAMPLES
from streams.rules.numa.topology import numa_topology


def cpus_of(threads: list[Thread]) -> list[Cpu]:
    return [Cpu(*thread) for thread in threads]


def test_a_machine_of_one_numa_node(tmp_path: Path) -> None:
    threads = [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)]
    write_sysfs(tmp_path, threads)
    assert read_cpu_topology(tmp_path) == cpus_of(threads)


def test_interleaved_numa_nodes_with_hyper_threads(tmp_path: Path) -> None:
    """Even CPUs on NUMA node 0, odd ones on 1; CPUs 4 to 7 are the second threads of the same cores."""
    threads = [Thread(cpu, cpu % 4 // 2, cpu % 2, cpu % 2) for cpu in range(8)]
    write_sysfs(tmp_path, threads)
    assert read_cpu_topology(tmp_path) == cpus_of(threads)
    one, other = numa_topology(read_cpu_topology(tmp_path)).numa_nodes
    assert (one.cpuset, one.core_cpusets) == ("0,2,4,6", ("0,4", "2,6"))
    assert (other.cpuset, other.core_cpusets) == ("1,3,5,7", ("1,5", "3,7"))


def test_a_core_id_is_unique_only_within_its_package(tmp_path: Path) -> None:
    threads = [Thread(0, 0, 0, 0), Thread(1, 0, 1, 0)]
    write_sysfs(tmp_path, threads)
    (node,) = numa_topology(read_cpu_topology(tmp_path)).numa_nodes
    assert len(node.cores) == 2


def test_ids_of_numa_nodes_packages_and_cores_can_be_sparse(tmp_path: Path) -> None:
    threads = [Thread(0, 4, 1, 0), Thread(17, 300, 8, 8), Thread(32, 6, 1, 252)]
    write_sysfs(tmp_path, threads)
    assert read_cpu_topology(tmp_path) == cpus_of(threads)


def test_a_numa_node_without_cpus_does_not_appear(tmp_path: Path) -> None:
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0)], cpuless=[4, 5])
    assert {cpu.numa for cpu in read_cpu_topology(tmp_path)} == {0}


def test_an_offline_cpu_is_left_out(tmp_path: Path) -> None:
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0), Thread(2, 1, 0, 0)], offline=[Thread(1, 0, 0, 0)])
    assert [cpu.cpu for cpu in read_cpu_topology(tmp_path)] == [0, 2]


def test_a_cpu_that_goes_offline_while_its_numa_node_still_lists_it_is_left_out(tmp_path: Path) -> None:
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)])
    write(tmp_path / "sys/devices/system/cpu/online", "0\n")
    assert [cpu.cpu for cpu in read_cpu_topology(tmp_path)] == [0]


def test_without_a_list_of_the_online_cpus_all_of_them_are(tmp_path: Path) -> None:
    """A kernel that can take no CPU off has none (cadvisor utils/sysfs reads it so)."""
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)])
    (tmp_path / "sys/devices/system/cpu/online").unlink()
    assert [cpu.cpu for cpu in read_cpu_topology(tmp_path)] == [0, 1]


def test_without_numa_every_package_is_a_numa_node(tmp_path: Path) -> None:
    """cadvisor, and so the kubelet, does the same (utils/sysinfo)."""
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0), Thread(1, 0, 3, 0)])
    nodes = tmp_path / "sys/devices/system/node"
    nodes.rename(nodes.with_name("gone"))
    assert [(cpu.socket, cpu.numa) for cpu in read_cpu_topology(tmp_path)] == [(0, 0), (3, 3)]


def test_a_package_unknown_to_the_firmware_is_package_0(tmp_path: Path) -> None:
    write_sysfs(tmp_path, [Thread(0, 0, -1, 0)])
    assert read_cpu_topology(tmp_path) == [Cpu(0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("file", "text", "reported"),
    [
        ("cpu/online", "3-1\n", "cpu/online"),
        ("cpu/online", "0-99999\n", "cpu/online"),
        ("cpu/online", "\n", "no CPU is online"),
        ("cpu/online", "0-1,7\n", "cpu7"),
        ("node/node1/cpulist", "a\n", "node1/cpulist"),
        ("node/node1/cpulist", "\n", "CPU 1 is online and in no NUMA node"),
        ("node/node1/cpulist", "0-1\n", "CPU 0 is in NUMA nodes 0 and 1"),
        ("cpu/cpu0/topology/core_id", "zero\n", "'zero' is not an id"),
        ("cpu/cpu0/topology/core_id", "\x1b[2J", r"\\x1b"),
    ],
)
def test_nonsense_is_reported_and_gives_no_topology(tmp_path: Path, file: str, text: str, reported: str) -> None:
    write_sysfs(tmp_path, [Thread(0, 0, 0, 0), Thread(1, 0, 1, 1)])
    write(tmp_path / "sys/devices/system" / file, text)
    with pytest.raises(CannotReadError, match=reported):
        read_cpu_topology(tmp_path)


def test_a_missing_mount_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotReadError, match="mounted"):
        read_cpu_topology(tmp_path)


threads_of_a_machine = st.dictionaries(
    st.integers(0, 999),
    st.tuples(st.integers(0, 70), st.integers(0, 9), st.integers(0, 300)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=EXAMPLES // 4)
@given(threads_of_a_machine)
def test_every_online_cpu_is_reported_as_the_kernel_numbers_it(machine: dict[int, tuple[int, int, int]]) -> None:
    threads = [Thread(cpu, *ids) for cpu, ids in sorted(machine.items())]
    with tempfile.TemporaryDirectory() as folder:
        write_sysfs(Path(folder), threads)
        assert read_cpu_topology(Path(folder)) == cpus_of(threads)
