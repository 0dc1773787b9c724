"""Skew, largest fit and stranded CPUs equal a brute-force computation (glossary.md#numa)."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from profiles import EXAMPLES
from streams.rules.numa.skew import NumaNumbers, cluster_skew, counted_numbers, exact_numbers, skew
from streams.rules.numa.topology import numa_topology


@st.composite
def placements(draw: st.DrawFn) -> tuple[list[Cpu], frozenset[int], frozenset[int]]:
    """A machine of 1 to 4 NUMA nodes, 1 to 5 cores each, 1 or 2 threads, in any numbering; reserved and exclusive."""
    threads = draw(st.integers(1, 2))
    cores = [(numa, core) for numa in range(draw(st.integers(1, 4))) for core in range(draw(st.integers(1, 5)))]
    ids = draw(st.permutations(range(len(cores) * threads)))
    cpus = [
        Cpu(cpu=ids[index * threads + thread], core=core, socket=numa, numa=numa)
        for index, (numa, core) in enumerate(cores)
        for thread in range(threads)
    ]
    state = {each.cpu: draw(st.sampled_from(["free", "reserved", "exclusive"])) for each in cpus}
    return (
        cpus,
        frozenset(cpu for cpu, what in state.items() if what == "reserved"),
        frozenset(cpu for cpu, what in state.items() if what == "exclusive"),
    )


@given(placements())
@settings(max_examples=EXAMPLES * 3 // 2)
def test_the_numbers_equal_a_brute_force_computation(
    placement: tuple[list[Cpu], frozenset[int], frozenset[int]],
) -> None:
    cpus, reserved, exclusive = placement
    numbers = exact_numbers(numa_topology(cpus), reserved, exclusive)
    ratios: list[Fraction] = []
    free, fits = 0, []
    for numa in sorted({each.numa for each in cpus}):
        mine = [each for each in cpus if each.numa == numa]
        held = [each for each in mine if each.cpu in exclusive]
        left = [each for each in mine if each.cpu not in exclusive and each.cpu not in reserved]
        if len(held) + len(left):
            ratios.append(Fraction(len(held), len(held) + len(left)))
        free += len(left)
        # The largest request that still fits: try every size.
        fits.append(max(size for size in range(len(mine) + 1) if size <= len(left)))
        found = next(each for each in numbers if each.numa_node == numa)
        assert (found.cpus, found.free_cpus) == (len(mine), len(left))
        whole = {each.core for each in mine} - {each.core for each in mine if each not in left}
        assert found.free_cores == len(whole)
    total = skew(numbers)
    assert total is not None
    mean = sum(ratios, Fraction(0)) / max(1, len(ratios))
    deviation = sum((abs(ratio - mean) for ratio in ratios), Fraction(0)) / max(1, len(ratios))
    assert total.skew_ratio == pytest.approx(float(max(ratios) - min(ratios)) if ratios else 0.0)
    assert total.mean_absolute_deviation == pytest.approx(float(deviation))
    assert (total.free_cpus, total.largest_fit_cpus, total.stranded_cpus) == (free, max(fits), free - max(fits))


def test_an_unreported_number_gives_no_skew() -> None:
    known = counted_numbers(0, 8, 1, 2)
    assert known == NumaNumbers(0, 8, 1, 2, 5, None, None)
    assert skew([known, counted_numbers(1, None, None, 3)]) is None
    assert skew([]) is None


def test_a_numa_node_with_nothing_to_allocate_has_no_ratio() -> None:
    full = counted_numbers(0, 4, 0, 4)
    reserved = counted_numbers(1, 4, 4, 0)
    total = skew([full, reserved])
    assert total is not None
    assert (total.skew_ratio, total.largest_fit_cpus, total.stranded_cpus) == (0.0, 0, 0)


def test_the_largest_fit_of_a_cluster_is_that_of_one_numa_node() -> None:
    total = cluster_skew([(8, 16, 8, 5), (0, 16, 16, 8), (0, 0, 0, 0)])
    assert total is not None
    assert total == (0.5, 0.25, 24, 8, 16)
    assert cluster_skew([]) is None
