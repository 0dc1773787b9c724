"""The kept fields of a `/stats/summary` (rules: eviction-signals, eviction-order, psi-and-swap)."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.captures import GIB, filesystem, pod_stats
from components.rows import T0
from ingest.files.sources import read_sources
from ingest.model.observation import Observation, Observed
from ingest.model.records import SummaryRecord
from ingest.model.samples import NodeSample, PodColumns
from ingest.resources.stats_summary import STATS_SUMMARY, node_sample, pod_columns
from paths import NODE_PRESSURE
from streams.rules.image_gc.thresholds import decide


def decoded(node: dict[str, Any] | None = None, *pods: dict[str, Any]) -> tuple[NodeSample, PodColumns]:
    summary = STATS_SUMMARY.decode(json.dumps({"node": node or {}, "pods": list(pods)}).encode())
    return node_sample(summary.node), pod_columns(summary.pods or [])


def test_the_first_summary_of_the_recording_is_read_as_the_kubelet_wrote_it() -> None:
    observation = next(
        item.observation
        for item in read_sources([NODE_PRESSURE])
        if isinstance(item, Observed) and item.observation.resource == "stats/summary"
    )
    summary = STATS_SUMMARY.decode(observation.object)
    sample, pods = node_sample(summary.node), pod_columns(summary.pods or [])
    assert summary.node.node_name == "real-node-1"
    assert (sample.memory_available_bytes, sample.memory_working_set_bytes) == (22029869056, 3246645248)
    assert (sample.pods_memory_available_bytes, sample.pods_memory_working_set_bytes) == (25042997248, 233517056)
    assert (sample.nodefs_available_bytes, sample.nodefs_capacity_bytes) == (72898576384, 270553174016)
    assert (sample.imagefs_used_bytes, sample.containerfs_inodes_used) == (892928, 44)
    assert (sample.pids_max, sample.pids_current) == (32768, 401)
    assert sample.cpu_usage_nanocores == 968843740
    assert sample.memory_psi_full_avg10_percent == 0
    first = {name: getattr(pods, name)[0] for name in PodColumns.__struct_fields__}
    assert (first["namespace"], first["pod"]) == ("default", "best")
    assert first["memory_working_set_bytes"] == 21540864
    assert (first["rootfs_used_bytes"], first["rootfs_inodes_used"]) == (20480, 8)
    assert (first["logs_used_bytes"], first["logs_inodes_used"]) == (0, 1)
    assert (first["ephemeral_used_bytes"], first["inodes_used"]) == (24576, 10)


def test_what_a_summary_does_not_say_is_none() -> None:
    sample, pods = decoded({}, {"podRef": {"name": "p", "namespace": "d"}})
    assert sample == NodeSample()
    assert pods.memory_working_set_bytes == pods.processes == pods.ephemeral_used_bytes == [None]
    assert pods.rootfs_used_bytes == pods.logs_used_bytes == pods.volumes_used_bytes == [0]
    assert pods.uid == [""]


def test_a_summary_without_pods_has_empty_columns() -> None:
    summary = STATS_SUMMARY.decode(b'{"node":{"nodeName":"n"}}')
    assert summary.pods is None
    assert pod_columns([]).uid == []


def test_only_the_system_container_pods_is_the_allocatable_view() -> None:
    containers = [
        {"name": name, "memory": {"availableBytes": i}} for i, name in enumerate(("kubelet", "pods", "misc"))
    ]
    assert decoded({"systemContainers": containers})[0].pods_memory_available_bytes == 1


def test_memory_of_a_windows_node_is_what_may_still_be_committed() -> None:
    """`makeMemoryAvailableSignalObservation` for Windows reads that system container, not the node's memory."""
    committed = {"name": "windows-global-commit-memory", "memory": {"availableBytes": 3, "usageBytes": 7}}
    node = {"memory": {"availableBytes": 50, "workingSetBytes": 60}, "systemContainers": [committed]}
    sample = decoded(node)[0]
    assert (sample.memory_available_bytes, sample.memory_working_set_bytes) == (3, 7)


def test_filesystems_are_kept_apart() -> None:
    sample, _ = decoded(
        {
            "fs": filesystem(1, 2, 3, 4),
            "runtime": {"imageFs": filesystem(5, 6, 7, 8), "containerFs": filesystem(9, 10)},
        }
    )
    assert (sample.nodefs_available_bytes, sample.nodefs_capacity_bytes) == (1, 2)
    assert (sample.nodefs_inodes_free, sample.nodefs_inodes) == (3, 4)
    assert (sample.imagefs_available_bytes, sample.imagefs_inodes_free) == (5, 7)
    assert (sample.containerfs_available_bytes, sample.containerfs_capacity_bytes) == (9, 10)


@pytest.mark.parametrize(("available", "taken"), [(11, 10), (10, 10), (9, 9), (None, None)])
def test_more_available_than_there_is_counts_as_all_of_it(available: int | None, taken: int | None) -> None:
    """Image GC takes it so, and would not free; a missing number counts as 0, and it would (rules: image-gc-loop)."""
    sample, _ = decoded({"runtime": {"imageFs": {"availableBytes": available, "capacityBytes": 10}}})
    assert (sample.imagefs_available_bytes, sample.imagefs_capacity_bytes) == (taken, 10)
    decision = decide(sample.imagefs_available_bytes, sample.imagefs_capacity_bytes).verdict
    assert decision == ("free" if available is None else "below_high")


def test_use_is_added_up_over_containers_and_local_volumes() -> None:
    """Volumes of claims lie elsewhere, and the service account's token in memory (rules: eviction-order)."""
    containers = [{"name": n, "rootfs": {"usedBytes": 10, "inodesUsed": 1}, "logs": {"usedBytes": 3}} for n in "ab"]
    volumes = [
        {"name": "cache", "usedBytes": 100, "inodesUsed": 7},
        {"name": "config", "usedBytes": 1000},
        {"name": "data", "usedBytes": GIB, "pvcRef": {"name": "data", "namespace": "d"}},
        {"name": "kube-api-access-x7k2p", "usedBytes": 12288, "inodesUsed": 9},
    ]
    _, pods = decoded(None, pod_stats("p") | {"containers": containers, "volume": volumes})
    assert (pods.rootfs_used_bytes, pods.logs_used_bytes, pods.volumes_used_bytes) == ([20], [6], [1100])
    assert (pods.rootfs_inodes_used, pods.logs_inodes_used, pods.volumes_inodes_used) == ([2], [0], [7])
    assert pods.volumes == ["cache:100:7,config:1000:0"]


def test_a_volume_with_a_name_that_no_api_server_takes_is_not_named() -> None:
    volumes = [{"name": name, "usedBytes": 1} for name in ("a,b:9:9", "", "Upper", "x" * 64, "ok-1")]
    _, pods = decoded(None, pod_stats("p") | {"volume": volumes})
    assert pods.volumes == ["ok-1:1:0"]
    assert pods.volumes_used_bytes == [5]


def test_pressure_stall_is_kept_in_total_and_by_ten_seconds() -> None:
    """The kubelet passes on the kernel's microseconds."""
    psi = {"some": {"total": 5, "avg10": 0.5, "avg60": 9, "avg300": 9}, "full": {"total": 3, "avg10": 0.25}}
    sample, pods = decoded({"io": {"psi": psi}}, pod_stats("p") | {"cpu": {"psi": psi}})
    assert (sample.io_psi_some_total_nanoseconds, sample.io_psi_some_avg10_percent) == (5000, 0.5)
    assert (sample.io_psi_full_total_nanoseconds, sample.cpu_psi_full_total_nanoseconds) == (3000, None)
    assert (pods.cpu_psi_full_avg10_percent, pods.memory_psi_full_avg10_percent) == ([0.25], [None])


@pytest.mark.parametrize(("cpu_total", "known"), [(0, None), (1, 0)])
def test_zeros_of_a_kernel_without_psi_are_not_known(cpu_total: int, known: int | None) -> None:
    """Tasks of any node have once waited for CPU since boot; that none waited for memory can be."""
    zeros = {"some": {"total": 0, "avg10": 0}, "full": {"total": 0, "avg10": 0}}
    node = {
        "nodeName": "n",
        "cpu": {"usageCoreNanoSeconds": 9, "psi": {"some": {"total": cpu_total, "avg10": 0}}},
        "memory": {"psi": zeros},
    }
    summary = {"node": node, "pods": [pod_stats("p") | {"io": {"psi": zeros}}]}
    raw = json.dumps(summary).encode()
    observation = Observation(
        ts=T0, cluster="c", source="kubelet", resource="stats/summary", type="SNAPSHOT", object=msgspec.Raw(raw)
    )
    (record,) = STATS_SUMMARY.records(observation, STATS_SUMMARY.decode(raw))
    assert isinstance(record, SummaryRecord)
    sample, pods = record.sample, record.pods
    assert sample.cpu_usage_core_nanoseconds == 9
    assert (sample.memory_psi_some_total_nanoseconds, sample.memory_psi_full_avg10_percent) == (known, known)
    assert (pods.io_psi_some_total_nanoseconds, pods.io_psi_full_avg10_percent) == ([known], [known])


@pytest.mark.parametrize("value", [-1, 2**63, 2**64 - 1])
def test_a_number_that_cannot_be_costs_its_field_alone_and_is_reported(value: int) -> None:
    """No statistic is below 0 or beyond 2^63; a kubelet wraps what it computes below 0 to 2^64 less that."""
    memory = {"availableBytes": value, "workingSetBytes": 7}
    pods = [pod_stats("p") | {"memory": {"rssBytes": value, "workingSetBytes": 5}}]
    summary = STATS_SUMMARY.decode(json.dumps({"node": {"nodeName": "n", "memory": memory}, "pods": pods}).encode())
    sample, columns = node_sample(summary.node), pod_columns(summary.pods or [])
    assert (sample.memory_available_bytes, sample.memory_working_set_bytes) == (None, 7)
    assert (columns.memory_rss_bytes, columns.memory_working_set_bytes) == ([None], [5])
    assert f"node.memory.availableBytes is {value}" in summary.impossible


@pytest.mark.parametrize("value", [1.5, -0.5, "5", "300Mi", True, [], {}])
def test_what_is_no_whole_number_costs_its_field_alone(value: object) -> None:
    summary = STATS_SUMMARY.decode(
        msgspec.json.encode({"node": {"nodeName": "n", "memory": {"availableBytes": value, "workingSetBytes": 7}}})
    )
    sample = node_sample(summary.node)
    assert (sample.memory_available_bytes, sample.memory_working_set_bytes) == (None, 7)
    assert summary.impossible.startswith("node.memory.availableBytes is ")


def test_whole_numbers_with_an_exponent_are_statistics_as_jq_prints_them() -> None:
    memory = (
        b'{"availableBytes":3.1e8,"workingSetBytes":1.8446744073709552e19,"psi":{"full":{"total":2,"avg10":0.5}}}'
    )
    summary = STATS_SUMMARY.decode(b'{"node":{"nodeName":"n","memory":%b}}' % memory)
    sample = node_sample(summary.node)
    assert (sample.memory_available_bytes, sample.memory_working_set_bytes) == (310_000_000, None)
    assert summary.impossible == "node.memory.workingSetBytes is 1.8446744073709552e+19"


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"node":[]}', b'{"node":{}', b'{"node":{},"pods":[{}]}'])
def test_an_answer_that_is_not_a_summary_is_refused(text: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        STATS_SUMMARY.decode(text)


@given(st.lists(st.lists(st.integers(0, 2**40), max_size=4), max_size=4))
def test_columns_have_one_value_for_each_pod_in_their_order(containers: list[list[int]]) -> None:
    given_ = [
        pod_stats(str(i)) | {"containers": [{"rootfs": {"usedBytes": used}} for used in each]}
        for i, each in enumerate(containers)
    ]
    _, pods = decoded(None, *given_)
    assert pods.pod == [str(i) for i in range(len(containers))]
    assert pods.rootfs_used_bytes == [sum(each) for each in containers]
    assert {len(getattr(pods, name)) for name in PodColumns.__struct_fields__} == {len(containers)}
