"""Nothing is called well without evidence: in the story, on the page and in the report."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from components.reading import Text, page, ready, report, running, sampled, story
from components.rows import T0, dicts, row, store, store_samples, summary
from leadsman.web.attention.attention import attention
from leadsman.web.reading.evidence import Evidence, absent, freshness, nothing_found, paced, read_evidence
from leadsman.web.reading.overview import read_node, read_overview
from leadsman.web.reading.scope import RequestedRange, Scope
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, node_of, overview_of, runbook_of
from sql.database.open import Database
from streams.fold.findings import (
    Eviction,
    EvictionSignal,
    NodeEvent,
    NodeLease,
    NodeRow,
    NumaAdmissionFailure,
    NumaSkew,
    PodBinding,
    PodEnd,
    PressureChange,
    Row,
    SchedulingFailure,
    SettingsWarning,
    SourceError,
    Watch,
)

GIB = 1 << 30
HOUR = Scope("c", T0, T0 + timedelta(hours=1))


def troubled(db: Database) -> None:
    """4 of 300 nodes are not Ready, 25 pods wait for a node."""
    rows: list[Row] = [ready(f"node-{nth:03}", value=nth >= 4) for nth in range(300)]
    for nth in range(25):
        pod = {"namespace": "shop", "pod": f"web-{nth}", "uid": f"u{nth}"}
        owner = {"owner_kind": "ReplicaSet", "owner_name": "web"}
        rows += [
            row(PodBinding, change="pending", phase="Pending", reason="Unschedulable", **owner, **pod),
            row(SchedulingFailure, reasons={"Insufficient cpu": 296}, text_source="condition", **pod),
        ]
    store(db, *rows)
    sampled(db, *(f"node-{nth:03}" for nth in range(300)))


def test_a_story_begins_with_its_nodes_and_samples(database: Database) -> None:
    store(database, ready("n"))
    store_samples(database, summary(T0, "n"))
    assert ": 1 node, 1 sample from " in story(database)
    store_samples(database, summary(T0 + timedelta(seconds=10), "n"))
    assert ": 1 node, 2 samples from " in story(database)


def test_nodes_that_are_not_ready_and_pods_that_wait_are_reported_everywhere(database: Database) -> None:
    troubled(database)
    reported = story(database)
    assert reported.count("The node is not Ready.") == 4
    assert "25 of ReplicaSet web in shop: 296 Insufficient cpu" in reported
    for text in (reported, page(database, T0).text, report(database).text):
        assert "4 of 300 nodes not Ready" in text
        assert "25 pods Pending" in text
        assert "all clear" not in text
        assert "No evictions" not in text


def test_the_age_of_a_lease_is_reported_in_page_and_report_where_it_was_looked_at_since(database: Database) -> None:
    since = T0 + timedelta(seconds=10)
    store(
        database,
        ready("n"),
        row(NodeRow, node="n", ready=False, ready_since=since, ts=since),
        row(NodeLease, node="n", ts=T0 + timedelta(seconds=5), age_seconds=7.0),
    )
    (card,) = (each for each in attention(read_overview(database, HOUR, ())) if "not Ready" in each.title)
    assert "Lease" not in card.text, "what was seen before is of another outage"
    store(database, row(NodeLease, node="n", ts=since + timedelta(milliseconds=500), age_seconds=52.0))
    for text in (page(database, T0).text, report(database).text):
        assert "1 of 1 node not Ready" in text
        assert "Its Lease had last been renewed 52 s before that was seen." in text


def test_what_was_pending_and_is_bound_is_not_reported(database: Database) -> None:
    pod = {"namespace": "shop", "pod": "web", "uid": "u"}
    later = T0 + timedelta(seconds=90)
    store(
        database,
        ready("n"),
        row(PodBinding, change="pending", phase="Pending", reason="Unschedulable", **pod),
        row(PodBinding, change="bound", phase="Running", node="n", ts=later, **pod),
    )
    assert "Pending" not in story(database)


def test_warnings_are_reported_by_reason_with_their_count(database: Database) -> None:
    pulled = {"reason": "BackOff", "type": "Warning", "object_kind": "Pod", "object_name": "api", "namespace": "shop"}
    store(
        database,
        ready("n"),
        *(
            row(
                NodeEvent,
                node="n",
                name=f"e{nth}",
                message="Back-off pulling image",
                occurrences=3,
                count=3,
                **pulled,
            )
            for nth in range(4)
        ),
    )
    for text in (story(database), report(database).text):
        assert "(BackOff), 12 times" in text
        assert "Pod shop/api: Back-off pulling image." in text


def test_only_a_cluster_that_was_seen_whole_and_lately_is_all_clear(database: Database) -> None:
    store(database, ready("n"), running("n"))
    sampled(database, "n")
    lately = page(database, T0 + timedelta(minutes=9))
    assert "all clear" in lately.text
    assert "tag ok" in lately.classes
    assert "with kubelet statistics of 1 of 1 node" in lately.text
    later, late = page(database, T0 + timedelta(hours=31)), page(database, T0 + timedelta(minutes=11))
    for each in (later, late):
        assert "tag ok" not in each.classes
        assert "all clear" not in each.text
    assert re.search(r"All of this is as of [\d :-]+ UTC, 1 d 7 h ago", later.text)


def test_a_range_that_was_asked_for_is_judged_at_its_end(database: Database) -> None:
    store(database, ready("n"), running("n"))
    sampled(database, "n")
    at = {"since": (T0 - timedelta(minutes=30)).isoformat(), "until": (T0 + timedelta(minutes=1)).isoformat()}
    assert "all clear" in page(database, T0 + timedelta(days=9), **at).text


def test_a_range_without_samples_is_unknown_with_the_age_of_the_last(database: Database) -> None:
    store(database, ready("n"))
    sampled(database, "n")
    at = {"since": (T0 + timedelta(hours=31)).isoformat(), "until": (T0 + timedelta(hours=32)).isoformat()}
    found = page(database, T0 + timedelta(hours=32), **at)
    assert "last sample 1 d 8 h before the end" in found.text
    assert "tag ok" not in found.classes
    assert "There is no data for this range" in found.text


def test_a_node_without_statistics_is_not_ok_where_the_others_are(database: Database) -> None:
    store(database, ready("with"), ready("without"), ready("gone", value=None))
    sampled(database, "with", "gone")
    found = report(database)
    assert "no statistics" in found.text
    assert "Ready not reported" in found.text
    assert found.classes.count("tag ok") == 1  # in the table; a report has details of the two worst nodes
    assert "No recent statistics of 1 of 3 nodes" in story(database)
    made = node_of(database, Request.of({"node": "without"}), lambda: T0)
    assert made is not None
    assert "none was ever seen" in Text(made).text


@pytest.mark.parametrize(("since", "until", "last", "value"), [(0, 5.5, 4, 4), (6, 7, 6, 4), (0, 9.5, 9, 9)])
def test_a_range_ends_with_the_last_sample_in_it(
    database: Database, since: float, until: float, last: int, value: int
) -> None:
    """The five minutes after the end are only known by their first sample; what was left is not."""
    times = {minutes: T0 + timedelta(minutes=minutes) for minutes in (3, 4, 6, 9)}
    store_samples(database, *(summary(at, "n", (), memory_available_bytes=GIB) for at in times.values()))
    store(
        database,
        ready("n"),
        *(row(EvictionSignal, ts=at, node="n", signal="memory.available", available=minutes, capacity=100,
              hard_threshold=1) for minutes, at in times.items()),
    )  # fmt: skip
    scope = Scope("c", T0 + timedelta(minutes=since), T0 + timedelta(minutes=until))
    line = read_node(database, scope, "n")
    assert line is not None
    assert (line.sampled_at, line.margins[0].available) == (times[last], value)
    assert read_evidence(database, scope).last_sample_at == times[last]


def test_a_node_that_fell_silent_while_others_are_seen_is_reported(database: Database) -> None:
    store(database, ready("heard"), ready("silent"))
    sampled(database, "heard", "silent")
    sampled(database, "heard", minutes=45)
    assert "No recent statistics of 1 of 2 nodes, since 12:00:00. Last sample: 45 min 1 s before the end." in story(
        database
    )
    assert "last sample 45 min 1 s before the end" in report(database).text


def test_a_hundred_rejected_pods_of_a_controller_are_one_line_and_one_card(database: Database) -> None:
    """Each within 15 minutes of the one before, wherever the scheduler placed them; the rest is another story."""
    of = {"namespace": "shop", "reason": "TopologyAffinityError"}
    owned = {"cause": "admission", "owner_kind": "ReplicaSet", "owner_name": "web-98cbc7457", **of}
    rows: list[Row] = [ready("n0"), ready("n1")]
    for nth in range(101):
        where = {"node": f"n{nth % 2}", "pod": f"web-{nth}", "uid": f"u{nth}"}
        ts = T0 + (timedelta(hours=1) if nth == 100 else timedelta(seconds=nth))
        rows.append(row(NumaAdmissionFailure, ts=ts, explanation="it asked for 8", **where, **of))
        rows.append(row(PodEnd, ts=ts, updated_at=ts, time_known=True, **where, **owned))
    store(database, *rows)
    found = dicts(database, "SELECT what FROM story WHERE kind IN ('numa', 'pod_end', 'rejection') ORDER BY ts")
    lines = [each["what"] for each in found]
    group = "in shop were not admitted within 1 min 39 s on 2 nodes"
    assert lines == [
        f"100 pods of ReplicaSet web-98cbc7457 {group}: TopologyAffinityError. The last: it asked for 8",
        "Pod shop/web-100 was not admitted: TopologyAffinityError. it asked for 8",
    ]
    reported = story(database)
    assert reported.count("101 pods rejected at admission") == 1
    assert "ReplicaSet web-98cbc7457 in shop, 101 times" in reported


def test_the_figure_of_rejected_pods_has_those_of_every_reason_once(database: Database) -> None:
    """The kubelet evicts none of them: only a rejection for the node's pressure is an eviction too."""
    a, b, c = ({"namespace": "shop", "pod": pod, "uid": pod, "node": "n"} for pod in "abc")
    store(
        database,
        ready("n"),
        row(PodEnd, cause="admission", reason="TopologyAffinityError", **a),
        row(PodEnd, cause="admission", reason="OutOfcpu", **b),
        row(PodEnd, cause="admission", reason="Evicted", **c),
        row(Eviction, cause="admission", condition="DiskPressure", **c),
        row(PodEnd, cause="oom_kill", container="app", **a),
    )
    assert [node.evicted.admission for node in read_overview(database, HOUR, ()).nodes] == [3]


def test_a_node_swings_by_one_condition_as_the_alert_counts_it(database: Database) -> None:
    store(
        database, ready("n"), *pressed("MemoryPressure", 0), *pressed("DiskPressure", 1), *pressed("DiskPressure", 2)
    )
    view = read_overview(database, HOUR, ())
    assert [(node.times_under_pressure, node.swings) for node in view.nodes] == [(2, "DiskPressure")]
    assert "In and out of pressure" not in {item.title for item in attention(view)}
    store(database, *pressed("DiskPressure", 3))
    items = {item.title: item for item in attention(read_overview(database, HOUR, ()))}
    swinging = items["In and out of pressure"]
    assert swinging.text == "n came under DiskPressure 3 times."
    assert (swinging.since, swinging.until) == (T0 + timedelta(minutes=1), T0 + timedelta(minutes=3, seconds=30))


def test_pressure_of_a_node_whose_clock_is_behind_is_no_earlier_node_s(database: Database) -> None:
    """Its kubelet dates the condition 3 minutes before the API server made the Node; it was seen after that."""
    made = T0 + timedelta(minutes=3)
    store(database, row(NodeRow, ts=made, node="new", ready=True, created_at=made))
    store(database, row(NodeRow, ts=made, node="again", ready=True, created_at=made))
    of = {"condition": "DiskPressure", "status": True}
    store(database, row(PressureChange, node="new", updated_at=made + timedelta(seconds=20), **of))
    store(database, row(PressureChange, node="again", **of))
    nodes = read_overview(database, Scope("c", T0, T0 + timedelta(hours=1)), []).nodes
    assert {node.name: set(node.pressure_since) for node in nodes} == {"new": {"DiskPressure"}, "again": set()}


def pressed(condition: str, minutes: int) -> list[Row]:
    """Half a minute under pressure."""
    at, what = T0 + timedelta(minutes=minutes), {"node": "n", "condition": condition}
    over = row(PressureChange, ts=at + timedelta(seconds=30), status=False, lasted_seconds=30.0, **what)
    return [row(PressureChange, ts=at, status=True, **what), over]


SEEN = Evidence(HOUR, 12, 12, 340, 120, HOUR.until, HOUR.until)


def test_the_sentence_reports_what_was_looked_for_in_how_much() -> None:
    assert nothing_found(SEEN) == (
        "No evictions, node pressure, nodes that are not Ready, pending pods, Warning Events, image-GC, NUMA or "
        "scheduling problems in 12 nodes, changes of 340 pods and 120 Events from 2026-07-01 12:00:00 to 2026-07-01 "
        "13:00:00 UTC, with kubelet statistics of 12 of 12 nodes."
    )
    without = nothing_found(SEEN._replace(sampled_nodes=0, last_sample_at=None))
    assert without.endswith(" UTC. Without kubelet statistics, free room and upcoming pressure are unknown.")
    some = nothing_found(SEEN._replace(sampled_nodes=3))
    assert some.endswith(" of 3 of 12 nodes. The free room of the other nodes is unknown.")


def test_neither_pressure_nor_readiness_is_known_of_nodes_that_were_seen_without_it() -> None:
    """A table has no pressure, custom columns have no readiness; Events would show both."""
    quiet = SEEN._replace(events=0, events_seen=False)
    table, columns = nothing_found(quiet._replace(partial_nodes=3)), nothing_found(quiet._replace(unsaid_nodes=3))
    assert table.startswith("No evictions, nodes that are not Ready, pending pods, NUMA or scheduling problems")
    assert "Only a table or a part of 3 nodes was seen, so pressure may be missing." in table
    assert columns.startswith("No evictions, node pressure, pending pods, NUMA or scheduling problems")
    assert "The condition Ready of 3 nodes was not seen." in columns
    assert "No evictions, node pressure, nodes that" in nothing_found(SEEN._replace(partial_nodes=3))
    assert not SEEN._replace(partial_nodes=3).complete


@pytest.mark.parametrize("is_ready", [None, True])
def test_pressure_is_unknown_of_nodes_whose_conditions_were_not_seen(
    database: Database, is_ready: bool | None
) -> None:
    """Columns of capacities and taints print no condition, so silence about pressure proves nothing."""
    store(database, ready("n", value=is_ready)._replace(capacity={"memory": GIB}), running("n"))
    (node,) = read_overview(database, HOUR, ()).nodes
    assert node.is_partial is (is_ready is None)
    text = story(database)
    assert ("Only a table or a part of 1 node was seen, so pressure may be missing." in text) is (is_ready is None)
    assert ("node pressure" in text) is (is_ready is True)


def test_statistics_of_nodes_that_were_not_read_are_not_a_part_of_them() -> None:
    said = nothing_found(SEEN._replace(nodes=0, sampled_nodes=2))
    assert "with kubelet statistics of 2 nodes" in said
    assert "of 0" not in said


def test_statistics_that_ended_early_are_said_to_until_when() -> None:
    ended = SEEN._replace(last_sample_at=HOUR.until - timedelta(minutes=31))
    assert nothing_found(ended).endswith("with kubelet statistics of 12 of 12 nodes until 2026-07-01 12:29:00 UTC.")


def test_of_a_range_in_which_nothing_was_seen_nothing_is_said() -> None:
    empty = SEEN._replace(sampled_nodes=0, pods=0, events=0, last_at=T0 - timedelta(hours=2))
    assert nothing_found(empty) == (
        "There is no data for this range: no sample, Event or pod change was seen. "
        "The last observation before it was at 2026-07-01 10:00:00 UTC."
    )


def test_without_pods_nothing_is_concluded_about_evictions() -> None:
    blind = SEEN._replace(pods=0, pods_seen=False)
    assert "No evictions" not in nothing_found(blind)
    assert nothing_found(blind).endswith(
        "No Pod object was seen: what happened to pods is known only from Events, and pending pods are unknown."
    )
    assert not blind.complete


def test_without_events_nothing_is_concluded_about_image_gc() -> None:
    deaf = SEEN._replace(events=0, events_seen=False)
    found = nothing_found(deaf)
    assert found.startswith("No evictions, node pressure, nodes that are not Ready, pending pods, NUMA or ")
    assert found.endswith("No Event was seen: image GC, Warnings, and what happened to deleted pods are unknown.")
    assert not deaf.complete


def test_without_a_numa_source_nothing_is_concluded_about_numa() -> None:
    assert "NUMA" not in nothing_found(SEEN._replace(numa_seen=False))


def test_who_may_read_one_namespace_sees_no_event_of_a_node() -> None:
    """Its own Events show neither image GC nor pressure, however many there are."""
    narrow = SEEN._replace(scope=HOUR._replace(namespace="shop"), nodes=0, sampled_nodes=0)
    assert nothing_found(narrow).startswith("No evictions, pending pods, Warning Events, NUMA or scheduling problems")


def test_a_watch_without_an_event_is_evidence_since_it_began() -> None:
    quiet = SEEN._replace(events=0, events_seen=False, events_since=T0)
    assert quiet.complete
    found = nothing_found(quiet)
    assert "Warning Events, image-GC" in found
    assert found.endswith("No Event arrived since 2026-07-01 12:00:00 UTC, when their watch began.")


def test_statistics_alone_show_only_the_room_left() -> None:
    alone = SEEN._replace(nodes=0, pods=0, events=0, pods_seen=False, events_seen=False)
    found = nothing_found(alone)
    assert found.startswith("No resources below a threshold in changes of 0 pods and 0 Events")
    assert ", with kubelet statistics of 12 nodes." in found
    assert "0 nodes" not in found


def test_a_stream_that_was_not_read_all_the_time_leaves_nothing_well() -> None:
    deaf = SEEN._replace(unread=("pods",))
    assert not deaf.complete
    assert absent(deaf, "No alert fired") == (
        "No alert fired in the available data. Not read all the time, so something may be missing: pods."
    )


def test_unparsed_records_rule_out_an_all_clear() -> None:
    """It may have been a pod that was evicted, or a node under pressure."""
    for odd in (SEEN._replace(bad=1), SEEN._replace(unexplained=1)):
        assert not odd.complete
        assert nothing_found(odd).endswith(": leadsman query dead_letters.")
    assert "No evictions" not in nothing_found(SEEN._replace(unexplained=1))


def test_a_negative_answer_is_only_as_certain_as_its_evidence() -> None:
    quiet = "No alert fired"
    assert absent(SEEN, quiet) == "No alert fired."
    stale = SEEN._replace(last_at=HOUR.until - timedelta(minutes=31))
    assert absent(stale, quiet) == (
        "No alert fired up to the last observation, 2026-07-01 12:29:00 UTC, 31 min before the end. "
        "Later events are unknown."
    )
    before = SEEN._replace(sampled_nodes=0, pods=0, events=0, last_at=T0 - timedelta(hours=30))
    assert absent(before, quiet) == (
        "Unknown: there is no data in this range. "
        "The last observation was at 2026-06-30 06:00:00 UTC, 1 d 7 h before the end."
    )
    assert absent(SEEN._replace(last_at=None), quiet).startswith("Unknown: there is no data")


LATER_DUMP = T0 + timedelta(minutes=30)
NO_CPUS = {"scope": "node", "node": "n", "fidelity": "none"}
POD = {"change": "bound", "phase": "Running", "node": "n", "uid": "u"}
PODS_WATCHED = {"resource": "pods", "since": T0, "ts": LATER_DUMP}
Given = list[tuple[type[Row], dict[str, Any]]]
DUMPS: dict[str, tuple[Given, set[str]]] = {
    "neither": ([], set()),
    "pods-listed": ([(PodBinding, POD | {"ts": LATER_DUMP})], {"pods"}),
    "nodes-listed": ([(NodeRow, {"node": "n", "ready": True, "ts": LATER_DUMP})], {"nodes"}),
    "pods-watched": ([(Watch, PODS_WATCHED)], {"pods", "numa"}),
    "nodes-watched": ([(Watch, PODS_WATCHED | {"resource": "nodes"})], {"nodes"}),
    "watch-over": ([(Watch, PODS_WATCHED | {"ts": T0 + timedelta(minutes=10)})], set()),
    "watch-refused": (
        [
            (Watch, PODS_WATCHED),
            (SourceError, {"resource": "pods", "kind": "unreadable", "ts": LATER_DUMP + timedelta(seconds=0.5)}),
        ],
        set(),
    ),
    "kubelets-asked": ([(NumaSkew, NO_CPUS | {"cpu_manager_policy": "none", "ts": LATER_DUMP})], {"numa"}),
    "policy-lost": ([(Watch, PODS_WATCHED), (NumaSkew, NO_CPUS | {"ts": LATER_DUMP})], {"pods"}),
}
"""Content of a later dump or stream beside an Event, and the kinds that were looked at, by cluster."""


def test_what_an_older_dump_had_was_not_looked_at_in_a_later_one(database: Database) -> None:
    """A row of the same may be missing where it is watched: then nothing changed."""
    for cluster, (later, _) in DUMPS.items():
        older: Given = [
            (NodeRow, {"node": "n", "ready": True}),
            (PodBinding, POD),
            (NumaSkew, NO_CPUS | {"cpu_manager_policy": "none"}),
        ]
        heard: Given = [(NodeEvent, {"name": "e", "ts": LATER_DUMP, "observed_at": LATER_DUMP})]
        store(database, *(row(kind, cluster=cluster, **values) for kind, values in older + heard + later))
    for cluster, (_, kinds) in DUMPS.items():
        found = read_evidence(database, Scope(cluster, T0, LATER_DUMP + timedelta(seconds=1)))
        seen = {"nodes": found.nodes > 0, "pods": found.pods_seen, "numa": found.numa_seen}
        assert {kind for kind, is_seen in seen.items() if is_seen} == kinds, cluster
        reported = nothing_found(found)
        after = "No Pod object was seen after 2026-07-01 12:00:00 UTC: "
        assert ("evictions, " in reported, after in reported) == (found.pods_seen, not found.pods_seen), cluster
        assert ("No Node object was seen after 2026-07-01 12:00:00 UTC." in reported) is (found.nodes == 0), cluster
    since = LATER_DUMP + timedelta(minutes=1)
    assert read_evidence(database, Scope("pods-listed", since, since + timedelta(minutes=1))).pods_seen, "it goes on"


REASSURING = ("all clear", "No alert fired in this range.", "It did not fire in this range.", "list of nodes.")
"""Sentences of a page if everything was seen."""
AT_NOON = {"since": T0.isoformat(), "until": (T0 + timedelta(minutes=5)).isoformat()}
LATER = {"since": (T0 + timedelta(hours=5)).isoformat(), "until": (T0 + timedelta(hours=6)).isoformat()}


@pytest.mark.parametrize(
    ("state", "asked", "age", "written"),
    [
        ("whole", AT_NOON, "", True),
        ("whole", LATER, "6 h before the end", False),
        ("whole", {"last": "1h"}, "1 d ago", False),
        ("some nodes only", AT_NOON, "", False),
        ("samples only", AT_NOON, "", False),
        ("a stream silent", AT_NOON, "", True),
    ],
)
def test_no_page_reassures_without_evidence(
    database: Database, state: str, asked: dict[str, str], age: str, *, written: bool
) -> None:
    """A quiet cluster: only if it was seen whole and in time may the page say so; a report has the page's words."""
    sampled(database, "n")
    if state != "samples only":
        store(database, ready("n"), running("n"))
    if state == "some nodes only":
        store(database, ready("m"))
    if state == "a stream silent":
        store(database, row(SourceError, resource="pods", kind="silent", error="stream silent for 120 s"))
    request, now = Request.of(asked), T0 + timedelta(days=1)
    pages = [
        overview_of(database, request, lambda: now),
        runbook_of(database, request, "PodsEvicted", lambda: now),
        *(
            [write_report(database, RequestedRange(**asked), now)] if written else ()
        ),  # judged at the end of its range
    ]
    whole = (state, asked) == ("whole", AT_NOON)
    for made in pages:
        assert made is not None
        found = Text(made)
        said = [each for each in REASSURING if each in found.text]
        assert bool(said) is whole, said
        assert ("quiet unknown" in found.classes) is not whole
        assert age in found.text


def test_a_number_of_zero_needs_evidence_too(database: Database) -> None:
    store(database, ready("n"), running("n"))
    sampled(database, "n")
    assert page(database, T0).text.count("not ready0") == 1
    aged = page(database, T0 + timedelta(days=1))
    assert "wrap wide aged" in aged.classes, "0 as of then"
    assert "not ready?" in page(database, T0 + timedelta(days=1), **LATER).text


def test_a_node_s_page_is_as_fresh_as_the_node(database: Database) -> None:
    store(database, ready("heard"), ready("silent"), running("heard"))
    sampled(database, "heard", "silent")
    sampled(database, "heard", minutes=45)
    now = T0 + timedelta(minutes=50)
    made = node_of(database, Request.of({"node": "silent"}), lambda: now)
    assert made is not None
    last = "Last sample 2026-07-01 12:00:00 UTC, 50 min ago; last observation 2026-07-01 12:45:00 UTC, 5 min ago"
    assert last in Text(made).text


def test_freshness_names_the_last_sample_and_what_came_after() -> None:
    quiet = SEEN._replace(last_sample_at=HOUR.until - timedelta(minutes=30))
    assert freshness(quiet) == ("Last sample 30 min before the end; last observation at the end")
    assert freshness(SEEN._replace(last_sample_at=None)).startswith("No kubelet statistics; last observation")
    assert freshness(SEEN._replace(last_at=None)) == "No data up to the end of this range"


def test_the_numa_columns_of_nodes_that_pin_sum_up_to_the_clusters(database: Database) -> None:
    free = {"free_cpus": 32, "largest_fit_cpus": 16, "scope": "node", "fidelity": "exact"}
    pinning = {**free, "free_cpus": 12, "largest_fit_cpus": 6, "cpu_manager_policy": "static"}
    total = {"scope": "cluster", "free_cpus": 12, "largest_fit_cpus": 6, "fidelity": "exact"}
    store(
        database,
        ready("master"),
        ready("worker"),
        row(NumaSkew, node="master", cpu_manager_policy="none", **free),
        row(NumaSkew, node="worker", **pinning),
        row(NumaSkew, node="", **total),
    )
    text = report(database).text
    assert "policy none" in text
    assert "6 / 12" in text
    assert "16 / 32" not in text


def test_verdicts_without_entries_of_a_state_are_partial_for_a_day(database: Database) -> None:
    """Two reports, 70 entries; the last is 20 h before the page's range of an hour, then 30 h before it."""
    sampled(database, "n")
    store(database, ready("n"))
    for minute, entries in ((0, 30), (5, 40)):
        left_out = {"kind": "partial", "error": "some are left out", "entries": entries}
        at = T0 - timedelta(hours=20, minutes=-minute)
        store(database, row(SourceError, ts=at, resource="state pending_pods/pods", **left_out))
    (line,) = [each for each in story(database).splitlines() if "partial" in each]
    since = "(state pending_pods/pods, since 2026-06-30 16:00:00 UTC)"
    reported = f"Verdicts are partial: 70 entries did not fit into the state of a log {since}"
    assert line.strip() == f"{reported}. The last: some are left out"
    found = dicts(database, "SELECT ts, what FROM story WHERE cluster = 'c' AND what LIKE 'Verdicts %'")
    assert [(each["ts"], "70 entries" in each["what"]) for each in found] == [(T0 - timedelta(hours=20), True)]
    seen = page(database, T0 + timedelta(hours=1), last="1h").text
    assert reported in seen
    sampled(database, "n", minutes=600)
    assert "Verdicts are partial" not in page(database, T0 + timedelta(hours=11), last="1h").text


def polled(db: Database, seconds: float, samples: int = 12) -> datetime:
    """The time of the last of so many samples of a node, so many seconds apart."""
    times = [T0 + timedelta(seconds=seconds * number) for number in range(samples)]
    store(db, ready("n"), running("n"))
    store_samples(db, *(summary(at, "n", memory_available_bytes=GIB, memory_working_set_bytes=GIB) for at in times))
    return times[-1]


@pytest.mark.parametrize("seconds", [10, 30, 120, 300])
def test_evidence_is_old_after_six_intervals_of_its_own_pace(database: Database, seconds: int) -> None:
    last = polled(database, seconds)
    for intervals, stale in ((5.5, False), (6.5, True)):
        scope = Scope("c", T0, last + timedelta(seconds=1), now=last + timedelta(seconds=seconds * intervals))
        assert read_evidence(database, paced(database, scope)).stale == stale


def test_each_node_is_old_after_six_intervals_of_its_own_pace(database: Database) -> None:
    """Kubelets of one cluster are asked every 10 s, 60 s and 300 s, and all answer last at the same time; its Events
    are seen until now.
    """
    last = T0 + timedelta(minutes=30)
    paces = {"often": 10, "each-minute": 60, "seldom": 300}
    for name, seconds in paces.items():
        store(database, ready(name))
        times = [last - timedelta(seconds=seconds * nth) for nth in range(7)]
        each = (summary(at, name, memory_available_bytes=GIB, memory_working_set_bytes=GIB) for at in times)
        store_samples(database, *each)
    for seconds in paces.values():
        for intervals in (5.5, 6.5):
            now = last + timedelta(seconds=seconds * intervals)
            store(database, row(NodeEvent, name="e", ts=now, observed_at=now, type="Normal", reason="Pulled"))
            scope = Scope("c", T0, now + timedelta(seconds=1), now=now)
            found = {node.name: node.stale for node in read_overview(database, scope, []).nodes}
            assert found == {name: 6 * pace < seconds * intervals for name, pace in paces.items()}


def test_a_page_of_a_poll_that_ended_minutes_ago_is_not_now(database: Database) -> None:
    last = polled(database, 10, samples=30)
    assert "No current data" in page(database, last + timedelta(seconds=405)).text
    assert "No current data" not in page(database, last + timedelta(seconds=30)).text


def test_events_after_the_last_sample_are_no_older_for_its_pace(database: Database) -> None:
    last = polled(database, 10)
    later = last + timedelta(hours=1)
    reported = row(NodeEvent, name="e", ts=later, observed_at=later, type="Normal", reason="Pulled", occurrences=1)
    store(database, reported)
    scope = Scope("c", T0, later + timedelta(seconds=1), now=later + timedelta(minutes=5))
    evidence = read_evidence(database, paced(database, scope))
    assert not evidence.stale
    assert not evidence.complete


def test_nothing_is_wrong_with_image_gc_is_not_said_beside_settings_by_which_it_never_runs(
    database: Database,
) -> None:
    late = {
        "rule": "image_gc_late",
        "subject": "imagefs.available",
        "problem": "It never runs.",
        "advice": "Lower it.",
    }
    store(
        database,
        ready("n"),
        running("n"),
        row(SettingsWarning, ts=T0 - timedelta(seconds=1), node="n", holds=True, **late),
    )
    sampled(database, "n")
    assert "image-GC" not in story(database).partition("No evictions")[2].partition(" in 1 node")[0]
    store(database, row(SettingsWarning, node="n", holds=False, **late))
    assert "Warning Events, image-GC" in story(database) or "Warning Events or image-GC" in story(database)


def test_numa_nodes_alone_are_data_and_no_sample(database: Database) -> None:
    """A NodeResourceTopology may be pasted without anything else."""
    store(database, row(NumaSkew, node="n1", scope="node", fidelity="nrt", cpu_manager_policy="static"))
    evidence = read_evidence(database, HOUR)
    assert (evidence.seen, evidence.last_at, evidence.sampled_nodes) == (True, T0, 0)
