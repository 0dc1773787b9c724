"""The same pods by other strategies; random cases against a model that keeps every CPU apart."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.model.machine import NumaBin, NumaClaim
from profiles import EXAMPLES
from streams.rules.numa.placement import STRATEGIES, NodeBins, PlacementResult, Strategy, place
from streams.rules.numa.skew import NumaNumbers, skew

START = datetime(2026, 1, 1, tzinfo=UTC)


def bins(*cores: int, threads: int = 2, node: str = "n", single: bool = False) -> NodeBins:
    return NodeBins(node, tuple(NumaBin(numa, each, 0, threads) for numa, each in enumerate(cores)), single)


def claims(*cpus: int | tuple[int, ...], group: str = "") -> list[NumaClaim]:
    return [
        NumaClaim(START + timedelta(seconds=i), f"pod-{i}", each if isinstance(each, tuple) else (each,), group)
        for i, each in enumerate(cpus)
    ]


def held(placed: PlacementResult, node: str = "n") -> list[int | None]:
    return [each.exclusive_cpus for each in placed.numbers[node]]


def test_most_allocated_fills_the_fullest_numa_node_that_fits() -> None:
    assert held(place([bins(4, 4)], claims(4, 2, 2, 2), "most_allocated")) == [8, 2]


def test_least_allocated_takes_the_emptiest_numa_node() -> None:
    assert held(place([bins(4, 4)], claims(4, 2, 2, 2), "least_allocated")) == [6, 4]


def test_distribute_evenly_splits_each_container_over_the_numa_nodes() -> None:
    placed = place([bins(4, 4)], claims(4, 3), "distribute_evenly")
    assert held(placed) == [4, 3]
    assert placed.spanning_pods == 2


def test_pods_are_placed_by_arrival_whatever_their_order_in_the_input() -> None:
    pods = claims(6, 4, 4, 2)
    for strategy in STRATEGIES:
        assert place([bins(4, 4)], pods, strategy) == place([bins(4, 4)], reversed(pods), strategy)


def test_whole_cores_go_first_when_packing_and_single_threads_when_spreading() -> None:
    packed = place([bins(4)], claims(2, 2), "most_allocated").numbers["n"][0]
    spread = place([bins(4)], claims(2, 2), "least_allocated").numbers["n"][0]
    assert (packed.free_cpus, packed.free_cores) == (4, 2)
    assert (spread.free_cpus, spread.free_cores) == (4, 0)


def test_spreading_by_physical_cores_keeps_pods_close_on_their_own_cores() -> None:
    placed = place([bins(4, 4)], claims(2, 2), "spread_by_pcpus").numbers["n"]
    assert [(each.free_cpus, each.free_cores) for each in placed] == [(4, 0), (8, 4)]


def test_full_cores_only_leaves_out_loose_threads_and_partial_cores() -> None:
    node = NodeBins("n", (NumaBin(0, whole_cores=3, loose_cpus=1, threads_per_core=2),))
    placed = place([node], claims(2, 3, 6), "full_pcpus_only")
    assert (placed.unplaced_pods, held(placed), placed.numbers["n"][0].free_cpus) == (2, [2], 4)
    assert place([node], claims(2, 3, 2), "most_allocated").unplaced_pods == 0


def test_odd_requests_share_a_core_when_packing() -> None:
    assert place([bins(4)], claims(1, 1, 3), "most_allocated").numbers["n"][0].free_cores == 1


@pytest.mark.parametrize(("single", "expected"), [(False, (1, 0, [4, 2])), (True, (0, 1, [0, 0]))])
def test_a_container_wider_than_a_numa_node_spans_only_where_the_policy_allows(
    single: bool, expected: tuple[int, int, list[int]]
) -> None:
    placed = place([bins(2, 2, single=single)], claims(6), "most_allocated")
    assert (placed.spanning_pods, placed.unplaced_pods, held(placed)) == expected


def test_a_cluster_packs_nodes_or_spreads_over_them() -> None:
    cluster = [bins(4, 4, node="a"), bins(4, 4, node="b")]
    packed, spread = (place(cluster, claims(4, 4, 4), s) for s in ("most_allocated", "least_allocated"))
    assert (held(packed, "a"), held(packed, "b")) == ([8, 4], [0, 0])
    assert (held(spread, "a"), held(spread, "b")) == ([4, 4], [4, 0])


def test_the_fullest_node_is_skipped_if_none_of_its_numa_nodes_fits() -> None:
    cluster = [bins(2, 2, node="a"), bins(4, 4, node="b")]
    placed = place(cluster, claims(2, 6), "most_allocated")
    assert (held(placed, "a"), held(placed, "b")) == ([2, 0], [6, 0])


def test_a_gang_stays_on_one_numa_node_or_else_on_one_node() -> None:
    alone = claims(6)
    gang = [replace(claim, uid=f"g{i}", group="g") for i, claim in enumerate(claims(2, 2))]
    fits = [*alone, *(replace(c, arrived_at=START + timedelta(minutes=1)) for c in gang)]
    assert held(place([bins(4, 4)], fits, "gang")) == [6, 4]
    assert held(place([bins(4, 4)], fits, "most_allocated")) == [8, 2]
    cluster = [bins(1, 1, node="a"), bins(3, 3, node="b")]
    together = place(cluster, claims(4, 4, group="g"), "gang")
    assert (held(together, "a"), held(together, "b")) == ([0, 0], [4, 4])


def test_a_gang_that_fits_nowhere_is_placed_pod_by_pod() -> None:
    placed = place([bins(2), bins(1, node="m")], claims(2, 2, 2, 2, group="g"), "gang")
    assert placed.unplaced_pods == 1
    assert held(placed) + held(placed, "m") == [4, 2]


@given(
    cores=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 7), max_size=6),
    threads=st.integers(1, 2),
    strategy=st.sampled_from(STRATEGIES),
)
@settings(max_examples=EXAMPLES * 3 // 2)
def test_placement_on_one_node_equals_a_model_of_single_cpus(
    cores: list[int], sizes: list[int], threads: int, strategy: Strategy
) -> None:
    placed = place([bins(*cores, threads=threads)], claims(*sizes), strategy)
    model = [[threads] * count for count in cores]
    unplaced = 0
    for size in sizes:
        free = [sum(numa) for numa in model]
        if sum(free) < size or (strategy == "full_pcpus_only" and size % threads):
            unplaced += 1
            continue
        for numa, share in enumerate(model_shares(free, size, strategy)):
            for _ in range(share):
                take_thread(
                    model[numa],
                    left=share,
                    threads=threads,
                    spread=strategy in {"least_allocated", "spread_by_pcpus"},
                )
                share -= 1  # noqa: PLW2901  what is left decides whether a whole core is opened
    assert placed.unplaced_pods == unplaced
    assert [each.free_cpus for each in placed.numbers["n"]] == [sum(numa) for numa in model]
    assert [each.free_cores for each in placed.numbers["n"]] == [numa.count(threads) for numa in model]
    expected = skew(
        [
            NumaNumbers(0, sum(n), 0, sum(n) - f, f)
            for n, f in zip(([threads] * count for count in cores), map(sum, model), strict=True)
        ]
    )
    assert skew(placed.numbers["n"]) == expected


def model_shares(free: list[int], size: int, strategy: Strategy) -> list[int]:
    shares = [0] * len(free)
    if strategy == "distribute_evenly":
        for _ in range(size):
            shares[even_choice(free, shares)] += 1
        return shares
    fitting = [numa for numa in range(len(free)) if free[numa] >= size]
    if fitting:
        pick = max if strategy == "least_allocated" else min
        best = pick(free[numa] for numa in fitting)
        shares[next(numa for numa in fitting if free[numa] == best)] = size
        return shares
    for _ in range(size):
        open_ = [n for n in range(len(free)) if 0 < shares[n] < free[n]]
        untouched = [n for n in range(len(free)) if not shares[n] and free[n]]
        shares[(open_ or [max(untouched, key=lambda n: (free[n], -n))])[0]] += 1
    return shares


def even_choice(free: list[int], shares: list[int]) -> int:
    open_ = [numa for numa in range(len(free)) if shares[numa] < free[numa]]
    fewest = min(shares[numa] for numa in open_)
    return max((numa for numa in open_ if shares[numa] == fewest), key=lambda numa: (free[numa], -numa))


def take_thread(cores: list[int], *, left: int, threads: int, spread: bool) -> None:
    whole = [i for i, free in enumerate(cores) if free == threads]
    broken = [i for i, free in enumerate(cores) if 0 < free < threads]
    opens = whole and (spread or (left >= threads and not broken_here(cores, threads)))
    chosen = whole[0] if opens else (broken or whole)[0]
    cores[chosen] -= 1


def broken_here(cores: list[int], threads: int) -> bool:
    return any(0 < free < threads for free in cores)
