"""The NUMA reducers over the real capture and over invented logs (rules: recorded-behaviour)."""

import gzip
import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bench import late_joiners
from ingest.files.sources import read_sources
from ingest.model.machine import NumaBin, NumaClaim
from ingest.model.observation import Observed
from ingest.model.records import NodeNumaRecord, Record
from ingest.normalize.normalize import normalize
from paths import LATE_JOINERS, NODE_PRESSURE
from profiles import EXAMPLES
from streams.analytics.numa import numa_cluster, numa_skew
from streams.fold.findings import LateJoiners, NumaAllocation, NumaDisagreement, NumaPod, NumaSkew, NumaWhatif
from streams.fold.fold import Fold, LogState
from streams.fold.reducer import Output, Reducer

START = datetime(2026, 1, 1, tzinfo=UTC)


def recorded(*without: str) -> list[Output]:
    """Return the node reducer's rows about the real node, some resources left out."""
    log, fold, said = LogState(), Fold([numa_skew.REDUCER]), list[Output]()
    for item in read_sources([NODE_PRESSURE]):
        assert isinstance(item, Observed)
        if item.observation.resource not in without:
            for record in normalize(item.observation):
                if record.node:
                    said += [each for each in fold.step(log, record) if isinstance(each, tuple | Record)]  # type: ignore[misc]
    return said


def exclusive(said: Iterable[Output]) -> list[tuple[int, int | None]]:
    rows = [(each.numa_node, each.exclusive_cpus) for each in said if isinstance(each, NumaAllocation)]
    return [row for row, _ in itertools.groupby(rows)]


def test_the_real_node_has_one_numa_node_with_one_exclusive_cpu_until_pinned_is_evicted() -> None:
    said = recorded()
    assert exclusive(said) == [(0, 1), (0, 0)]
    last = [each for each in said if isinstance(each, NumaAllocation)][-1]
    assert (last.cpus, last.reserved_cpus, last.free_cpus) == (2, 1, 1)
    assert (last.source, last.fidelity) == ("cpu_manager_state", "count")
    assert (last.witnesses, last.assumed) == (["kubelet_metrics"], ["single_numa_node"])
    pods = [(each.pod, each.container, each.cpuset, each.numa_nodes) for each in said if isinstance(each, NumaPod)]
    assert pods == [("pinned", "w", "1", [0]), ("pinned", "w", "", [])]


def test_the_metric_of_the_real_node_alone_reports_the_same() -> None:
    assert exclusive(recorded("cpu_manager_state")) == [(0, 1), (0, 0)]


def test_the_checkpoint_of_the_real_node_alone_reports_no_numa_node() -> None:
    said = recorded("metrics")
    assert exclusive(said) == [(-1, 1), (-1, 0)]
    assert {each.fidelity for each in said if isinstance(each, NumaSkew)} == {"none"}


def test_the_stale_gauge_of_the_real_node_is_the_only_disagreement() -> None:
    found = [each for each in recorded() if isinstance(each, NumaDisagreement)]
    assert [(each.numa_node, each.value_a, each.value_b) for each in found] == [(0, 0, 1)]
    assert "keeps its value" in found[0].explanation


def test_the_example_is_what_its_generator_writes() -> None:
    with gzip.open(LATE_JOINERS, "rt") as lines:
        assert [line.rstrip("\n") for line in lines] == list(late_joiners.lines())


def summary(
    node: str, minute: float, exclusive_cpus: int, *, age_hours: int = 1, gone: bool = False
) -> NodeNumaRecord:
    return NodeNumaRecord(
        ts=START + timedelta(minutes=minute),
        cluster="c",
        target=node,
        gone=gone,
        created_at=START - timedelta(hours=age_hours),
        exclusive_cpus=exclusive_cpus,
        allocatable_cpus=10,
        free_cpus=10 - exclusive_cpus,
        largest_fit_cpus=10 - exclusive_cpus,
        fidelity="exact",
        bins=(NumaBin(0, 5, 0, 2),),
        claims=(NumaClaim(START, f"pod-{node}", (exclusive_cpus,)),) if exclusive_cpus else (),
    )


def test_how_far_apart_groups_of_late_joiners_are_is_a_setting() -> None:
    """Two nodes of 5 and 4 hours: one group with the default of 6 hours, two with half an hour."""
    records = [summary("old", 0, 9, age_hours=5), summary("young", 0, 1, age_hours=4)]

    def youngest(reducer: Reducer[numa_cluster.State]) -> list[list[str]]:
        log, fold = LogState(), Fold([reducer])
        rows = [row for record in records for row in fold.step(log, record) if isinstance(row, LateJoiners)]
        return [row.youngest_nodes for row in rows[-1:]]

    assert youngest(numa_cluster.REDUCER) == [[]]
    assert youngest(numa_cluster.reducer(timedelta(minutes=30))) == [["young"]]


def last_rows(records: Sequence[NodeNumaRecord]) -> dict[tuple[object, ...], object]:
    """The rows that a query sees: the last version of each natural key."""
    log, fold = LogState(), Fold([numa_cluster.REDUCER])
    rows: dict[tuple[object, ...], object] = {}
    for record in records:
        for row in fold.step(log, record):
            match row:
                case NumaSkew() | LateJoiners():
                    assert row.ts.second == 0
                    rows[type(row), row.ts] = row
                case NumaWhatif():
                    rows[type(row), row.strategy] = row
                case _:
                    raise AssertionError(row)
    return rows


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.integers(0, 10), st.booleans()),
        min_size=1,
        max_size=8,
    ),
)
@settings(max_examples=EXAMPLES * 4 // 5)
def test_the_rows_of_a_cluster_do_not_depend_on_the_order_of_its_nodes(
    happenings: list[tuple[str, int, int, bool]],
) -> None:
    ordered = sorted(happenings, key=lambda each: each[1])
    logs = {
        node: [
            summary(node, at / 4, cpus, age_hours=ord(node), gone=gone) for n, at, cpus, gone in ordered if n == node
        ]
        for node in "abc"
    }
    one_by_one = [record for log in logs.values() for record in log]
    mixed = sorted(one_by_one, key=lambda record: record.ts)
    backwards = [record for _, log in sorted(logs.items(), reverse=True) for record in log]
    assert last_rows(one_by_one) == last_rows(mixed) == last_rows(backwards)


def test_a_minute_sums_up_what_was_known_of_each_node_at_its_end() -> None:
    rows = last_rows([summary("a", 0, 2), summary("b", 0.5, 4), summary("a", 1.2, 8), summary("b", 2, 0, gone=True)])
    found = {row.ts.minute: (row.nodes, row.exclusive_cpus) for row in rows.values() if isinstance(row, NumaSkew)}
    assert found == {0: (2, 6), 1: (2, 12), 2: (1, 8)}


def test_a_cluster_whose_younger_nodes_are_emptier_is_named() -> None:
    young = [summary(f"young-{i}", 0, 2, age_hours=1) for i in range(2)]
    old = [summary(f"old-{i}", 0, 8, age_hours=50) for i in range(2)]
    row = next(each for each in last_rows([*young, *old]).values() if isinstance(each, LateJoiners))
    assert (row.verdict, row.rank_correlation, row.gap_ratio) == ("late_joiners_emptier", 1.0, 0.8 - 0.2)
    assert (row.oldest_nodes, row.youngest_nodes) == (["old-0", "old-1"], ["young-0", "young-1"])


def test_nodes_of_one_age_conclude_nothing() -> None:
    row = next(
        each for each in last_rows([summary("a", 0, 2), summary("b", 0, 8)]).values() if isinstance(each, LateJoiners)
    )
    assert (row.verdict, row.rank_correlation, row.gap_ratio) == ("inconclusive", None, None)


def test_a_large_cluster_is_summed_up_when_the_next_minute_begins() -> None:
    many = [summary(f"n{i:03}", 0, i % 10) for i in range(numa_cluster.SMALL_CLUSTER + 20)]
    rows = last_rows([*many, summary("n000", 1.5, 9)])
    first = next(row for row in rows.values() if isinstance(row, NumaSkew) and row.ts == START)
    assert first.nodes == len(many)
    assert first.exclusive_cpus == sum(i % 10 for i in range(len(many)))


def test_what_is_older_than_a_day_is_forgotten_but_for_what_a_node_is() -> None:
    log, fold = LogState(), Fold([numa_cluster.REDUCER])
    for record in (summary("a", 0, 1), summary("a", 1, 2), summary("b", 0, 3, gone=True), summary("c", 3000, 4)):
        list(fold.step(log, record))
    list(fold.step(log, summary("c", 3001, 5)))
    state = log.states["numa_cluster"]
    assert isinstance(state, numa_cluster.State)
    assert {node: [each.exclusive for each in entries] for node, entries in state.history.items()} == {
        "a": [2],
        "c": [4, 5],
    }
