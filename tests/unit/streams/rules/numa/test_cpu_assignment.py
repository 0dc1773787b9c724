"""The static policy picks CPUs, reasoned from pkg/kubelet/cm/cpumanager/cpu_assignment.go.

That it picks the very CPUs that real kubelets picked is shown by `tests/integration/commands/test_numa_kubelets.py`.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from streams.rules.numa.cpu_assignment import NotEnoughCpus, StaticPolicyOptions, sockets_of, take_cpus
from streams.rules.numa.topology import numa_topology

FOUR = numa_topology([Cpu(cpu=c, core=c // 2 % 8, socket=c // 16, numa=c // 8) for c in range(32)])
"""Two sockets of two NUMA nodes of 4 cores with 2 threads: 0-7, 8-15, 16-23, 24-31; siblings are neighbours."""
ALL = frozenset(range(32))
PLAIN = StaticPolicyOptions()


def take(
    free: frozenset[int], count: int, affinity: set[int] | None = None, options: StaticPolicyOptions = PLAIN
) -> set[int]:
    return set(take_cpus(FOUR, free, count, None if affinity is None else frozenset(affinity), options))


def test_a_whole_socket_comes_before_whole_numa_nodes() -> None:
    # 0-7 is in use, so that socket 1 is the only whole one; it is larger than NUMA node 1, where less is free.
    assert take(ALL - set(range(8)), 16) == set(range(16, 32))
    assert take(ALL - set(range(8)), 8) == set(range(8, 16))


def test_cores_come_from_the_fullest_socket_and_there_from_the_fullest_numa_node() -> None:
    free = ALL - {0, 1, 8, 9, 10, 11, 24, 25}
    # Socket 0 has 10 free CPUs, socket 1 14; on socket 0 NUMA node 1 has 4, NUMA node 0 has 6.
    assert take(free, 2) == {12, 13}
    assert take(free, 6) == {12, 13, 14, 15, 2, 3}


def test_an_odd_cpu_comes_from_a_half_free_core() -> None:
    assert take(ALL - {0, 31}, 1) == {1}
    assert take(ALL - {31}, 3, {0, 1}) == {0, 1, 2}


def test_distribution_over_cores_takes_cpus_in_the_order_of_their_ids() -> None:
    interleaved = numa_topology([Cpu(cpu=c, core=c % 4, socket=0, numa=0) for c in range(8)])
    spread = StaticPolicyOptions(across_cores=True)
    assert take_cpus(interleaved, frozenset(range(8)), 3, None, spread) == {0, 1, 2}
    assert take_cpus(interleaved, frozenset(range(8)), 3, None, PLAIN) == {0, 4, 1}


def test_distribution_uses_the_fewest_numa_nodes_with_equal_shares() -> None:
    spread = StaticPolicyOptions(across_numa=True)
    assert take(ALL, 6, None, spread) == set(range(6))
    assert take(ALL, 12, None, spread) == {0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}
    # On NUMA node 0 two CPUs are free: 12 over it and another is no even split, so that the next two give 6 each.
    assert take(ALL - {0, 1, 2, 3, 4, 5}, 12, None, spread) == {8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 21}


def test_distribution_gives_whole_cores_with_full_pcpus_only() -> None:
    spread = StaticPolicyOptions(across_numa=True, whole_cores=True)
    # 10 CPUs are 5 cores: two of each NUMA node, and one more of that with the most left.
    assert take(ALL - {0, 1}, 10, {0, 1}, spread) == {2, 3, 4, 5, 8, 9, 10, 11, 12, 13}


def test_align_by_socket_stays_on_the_socket_of_the_hint() -> None:
    free = ALL - set(range(14)) - {20, 21, 22, 23}
    # NUMA node 2 has 16-19 only. The rest comes from the fullest socket, 14-15, or from the hint's own, NUMA node 3.
    assert take(free, 6, {2}) == {14, 15, 16, 17, 18, 19}
    assert take(free, 6, {2}, StaticPolicyOptions(by_socket=True)) == {16, 17, 18, 19, 24, 25}
    assert sockets_of(FOUR, frozenset({0, 3})) == {0, 1}


@pytest.mark.parametrize(
    ("free", "count", "affinity", "requested", "available"),
    [(frozenset(range(3)), 4, None, 4, 3), (frozenset(range(3)), 4, {0}, 1, 0), (frozenset({0, 8}), 4, {0}, 3, 1)],
)
def test_the_step_that_runs_out_reports_its_own_numbers(
    free: frozenset[int], count: int, affinity: set[int] | None, requested: int, available: int
) -> None:
    with pytest.raises(NotEnoughCpus, match=f"requested={requested}, available={available}$"):
        take(free, count, affinity)


options = st.builds(StaticPolicyOptions, *[st.booleans()] * 4)


@given(st.sets(st.integers(0, 31)).map(frozenset), options, st.data())
def test_taken_cpus_are_free_and_as_many_as_requested(
    free: frozenset[int], chosen: StaticPolicyOptions, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, len(free)))
    affinity = data.draw(st.none() | st.sets(st.integers(0, 3), min_size=1))
    taken = take(free, count, affinity, chosen)
    assert len(taken) == count
    assert taken <= free


@given(st.sets(st.integers(0, 31)).map(frozenset), st.integers(0, 3))
def test_a_hint_of_one_numa_node_is_kept_if_it_has_enough(free: frozenset[int], numa: int) -> None:
    here = free & FOUR.numa_nodes[numa].cpus
    for count, more in pairwise(range(len(here) + 1)):
        assert take(free, count, {numa}) <= here
        assert take(free, more, {numa}, StaticPolicyOptions(across_numa=True)) <= here
