"""The podresources service's answers, decoded and asked for over a socket (rules: podresources)."""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import grpc
import msgspec
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadRecord
from fakes import podresources as fake
from ingest.model.observation import Observation
from ingest.model.podresources import (
    AllocatableResources,
    ContainerResources,
    DeviceResources,
    MemoryResources,
    NodeResources,
    PodResources,
)
from ingest.model.records import PodResourcesRecord
from ingest.model.topics import decode_record, encode_record
from ingest.node.podresources_api import decode_allocatable, decode_pods, read_podresources
from ingest.node.sysfs import CannotReadError
from ingest.normalize.normalize import normalize
from profiles import EXAMPLES

GPU = fake.device("nvidia.com/gpu", ["GPU-2", "GPU-1"], [1, 0])
HUGE = fake.memory("hugepages-2Mi", 4 << 20, [0])
SHARED = fake.pod("default", "shared", fake.container("c"))
PINNED = fake.pod("default", "pinned", fake.container("w", [5, 1], [GPU], [HUGE]))

PINNED_POD = PodResources(
    name="pinned",
    namespace="default",
    containers=(
        ContainerResources(
            name="w",
            cpu_ids=(1, 5),
            devices=(
                DeviceResources(resource_name="nvidia.com/gpu", device_ids=("GPU-1", "GPU-2"), numa_nodes=(0, 1)),
            ),
            memory=(MemoryResources(memory_type="hugepages-2Mi", size=4 << 20, numa_nodes=(0,)),),
        ),
    ),
)
SHARED_POD = PodResources(name="shared", namespace="default", containers=(ContainerResources(name="c"),))


@pytest.fixture
def socket() -> Iterator[Path]:
    """A socket's path is at most 107 bytes long, and pytest's folders have long names."""
    with tempfile.TemporaryDirectory(prefix="leadsman-") as folder:
        yield Path(folder) / "pod-resources/kubelet.sock"


def test_pods_are_ordered_because_the_kubelet_orders_them_anew_each_time() -> None:
    assert (
        decode_pods(fake.pods(SHARED, PINNED)) == decode_pods(fake.pods(PINNED, SHARED)) == (PINNED_POD, SHARED_POD)
    )


def test_allocatable_resources_are_decoded_by_their_own_field_numbers() -> None:
    assert decode_allocatable(fake.allocatable([3, 1], [GPU], [HUGE])) == AllocatableResources(
        cpu_ids=(1, 3), devices=PINNED_POD.containers[0].devices, memory=PINNED_POD.containers[0].memory
    )


def test_numbers_that_are_not_packed_are_read_as_well() -> None:
    container = fake.text(1, "c") + fake.number(3, 2) + fake.number(3, 1)
    assert decode_pods(fake.pods(fake.pod("n", "p", container)))[0].containers[0].cpu_ids == (1, 2)


def test_fields_of_newer_versions_are_skipped() -> None:
    """Dynamic resources, and the pod's own CPUs of after 1.36, which overlap its containers'
    (rules: podresources).
    """
    container = fake.container("c", [1]) + fake.message(5, fake.text(2, "claim"))
    pod = fake.pod("n", "p", container) + fake.packed(4, [1, 2])
    assert decode_pods(fake.pods(pod))[0].containers == (ContainerResources(name="c", cpu_ids=(1,)),)


names = st.text(max_size=8)
ids = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(sorted)
numa_ids = st.lists(st.integers(0, 300), max_size=3).map(sorted)


@settings(max_examples=EXAMPLES * 3 // 5)
@given(names, names, names, ids, names, st.lists(names, max_size=3).map(sorted), st.integers(0, 2**63 - 1), numa_ids)
def test_what_a_kubelet_encodes_is_what_is_read(
    namespace: str, pod: str, name: str, cpus: list[int], kind: str, devices: list[str], size: int, numa: list[int]
) -> None:
    container = fake.container(name, cpus, [fake.device(kind, devices, numa)], [fake.memory(kind, size, numa)])
    held = ContainerResources(
        name=name,
        cpu_ids=tuple(cpus),
        devices=(DeviceResources(resource_name=kind, device_ids=tuple(devices), numa_nodes=tuple(numa)),),
        memory=(MemoryResources(memory_type=kind, size=size, numa_nodes=tuple(numa)),),
    )
    reported = decode_pods(fake.pods(fake.pod(namespace, pod, container)))
    assert reported == (PodResources(name=pod, namespace=namespace, containers=(held,)),)
    assert msgspec.json.decode(msgspec.json.encode(reported), type=tuple[PodResources, ...]) == reported


@given(st.binary(max_size=60))
def test_bytes_that_are_no_message_are_refused_or_read_and_nothing_else(data: bytes) -> None:
    try:
        pods = decode_pods(data)
    except DecodeError:
        return
    assert all(isinstance(pod, PodResources) for pod in pods)


def test_the_service_is_asked_over_its_socket(socket: Path) -> None:
    answers = {fake.LIST: fake.pods(PINNED), fake.ALLOCATABLE: fake.allocatable([1, 5])}
    with fake.served(socket, dict(answers)):
        assert read_podresources(socket) == NodeResources(
            pods=(PINNED_POD,), allocatable=AllocatableResources(cpu_ids=(1, 5))
        )


@pytest.mark.parametrize(
    "refusal", [None, fake.Refusal(grpc.StatusCode.UNKNOWN, "PodResourcesAPI GetAllocatableResources disabled")]
)
def test_a_kubelet_that_does_not_offer_its_allocatable_resources_still_reports_its_pods(
    socket: Path, refusal: fake.Refusal | None
) -> None:
    answers: dict[str, bytes | fake.Refusal] = {fake.LIST: fake.pods(PINNED)}
    if refusal:
        answers[fake.ALLOCATABLE] = refusal
    with fake.served(socket, answers):
        assert read_podresources(socket) == NodeResources(pods=(PINNED_POD,))


@pytest.mark.parametrize(
    ("answers", "reported"),
    [
        ({}, "1.20"),
        ({fake.LIST: fake.Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "too\x1bmany")}, r"EXHAUSTED: too\\x1bmany"),
        ({fake.LIST: b"\x0a\xff"}, "not a podresources message"),
        (
            {fake.LIST: b"", fake.ALLOCATABLE: fake.Refusal(grpc.StatusCode.INTERNAL, "broken")},
            "INTERNAL: broken",
        ),
    ],
)
def test_a_service_that_cannot_be_read_is_reported_in_words(
    socket: Path, answers: dict[str, bytes | fake.Refusal], reported: str
) -> None:
    with fake.served(socket, answers), pytest.raises(CannotReadError, match=reported):
        read_podresources(socket)


def test_a_socket_without_a_listener_is_reported(socket: Path) -> None:
    with pytest.raises(CannotReadError, match="UNAVAILABLE"):
        read_podresources(socket)


def test_a_socket_whose_path_is_too_long_for_linux_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotReadError, match="at most 107 bytes"):
        read_podresources(tmp_path / ("d" * 120) / "kubelet.sock")


def test_a_kubelet_that_came_back_is_read_at_once(socket: Path) -> None:
    with pytest.raises(CannotReadError):
        read_podresources(socket)
    with fake.served(socket, {fake.LIST: b""}):
        assert read_podresources(socket) == NodeResources(pods=())


def observed(object_: bytes, node: str = "n1") -> Observation:
    return Observation(
        ts=datetime(2026, 1, 1, tzinfo=UTC),
        cluster="c",
        source="agent",
        resource="podresources",
        type="SNAPSHOT",
        node=node,
        object=msgspec.Raw(object_),
    )


def test_the_observation_becomes_a_record_of_its_node() -> None:
    reported = NodeResources(pods=(PINNED_POD,), allocatable=AllocatableResources(cpu_ids=(1, 5)))
    (record,) = normalize(observed(msgspec.json.encode(reported)))
    assert isinstance(record, PodResourcesRecord)
    assert (record.node, record.pods, record.allocatable) == ("n1", reported.pods, reported.allocatable)
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize(
    ("object_", "error_type"),
    [
        (b"{}", "wrong_type"),
        (b'{"pods": [{"name": "p"}]}', "wrong_type"),
        (
            b'{"pods": [{"name": "p", "namespace": "n", "containers": [{"name": "c", "cpu_ids": ["1"]}]}]}',
            "wrong_type",
        ),
        (b'{"pods": [', "not_json"),
    ],
)
def test_an_object_that_is_none_is_a_dead_letter(object_: bytes, error_type: str) -> None:
    with pytest.raises(BadRecord) as refused:
        normalize(observed(object_))
    assert refused.value.error_type == error_type


def test_an_observation_that_names_no_node_is_a_dead_letter() -> None:
    with pytest.raises(BadRecord, match="which node"):
        normalize(observed(b'{"pods": []}', node=""))
