"""A scheduler's cache shows missing nodes, and a list after an interruption makes no blind spot (rules:
scheduler-cache, blind-spots).
"""

import json
from collections.abc import Iterable

import msgspec
import pytest

from common.errors import BadRecord
from ingest.model.observation import Observation
from ingest.model.records import InventoryRecord, NodeRecord, Record, SchedulerCacheRecord
from ingest.normalize.normalize import normalize
from streams.analytics.scheduling.cluster_nodes import State
from streams.analytics.scheduling.scheduling import REDUCER
from streams.fold.findings import SchedulerBlindSpot
from unit.streams.analytics.scheduling.test_scheduling import at, node, pod, tick

SIZE = 'scheduler_cache_size{type="nodes"} %s\nscheduler_cache_size{type="pods"} 9\n'
DUMP = """I1123 10:03:00.000001       1 comparer.go:71] "Cache mismatch" missedNodes=["m3"] redundantNodes=[]
I1123 10:03:00.000002       1 dumper.go:53] "Dump of cached NodeInfo" nodes=<
\tNode name: m1
\tDeleted: false
\tRequested Resources: &{MilliCPU:0 Memory:0}
\tScheduled Pods(number: 0):

\tNode name: ghost
\tDeleted: false

\tNode name: left
\tDeleted: true
 >
I1123 10:03:00.000003       1 dumper.go:63] "Dump of scheduling queue" summary="" pods="Node name: none"
"""


def observed(text: str, seconds: float = 180, **more: str) -> SchedulerCacheRecord:
    raw = msgspec.Raw(json.dumps({"text": text, **more}).encode())
    seen = Observation(
        ts=at(seconds),
        cluster="stage",
        source="list",
        resource="scheduler_cache",
        type="SNAPSHOT",
        node="",
        object=raw,
    )
    (record,) = normalize(seen)
    assert isinstance(record, SchedulerCacheRecord)
    return record


def spots(records: Iterable[Record], until: float = 600) -> list[tuple[str, str]]:
    """Verdicts and nodes; all that is uncertain is left out."""
    state = State()
    rows: list[object] = []
    for record in records:
        state, found = REDUCER.step(state, record)
        rows += found
        for each in found:  # what reducers emit onto their own log's nodes comes back to it
            if isinstance(each, NodeRecord):
                state, more = REDUCER.step(state, each)
                rows += more
    assert REDUCER.expire is not None
    _, concluded = REDUCER.expire(state, at(until))
    seen = [row for row in [*rows, *concluded] if isinstance(row, SchedulerBlindSpot)]
    return sorted((row.verdict, row.node) for row in seen if row.verdict != "inconclusive")


THREE = [node(name) for name in ("m1", "m2", "m3")]


def test_a_metric_and_a_dump_are_read() -> None:
    assert observed(SIZE % 12).nodes == 12
    assert observed(f"scheduler_{SIZE % '3'}").names is None
    dump = observed(DUMP)
    assert (dump.names, dump.missed) == (("ghost", "m1"), ("m3",))


@pytest.mark.parametrize("text", ["", "scheduler_cache_size 3", SIZE % "NaN"])
def test_a_text_without_either_is_a_dead_letter(text: str) -> None:
    with pytest.raises(BadRecord):
        observed(text)


def test_a_cache_that_lacks_a_node_or_has_one_too_many_is_found() -> None:
    assert spots([*THREE, observed(SIZE % 3)]) == []
    assert spots([*THREE, observed(SIZE % 2)]) == [("stale_view", "")]
    assert spots([*THREE, observed(SIZE % 4, 700)]) == [("ghost_nodes", "")]
    assert spots([*THREE, observed(SIZE % 4, 600)]) == [], "it may have left before this log began"


def test_of_several_schedulers_the_evidence_names_the_one() -> None:
    state = State()
    for record in THREE:
        state, _ = REDUCER.step(state, record)
    found = {
        host: REDUCER.step(state, observed(SIZE % nodes, scheduler=host))[1]
        for host, nodes in (("10.0.0.1:10259", 3), ("10.0.0.2:10259", 2))
    }
    assert found["10.0.0.1:10259"] == ()
    (row,) = found["10.0.0.2:10259"]
    assert isinstance(row, SchedulerBlindSpot)
    assert row.evidence.startswith(
        "10.0.0.2:10259: scheduler_cache_size: the scheduler counts 2 nodes, 3 have existed"
    )


def test_a_dump_names_the_nodes() -> None:
    assert spots([*THREE, observed(DUMP)]) == [("ghost_nodes", "ghost"), ("stale_view", "m2"), ("stale_view", "m3")]


def test_without_nodes_a_cache_shows_nothing() -> None:
    assert spots([tick(0), observed(SIZE % 4), observed(DUMP)]) == []


@pytest.mark.parametrize(("created", "found"), [(150, []), (31, []), (29, [("stale_view", "")])])
def test_a_node_younger_than_a_minute_when_it_was_asked_may_be_missing_still(
    created: float, found: list[tuple[str, str]]
) -> None:
    """A number can be 90 s older than its record."""
    young = node("m3", created, created=at(created))
    assert spots([*THREE[:2], young, observed(SIZE % 2)]) == found


@pytest.mark.parametrize("left", [1, 620])
def test_a_node_that_left_is_counted_for_as_long_as_it_has_pods(left: float) -> None:
    """Event objects are collected 40 to 80 s after their node left, and later if something holds them."""
    gone = node("m3", 700 - left, change="DELETED")
    assert spots([*THREE, gone, observed(SIZE % 3, 700)], until=700) == []
    assert spots([*THREE, gone, observed(SIZE % 4, 700)], until=700) == [("ghost_nodes", "")]


def test_a_node_that_was_created_by_a_clock_ahead_counts() -> None:
    assert spots([*THREE[:2], node("m3", 700, created=at(702)), observed(SIZE % 3, 700)], until=700) == []


def inventory(seconds: float, *uids: str) -> InventoryRecord:
    return InventoryRecord(ts=at(seconds), cluster="stage", resource="nodes", keys=uids)


@pytest.mark.parametrize("listed_first", [True, False])
def test_after_an_interruption_no_list_makes_a_blind_spot(listed_first: bool) -> None:
    # m3 was deleted while nobody watched; the scheduler counts the two that are left. The pods may be listed before
    # the nodes: then the text is older than what shows that m3 is gone.
    text = pod("p", 898 if listed_first else 905, "0/2 nodes are available: 2 Insufficient cpu.", created=at(100))
    relist = inventory(900, "uid-m1", "uid-m2")
    records = [text, relist] if listed_first else [relist, text]
    assert spots([*THREE, *records, tick(1000)], until=1200) == []


def test_a_deletion_that_was_seen_after_the_text_still_shows_a_stale_view() -> None:
    text = pod("p", 898, "0/2 nodes are available: 2 Insufficient cpu.")
    gone = node("m3", 900, change="DELETED")
    assert spots([*THREE, text, gone, tick(1000)], until=1200) == [("stale_view", "")]


def test_a_cache_that_was_read_before_the_list_is_not_blamed_either() -> None:
    assert spots([*THREE, inventory(900, "uid-m1", "uid-m2"), observed(SIZE % 2, 905)], until=1200) == []
