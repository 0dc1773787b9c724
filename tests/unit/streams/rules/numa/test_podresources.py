"""The podresources service reports NUMA nodes (rules: podresources, numa-sources)."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from ingest.model.machine import Cpu
from ingest.model.podresources import AllocatableResources, ContainerResources, DeviceResources, PodResources
from streams.rules.numa.podresources import allocatable_cpus, names_exclusive_cpus, podresources_view
from streams.rules.numa.resolve import NodeFacts, account, disagreements
from streams.rules.numa.sources import CHECKPOINT, PODRESOURCES, Amount, Holder, NumaView
from streams.rules.numa.topology import numa_topology

TOPOLOGY = numa_topology([Cpu(cpu=c, core=c, socket=0, numa=c // 4) for c in range(8)])
GPU = "example.com/gpu"


def pod(name: str, *containers: ContainerResources) -> PodResources:
    return PodResources(name=name, namespace="shop", containers=containers)


def container(cpu_ids: Iterable[int] = (), devices: Sequence[DeviceResources] = ()) -> ContainerResources:
    return ContainerResources(name="app", cpu_ids=tuple(cpu_ids), devices=tuple(devices))


def gpus(ids: Iterable[str], *numa_nodes: int) -> DeviceResources:
    return DeviceResources(resource_name=GPU, device_ids=tuple(ids), numa_nodes=numa_nodes)


def test_only_containers_with_exclusive_cpus_are_holders() -> None:
    view = podresources_view([pod("a", container([2, 6]), container()), pod("b", container())], None)
    assert view.holders == (Holder("shop", "a", "", "app", frozenset({2, 6})),)
    assert (view.source, view.fidelity, view.cpu_manager_policy) == (PODRESOURCES, "exact", "")


@pytest.mark.parametrize(("cpus", "policy"), [((1, 2), "static"), ((), "none")])
def test_the_policy_none_has_no_allocatable_cpus(cpus: tuple[int, ...], policy: str) -> None:
    allocatable = AllocatableResources(cpu_ids=cpus)
    assert podresources_view([], allocatable).cpu_manager_policy == policy
    assert allocatable_cpus(allocatable) == set(cpus)


def test_without_allocatable_cpus_no_reserved_ones_are_reported() -> None:
    assert allocatable_cpus(None) == frozenset()


def test_devices_are_counted_by_numa_node_minus_held_ones() -> None:
    held = [pod("a", container((), [gpus(["g1"], 0)]), container((), [gpus(["g2"], 1)]))]
    view = podresources_view(held, AllocatableResources(devices=(gpus(["g0", "g1"], 0), gpus(["g2"], 1))))
    assert {zone.numa_node: zone.resources for zone in view.zones} == {
        0: {GPU: Amount(2, 2, 1)},
        1: {GPU: Amount(1, 1, 0)},
    }


def test_the_same_device_id_of_another_resource_is_another_device() -> None:
    other = DeviceResources(resource_name="example.com/nic", device_ids=("0",), numa_nodes=(0,))
    view = podresources_view(
        [pod("a", container((), [other]))], AllocatableResources(devices=(gpus(["0"], 0), other))
    )
    assert view.zones[0].resources == {GPU: Amount(1, 1, 1), "example.com/nic": Amount(1, 1, 0)}


def test_a_device_on_no_numa_node_or_on_several_belongs_to_no_zone() -> None:
    assert podresources_view([], AllocatableResources(devices=(gpus(["g0"]), gpus(["g1"], 0, 1)))).zones == ()


@pytest.mark.parametrize("cpu", [-1, 65_536, 2**63 - 1])
def test_an_id_that_no_cpu_has_is_refused(cpu: int) -> None:
    with pytest.raises(BadRecord, match="not the id of a CPU"):
        podresources_view([pod("a", container([cpu]))], None)
    with pytest.raises(BadRecord, match="not the id of a CPU"):
        allocatable_cpus(AllocatableResources(cpu_ids=(cpu,)))


@pytest.mark.parametrize("numa", [-1, 4096])
def test_an_id_that_no_numa_node_has_is_refused(numa: int) -> None:
    with pytest.raises(BadRecord, match="not the id of a NUMA node"):
        podresources_view([], AllocatableResources(devices=(gpus(["g0"], numa),)))


@pytest.mark.parametrize(
    ("version", "reported"),
    [("v1.22.17", False), ("v1.23.0", True), ("v1.36.3", True), ("", True), ("nonsense", True)],
)
def test_cpu_ids_are_exclusive_ones_since_1_23(version: str, reported: bool) -> None:
    assert names_exclusive_cpus(version) is reported


def held(source: str, *cpus: int) -> NumaView:
    return NumaView(source, "exact", holders=(Holder("", "", "u", "c", frozenset(cpus)),))


@pytest.mark.parametrize(
    ("reported", "found"),
    [((1, 2), {}), ((1,), {}), ((1, 2, 3), {(0, PODRESOURCES): (2, 3)}), ((1, 4), {(1, PODRESOURCES): (0, 1)})],
)
def test_only_cpus_beyond_the_checkpoint_are_a_disagreement(
    reported: tuple[int, ...], found: dict[tuple[int, str], tuple[int, int]]
) -> None:
    """Fewer are as it has to be: a finished init container's are not told (rules: podresources)."""
    facts = NodeFacts(topology=TOPOLOGY, reserved=frozenset({0}))
    best, other = account(held(CHECKPOINT, 1, 2), facts), account(held(PODRESOURCES, *reported), facts)
    assert disagreements(best, [best, other]) == found


@given(st.lists(st.frozensets(st.integers(0, 7), max_size=4), max_size=5))
def test_the_exclusive_cpus_of_a_numa_node_are_the_union_over_containers(sets: list[frozenset[int]]) -> None:
    view = podresources_view([pod(str(n), container(sorted(cpus))) for n, cpus in enumerate(sets)], None)
    numbers = account(view, NodeFacts(topology=TOPOLOGY, reserved=frozenset())).numbers
    union = {cpu for cpus in sets for cpu in cpus}
    assert [each.exclusive_cpus for each in numbers] == [len(union & {0, 1, 2, 3}), len(union & {4, 5, 6, 7})]
