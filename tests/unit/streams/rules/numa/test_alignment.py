"""A container's memory and devices beside its CPUs, also with evidence removed (rules: numa-alignment)."""

from typing import Any

import pytest

from ingest.model.podresources import ContainerResources, DeviceResources, MemoryResources
from streams.rules.numa.alignment import Alignment, Layout, alignment

LAYOUT = Layout(
    {0: 0, 1: 0, 2: 1, 3: 1},
    {0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}},
    [frozenset({0}), frozenset({1}), frozenset({2, 3})],
)


def nic(*numa_nodes: int) -> DeviceResources:
    return DeviceResources(resource_name="example.com/nic", device_ids=("d",), numa_nodes=numa_nodes)


def memory(*numa_nodes: int, kind: str = "memory") -> MemoryResources:
    return MemoryResources(memory_type=kind, size=1, numa_nodes=numa_nodes)


def judged(layout: Layout = LAYOUT, *, exclusive: bool = True, **values: Any) -> Alignment:
    found = alignment(ContainerResources(name="c", **values), layout, exclusive=exclusive)
    assert found is not None
    return found


def test_resources_on_one_numa_node_are_aligned_and_local() -> None:
    found = judged(cpu_ids=(2, 3), memory=(memory(1), memory(1, kind="hugepages-2Mi")), devices=(nic(1),))
    assert (found.aligned, found.distance, found.stray, found.l3_caches) == (True, 10, [], 1)


@pytest.mark.parametrize(
    "away",
    [{"memory": (memory(0),)}, {"memory": (memory(0, kind="hugepages-1Gi"),)}, {"devices": (nic(0),)}],
)
def test_resources_on_another_numa_node_are_misaligned_with_the_firmwares_distance(away: dict[str, Any]) -> None:
    found = judged(cpu_ids=(2, 3), **away)
    assert (found.aligned, found.distance) == (False, 21)


def test_a_device_on_another_numa_node_is_named() -> None:
    assert judged(cpu_ids=(2,), devices=(nic(0),)).stray == ["example.com/nic"]


def test_cpus_of_several_caches_are_counted() -> None:
    assert judged(cpu_ids=(0, 1)).l3_caches == 2
    assert judged(cpu_ids=(0, 1)).aligned is True


def test_without_caches_and_distances_only_these_are_unknown() -> None:
    found = judged(LAYOUT._replace(caches=[], distances={}), cpu_ids=(0, 2))
    assert (found.aligned, found.l3_caches, found.distance) == (False, None, None)


@pytest.mark.parametrize(
    ("distances", "words"),
    [
        (LAYOUT.distances, "distance 21, where 10 is local"),
        ({0: {0: 10, 1: 10}, 1: {0: 10, 1: 10}}, "the firmware gives distance 10, as if it were local"),
        ({}, "the firmware's distance is unknown"),
    ],
    ids=["real", "flat", "missing"],
)
def test_missing_or_flat_firmware_distances_are_doubted_if_they_matter(
    distances: dict[int, dict[int, int]], words: str
) -> None:
    """Source: ACPI 5.2.17: 10 is a locality to itself, so another one is farther. Between CPUs and devices of one
    NUMA node no distance matters.
    """
    layout = LAYOUT._replace(distances=distances)
    assert judged(layout, cpu_ids=(0,), devices=(nic(1),)).explanation == (
        f"CPUs on NUMA node 0, example.com/nic on NUMA node 1 ({words})"
    )
    assert judged(layout, cpu_ids=(0,), devices=(nic(0),)).explanation == ""


def test_what_is_apart_is_named_with_its_own_numa_nodes() -> None:
    gpu = DeviceResources(resource_name="example.com/gpu", device_ids=("g",), numa_nodes=(0,))
    silent = DeviceResources(resource_name="example.com/silent", device_ids=("s",), numa_nodes=())
    held: dict[str, Any] = {"devices": (gpu, nic(0), nic(1), silent), "memory": (memory(1, kind="hugepages-1Gi"),)}
    assert judged(cpu_ids=(0, 1), **held).explanation == (
        "CPUs on NUMA node 0, example.com/nic on NUMA nodes 0, 1, huge pages on NUMA node 1 "
        "(distance 21, where 10 is local)"
    )
    assert judged(**held).explanation == (
        "example.com/gpu on NUMA node 0, example.com/nic on NUMA nodes 0, 1, huge pages on NUMA node 1"
    )


def test_without_a_topology_the_numa_nodes_of_cpus_are_unknown() -> None:
    found = judged(Layout({}, {}, []), cpu_ids=(0,), memory=(memory(0),))
    assert (found.aligned, found.distance) == (None, None)
    assert found.explanation == "no agent reports the NUMA nodes of its CPUs"


def test_a_device_without_numa_nodes_may_be_anywhere() -> None:
    found = judged(cpu_ids=(0,), devices=(nic(),))
    assert (found.aligned, found.stray) == (None, ["example.com/nic"])
    assert "example.com/nic" in found.explanation


def test_shared_cpus_may_be_anywhere_but_two_numa_nodes_are_never_aligned() -> None:
    assert judged(devices=(nic(0),)).aligned is None
    assert judged(devices=(nic(0), nic(1))).aligned is False


def test_before_1_23_the_ids_of_a_sharing_container_are_not_its_own() -> None:
    assert judged(exclusive=False, cpu_ids=(0, 1, 2, 3), devices=(nic(0),)).cpus == []


def test_a_container_without_numa_resources_is_not_judged() -> None:
    assert alignment(ContainerResources(name="c"), LAYOUT, exclusive=True) is None
