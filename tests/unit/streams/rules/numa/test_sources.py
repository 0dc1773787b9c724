"""NUMA sources are read, and one of them is believed (rules: noderesourcetopology, koordinator, crane-and-volcano,
kubelet-metrics, numa-sources).
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from ingest.model.machine import Cpu, Metric
from ingest.model.objects.pod import PodAnnotations
from streams.rules.numa.objects import crane_cpus, koordinator_cpus, parse_topology_object, with_crane_pods
from streams.rules.numa.resolve import WHOLE_NODE, NodeFacts, account, best_account, disagreements, witnesses
from streams.rules.numa.sources import (
    CHECKPOINT,
    GAUGE,
    NRT,
    TOTAL,
    Fidelity,
    Holder,
    NumaView,
    NumaZone,
    metrics_view,
    numa_id,
    stale_gauges,
)
from streams.rules.numa.topology import numa_topology


def gauges(total: int | None, **by_numa: float) -> list[Metric]:
    metrics = [Metric(GAUGE, {"numa_node": key.removeprefix("n")}, value) for key, value in by_numa.items()]
    return metrics + ([] if total is None else [Metric(TOTAL, {}, total)])


@pytest.mark.parametrize(
    ("total", "shown", "believed"),
    [
        (3, {"n0": 1, "n1": 2}, {0: 1, 1: 2}),
        (0, {"n0": 1}, {0: 0}),
        (2, {"n0": 1, "n1": 2}, {0: 0, 1: 2}),
        (2, {"n0": 2, "n1": 2}, {0: None, 1: None}),
        (None, {"n0": 1}, {0: 1}),
        (0, {}, {}),
    ],
)
def test_a_gauge_that_certainly_exceeds_the_total_is_stale(
    total: int | None, shown: dict[str, float], believed: dict[int, int | None]
) -> None:
    view = metrics_view(gauges(total, **shown))
    assert view is not None
    assert {zone.numa_node: zone.exclusive_cpus for zone in view.zones} == believed
    assert bool(view.quirk) == (list(believed.values()) != list(shown.values()))


def test_a_stale_gauge_is_reported_with_what_it_shows() -> None:
    metrics = gauges(2, n0=1, n1=2)
    view = metrics_view(metrics)
    assert view is not None
    assert stale_gauges(view, metrics) == {0: 1}


def test_a_kubelet_before_1_33_has_no_gauges() -> None:
    assert metrics_view([Metric("kubelet_cpu_manager_pinning_requests_total", {}, 3)]) is None


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 24))
def test_believed_gauges_add_up_to_the_total_or_are_below_it(shown: list[int], total: int) -> None:
    view = metrics_view(gauges(total, **{f"n{i}": value for i, value in enumerate(shown)}))
    assert view is not None
    believed = [zone.exclusive_cpus for zone in view.zones]
    assert None in believed or sum(count or 0 for count in believed) == min(total, sum(shown))
    assert all(count in {None, 0, gauge} for count, gauge in zip(believed, shown, strict=True))


def test_a_total_above_the_gauges_counts_cpus_of_init_containers_twice() -> None:
    view = metrics_view(gauges(9, n0=2, n1=4))
    assert view is not None
    assert [zone.exclusive_cpus for zone in view.zones] == [2, 4]
    assert view.exclusive_cpus == 6
    assert "init containers" in view.quirk


def test_a_total_without_any_gauge_mentions_no_numa_node() -> None:
    # Kubernetes 1.32 has the total and no gauges (rules: kubelet-metrics).
    view = metrics_view(gauges(3))
    assert view is not None
    found = account(view, NodeFacts(topology=TOPOLOGY))
    assert (found.fidelity, found.exclusive_cpus) == ("none", 3)


@pytest.mark.parametrize("value", [-1.0, 0.5, float("nan"), float("inf"), 1e300])
def test_a_gauge_that_is_not_a_count_is_refused(value: float) -> None:
    with pytest.raises(BadRecord):
        metrics_view([Metric(GAUGE, {"numa_node": "0"}, value)])


@pytest.mark.parametrize("name", ["node-0", "node0", "node-17"])
def test_zones_are_named_as_nfd_koordinator_and_crane_do(name: str) -> None:
    assert numa_id(name, ("node-", "node")) == int(name.removeprefix("node").removeprefix("-"))


@pytest.mark.parametrize("name", ["", "node", "node--1", "left", "node-1a", "node-\u0663", "node-99999999999"])
def test_a_zone_of_another_name_is_refused(name: str) -> None:
    with pytest.raises(BadRecord):
        numa_id(name, ("node-", "node"))


def nrt(**parts: Any) -> str:
    return json.dumps({"apiVersion": "topology.node.k8s.io/v1alpha2", "metadata": {"name": "n"}, **parts})


def test_policies_are_reported_in_the_kubelets_words_and_attributes_win() -> None:
    view = parse_topology_object(nrt(topologyPolicies=["SingleNUMANodePodLevel"]))
    assert (view.topology_manager_policy, view.topology_manager_scope) == ("single-numa-node", "pod")
    attributes = [{"name": "topologyManagerPolicy", "value": "restricted"}]
    view = parse_topology_object(nrt(topologyPolicies=["BestEffort"], attributes=attributes))
    assert (view.topology_manager_policy, view.topology_manager_scope) == ("restricted", "container")


@pytest.mark.parametrize(
    "zones",
    [
        [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "4", "allocatable": "5"}]}],
        [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "4", "available": "5"}]}],
        [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "many"}]}],
        [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "-4"}]}],
        [{"name": "node-0", "resources": [{"name": "cpu"}]}],
        [{"name": "node-0"}, {"name": "node0"}],
        [{"name": "node-0", "costs": [{"name": "node-0", "value": "near"}]}],
        [{"name": 0}],
        {},
    ],
)
def test_zones_that_make_no_sense_are_refused(zones: Any) -> None:
    with pytest.raises(BadRecord):
        parse_topology_object(nrt(zones=zones))


@pytest.mark.parametrize("text", ["", "[]", '{"apiVersion":"example.com/v1"}', '{"metadata":3}', "[" * 5000])
def test_an_object_that_is_not_a_topology_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        parse_topology_object(text)


def test_koordinators_null_and_missing_annotations_are_empty() -> None:
    annotations = {
        "node.koordinator.sh/cpu-topology": '{"detail":[{"id":0,"core":0,"socket":0,"node":0}]}',
        "node.koordinator.sh/pod-cpu-allocs": "null",
    }
    view = parse_topology_object(nrt(metadata={"name": "n", "annotations": annotations}))
    assert (view.cpus, view.holders, view.reserved) == ((Cpu(cpu=0, core=0, socket=0, numa=0),), (), None)


def test_a_koordinator_pod_without_a_cpuset_is_not_pinned() -> None:
    status = '{"numaNodeResources":[{"node":0,"resources":{"cpu":"4"}}]}'
    assert koordinator_cpus(PodAnnotations(koordinator_resource_status=status)) == frozenset()
    with pytest.raises(BadRecord):
        koordinator_cpus(PodAnnotations(koordinator_resource_status='{"cpuset":"3-1"}'))


def test_unused_fields_of_a_koordinator_status_may_have_any_form() -> None:
    status = '{"cpuset":"0-1","name":5,"namespace":null,"uid":{}}'
    assert koordinator_cpus(PodAnnotations(koordinator_resource_status=status)) == frozenset({0, 1})
    annotations = {
        "node.koordinator.sh/cpu-topology": '{"detail":[{"id":0,"core":0,"socket":0,"node":0}]}',
        "node.koordinator.sh/reservation": '{"reservedCPUs":"0","policy":null}',
    }
    view = parse_topology_object(nrt(metadata={"name": "n", "annotations": annotations}))
    assert view.reserved == frozenset({0})


@pytest.mark.parametrize(("policy", "expected"), [("exclusive", {0: 2}), ("", {0: 2}), ("numa", {}), ("none", {})])
def test_crane_counts_only_exclusive_cpus(policy: str, expected: dict[int, int]) -> None:
    result = '[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}}]'
    assert crane_cpus(PodAnnotations(crane_cpu_policy=policy, crane_topology_result=result)) == expected


def test_crane_pods_alone_show_held_cpus_and_no_totals() -> None:
    view = with_crane_pods(None, {"a": {0: 2}, "b": {0: 1, 1: 4}})
    assert [(zone.numa_node, zone.cpus, zone.exclusive_cpus) for zone in view.zones] == [(0, None, 3), (1, None, 4)]


TOPOLOGY = numa_topology([Cpu(cpu=c, core=c, socket=0, numa=c // 4) for c in range(8)])


def held(source: str, *cpus: int, fidelity: Fidelity = "exact") -> NumaView:
    return NumaView(source, fidelity, holders=(Holder("", "", "uid", "c", frozenset(cpus)),))


def counted(*zones: tuple[int, int | None]) -> NumaView:
    return NumaView(NRT, "count", zones=tuple(NumaZone(numa, 4, 0, exclusive) for numa, exclusive in zones))


def test_cpu_ids_without_a_topology_count_for_the_node_only() -> None:
    found = account(held(CHECKPOINT, 1, 2), NodeFacts(capacity_cpus=8, reserved=frozenset({0})))
    assert found.fidelity == "none"
    assert [(n.numa_node, n.exclusive_cpus, n.free_cpus) for n in found.numbers] == [(WHOLE_NODE, 2, 5)]


def test_the_only_named_numa_node_holds_all_cpus() -> None:
    facts = NodeFacts(capacity_cpus=2, numa_named=frozenset({0}), reserved=frozenset({0}))
    found = account(held(CHECKPOINT, 1), facts)
    assert (found.fidelity, found.assumed) == ("count", ("single_numa_node",))
    assert found.numa_nodes_of(frozenset({1})) == (0,)


def test_a_cpu_outside_the_topology_lowers_the_fidelity_to_none() -> None:
    found = account(held(CHECKPOINT, 1, 9), NodeFacts(topology=TOPOLOGY))
    assert (found.fidelity, found.exclusive_cpus) == ("none", 2)
    assert "CPU 9" in found.explanation


def test_the_best_fidelity_wins_and_the_others_are_witnesses_or_disagree() -> None:
    facts = NodeFacts(topology=TOPOLOGY, reserved=frozenset({0}))
    accounts = [account(view, facts) for view in (counted((0, 2), (1, 1)), held(CHECKPOINT, 1, 2))]
    best = best_account(accounts)
    assert best is not None
    assert (best.view.source, best.fidelity) == (CHECKPOINT, "exact")
    assert witnesses(best, accounts, 0) == [NRT]
    assert disagreements(best, accounts) == {(1, NRT): (0, 1)}


def test_an_exporter_without_available_amounts_is_not_believed() -> None:
    facts = NodeFacts()
    silent, vague = account(counted((0, None)), facts), account(held(CHECKPOINT, 1), facts)
    assert silent.fidelity == vague.fidelity == "none"
    best = best_account([silent, vague])
    assert best is not None
    assert best.view.source == CHECKPOINT
    assert best_account([]) is None


def test_unreported_reserved_cpus_are_marked_as_assumed() -> None:
    assert account(held(CHECKPOINT, 1), NodeFacts(topology=TOPOLOGY)).assumed == ("reserved_cpus",)
    reported = NodeFacts(topology=TOPOLOGY, reserved_cpus=2, reserved_assumed=False)
    found = account(held(CHECKPOINT, 3), reported)
    assert (found.assumed, found.taken) == ((), frozenset({0, 1, 3}))
