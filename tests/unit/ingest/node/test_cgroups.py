"""Values of cgroups and throttling, by both versions and drivers (rules: cgroup-values, cpu-contention)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.machine import write
from ingest.node.cgroups import read_cgroup_values, read_cpu_throttling

UID = "0a1b2c3d-0000-1111-2222-333344445555"
STATIC = "7791fa6e42ab3991e3af55dcbed4e5b0"
"""Seen of a kubelet 1.36.3."""
CONTAINER = "c0" * 32
SYSTEMD = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
V2 = "usage_usec 900\nnr_periods {}\nnr_throttled {}\nthrottled_usec 7\nnr_bursts 0\n"
V1 = "nr_periods {}\nnr_throttled {}\nthrottled_time 7000\n"


def counters(container: str, periods: int, throttled: int) -> dict[str, Any]:
    return {
        "container": container,
        "periods": periods,
        "throttled_periods": throttled,
        "throttled_nanoseconds": 7000,
    }


@pytest.mark.parametrize(
    ("pod", "container", "text"),
    [
        (SYSTEMD, f"cri-containerd-{CONTAINER}.scope", V2),
        (SYSTEMD, f"crio-{CONTAINER}.scope", V2),
        (f"kubepods/besteffort/pod{UID}", CONTAINER, V2),
        (f"cpu/kubepods/pod{UID}", CONTAINER, V1),
        (f"cpu,cpuacct/{SYSTEMD}", f"docker-{CONTAINER}.scope", V1),
    ],
)
def test_a_pod_and_its_containers_are_counted_apart(pod: str, container: str, text: str, tmp_path: Path) -> None:
    """The quota of a cgroup alone moves its counters: a container at its limit moves none of its pod."""
    folder = tmp_path / "sys/fs/cgroup" / pod
    write(folder / "cpu.stat", text.format(0, 0))
    write(folder / container / "cpu.stat", text.format(100, 40))
    assert read_cpu_throttling(tmp_path) == {
        "cpu_throttling": [{"uid": UID, "cgroups": [counters("", 0, 0), counters(CONTAINER, 100, 40)]}]
    }


@pytest.mark.parametrize("pod", [f"pod{STATIC}", f"kubepods-pod{STATIC}.slice"])
def test_a_static_pod_has_the_hash_of_its_file_as_uid(pod: str, tmp_path: Path) -> None:
    write(tmp_path / "sys/fs/cgroup/kubepods" / pod / "cpu.stat", V2.format(100, 40))
    assert read_cpu_throttling(tmp_path) == {"cpu_throttling": [{"uid": STATIC, "cgroups": [counters("", 100, 40)]}]}


def test_a_container_without_a_quota_and_what_is_no_container_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "sys/fs/cgroup" / SYSTEMD
    write(folder / "cpu.stat", V2.format(0, 0))
    write(folder / f"cri-containerd-{CONTAINER}.scope" / "cpu.stat", V2.format(0, 0))
    write(folder / f"crio-conmon-{CONTAINER}.scope" / "cpu.stat", V2.format(9, 9))
    assert read_cpu_throttling(tmp_path) == {"cpu_throttling": [{"uid": UID, "cgroups": [counters("", 0, 0)]}]}


@pytest.mark.parametrize("text", [None, "", "usage_usec 900\n", "nr_periods -1\nnr_throttled 0\n"])
def test_nothing_is_reported_of_a_pod_without_counters(text: str | None, tmp_path: Path) -> None:
    """It ended meanwhile, or the controller is off: its containers alone would not show whether it was held back."""
    folder = tmp_path / "sys/fs/cgroup" / SYSTEMD
    write(folder / CONTAINER / "cpu.stat", V2.format(9, 9))
    if text is not None:
        write(folder / "cpu.stat", text)
    assert read_cpu_throttling(tmp_path) == {"cpu_throttling": []}


def test_a_machine_without_pods_has_no_counters(tmp_path: Path) -> None:
    assert read_cpu_throttling(tmp_path) is None


NO_LIMIT_OF_V1 = (1 << 63) - 4096
V2_FILES = {"cpu.weight": "4\n", "cpu.max": "10000 100000\n", "memory.max": "67108864\n"}
V1_CPU = {"cpu.shares": "102\n", "cpu.cfs_quota_us": "10000\n", "cpu.cfs_period_us": "100000\n"}
V1_MEMORY = {"memory.limit_in_bytes": "67108864\n"}
LIMITS = {"cpu_quota_microseconds": 10000, "cpu_period_microseconds": 100000, "memory_limit_bytes": 67108864}
NO_LIMITS = {"cpu_quota_microseconds": -1, "cpu_period_microseconds": 100000, "memory_limit_bytes": -1}


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write(folder / name, text)


def valued(root: Path) -> Any:
    found = read_cgroup_values(root)
    assert found is not None
    return found["cgroup_values"]


@pytest.mark.parametrize("container", [f"cri-containerd-{CONTAINER}.scope", f"crio-{CONTAINER}.scope"])
def test_values_of_version_2(container: str, tmp_path: Path) -> None:
    """The pod has no limit, and its container has."""
    folder = tmp_path / "sys/fs/cgroup" / SYSTEMD
    put(folder, {"cpu.weight": "39\n", "cpu.max": "max 100000\n", "memory.max": "max\n"})
    put(folder / container, V2_FILES)
    of = {"uid": UID, "path": f"/{SYSTEMD}"}
    assert valued(tmp_path) == [
        {**of, "container": "", "cpu_weight": 39, **NO_LIMITS},
        {**of, "path": f"/{SYSTEMD}/{container}", "container": CONTAINER, "cpu_weight": 4, **LIMITS},
    ]


@pytest.mark.parametrize("cpu", ["cpu", "cpu,cpuacct"])
def test_values_of_version_1_are_of_two_hierarchies(cpu: str, tmp_path: Path) -> None:
    hierarchies = tmp_path / "sys/fs/cgroup"
    pod = f"kubepods/besteffort/pod{UID}"
    put(hierarchies / cpu / pod, V1_CPU | {"cpu.shares": "2\n", "cpu.cfs_quota_us": "-1\n"})
    put(hierarchies / "memory" / pod, {"memory.limit_in_bytes": f"{NO_LIMIT_OF_V1}\n"})
    put(hierarchies / cpu / pod / CONTAINER, V1_CPU)
    put(hierarchies / "memory" / pod / CONTAINER, V1_MEMORY)
    assert valued(tmp_path) == [
        {"uid": UID, "path": f"/{pod}", "container": "", "cpu_shares": 2, **NO_LIMITS},
        {"uid": UID, "path": f"/{pod}/{CONTAINER}", "container": CONTAINER, "cpu_shares": 102, **LIMITS},
    ]


@pytest.mark.parametrize("text", ["", "many 100000\n", "-2 100000\n", f"{'9' * 20} 100000\n"])
def test_what_cannot_be_read_is_not_known(text: str, tmp_path: Path) -> None:
    """Its value is left out; others are not."""
    put(tmp_path / "sys/fs/cgroup" / SYSTEMD, V2_FILES | {"cpu.max": text})
    (found,) = valued(tmp_path)
    assert found == {
        "uid": UID,
        "path": f"/{SYSTEMD}",
        "container": "",
        "cpu_weight": 4,
        "memory_limit_bytes": 67108864,
    }


def test_a_machine_without_pods_has_no_values(tmp_path: Path) -> None:
    assert read_cgroup_values(tmp_path) is None
