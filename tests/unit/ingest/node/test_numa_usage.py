"""Use of NUMA nodes as the kernel shows it (rules: numa-usage), and with files taken away."""

from pathlib import Path
from typing import Any

import pytest

from fakes.machine import Thread, write, write_sysfs
from ingest.node.cgroups import NumaUsage
from ingest.node.sysfs import CannotReadError, read_caches, read_distances

UID = "0a1b2c3d-0000-1111-2222-333344445555"
THREADS = [Thread(0, 0, 0, 0), Thread(1, 1, 0, 1)]


def machine(root: Path) -> None:
    write_sysfs(root, THREADS)
    for numa in (0, 1):
        folder = root / f"sys/devices/system/node/node{numa}"
        write(
            folder / "meminfo",
            f"Node {numa} MemTotal:       {1000 + numa} kB\nNode {numa} MemFree:        {100 + numa} kB\n",
        )
        write(folder / "distance", "10 21\n" if numa == 0 else "21 10\n")
        write(folder / "hugepages/hugepages-2048kB/nr_hugepages", "3\n")
        write(folder / "hugepages/hugepages-2048kB/free_hugepages", "1\n")
        for index, level in ((0, 1), (3, 3)):
            cache = root / f"sys/devices/system/cpu/cpu{numa}/cache/index{index}"
            write(cache / "level", f"{level}\n")
            write(cache / "shared_cpu_list", f"{numa}\n")
    stat(root, busy=(0, 0), idle=(0, 0))


def stat(root: Path, busy: tuple[int, int], idle: tuple[int, int]) -> None:
    lines = [f"cpu{cpu} {busy[cpu]} 0 0 {idle[cpu]} 0 0 0 0 7 7" for cpu in (0, 1)]
    write(root / "proc/stat", "cpu  9 9 9 9\n" + "\n".join(lines) + "\n")


def sampled(root: Path) -> dict[str, Any]:
    found = NumaUsage(root)()
    assert found is not None
    return found


def test_memory_and_huge_pages_of_each_numa_node(tmp_path: Path) -> None:
    machine(tmp_path)
    first, second = sampled(tmp_path)["numa_usage"]
    assert first == {
        "numa_node": 0,
        "memory_total_bytes": 1000 << 10,
        "memory_free_bytes": 100 << 10,
        "hugepages_total_bytes": 3 << 21,
        "hugepages_free_bytes": 1 << 21,
        "cpu_busy_ratio": None,
    }
    assert second["memory_free_bytes"] == 101 << 10


def test_cpu_time_is_that_since_the_sample_before(tmp_path: Path) -> None:
    machine(tmp_path)
    usage = NumaUsage(tmp_path)
    usage()
    stat(tmp_path, busy=(75, 0), idle=(25, 50))
    found = usage()
    assert found is not None
    assert [each["cpu_busy_ratio"] for each in found["numa_usage"]] == [0.75, 0.0]


def test_without_proc_the_cpu_time_is_unknown(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / "proc/stat").unlink()
    assert [each["cpu_busy_ratio"] for each in sampled(tmp_path)["numa_usage"]] == [None, None]


@pytest.mark.parametrize(
    "folder",
    [
        f"kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice",
        f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice",
        f"kubepods/besteffort/pod{UID}",
    ],
)
def test_where_the_memory_of_a_pod_lies(folder: str, tmp_path: Path) -> None:
    machine(tmp_path)
    assert sampled(tmp_path)["pods"] == []
    text = "anon N0=10 N1=1\nfile N0=5 N1=0\nkernel_stack N0=99 N1=99\ninactive_anon N0=10 N1=1\n"
    write(tmp_path / "sys/fs/cgroup" / folder / "memory.numa_stat", text)
    assert sampled(tmp_path)["pods"] == [{"uid": UID, "numa_bytes": {0: 15, 1: 1}}]


def test_a_machine_without_numa_nodes_has_no_use_of_them(tmp_path: Path) -> None:
    assert NumaUsage(tmp_path)() is None


def test_meminfo_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    machine(tmp_path)
    write(tmp_path / "sys/devices/system/node/node1/meminfo", "?")
    with pytest.raises(CannotReadError, match="meminfo"):
        sampled(tmp_path)


def test_distances_and_caches(tmp_path: Path) -> None:
    machine(tmp_path)
    assert read_distances(tmp_path) == {0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}}
    assert read_caches(tmp_path) == ["0", "1"]


def test_distances_that_are_not_those_of_the_numa_nodes_are_an_error(tmp_path: Path) -> None:
    machine(tmp_path)
    write(tmp_path / "sys/devices/system/node/node0/distance", "10\n")
    with pytest.raises(CannotReadError, match="1 distance to 2 NUMA nodes"):
        read_distances(tmp_path)


def test_a_kernel_that_shows_neither_has_none(tmp_path: Path) -> None:
    write_sysfs(tmp_path, THREADS)
    assert (read_distances(tmp_path), read_caches(tmp_path)) == ({}, [])
