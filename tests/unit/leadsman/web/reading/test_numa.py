"""The NUMA map: whose each CPU is."""

from typing import Any

from leadsman.web.reading.detail import MOST_CELLS, mark, numa_map


def allocation(**values: Any) -> dict[str, Any]:
    return {
        "node": "n", "numa_node": 0, "cpus": 4, "reserved_cpus": 1, "exclusive_cpus": 2, "free_cpus": 1, "cores": 2,
        "free_cores": 0, "cpuset": "0-3", "free_cpuset": "3", "core_cpusets": ["0,2", "1,3"],
        "source": "cpu_manager_state", "fidelity": "exact", "assumed": [],
    } | values  # fmt: skip


def holder(**values: Any) -> dict[str, Any]:
    return {
        "node": "n", "namespace": "shop", "pod": "till", "container": "app", "cpus": 2, "cpuset": "1-2",
        "numa_nodes": [0], "aligned": 1, "source": "cpu_manager_state", "fidelity": "exact",
    } | values  # fmt: skip


def test_each_cpu_is_held_free_or_reserved() -> None:
    found = numa_map([allocation()], [holder()])
    assert found is not None
    cells = {
        cell.cpu: (cell.state, cell.holder and cell.holder.pod) for core in found.numa_nodes[0].cores for cell in core
    }
    assert cells == {0: ("reserved", None), 1: ("held", "till"), 2: ("held", "till"), 3: ("free", None)}


def test_the_cpus_of_a_physical_core_stand_together() -> None:
    found = numa_map([allocation()], [holder()])
    assert found is not None
    assert [[cell.cpu for cell in core] for core in found.numa_nodes[0].cores] == [[0, 2], [1, 3]]


def test_without_cores_each_cpu_stands_alone() -> None:
    found = numa_map([allocation(core_cpusets=[])], [])
    assert found is not None
    assert [[cell.cpu for cell in core] for core in found.numa_nodes[0].cores] == [[0], [1], [2], [3]]


def test_what_is_taken_is_not_called_reserved_while_holders_are_missing() -> None:
    found = numa_map([allocation()], [])
    assert found is not None
    states = {cell.cpu: cell.state for core in found.numa_nodes[0].cores for cell in core}
    assert states == {0: "unknown", 1: "unknown", 2: "unknown", 3: "free"}


def test_a_source_without_cpu_ids_gives_numbers_and_no_cells() -> None:
    found = numa_map([allocation(cpuset="", free_cpuset="", core_cpusets=[], fidelity="count")], [holder(cpuset="")])
    assert found is not None
    assert (found.numa_nodes[0].cores, found.numa_nodes[0].free, found.fidelity) == ((), 1, "count")


def test_a_hostile_cpu_list_draws_nothing() -> None:
    broken = numa_map([allocation(cpuset="0-x")], [holder(cpuset="9-1")])
    assert broken is not None
    assert broken.numa_nodes[0].cores == ()
    endless = numa_map([allocation(cpuset=f"0-{MOST_CELLS}")], [])
    assert endless is not None
    assert endless.numa_nodes[0].cores == ()


def test_a_container_on_two_numa_nodes_spans_them() -> None:
    found = numa_map([allocation()], [holder(numa_nodes=[0, 1])])
    assert found is not None
    assert found.holders[0].spans


def test_no_allocations_no_map() -> None:
    assert numa_map([], [holder()]) is None


def test_marks_differ_beyond_the_alphabet() -> None:
    assert [mark(place) for place in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "AB",
        "AZ",
        "BA",
        "ZZ",
        "AAA",
    ]
    assert len({mark(place) for place in range(2000)}) == 2000
