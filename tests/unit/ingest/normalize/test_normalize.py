"""An observation becomes records: the kept fields, each on its log."""

import contextlib
import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from components.captures import CLUSTER, Json, at, configz, event, node, observation, pod, records, summary
from ingest.files.sources import read_sources
from ingest.model.objects.pod import ContainerWaiting
from ingest.model.observation import Observation, Observed
from ingest.model.records import (
    CpuManagerRecord,
    CpuTopologyRecord,
    EventRecord,
    KnownNodeRecord,
    MetricsRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    PodPlacement,
    PodRecord,
    PublishedRecord,
    Record,
    SettingsRecord,
    SourceErrorRecord,
    SummaryRecord,
)
from ingest.normalize.normalize import normalize
from ingest.resources.table import BY_NAME
from paths import NODE_PRESSURE

OF_A_KUBELET = {"type_": "SNAPSHOT", "source": "kubelet", "node": "n"}


def raw(resource: str, object_: bytes, *, node_name: str = "", change: str = "SNAPSHOT") -> Observation:
    return Observation(
        ts=datetime(2026, 7, 1, 12, tzinfo=UTC),
        cluster=CLUSTER,
        source="kubelet",
        resource=resource,
        type=change,  # type: ignore[arg-type]  # one of a capture's
        node=node_name,
        object=msgspec.Raw(object_),
    )


def places(*observations: Json) -> list[tuple[type[Record], str]]:
    return [(type(record), record.node) for record in records(*observations)]


def test_a_node_goes_to_its_own_log_and_to_the_clusters() -> None:
    assert places(node("12:00:00", "n")) == [(NodeRecord, "n"), (NodeRecord, "")]


@pytest.mark.parametrize("resource", ["nodes", "node_leases"])
def test_a_node_without_a_name_is_refused_for_its_log_would_be_the_clusters(resource: str) -> None:
    with pytest.raises(BadRecord, match="no name"):
        normalize(raw(resource, b'{"metadata":{"name":"","uid":"u"}}', change="ADDED"))


def test_why_a_container_waits_is_kept_without_the_credentials_in_it() -> None:
    """A runtime quotes the address that it asked."""
    message = "failed to pull https://bot:hunter2@registry.example/x: not found"
    waiting = {"name": "c", "state": {"waiting": {"reason": "ErrImagePull", "message": message}}}
    pending = {"metadata": {"name": "p", "uid": "u"}, "status": {"phase": "Pending", "containerStatuses": [waiting]}}
    (record,) = records(observation("12:00:00", "pods", pending))
    assert isinstance(record, PodRecord)
    found = [each.state and each.state.waiting for each in record.object.status.container_statuses or []]
    assert found == [ContainerWaiting(reason="ErrImagePull", message=message.replace("bot:hunter2", "[redacted]"))]


def test_a_bound_pod_goes_to_its_nodes_log_and_its_placement_to_the_clusters() -> None:
    scheduled = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at("11:59:00")}]}
    owners = [{"kind": "Node", "name": "x"}, {"kind": "DaemonSet", "name": "d", "controller": True}]
    observed_ = pod("12:00:00", "p", "n", status=scheduled, metadata={"ownerReferences": owners})
    on_node, placed = records(observed_)
    assert isinstance(on_node, PodRecord)
    assert on_node.node == "n"
    assert isinstance(placed, PodPlacement)
    assert (placed.node, placed.target, placed.uid, placed.owner_kind) == ("", "n", "uid-p", "DaemonSet")
    assert placed.bound_at == datetime(2026, 7, 1, 11, 59, tzinfo=UTC)


def test_a_pod_without_a_node_goes_to_the_clusters_log_alone() -> None:
    assert places(pod("12:00:00", "p")) == [(PodRecord, "")]


def test_a_snapshot_of_a_node_is_what_is_known_of_it_on_both_logs() -> None:
    assert places(node("12:00:00", "n", type_="SNAPSHOT")) == [(KnownNodeRecord, "n"), (KnownNodeRecord, "")]


def test_a_deletion_stays_one() -> None:
    [record] = records(event("12:00:00", "e", "R", "m", node="n", type_="DELETED"))
    assert isinstance(record, EventRecord)
    assert (record.change, record.node) == ("DELETED", "n")


def test_a_source_that_could_not_be_read_is_reported_on_its_nodes_log() -> None:
    lost = observation("12:00:00", "stats/summary", {"error": "refused"}, type_="ERROR", source="kubelet", node="n")
    [record] = records(lost)
    assert record == SourceErrorRecord(
        ts=record.ts, cluster=CLUSTER, node="n", resource="stats/summary", error="refused"
    )


def test_a_summary_reports_its_node_itself_where_the_observation_does_not() -> None:
    reported = summary("12:00:00", "n")
    del reported["node"]
    assert places(reported) == [(SummaryRecord, "n")]


def test_the_node_that_was_asked_goes_before_the_name_in_a_summary() -> None:
    assert places(summary("12:00:00", "n") | {"node": "asked"}) == [(SummaryRecord, "asked")]


@pytest.mark.parametrize(
    ("resource", "object_"),
    [
        ("configz", b'{"kubeletconfig":{}}'),
        ("metrics", b'{"text":""}'),
        ("cpu_manager_state", b"{}"),
        ("memory_manager_state", b"{}"),
        ("cpu_topology", b'{"cpus":[]}'),
        ("stats/summary", b'{"node":{}}'),
    ],
)
def test_what_a_kubelet_says_needs_its_node(resource: str, object_: bytes) -> None:
    with pytest.raises(BadRecord) as caught:
        normalize(raw(resource, object_))
    assert caught.value.error_type == "no_node"
    assert [record.node for record in normalize(raw(resource, object_, node_name="n"))] == ["n"]


def test_settings_are_read_by_the_names_of_the_kubelet() -> None:
    [record] = records(
        configz("12:00:00", "n", imageGCHighThresholdPercent=3, evictionHard={"nodefs.available": "5%"})
    )
    assert isinstance(record, SettingsRecord)
    assert record.config.image_gc_high_threshold_percent == 3
    assert record.config.eviction_hard == {"nodefs.available": "5%"}
    assert record.config.eviction_soft is None


def test_a_checkpoint_is_kept_as_its_text() -> None:
    [record] = records(observation("12:00:00", "cpu_manager_state", {"policyName": "static"}, **OF_A_KUBELET))
    assert isinstance(record, CpuManagerRecord)
    assert record.checkpoint == '{"policyName": "static"}'


def test_a_topology_is_its_cpus() -> None:
    cpu = {"cpu": 1, "core": 2, "socket": 3, "numa": 4}
    [record] = records(observation("12:00:00", "cpu_topology", {"cpus": [cpu]}, **OF_A_KUBELET))
    assert isinstance(record, CpuTopologyRecord)
    assert [msgspec.to_builtins(each) for each in record.cpus] == [cpu]


def test_a_node_resource_topology_goes_to_the_log_of_the_node_that_it_is_named_for() -> None:
    [record] = records(observation("12:00:00", "noderesourcetopologies", {"metadata": {"name": "n"}}))
    assert isinstance(record, NodeResourceTopologyRecord)
    assert (record.node, record.change) == ("n", "ADDED")


def test_of_metrics_only_those_that_an_analytic_reads_are_kept() -> None:
    text = (
        "# HELP kubelet_evictions [ALPHA] x\n# TYPE kubelet_evictions counter\n"
        'kubelet_evictions{eviction_signal="memory.available"} 2\n'
        'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 1\ngo_goroutines 90\nkubelet_node_name{node="n"} 1\n'
    )
    [record] = records(observation("12:00:00", "metrics", {"text": text}, **OF_A_KUBELET))
    assert isinstance(record, MetricsRecord)
    assert [(m.name, m.labels, m.value) for m in record.metrics] == [
        ("kubelet_evictions", {"eviction_signal": "memory.available"}, 2.0),
        ("kubelet_cpu_manager_allocation_per_numa", {"numa_node": "0"}, 1.0),
    ]


@pytest.mark.parametrize(
    ("resource", "object_", "error_type"),
    [
        ("nodes", b'{"metadata":{}}', "wrong_type"),
        ("nodes", b'{"metadata":{"name":5}}', "wrong_type"),
        ("nodes", b'{"metadata":{"name":"n"}', "not_json"),
        ("pods", b"[]", "wrong_type"),
        ("events", b'{"metadata":{"name":"e"},"lastTimestamp":"yesterday"}', "wrong_type"),
        ("configz", b'{"other":{}}', "wrong_type"),
        ("pods", b'{"metadata":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "wrong_type"),
        ("events", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
        ("secrets", b"{}", "unknown_resource"),
    ],
)
def test_an_object_that_is_not_what_its_resource_says_is_refused(
    resource: str, object_: bytes, error_type: str
) -> None:
    with pytest.raises(BadRecord) as caught:
        normalize(raw(resource, object_, node_name="n"))
    assert caught.value.error_type == error_type


_names = st.sampled_from(
    ["metadata", "name", "spec", "status", "node", "pods", "cpus", "text", "error", "uid", "kind"]
)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(BY_NAME)), st.sampled_from(["ADDED", "DELETED", "SNAPSHOT", "ERROR"]), _json)
def test_any_json_gives_records_or_is_refused(resource: str, change: str, object_: object) -> None:
    with contextlib.suppress(BadRecord):
        assert normalize(raw(resource, json.dumps(object_).encode(), node_name="n", change=change))


def test_every_record_of_the_recording_is_the_same_after_a_round_trip_as_json() -> None:
    kinds = set()
    decode = msgspec.json.Decoder(PublishedRecord).decode
    for item in read_sources([NODE_PRESSURE]):
        assert isinstance(item, Observed)
        for record in normalize(item.observation):
            kinds.add(type(record))
            assert decode(msgspec.json.encode(record)) == record
    assert kinds >= {NodeRecord, PodRecord, PodPlacement, EventRecord, SummaryRecord, SettingsRecord, MetricsRecord}
