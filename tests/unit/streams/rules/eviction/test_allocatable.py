"""Allocatable and its percentages, verified on real nodes (rules: allocatable, eviction-thresholds)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.cpuset import InvalidCpuSet
from streams.rules.eviction.allocatable import allocatable, percent_of, with_reserved_cpus
from streams.rules.values.quantity import InvalidQuantity

KI = 1024
GI = 2**30
REAL_CAPACITY = {
    "cpu": 2000,
    "ephemeral-storage": 264212084 * KI,
    "hugepages-1Gi": 0,
    "hugepages-2Mi": 0,
    "memory": 24684096 * KI,
    "pods": 110,
}


def test_a_real_node_of_1_36_offers_what_it_said() -> None:
    """Section G: reservedSystemCPUs "0", memory.available 100Mi, nodefs.available 5%."""
    system, kube = with_reserved_cpus({}, {}, "0")
    hard = {
        "imagefs.available": "5%",
        "memory.available": "100Mi",
        "nodefs.available": "5%",
        "nodefs.inodesFree": "5%",
    }
    assert allocatable(REAL_CAPACITY, system, kube, hard) == {
        "cpu": 1000,
        "ephemeral-storage": 257025515114,
        "hugepages-1Gi": 0,
        "hugepages-2Mi": 0,
        "memory": 24581696 * KI,
        "pods": 110,
    }


def test_a_percentage_is_taken_of_a_32_bit_fraction() -> None:
    """An exact tenth would leave 76063116903 (rules: allocatable)."""
    capacity = {"ephemeral-storage": 82533764 * KI}
    assert allocatable(capacity, {}, {}, {"nodefs.available": "10%"}) == {"ephemeral-storage": 76063116777}


def test_both_reservations_and_the_hard_threshold_are_taken_off() -> None:
    left = allocatable(
        {"cpu": 4000, "memory": 8 * GI, "pods": 110},
        {"cpu": "100m", "memory": "1Gi", "pid": "1000"},
        {"cpu": "0.5", "memory": "512Mi"},
        {"memory.available": "512Mi"},
    )
    assert left == {"cpu": 3400, "memory": 6 * GI, "pods": 110}


def test_only_memory_and_nodefs_thresholds_withhold_anything() -> None:
    capacity = {"memory": GI, "ephemeral-storage": GI}
    hard = {"imagefs.available": "50%", "nodefs.inodesFree": "50%", "pid.available": "50%"}
    assert allocatable(capacity, {}, {}, hard) == capacity


@pytest.mark.parametrize("ignored", ["0%", "100%"])
def test_a_threshold_that_the_kubelet_ignores_withholds_nothing(ignored: str) -> None:
    assert allocatable({"memory": GI}, {}, {}, {"memory.available": ignored}) == {"memory": GI}


def test_memory_loses_all_huge_pages_besides() -> None:
    capacity = {"memory": 8 * GI, "hugepages-2Mi": 2 * GI, "hugepages-1Gi": GI}
    assert allocatable(capacity, {"memory": "1Gi"}, {}, {}) == {
        "memory": 4 * GI,
        "hugepages-2Mi": 2 * GI,
        "hugepages-1Gi": GI,
    }


def test_allocatable_is_never_below_zero() -> None:
    capacity = {"cpu": 1000, "memory": GI, "hugepages-1Gi": GI}
    assert allocatable(capacity, {"cpu": "2", "memory": "512Mi"}, {}, {}) == {
        "cpu": 0,
        "memory": 0,
        "hugepages-1Gi": GI,
    }


def test_what_is_left_of_a_fraction_is_rounded_up() -> None:
    assert allocatable({"cpu": 1000, "memory": 1000}, {"cpu": "1500u", "memory": "1500m"}, {}, {}) == {
        "cpu": 999,
        "memory": 999,
    }


def test_reserved_cpus_replace_both_reservations_of_cpu() -> None:
    system, kube = with_reserved_cpus({"cpu": "9", "memory": "1Gi"}, {"cpu": "9", "memory": "2Gi"}, "0-1,8")
    assert system == {"cpu": "3", "memory": "1Gi"}
    assert kube == {"memory": "2Gi"}


def test_without_reserved_cpus_the_reservations_stay() -> None:
    assert with_reserved_cpus({"cpu": "1"}, {"cpu": "2"}, "") == ({"cpu": "1"}, {"cpu": "2"})


def test_a_broken_cpu_list_is_refused() -> None:
    with pytest.raises(InvalidCpuSet):
        with_reserved_cpus({}, {}, "3-1")


@pytest.mark.parametrize(
    ("capacity", "text", "expected"),
    [
        (264212084 * KI, "5%", 264212084 * KI - 257025515114),
        (82533764 * KI, "10%", 82533764 * KI - 76063116777),
        (1000, "0%", 0),
        (1000, "50%", 500),
        (1000, "100%", 1000),
        (1000, "12.5%", 125),
        (0, "10%", 0),
    ],
)
def test_percentages_of_a_capacity(capacity: int, text: str, expected: int) -> None:
    assert percent_of(capacity, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "%", "5", "-5%", "101%", "5%%", " 5%", "5 %", "nan%", "inf%", "1e999%", "5%\n", "1_0%", "9" * 99 + "%"],
)
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        percent_of(1000, text)


@given(st.integers(0, 2**50), st.integers(0, 100))
def test_a_percentage_is_near_the_exact_one(capacity: int, percent: int) -> None:
    """24 bits of the fraction are right, and the result is cut to a whole number."""
    exact = capacity * percent / 100
    assert abs(percent_of(capacity, f"{percent}%") - exact) <= exact * 2**-24 + 1
