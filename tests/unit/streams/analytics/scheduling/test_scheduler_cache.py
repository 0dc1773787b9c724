"""A scheduler's cache shows missing nodes, and a list after an interruption makes no blind spot (rules:
scheduler-cache, blind-spots).
"""

import json
from collections.abc import Callable, Iterable

import msgspec
import pytest

from common.errors import BadRecord
from ingest.model.observation import Observation
from ingest.model.records import InventoryRecord, NodeRecord, Record, SchedulerCacheRecord
from ingest.normalize.normalize import normalize
from ingest.resources.scheduler_cache import about_the_cache
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


@pytest.mark.parametrize("kept", [str, lambda text: about_the_cache(text.encode()).decode()])
def test_a_dump_that_was_cut_lacks_no_node(kept: Callable[[str], str]) -> None:
    """The scheduler closes the value, and then dumps its queues; what it found missing itself still counts."""
    whole, _, _ = DUMP.partition("I1123 10:03:00.000003")
    assert spots([*THREE, observed(kept(whole))]) == [
        ("ghost_nodes", "ghost"),
        ("stale_view", "m2"),
        ("stale_view", "m3"),
    ]
    cut = observed(kept(whole.removesuffix(" >\n")))
    assert (cut.names, cut.cut) == (None, True)
    assert spots([*THREE, cut]) == [("stale_view", "m3")]


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


QUEUES = """scheduler_pending_pods{queue="active"} 1
scheduler_pending_pods{queue="backoff"} 0
scheduler_pending_pods{queue="gated"} 2
scheduler_pending_pods{queue="unschedulable"} 3
"""
POD = "\tname: %s, namespace: shop, uid: uid-%s, phase: Pending, nominated node: \n"
OF_PODS = "".join(POD % (each, each) for each in "abc")
QUEUED = DUMP.partition(" summary=")[0]


def queues(record: SchedulerCacheRecord) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {each.queue: (each.pods, each.uids) for each in record.queues}


def test_the_metrics_count_the_pods_of_each_queue_of_the_one_that_leads() -> None:
    leads = 'leader_election_master_status{name="kube-scheduler"} %s\n'
    counts = {"active": (1, ()), "backoff": (0, ()), "gated": (2, ()), "unschedulable": (3, ())}
    assert queues(observed(QUEUES + SIZE % 3)) == counts
    assert queues(observed(QUEUES + SIZE % 3 + leads % 1)) == counts
    assert queues(observed(QUEUES + SIZE % 3 + leads % 0)) == {}, "no pod leaves the queues of one that stands by"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dump_lists_the_pods_of_one_queue_after_those_of_another(form: str) -> None:
    summary = 'summary="activeQ:1; backoffQ:0; unschedulablePods:2"'
    dumped = f"{QUEUED} {summary} pods=<\n{OF_PODS} >\n"
    if form == "json":
        pods = json.dumps(OF_PODS.replace("\t", ""))
        dumped = f'{QUEUED[:-1]}","summary":"activeQ:1; backoffQ:0; unschedulablePods:2","pods":{pods}}}\n'
    for text in (dumped, about_the_cache(dumped.encode()).decode()):
        assert queues(observed(text)) == {
            "active": (1, ("uid-a",)),
            "backoff": (0, ()),
            "unschedulable": (2, ("uid-b", "uid-c")),
        }


def test_of_a_dump_that_was_cut_the_queue_of_a_pod_is_unknown() -> None:
    cut = f'{QUEUED} summary="activeQ:2; backoffQ:0; unschedulablePods:2" pods=<\n{OF_PODS}'
    assert queues(observed(cut)) == {"active": (2, ()), "backoff": (0, ()), "unschedulable": (2, ())}
    assert queues(observed(f"{QUEUED}:\n{OF_PODS}")) == {}, "old versions write no summary"


NODES = "Dump of cached NodeInfo\n" + "".join(f"Node name: {each}\n" for each in ("m1", "m2", "m3", "w1"))
WHOLE = f"{NODES}Dump of scheduling queue\n"


def lost(*texts: tuple[str, float]) -> list[tuple[str, str]]:
    """The evidence for lost nodes, by verdict; node m3 is lost in a text at 180 s."""
    nodes = [node(name, zone="one", version="v1.18.4") for name in ("m1", "m2", "m3")]
    nodes.append(node("w1", zone="two", version="v1.18.4"))
    failure = pod("p", 180, "0/4 nodes are available: 3 node(s) didn't match node selector.")
    caches = [observed(text, seconds) for text, seconds in texts]
    return concluded([*nodes, *sorted([failure, *caches, tick(300), tick(4000)], key=lambda each: each.ts)])


def concluded(records: Iterable[Record]) -> list[tuple[str, str]]:
    state, rows = State(), list[object]()
    assert REDUCER.expire is not None
    for record in records:
        state, found = REDUCER.step(state, record)
        rows += found
        after, found = REDUCER.expire(state, record.ts)
        assert after is not None
        state, rows = after, [*rows, *found]
    found_rows = {(row.ts, row.test): row for row in rows if isinstance(row, SchedulerBlindSpot)}
    return sorted((row.verdict, row.evidence) for row in found_rows.values())


AT_FAULT = "the list that it makes of them is at fault"


@pytest.mark.parametrize(
    ("text", "seconds", "says"),
    [
        (WHOLE, 60, f"its cache, dumped 2 min before, has all 4 nodes: {AT_FAULT}"),
        (WHOLE, 210, f"its cache, dumped 30 s later, has all 4 nodes: {AT_FAULT}"),
        (WHOLE, 700, f"its cache, dumped 8 min 40 s later, has all 4 nodes: {AT_FAULT}"),
        (WHOLE, 2000, ""),  # another scheduler may have started since
        (QUEUES + SIZE % 4, 600, f"its cache has 4 nodes, as many as exist: {AT_FAULT}"),
        (SIZE % 4, 600, ""),  # it may not lead
        (WHOLE.replace("m3", "m9"), 210, ""),
        (NODES, 210, ""),  # it was cut
    ],
)
def test_a_whole_cache_is_evidence_that_the_list_is_at_fault(text: str, seconds: float, says: str) -> None:
    without, with_cache = lost(), lost((text, seconds))
    assert [verdict for verdict, _ in without] == ["lost_node"]
    of_lost = [evidence for verdict, evidence in with_cache if verdict == "lost_node"]
    assert of_lost == [f"{evidence}; {says}" if says else evidence for _, evidence in without]


def test_a_cache_from_before_a_node_joined_is_no_evidence_about_the_list() -> None:
    """It cannot show whether the later node is missing in the cache or in the list."""
    before = observed(
        "Dump of cached NodeInfo\nNode name: m1\nNode name: m2\nNode name: w1\nDump of scheduling queue\n", 60
    )
    nodes = [node(name, zone="one", version="v1.18.4") for name in ("m1", "m2")]
    nodes.append(node("w1", zone="two", version="v1.18.4"))
    failure = pod("p", 400, "0/4 nodes are available: 3 node(s) didn't match node selector.")
    joined = node("m3", zone="one", version="v1.18.4", seconds=90, created=at(90))
    found = [evidence for _, evidence in concluded([*nodes, before, joined, failure, tick(600)])]
    assert len(found) == 1
    assert "its cache" not in found[0]


@pytest.mark.parametrize("words", ["Cache mismatch ", 'Cache mismatch" missedNodes=['])
def test_a_line_that_repeats_the_words_of_a_comparison_is_read_in_one_pass(words: str) -> None:
    """A search from each of them to the end of the line would take hours."""
    hostile = words * 200_000
    kept = about_the_cache(f"{hostile}\n{DUMP}".encode()).decode()
    assert 'missedNodes=["m3"]' in kept
    assert observed(f"{hostile}\n{WHOLE}").missed == ()
