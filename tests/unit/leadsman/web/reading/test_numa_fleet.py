"""The NUMA nodes of a fleet: who has NUMA room, what the sums are, and what would fit."""

from datetime import timedelta
from typing import Any

from components.node_lines import node_line
from components.rows import T0, row, store
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.numa_fleet import numa_fleet
from leadsman.web.site.pages import Request, numa_of
from sql.database.open import Database
from streams.fold.findings import LateJoiners, NodeRow, NumaAllocation, NumaResource, NumaSkew

GIB = 1 << 30


def line(name: str, **numa: Any) -> NodeLine:
    return node_line(name, numa={"fidelity": "exact", "cpu_manager_policy": "static", **numa})


def of(node: str, *free: int) -> list[dict[str, Any]]:
    """NUMA nodes of 16 CPUs, 2 of each reserved."""
    return [
        {"node": node, "numa_node": number, "cpus": 16, "reserved": 2, "exclusive": 14 - each, "free": each,
         "memory_allocatable": None, "memory_available": None, "created_at": T0}
        for number, each in enumerate(free)
    ]  # fmt: skip


def test_a_node_that_pins_nothing_has_no_numa_room() -> None:
    nodes = [line("static", largest_fit_cpus=6), line("none", cpu_manager_policy="none", largest_fit_cpus=14)]
    found = numa_fleet(nodes, [*of("static", 6, 2), *of("none", 14, 14)], None)
    assert ([each.node.name for each in found.lines], found.pinless) == (["static"], ("none",))
    assert (found.sums.free, found.largest_fit) == (8, 6)


def test_the_columns_sum_up_to_the_fleets() -> None:
    nodes = [line("a"), line("b")]
    found = numa_fleet(nodes, [*of("a", 6, 2), *of("b", 14, 0)], None)
    assert found.sums == (64, 8, 34, 22)
    assert sum(each.free for each in found.lines) == found.sums.free


def test_the_fit_is_counted_in_whole_pods_for_each_numa_node() -> None:
    found = numa_fleet([line("a"), line("b")], [*of("a", 6, 2), *of("b", 3, 0)], None)
    # 6 + 2 + 3 of one CPU; 3 + 1 + 1 of two; 1 of four; none of eight.
    assert found.fits == ((1, 11), (2, 5), (4, 1), (8, 0))


def test_a_node_without_a_source_is_not_free_but_unreported() -> None:
    found = numa_fleet([line("a"), line("b")._replace(numa=None), line("c", fidelity="none")], of("a", 6), None)
    assert ([each.node.name for each in found.lines], found.unreported) == (["a"], 2)


def test_late_joiners_are_marked_where_they_stay_emptier() -> None:
    late: dict[str, object] = {"verdict": "late_joiners_emptier", "youngest_created_at": T0}
    rows = [*of("old", 1), *of("new", 1)]
    rows[0]["created_at"] = T0 - timedelta(days=9)
    nodes = [line("old"), line("new")]
    assert {each.node.name: each.late for each in numa_fleet(nodes, rows, late).lines} == {"old": False, "new": True}
    assert not any(each.late for each in numa_fleet(nodes, rows, {**late, "verdict": "even"}).lines)
    assert [each.node.name for each in numa_fleet(nodes, rows, late, "joined").lines] == ["new", "old"]


def test_the_page_agrees_with_the_database(database: Database) -> None:
    for node, policy in (("worker", "static"), ("master", "none")):
        numbers = {"free_cpus": 8, "largest_fit_cpus": 6, "stranded_cpus": 2, "skew_ratio": 0.6}
        store(
            database,
            row(NodeRow, node=node, ready=True, created_at=T0),
            *(row(NumaAllocation, node=node, numa_node=number, cpus=8, reserved_cpus=1, exclusive_cpus=7 - free,
                  free_cpus=free, fidelity="exact", source="s") for number, free in ((0, 6), (1, 2))),
            row(NumaResource, node=node, numa_node=0, resource="memory", capacity=32 * GIB, allocatable=31 * GIB,
                available=20 * GIB, cells=[0], source="s"),
            row(NumaSkew, node=node, scope="node", fidelity="exact", cpu_manager_policy=policy, **numbers),
        )  # fmt: skip
    store(database, row(NumaSkew, node="", scope="cluster", free_cpus=8, largest_fit_cpus=6, fidelity="exact"))
    store(database, row(LateJoiners, verdict="even", explanation="age explains nothing"))
    page = numa_of(database, Request.of({}), now=lambda: T0)
    assert page is not None
    assert ">8</b> CPUs are free for exclusive pods on 1 node; the largest that one NUMA node takes has" in page
    assert "6 of 8, 20.0 GiB" in page
    assert "1 node has CPU manager policy none: it pins nothing" in page
    # A node named in a warning is not ok.
    assert '<span class="tag warning">NUMA uneven</span>' in page
    assert '<span class="tag ok">' not in page
