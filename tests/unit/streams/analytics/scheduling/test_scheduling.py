"""Failures to find a node, and the verdicts about the scheduler's list of nodes (rules: blind-spots)."""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.objects.base import Condition
from ingest.model.objects.event import Event, EventMetadata, EventSeries, ObjectReference
from ingest.model.objects.node import Node, NodeMetadata, NodeSpec, NodeStatus, NodeSystemInfo, Taint
from ingest.model.objects.pod import (
    Affinity,
    MatchExpression,
    NodeAffinity,
    NodeSelectorTerm,
    OwnerReference,
    Pod,
    PodMetadata,
    PodSpec,
    PodStatus,
    RequiredNodeAffinity,
    Toleration,
)
from ingest.model.records import EventRecord, NodeRecord, ObjectChange, PodPlacement, PodRecord, Record
from profiles import EXAMPLES
from streams.analytics.scheduling import scheduling
from streams.analytics.scheduling.cluster_nodes import State
from streams.fold.findings import SchedulerBlindSpot, SchedulingFailure
from streams.fold.fold import Fold, LogState
from streams.rules.scheduling.blind_spot import tolerates
from streams.rules.values.labels import REGION, ZONE

T0 = datetime(2020, 6, 1, 10, tzinfo=UTC)
CLUSTER = "stage"
SELECTOR = "node(s) didn't match node selector"
MASTERS = {"m1": "1", "m2": "1", "m3": "1", "w1": "2"}
"""Three nodes in one zone and one in another, as in the known case."""


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def node(
    name: str, seconds: float = 0, *, zone: str = "1", change: ObjectChange = "ADDED", **given: Any
) -> NodeRecord:
    ready = Condition(type="Ready", status=given.get("ready", "True"), last_transition_time=at(-3600))
    return NodeRecord(
        ts=at(seconds),
        cluster=CLUSTER,
        change=change,
        object=Node(
            metadata=NodeMetadata(
                name=name,
                uid=f"uid-{name}",
                creation_timestamp=given.get("created", at(-86400)),
                labels={REGION: "r", ZONE: zone},
            ),
            spec=NodeSpec(taints=given.get("taints"), unschedulable=given.get("unschedulable", False)),
            status=NodeStatus(
                conditions=[ready], node_info=NodeSystemInfo(kubelet_version=given.get("version", "v1.18.4"))
            ),
        ),
    )


def pod(name: str, seconds: float, text: str, **given: Any) -> PodRecord:
    pinned = given.get("pinned")
    affinity = None
    if pinned:
        expression = MatchExpression(key="metadata.name", operator="In", values=[pinned])
        required = RequiredNodeAffinity(node_selector_terms=[NodeSelectorTerm(match_fields=[expression])])
        affinity = Affinity(node_affinity=NodeAffinity(required=required))
    return PodRecord(
        ts=at(seconds),
        cluster=CLUSTER,
        change=given.get("change", "MODIFIED"),
        object=Pod(
            metadata=PodMetadata(
                name=name,
                namespace="ns",
                uid=f"uid-{name}",
                creation_timestamp=given.get("created", at(seconds)),
                owner_references=[OwnerReference(kind="DaemonSet", name="agent")] if pinned else None,
            ),
            spec=PodSpec(affinity=affinity, tolerations=given.get("tolerations")),
            status=PodStatus(
                phase="Pending",
                conditions=[
                    Condition(
                        type="PodScheduled",
                        status="False",
                        reason=given.get("reason", "Unschedulable"),
                        message=text,
                    )
                ],
            ),
        ),
    )


def event(name: str, seconds: float, text: str, *, text_at: float, series: int = 0) -> EventRecord:
    return EventRecord(
        ts=at(seconds),
        cluster=CLUSTER,
        change="ADDED",
        object=Event(
            metadata=EventMetadata(name=f"{name}.1", namespace="ns"),
            reason="FailedScheduling",
            regarding=ObjectReference(kind="Pod", namespace="ns", name=name, uid=f"uid-{name}"),
            note=text,
            event_time=at(text_at),
            series=EventSeries(count=series, last_observed_time=at(seconds)) if series else None,
        ),
    )


def placed(name: str, target: str, seconds: float, owner: str = "ReplicaSet") -> PodPlacement:
    return PodPlacement(
        ts=at(seconds),
        cluster=CLUSTER,
        change="ADDED",
        target=target,
        namespace="ns",
        pod=name,
        uid=f"uid-{name}",
        phase="Pending",
        bound_at=at(seconds),
        owner_kind=owner,
    )


def tick(seconds: float) -> EventRecord:
    """A record that lets the time of the log go on and says nothing."""
    return EventRecord(
        ts=at(seconds), cluster=CLUSTER, change="ADDED", object=Event(metadata=EventMetadata(name="e"))
    )


def text(nodes: int, **reasons: int) -> str:
    """A text of up to 1.23; reasons by short names."""
    words = {
        "selector": SELECTOR,
        "cpu": "Insufficient cpu",
        "taint": "node(s) had taints that the pod didn't tolerate",
    }
    return f"0/{nodes} nodes are available: {', '.join(f'{n} {words[r]}' for r, n in reasons.items())}."


def fold(records: Iterable[Record]) -> list[SchedulingFailure | SchedulerBlindSpot]:
    fold, log = Fold([scheduling.REDUCER]), LogState()
    rows: list[SchedulingFailure | SchedulerBlindSpot] = []
    for record in records:
        for output in fold.step(log, record):
            assert isinstance(output, SchedulingFailure | SchedulerBlindSpot), output
            rows.append(output)
    return rows


def last(rows: Sequence[SchedulingFailure | SchedulerBlindSpot]) -> dict[tuple[Any, ...], Any]:
    """Return the tables' rows: for each natural key the last one."""
    kept: dict[tuple[Any, ...], Any] = {}
    for row in rows:
        if isinstance(row, SchedulingFailure):
            kept["failure", row.namespace, row.pod, row.uid, row.ts, row.text_source] = row
        else:
            kept["spot", row.ts, row.test, row.namespace, row.pod, "" if row.pod else row.node] = row
    return kept


def failures(records: Iterable[Record]) -> list[SchedulingFailure]:
    return [row for row in last(fold(records)).values() if isinstance(row, SchedulingFailure)]


def spots(records: Iterable[Record]) -> list[SchedulerBlindSpot]:
    return [row for row in last(fold(records)).values() if isinstance(row, SchedulerBlindSpot)]


def nodes(zones: dict[str, str] = MASTERS, **given: Any) -> list[Record]:
    return [node(name, i / 10, zone=zone, **given) for i, (name, zone) in enumerate(zones.items())]


def test_a_failure_is_a_row_with_its_reasons_and_the_nodes_of_over_a_minute() -> None:
    records = [*nodes(), node("young", 100, created=at(100)), pod("a", 130, text(4, cpu=3, taint=1)), tick(300)]
    [row] = failures(records)
    assert (row.namespace, row.pod, row.uid, row.ts) == ("ns", "a", "uid-a", at(130))
    assert (row.nodes_total, row.nodes_known, row.reason_sum) == (4, 4, 4)
    assert row.reasons == {"Insufficient cpu": 3, "node(s) had taints that the pod didn't tolerate": 1}
    assert (row.pinned_node, row.text_source) == ("", "condition")


def test_an_unchanged_text_is_reported_once_and_again_when_its_numbers_change() -> None:
    same = text(4, cpu=4)
    records = [
        *nodes(),
        pod("a", 70, same),
        pod("a", 80, same),
        pod("a", 90, text(4, cpu=3, taint=1)),
        pod("a", 95, same),
    ]
    assert [row.ts for row in failures(records)] == [at(70), at(90), at(95)]


def test_a_pod_that_was_bound_or_deleted_is_forgotten() -> None:
    same = text(4, cpu=4)
    deleted = msgspec.structs.replace(pod("b", 75, same), change="DELETED")
    records = [*nodes(), pod("a", 70, same), pod("b", 70, same), placed("a", "m1", 75), deleted]
    assert [row.pod for row in failures([*records, pod("a", 80, same), pod("b", 80, same)])] == ["a", "b", "a", "b"]


@pytest.mark.parametrize("reason", ["SchedulerError", "SchedulingGated", ""])
def test_only_the_reason_unschedulable_is_a_failure_to_find_a_node(reason: str) -> None:
    assert fold([*nodes(), pod("a", 70, text(4, cpu=4), reason=reason)]) == []


def test_the_event_is_a_row_of_its_own_and_its_time_is_that_of_its_first_note() -> None:
    """In a series the note stays the first one's (rules: event-counts)."""
    records = [
        *nodes(),
        event("a", 400, text(4, cpu=4), text_at=130, series=5),
        event("a", 410, text(4, cpu=4), text_at=130),
    ]
    [row] = failures(records)
    assert (row.ts, row.text_source, row.nodes_known) == (at(130), "event", 4)


def test_the_event_s_text_is_judged_only_where_the_condition_of_its_pod_is_unknown() -> None:
    short = text(4, selector=3)
    alone = [*nodes(), event("a", 130, short, text_at=130), tick(200)]
    assert [(row.pod, row.verdict) for row in spots(alone)] == [("a", "lost_node")]
    with_condition = [*nodes(), event("a", 130, short, text_at=130), pod("a", 131, text(4, cpu=4)), tick(200)]
    assert spots(with_condition) == []


def test_the_words_of_another_scheduler_prove_nothing_about_kubernetes_own() -> None:
    own = pod("a", 130, text(13, selector=12))
    spec = msgspec.structs.replace(own.object.spec, scheduler_name="volcano")
    other = msgspec.structs.replace(own, object=msgspec.structs.replace(own.object, spec=spec))
    zones = {f"n{i}": "1" if i < 10 else "2" for i in range(13)}
    assert len(spots([*nodes(zones), own, tick(200)])) == 1
    assert spots([*nodes(zones), other, tick(200)]) == []
    assert [row.reason_sum for row in failures([*nodes(zones), other, tick(200)])] == [12]


def test_fewer_reasons_than_nodes_mean_a_lost_node_with_the_numbers_as_evidence() -> None:
    """The text of kubernetes issue 91601: 0/13 nodes with 12 reasons."""
    zones = {f"n{i}": "1" if i < 10 else "2" for i in range(13)}
    [row] = spots([*nodes(zones), pod("a", 130, text(13, selector=12)), tick(200)])
    assert (row.verdict, row.test, row.node, row.pod) == ("lost_node", "nodes_evaluated", "", "a")
    assert "0/13 nodes, but reasons for 12: 12 node(s) didn't match node selector" in row.evidence
    assert "1 or more of 13 nodes" in row.evidence
    assert "zones of 10, 3 nodes" in row.evidence
    assert "newest kubelet is v1.18.4, which stands in for the scheduler's version" in row.evidence
    assert row.scheduler_version == "v1.18.4"


def test_a_lost_node_is_said_at_once_and_not_only_when_its_minute_is_over() -> None:
    assert [row.verdict for row in spots([*nodes(), pod("a", 130, text(4, selector=3))])] == ["lost_node"]


def test_a_reason_for_each_node_gives_no_verdict() -> None:
    assert spots([*nodes(), pod("a", 130, text(4, selector=3, cpu=1)), tick(200)]) == []


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("v1.23.17", "lost_node"),
        ("v1.24.0", "inconclusive"),
        ("v1.31.4", "inconclusive"),
        ("", "inconclusive"),
    ],
)
def test_the_sum_of_reasons_proves_nothing_from_1_24_on_or_for_an_unknown_version(version: str, verdict: str) -> None:
    [row] = spots([*nodes(version=version), pod("a", 130, text(4, selector=3)), tick(200)])
    assert row.verdict == verdict
    assert row.scheduler_version == version


def test_a_text_that_only_1_24_can_write_outweighs_older_kubelets() -> None:
    suffix = " preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    [row] = spots([*nodes(version="v1.22.0"), pod("a", 130, text(4, selector=1) + suffix), tick(200)])
    assert row.verdict == "inconclusive"
    assert "the text is of 1.24 or later" in row.evidence


def test_with_a_single_zone_no_node_can_be_lost_so_the_sum_is_inconclusive() -> None:
    zones = dict.fromkeys(MASTERS, "1")
    [row] = spots([*nodes(zones), pod("a", 130, text(4, selector=3)), tick(200)])
    assert row.verdict == "inconclusive"
    assert "one zone" in row.evidence


def test_without_any_node_seen_nothing_can_be_concluded_and_the_row_says_so() -> None:
    [row] = spots([pod("a", 130, text(4, selector=3)), tick(200)])
    assert (row.verdict, row.test) == ("inconclusive", "nodes_total")
    assert "no Node was observed" in row.evidence


def test_a_daemon_set_pod_whose_open_node_no_reason_speaks_of_names_the_lost_node() -> None:
    [row] = spots([*nodes(), pod("d", 130, text(4, selector=3), pinned="m3"), tick(200)])
    assert (row.verdict, row.node, row.test) == ("lost_node", "m3", "nodes_evaluated")
    assert "node m3, the only one for this pod" in row.evidence
    [failure] = failures([*nodes(), pod("d", 130, text(4, selector=3), pinned="m3")])
    assert failure.pinned_node == "m3"


@pytest.mark.parametrize(
    "hindrance",
    [
        {"ready": "False"},
        {"ready": "Unknown"},
        {"unschedulable": True},
        {"taints": [Taint(key="dedicated", value="gpu", effect="NoSchedule")]},
    ],
    ids=str,
)
def test_a_node_that_cannot_take_the_pod_anyway_is_not_named(hindrance: dict[str, Any]) -> None:
    records = [
        *nodes(),
        node("m3", 10, change="MODIFIED", **hindrance),
        pod("d", 130, text(4, selector=3), pinned="m3"),
    ]
    [row] = spots([*records, tick(200)])
    assert (row.verdict, row.node) == ("lost_node", "")


def test_a_taint_that_the_pod_tolerates_is_no_hindrance() -> None:
    taint = Taint(key="dedicated", value="gpu", effect="NoSchedule")
    tolerations = [Toleration(key="dedicated", operator="Exists")]
    records = [*nodes(taints=[taint]), pod("d", 130, text(4, selector=3), pinned="m3", tolerations=tolerations)]
    assert [row.node for row in spots([*records, tick(200)])] == ["m3"]


def test_a_node_that_was_opened_less_than_a_minute_ago_is_not_named() -> None:
    records = [*nodes(), node("m3", 10, ready="False", change="MODIFIED"), node("m3", 100, change="MODIFIED")]
    [row] = spots([*records, pod("d", 130, text(4, selector=3), pinned="m3"), tick(200)])
    assert row.node == ""


def test_a_resource_reason_may_be_the_pinned_node_s_own_so_it_is_not_named() -> None:
    [row] = spots([*nodes(), pod("d", 130, text(4, selector=2, cpu=1), pinned="m3"), tick(200)])
    assert (row.verdict, row.node) == ("lost_node", "")


def test_a_count_below_the_nodes_of_over_a_minute_is_a_stale_view() -> None:
    records = [*nodes(), node("w2", 30, zone="2", created=at(30)), pod("a", 130, text(4, cpu=4)), tick(200)]
    [row] = spots(records)
    assert (row.verdict, row.test) == ("stale_view", "nodes_total")
    assert "counts 4 nodes, 5 have existed for over a minute" in row.evidence


def test_a_count_that_misses_only_a_node_of_less_than_a_minute_is_no_stale_view() -> None:
    records = [*nodes(), node("w2", 71, zone="2", created=at(71)), pod("a", 130, text(4, cpu=4)), tick(200)]
    assert spots(records) == []


def test_a_scheduler_that_knows_of_no_node_has_a_stale_view() -> None:
    [row] = spots([*nodes(), pod("a", 130, "no nodes available to schedule pods"), tick(200)])
    assert row.verdict == "stale_view"
    assert "counts 0 nodes" in row.evidence


def test_a_count_above_all_nodes_of_the_last_minute_is_ghost_nodes() -> None:
    gone = node("m3", 60, change="DELETED")
    [row] = spots([*nodes(), gone, pod("a", 130, text(4, cpu=4)), tick(200)])
    assert (row.verdict, row.test) == ("ghost_nodes", "nodes_total")
    assert "counts 4 nodes, at most 3" in row.evidence


def test_a_node_that_left_within_the_minute_is_no_ghost() -> None:
    gone = node("m3", 100, change="DELETED")
    assert spots([*nodes(), gone, pod("a", 130, text(4, cpu=4)), tick(200)]) == []


def test_ghosts_in_a_listed_pod_s_text_are_inconclusive_for_it_may_be_older_than_the_log() -> None:
    listed = pod("a", 5, text(5, cpu=5), created=at(-7200), change="ADDED")
    [row] = spots([*nodes(), listed, tick(200)])
    assert row.verdict == "inconclusive"
    assert "before this log began" in row.evidence


def test_a_text_that_nobody_understands_is_inconclusive_and_no_number() -> None:
    rows = fold([*nodes(), pod("a", 130, "0/4 Knoten sind verfügbar"), tick(200)])
    assert [(type(row), row.pod) for row in rows] == [(SchedulerBlindSpot, "a")]
    assert isinstance(rows[0], SchedulerBlindSpot)
    assert (rows[0].verdict, rows[0].test) == ("inconclusive", "text")
    assert "0/4 Knoten" in rows[0].evidence


def minutes_of_placements(targets: Sequence[str], minutes: int = 14) -> list[Record]:
    """Every half minute a pod on the next of these nodes."""
    steps = range(2 * minutes)
    return [placed(f"p{i}", targets[i % len(targets)], 60 + 30 * i) for i in steps]


def test_an_open_node_that_never_gets_a_pod_while_the_others_do_is_a_lost_node() -> None:
    [row] = spots([*nodes(), *minutes_of_placements(["m1", "m2", "w1"])])
    assert (row.verdict, row.test, row.node, row.pod) == ("lost_node", "placement", "m3", "")
    assert "no pod was bound to it for 10 minutes while 3 of 3 other open nodes got pods" in row.evidence
    assert row.ts == at(-3600)  # Ready since then


def test_a_node_that_had_pods_before_may_be_full_so_its_lack_of_new_ones_is_inconclusive() -> None:
    [row] = spots([*nodes(), placed("p", "m3", 30), *minutes_of_placements(["m1", "m2", "w1"])])
    assert (row.verdict, row.node) == ("inconclusive", "m3")


def test_a_daemon_set_pod_that_waits_for_the_node_makes_it_a_lost_node() -> None:
    daemon = pod("d", 40, text(4, selector=4), pinned="m3")
    rows = spots([*nodes(), placed("p", "m3", 30), daemon, *minutes_of_placements(["m1", "m2", "w1"])])
    assert [(row.verdict, row.node) for row in rows if row.test == "placement"] == [("lost_node", "m3")]


@pytest.mark.parametrize("version", ["v1.19.0", "v1.17.3", ""])
def test_only_a_version_that_keeps_a_wrong_list_can_starve_a_node(version: str) -> None:
    assert spots([*nodes(version=version), *minutes_of_placements(["m1", "m2", "w1"])]) == []


def test_daemon_set_pods_and_static_pods_do_not_count_as_placed() -> None:
    records = [placed("d", "m3", 400, owner="DaemonSet"), placed("s", "m3", 500, owner="Node")]
    mixed = sorted([*records, *minutes_of_placements(["m1", "m2", "w1"])], key=lambda record: record.ts)
    assert [row.node for row in spots([*nodes(), *mixed])] == ["m3"]


def test_a_node_without_new_pods_proves_nothing_if_few_nodes_get_any() -> None:
    zones = {**MASTERS, "w2": "2", "w3": "2"}
    assert spots([*nodes(zones), *minutes_of_placements(["m1", "m2"])]) == []


def test_toleration_rules_by_key_operator_and_effect() -> None:
    taint = Taint(key="k", value="v", effect="NoExecute")
    assert tolerates([Toleration(key="k", value="v", effect="NoExecute")], taint)
    assert tolerates([Toleration(key="k", value="v")], taint)
    assert tolerates([Toleration(operator="Exists")], taint)
    assert not tolerates([Toleration(key="k", value="other")], taint)
    assert not tolerates([Toleration(key="k", operator="Exists", effect="NoSchedule")], taint)
    assert not tolerates([], taint)
    assert tolerates([], Taint(key="k", effect="PreferNoSchedule"))


def story() -> list[list[Record]]:
    """Records of some minutes; what is of one minute may come in any order, that of one object keeps its own."""
    return [
        [
            *nodes(),
            pod("old", 8, text(4, selector=3), created=at(-7200), change="ADDED"),
            pod("d", 9, text(4, selector=3), pinned="m3"),
            event("old", 10, text(4, cpu=4), text_at=-50),
            placed("x", "m1", 11),
        ],
        [
            node("w2", 70, zone="2", created=at(70)),
            node("m2", 80, ready="False", change="MODIFIED"),
            pod("a", 82, text(4, selector=2, cpu=1)),
            pod("a", 90, text(5, selector=4, cpu=1)),
            placed("a", "w2", 95),
            event("e", 96, text(5, selector=4), text_at=85),
        ],
        [
            node("m1", 190, change="DELETED"),
            pod("b", 191, text(5, cpu=5)),
            pod("c", 192, text(4, cpu=4)),
            pod("f", 193, text(7, cpu=7)),
            node("m3", 194, change="MODIFIED", taints=[Taint(key="k", effect="NoSchedule")]),
            pod("d", 195, text(4, selector=2), pinned="m3"),
        ],
        [tick(300)],
    ]


def same_object(record: Record) -> str:
    if isinstance(record, NodeRecord):
        return record.object.metadata.name
    if isinstance(record, PodPlacement):
        return record.pod
    assert isinstance(record, PodRecord | EventRecord)
    return f"{type(record).__name__ * isinstance(record, EventRecord)}{record.object.metadata.name}"


def shuffled(minute: list[Record], seed: int) -> list[Record]:
    """In another order; only records of the same object keep theirs."""
    order = [same_object(record) for record in minute]
    queues: dict[str, list[Record]] = {}
    for record in minute:
        queues.setdefault(same_object(record), []).append(record)
    random.Random(seed).shuffle(order)  # noqa: S311 - a test's order
    return [queues[key].pop(0) for key in order]


@settings(max_examples=EXAMPLES * 3 // 5)
@given(st.integers(0, 2**32))
def test_the_last_rows_are_the_same_whatever_the_order_within_a_minute(seed: int) -> None:
    in_order = [record for minute in story() for record in minute]
    in_disorder = [record for i, minute in enumerate(story()) for record in shuffled(minute, seed + i)]
    assert last(fold(in_disorder)) == last(fold(in_order))


def test_the_state_survives_being_stored_after_any_record() -> None:
    records = [record for minute in story() for record in minute]
    decoder = msgspec.msgpack.Decoder(State)
    fold_, log = Fold([scheduling.REDUCER]), LogState()
    rows: list[Any] = []
    for record in records:
        rows += fold_.step(log, record)
        log.states = {name: decoder.decode(msgspec.msgpack.encode(state)) for name, state in log.states.items()}
    assert rows == fold(records)


def test_a_heartbeat_or_a_known_placement_leaves_the_state_as_it_is() -> None:
    state = State()
    for record in [*nodes(), placed("p", "m1", 10)]:
        state, _ = scheduling.REDUCER.step(state, record)
    assert scheduling.REDUCER.step(state, node("m1", 20, change="MODIFIED"))[0] is state
    assert scheduling.REDUCER.step(state, placed("p", "m1", 10))[0] is state
