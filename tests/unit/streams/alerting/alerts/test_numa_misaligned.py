"""NUMAMisaligned: what is apart from the CPUs of a container, and what is not known to be."""

from typing import Any

import pytest

from components.alert_log import AlertLog
from components.rows import row
from streams.fold.findings import NumaAlignment

APART = "CPUs on NUMA node 0, intel.com/sriov on NUMA node 1 (distance 21, where 10 is local)"


def aligned(pod: str = "vnf", **values: Any) -> NumaAlignment:
    return row(NumaAlignment, node="n", namespace="ns", pod=pod, container="c", **({"cpu_numa_nodes": [0]} | values))


def misaligned(pod: str = "vnf") -> NumaAlignment:
    return aligned(pod, device_numa_nodes=[1], aligned=False, explanation=APART)


def test_a_device_across_the_link_raises_it_until_the_pod_is_gone() -> None:
    log = AlertLog()
    assert log(0, aligned("near", device_numa_nodes=[0]), misaligned()) == ["firing NUMAMisaligned"]
    assert log.summaries == ["Node n: 1 pod has devices or memory on other NUMA nodes than the exclusive CPUs"]
    assert log.descriptions[0].startswith(f"ns/vnf: {APART}. Each access crosses to the other NUMA node.")
    assert "near" not in log.descriptions[0]
    assert log(60, misaligned("other")) == []
    assert log(120, aligned(cpu_numa_nodes=[], explanation="gone")) == []
    assert log(180, aligned("other", device_numa_nodes=[0])) == ["resolved NUMAMisaligned"]


def test_of_many_the_first_are_named() -> None:
    log = AlertLog()
    log(0, *(misaligned(f"vnf-{nth}") for nth in range(5)))
    assert "local). ns/vnf-2: CPUs on" in log.descriptions[0]
    assert "(distance 21, where 10 is local). The same holds for 2 more containers. Each" in log.descriptions[0]


@pytest.mark.parametrize("held", ["memory_numa_nodes", "hugepages_numa_nodes"])
def test_memory_across_the_link_raises_it(held: str) -> None:
    values: dict[str, Any] = {held: [0, 1]}
    assert AlertLog()(0, aligned(**values)) == ["firing NUMAMisaligned"]


@pytest.mark.parametrize(
    "values",
    [
        {"cpu_numa_nodes": [0, 1], "memory_numa_nodes": [0, 1]},
        {"cpu_numa_nodes": [], "device_numa_nodes": [1]},
        {"devices": ["vendor.com/silent"]},
    ],
    ids=["CPUs that need both", "shared CPUs", "a plugin that reports no NUMA node"],
)
def test_aligned_or_unknown_resources_raise_no_alert(values: dict[str, Any]) -> None:
    assert AlertLog()(0, aligned(**values)) == []
