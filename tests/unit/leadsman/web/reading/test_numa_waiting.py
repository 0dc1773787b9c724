"""Pods that wait for exclusive CPUs, and what would let them in."""

from datetime import timedelta
from typing import Any

import pytest

from components.node_lines import node_line
from components.rows import T0, row, store
from leadsman.web.reading.numa_fleet import Band, NumaLine, remedy_for
from leadsman.web.site.pages import Request, numa_of
from sql.database.open import Database
from streams.fold.findings import NodeRow, NumaAllocation, NumaPod, NumaSkew, PodBinding


def line(name: str, *free: int) -> NumaLine:
    """A node with NUMA nodes of 16 CPUs, two of each reserved."""
    bands = tuple(Band(number, 16, 2, 14 - each, each, None, None) for number, each in enumerate(free))
    return NumaLine(node_line(name, numa={"largest_fit_cpus": max(free)}), bands, None, late=False)


def holds(node: str, number: int, pod: str, cpus: int, **values: Any) -> dict[str, Any]:
    return {"node": node, "namespace": "shop", "pod": pod, "cpus": cpus, "numa_nodes": [number], **values}


@pytest.mark.parametrize(
    ("cpus", "remedy"),
    [
        (4, "b has that many free in one NUMA node now."),
        (8, "It would fit NUMA node 1 of b without shop/small (4 CPUs)."),  # not large, and one rather than two
        (12, "It would fit NUMA node 1 of b without shop/large (10 CPUs)."),
        (14, "It would fit NUMA node 0 of a without shop/one (6 CPUs), shop/two (6 CPUs)."),
        (15, "No NUMA node is large enough: request at most 14 CPUs, or allow several NUMA nodes."),
    ],
)
def test_the_fewest_pods_of_one_numa_node_make_room(cpus: int, remedy: str) -> None:
    lines = [line("a", 2, 0), line("b", 0, 4)]
    holders = [
        holds("a", 0, "one", 6),
        holds("a", 0, "two", 6),
        holds("b", 1, "small", 4),
        holds("b", 1, "large", 10, numa_nodes=[1]),
        holds("b", 0, "both", 99, numa_nodes=[0, 1]),
    ]
    if cpus == 14:
        holders = [each for each in holders if each["pod"] != "large"]
    assert remedy_for(cpus, lines, holders) == remedy


def test_the_page_has_the_pod_that_waits_and_its_remedy(database: Database) -> None:
    waits = {"change": "pending", "phase": "Pending", "node": "", "namespace": "shop", "exclusive_cpus": 3}
    bound = waits | {"change": "bound", "node": "n"}
    store(
        database,
        row(NodeRow, node="n", ready=True),
        row(NumaAllocation, node="n", numa_node=0, cpus=4, reserved_cpus=0, exclusive_cpus=2, free_cpus=2),
        row(NumaSkew, node="n", largest_fit_cpus=2, free_cpus=2, fidelity="exact", cpu_manager_policy="static"),
        row(NumaPod, node="n", namespace="shop", pod="<b>", uid="u", container="c", cpus=2, cpuset="0-1",
            numa_nodes=(0,)),
        *(row(PodBinding, uid=uid, pod=f"waits-{uid}", owner_name="waits", **waits) for uid in ("1", "2")),
        row(PodBinding, ts=T0 + timedelta(seconds=1), uid="2", pod="waits-2", **bound),
    )  # fmt: skip
    page = numa_of(database, Request.of({}), lambda: None) or ""
    assert "shop/waits-1: 3 CPUs" in page
    assert "It would fit NUMA node 0 of n without shop/&lt;b&gt; (2 CPUs)." in page
    assert "waits-2" not in page
