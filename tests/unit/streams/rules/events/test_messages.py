"""Every text of the reference about nodes, image GC and eviction, and those of the real capture
(rules: admission-failures, image-gc-messages, eviction-messages, recorded-behaviour).
"""

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.messages.reasons import is_kubelet_start
from paths import NODE_PRESSURE
from streams.rules.events.messages import LONGEST_MESSAGE, ConditionChange, message_body, parse_node_status
from streams.rules.eviction.messages import (
    AdmissionRejection,
    Eviction,
    LimitEviction,
    Offender,
    PressureEviction,
    parse_evicted,
)
from streams.rules.image_gc.messages import ImageGcFailure, parse_error, parse_image_gc

COMBINED = "(combined from similar events): "
KI, MI, GI = 2**10, 2**20, 2**30


# Image GC


def _insufficient(result: str, **numbers: int) -> ImageGcFailure:
    return ImageGcFailure(result, "insufficient_freed", **numbers)  # type: ignore[arg-type]


FREE_DISK_SPACE_FAILED = [
    pytest.param(
        "failed to garbage collect required amount of images. Wanted to free 473842483, but freed 0",
        _insufficient("noop", wanted_bytes=473842483, freed_bytes=0),
        id="1.5",
    ),
    pytest.param(
        "failed to garbage collect required amount of images. Wanted to free 473842483 bytes, but freed 1024 bytes",
        _insufficient("partial", wanted_bytes=473842483, freed_bytes=1024),
        id="1.25",
    ),
    pytest.param(
        "Failed to garbage collect required amount of images. Attempted to free 2986842521 bytes, "
        "but only found 0 bytes eligible to free.",
        _insufficient("noop", wanted_bytes=2986842521, freed_bytes=0),
        id="1.26",
    ),
    pytest.param(
        "Insufficient free disk space on the node's image filesystem (74% of 252.0 GiB used). Failed to free "
        "sufficient space by deleting unused images (freed 5 bytes). Investigate disk usage, as it could be used by "
        "active images, logs, volumes, or other data.",
        _insufficient("partial", usage_percent=74, freed_bytes=5),
        id="1.35",
    ),
]


@pytest.mark.parametrize(("message", "failure"), FREE_DISK_SPACE_FAILED)
def test_wanted_and_freed_bytes_are_read_from_the_text_of_each_version(message: str, failure: ImageGcFailure) -> None:
    assert parse_image_gc("FreeDiskSpaceFailed", message) == failure
    assert parse_image_gc("ImageGCFailed", message) == failure
    assert parse_image_gc("ImageGCFailed", COMBINED + message) == failure


@pytest.mark.parametrize("size", ["512.0 B", "512 B", "1.5 KiB", "20.0 MiB", "252.0 GiB", "3.2 TiB"])
def test_the_size_of_a_file_system_may_have_any_unit(size: str) -> None:
    message = (
        f"Insufficient free disk space on the node's image filesystem (100% of {size} used). "
        "Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage."
    )
    assert parse_image_gc("ImageGCFailed", message) == _insufficient("noop", usage_percent=100, freed_bytes=0)


def test_a_percent_sign_that_printf_damaged_is_read_all_the_same() -> None:
    message = (
        "Insufficient free disk space on the node's image filesystem (74%!o(MISSING)f 252.0 GiB used). "
        "Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage."
    )
    failure = parse_image_gc("ImageGCFailed", message)
    assert failure is not None
    assert failure.usage_percent == 74


@pytest.mark.parametrize(
    "message",
    [
        "invalid capacity 0 on image filesystem",
        'invalid capacity 0 on device "/dev/sda1" at mount point "/var/lib/docker"',
        'invalid capacity 0 on device "" at mount point ""',
    ],
)
@pytest.mark.parametrize("reason", ["InvalidDiskCapacity", "ImageGCFailed"])
def test_capacity_0_is_reported_in_an_old_and_a_new_way(reason: str, message: str) -> None:
    assert parse_image_gc(reason, message) == ImageGcFailure("error", "invalid_capacity")


def test_deletion_errors_name_wanted_and_freed_bytes() -> None:
    message = (
        "wanted to free 3000000000 bytes, but freed 1000 bytes space with errors in image deletion: "
        "[rpc error: code = Unknown desc = conflict: 100%!u(MISSING)nable to delete, context deadline exceeded]"
    )
    found = parse_image_gc("ImageGCFailed", message)
    assert found is not None
    assert found._replace(text="") == ImageGcFailure("error", "delete_error", 3000000000, 1000)
    assert found.text == (
        "rpc error: code = Unknown desc = conflict: 100%!u(MISSING)nable to delete, context deadline exceeded"
    )


def test_errors_of_deletion_by_age_have_no_numbers() -> None:
    message = "wanted to free images older than 168h0m0s, encountered errors in image deletion: rpc error: x"
    assert parse_image_gc("ImageGCFailed", message) == ImageGcFailure("error", "delete_error", text="rpc error: x")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("rpc error: code = ResourceExhausted desc = grpc: received message larger than max", "detect_error"),
        ("get container status: rpc error: code = NotFound desc = no such container", "detect_error"),
        ("operation timeout: context deadline exceeded", "runtime_error"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "runtime_error"),
    ],
)
def test_a_failing_runtime_call_of_image_gc_has_its_own_reason(message: str, reason: str) -> None:
    """Errors of listing come as the runtime wrote them; those of statistics and deletions have words before."""
    failure = parse_image_gc("ImageGCFailed", message)
    assert failure is not None
    assert (failure.result, failure.reason) == ("error", reason)


def test_a_list_of_deletion_errors_may_be_longer_than_the_limit() -> None:
    message = "wanted to free 3 bytes, but freed 0 bytes space with errors in image deletion: [" + "x" * 10**6
    failure = parse_image_gc("ImageGCFailed", message)
    assert failure is not None
    assert (failure.reason, failure.wanted_bytes, failure.freed_bytes) == ("delete_error", 3, 0)


@pytest.mark.parametrize(
    "message",
    [
        "get filesystem info: failed to get device for dir",
        "imageFs information is unavailable",
        "failed to get imageFs info: unable to find data in memory cache",
        "missing image stats: &ImageFsInfoResponse{ImageFilesystems:[]*FilesystemUsage{},}",
        "unable to find data for container /",
    ],
)
def test_missing_statistics_are_a_stats_error(message: str) -> None:
    assert parse_image_gc("ImageGCFailed", message) == ImageGcFailure("error", "stats_error", text=message)


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("ImageGCFailed", ImageGcFailure("error", "unknown")),
        ("FreeDiskSpaceFailed", ImageGcFailure("partial", "insufficient_freed")),
        ("InvalidDiskCapacity", ImageGcFailure("error", "invalid_capacity")),
    ],
)
@pytest.mark.parametrize("message", ["", "rpc error: code = Unavailable", "Wanted to free 5 bytes"])
def test_an_unknown_text_is_classified_by_its_reason(reason: str, failure: ImageGcFailure, message: str) -> None:
    kept = message if reason == "ImageGCFailed" else ""
    assert parse_image_gc(reason, message) == failure._replace(text=kept)
    assert parse_error(message) is None


def test_events_with_other_reasons_are_not_about_image_gc() -> None:
    assert parse_image_gc("Evicted", "invalid capacity 0 on image filesystem") is None


def test_a_number_beyond_64_bits_is_none() -> None:
    message = f"failed to garbage collect required amount of images. Wanted to free {2**63} bytes, but freed 7 bytes"
    assert parse_error(message) == _insufficient("partial", freed_bytes=7)
    assert parse_error(message.replace(str(2**63), "9" * 40)) is None


def test_an_impossible_percentage_is_none() -> None:
    assert parse_error("Insufficient free disk space on the node's image filesystem (174% of 1.0 B used). ") is None


# Eviction under pressure


LOW = "The node was low on resource: "
EVICTED = [
    pytest.param(
        LOW + "ephemeral-storage. Container sparkoperator was using 31748Ki, which exceeds its request of 0. ",
        PressureEviction("ephemeral-storage", offenders=(Offender("container", "sparkoperator", 31748 * KI, 0),)),
        id="1.25",
    ),
    pytest.param(
        LOW + "memory. Container a was using 5Gi, which exceeds its request of 1Gi. "
        "Container b was using 1536Mi, which exceeds its request of 500M. ",
        PressureEviction(
            "memory",
            offenders=(
                Offender("container", "a", 5 * GI, GI),
                Offender("container", "b", 1536 * MI, 500_000_000),
            ),
        ),
        id="1.25-two-containers",
    ),
    pytest.param(LOW + "memory. ", PressureEviction("memory"), id="1.25-none-exceeds"),
    pytest.param(
        LOW + "ephemeral-storage. Threshold quantity: 2722654248, available: 2588756Ki. ",
        PressureEviction("ephemeral-storage", 2722654248, 2588756 * KI),
        id="1.26-percent-threshold",
    ),
    pytest.param(
        LOW + "memory. Threshold quantity: 100Mi, available: 17348Ki. Container c was using 900Mi, request is 0, "
        "has larger consumption of memory. ",
        PressureEviction("memory", 100 * MI, 17348 * KI, (Offender("container", "c", 900 * MI, 0),)),
        id="1.26",
    ),
    pytest.param(
        LOW + "memory. Threshold quantity: 100Mi, available: 17348Ki. Pod web.v1 was using 2Gi, request is 1Gi, "
        "has larger consumption of memory. Container c was using 900Mi, request is 1e3, "
        "has larger consumption of memory. ",
        PressureEviction(
            "memory",
            100 * MI,
            17348 * KI,
            (Offender("pod", "web.v1", 2 * GI, GI), Offender("container", "c", 900 * MI, 1000)),
        ),
        id="1.34-pod-level",
    ),
    pytest.param(
        LOW + "inodes. Threshold quantity: 838860, available: 12k. ",
        PressureEviction("inodes", 838860, 12000),
        id="inodes",
    ),
    # Before 1.12 the resource was the file system, and before 1.5 nothing named it.
    pytest.param(LOW + "nodefs. ", PressureEviction("ephemeral-storage"), id="1.11"),
    pytest.param(LOW + "imagefsInodes. ", PressureEviction("inodes"), id="1.11-inodes"),
    pytest.param("The node was low on compute resources.", PressureEviction(""), id="1.4"),
    pytest.param(
        LOW + "pids. Threshold quantity: 3276, available: 100. ", PressureEviction("pids", 3276, 100), id="pids"
    ),
]


@pytest.mark.parametrize(("message", "eviction"), EVICTED)
def test_a_pressure_eviction_is_read_from_the_text_of_each_version(message: str, eviction: PressureEviction) -> None:
    assert parse_evicted(message) == eviction
    assert parse_evicted(message.strip()) == eviction
    assert parse_evicted(COMBINED + message) == eviction


@pytest.mark.parametrize(
    ("tail", "offenders"),
    [
        ("Container c was using 900Mi, request is 0, has larger cons", 0),
        ("Container c was using lots, request is 0, has larger consumption of memory. ", 0),
        ("Container c was using 100m, request is 0, has larger consumption of memory. ", 0),
        ("Container c was using 9, request is 0, has larger consumption of memory. And more.", 1),
    ],
)
def test_a_text_with_an_unknown_end_is_marked_incomplete(tail: str, offenders: int) -> None:
    eviction = parse_evicted(LOW + "memory. Threshold quantity: 100Mi, available: 17348Ki. " + tail)
    assert isinstance(eviction, PressureEviction)
    assert (eviction.threshold, eviction.available, eviction.complete) == (100 * MI, 17348 * KI, False)
    assert len(eviction.offenders) == offenders


def test_a_quantity_beyond_64_bits_or_below_one_unit_is_none() -> None:
    eviction = parse_evicted(LOW + "memory. Threshold quantity: 100E, available: 100m. ")
    assert eviction == PressureEviction("memory", None, None)


OLD_POD_LIMIT = (
    "pod ephemeral local storage usage exceeds the total limit of containers {{2147483648 0} {<nil>} 2Gi BinarySI}"
)


@pytest.mark.parametrize(
    ("message", "eviction"),
    [
        (
            'Usage of EmptyDir volume "cache" exceeds the limit "100Mi". ',
            LimitEviction("emptydirfs.limit", "cache", 100 * MI),
        ),
        (
            "Pod ephemeral local storage usage exceeds the total limit of containers 1500M. ",
            LimitEviction("ephemeralpodfs.limit", "", 1_500_000_000),
        ),
        (
            'Container main exceeded its local ephemeral storage limit "2Gi". ',
            LimitEviction("ephemeralcontainerfs.limit", "main", 2 * GI),
        ),
        # Before 1.14
        (
            'usage of EmptyDir volume "cache" exceeds the limit "1Gi"',
            LimitEviction("emptydirfs.limit", "cache", GI),
        ),
        (
            OLD_POD_LIMIT,
            LimitEviction("ephemeralpodfs.limit", "", None),
        ),
        (
            'container main exceeded its local ephemeral storage limit "1Gi"',
            LimitEviction("ephemeralcontainerfs.limit", "main", GI),
        ),
    ],
)
def test_a_limit_of_local_storage_is_named_by_the_kubelets_label(message: str, eviction: LimitEviction) -> None:
    assert parse_evicted(message) == eviction


@pytest.mark.parametrize(
    ("message", "conditions"),
    [
        ("The node had condition: [DiskPressure]. ", ("DiskPressure",)),
        ("Pod was rejected: The node had condition: [DiskPressure]. ", ("DiskPressure",)),
        ("Pod The node had condition: [DiskPressure]. ", ("DiskPressure",)),
        ("Pod The node was low on resource: [DiskPressure]. ", ("DiskPressure",)),
        ("The node had condition: [MemoryPressure DiskPressure]. ", ("MemoryPressure", "DiskPressure")),
    ],
)
def test_a_rejection_at_admission_does_not_evict_a_running_pod(message: str, conditions: tuple[str, ...]) -> None:
    assert parse_evicted(message) == AdmissionRejection(conditions)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Preempted in order to admit critical pod",
        "The node was low on resource: gold. ",
        "The node was low on resource: memory",
        "x The node was low on resource: memory. ",
        'Usage of EmptyDir volume "cache" exceeds the limit "100Mi"',
        "The node had condition: []. ",
        "Pod was rejected: Resources cannot be allocated with Topology locality",
    ],
)
def test_any_other_text_is_not_a_known_eviction(message: str) -> None:
    assert parse_evicted(message) is None


# Nodes


@pytest.mark.parametrize(
    ("reason", "condition", "status"),
    [
        ("NodeHasInsufficientMemory", "MemoryPressure", True),
        ("NodeHasSufficientMemory", "MemoryPressure", False),
        ("NodeHasDiskPressure", "DiskPressure", True),
        ("NodeHasNoDiskPressure", "DiskPressure", False),
        ("NodeHasInsufficientPID", "PIDPressure", True),
        ("NodeHasSufficientPID", "PIDPressure", False),
    ],
)
def test_a_node_event_reports_the_condition(reason: str, condition: str, status: bool) -> None:
    message = f"Node worker-1.example.org status is now: {reason}"
    assert parse_node_status(reason, message) == (condition, status)
    assert parse_node_status(reason, COMBINED + message) == (condition, status)


def test_a_node_event_reports_readiness() -> None:
    assert parse_node_status("NodeNotReady", "Node n status is now: NodeNotReady") == ConditionChange(
        "Ready", status=False
    )


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("NodeHasDiskPressure", "Node n status is now: NodeHasNoDiskPressure"),
        ("NodeHasDiskPressure", ""),
        ("Rebooted", "Node n status is now: Rebooted"),
    ],
)
def test_a_node_event_with_an_unknown_text_has_no_effect(reason: str, message: str) -> None:
    assert parse_node_status(reason, message) is None


def test_only_the_kubelets_start_is_a_kubelet_start() -> None:
    assert is_kubelet_start("Starting", "Starting kubelet.")
    assert not is_kubelet_start("Starting", "Starting kube-proxy.")
    assert not is_kubelet_start("Starting", "")
    assert not is_kubelet_start("Started", "Starting kubelet.")


# All


def test_the_prefix_of_combined_events_is_removed() -> None:
    assert message_body(COMBINED + " a ") == "a"


def _parse_all(reason: str, message: str) -> list[Any]:
    return [
        parse_image_gc(reason, message),
        parse_evicted(message),
        parse_node_status(reason, message),
    ]


PIECES = [
    LOW,
    "memory. ",
    "Threshold quantity: ",
    ", available: ",
    "Container c was using ",
    ", request is ",
    "has larger consumption of memory. ",
    "100Mi",
    "9" * 30,
    "1e999999999",
    "²",
    "-1",
    ". ",
    "The node had condition: [",
    "A ",
    "]. ",
    "Wanted to free ",
    " bytes",
    "Pod was rejected: ",
    "%!x(MISSING)",
    "\x00",
    "\ud800",
    COMBINED,
]


@given(
    reason=st.sampled_from(["Evicted", "ImageGCFailed", "FreeDiskSpaceFailed"]),
    message=st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)),
)
def test_no_text_raises_and_the_reason_alone_reports_image_gc_and_nodes(reason: str, message: str) -> None:
    image_gc, _, node_status = _parse_all(reason, message)
    assert (image_gc is not None) is (reason in {"ImageGCFailed", "FreeDiskSpaceFailed"})
    assert node_status is None


@pytest.mark.parametrize(
    "message",
    [
        LOW + "memory. " + "Container c was using 1, request is 1, has larger consumption of memory. " * 10**5,
        LOW + "memory. Container " + "a" * 10**7,
        LOW + "memory. Threshold quantity: " + "1" * 10**7,
        "The node had condition: [" + "A " * 10**6,
        "invalid capacity 0 on device " + '"' * 10**7,
        "wanted to free " + "1" * 10**7,
        COMBINED * 10**6,
        " " * 10**7,
    ],
    ids=range(8),
)
def test_a_huge_text_costs_little(message: str) -> None:
    began = time.process_time()
    _parse_all("ImageGCFailed", message)
    assert time.process_time() - began < 1


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    sentence = "Container c was using 1, request is 1, has larger consumption of memory. "
    eviction = parse_evicted(LOW + "memory. " + sentence * 10**4)
    assert isinstance(eviction, PressureEviction)
    assert not eviction.complete
    assert len(eviction.offenders) <= LONGEST_MESSAGE // len(sentence)


@given(
    threshold=st.integers(0, 2**63 - 1),
    available=st.integers(0, 2**63 - 1),
    usages=st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), max_size=4),
)
def test_amounts_are_read_as_they_were_written(threshold: int, available: int, usages: list[tuple[int, int]]) -> None:
    message = LOW + f"memory. Threshold quantity: {threshold}, available: {available}. "
    for index, (usage, request) in enumerate(usages):
        message += (
            f"Container c{index} was using {usage}Ki, request is {request}k, has larger consumption of memory. "
        )
    expected = tuple(
        Offender("container", f"c{index}", usage * KI, request * 1000)
        for index, (usage, request) in enumerate(usages)
    )
    assert parse_evicted(message) == PressureEviction("memory", threshold, available, expected)


# The capture


def _recorded() -> Iterator[dict[str, Any]]:
    with gzip.open(NODE_PRESSURE, "rt", encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def _recorded_events(reason: str) -> dict[str, str]:
    """Message by the event's name, the last seen."""
    return {
        each["object"]["metadata"]["name"]: each["object"]["message"]
        for each in _recorded()
        if each["resource"] == "events" and each["type"] != "ERROR" and each["object"].get("reason") == reason
    }


def _known(messages: dict[str, str]) -> list[Eviction]:
    parsed = [(message, parse_evicted(message)) for message in messages.values()]
    assert [message for message, eviction in parsed if eviction is None] == []
    return [eviction for _, eviction in parsed if eviction is not None]


def test_the_recording_has_6_pressure_evictions_and_69_rejections() -> None:
    # Issue 3: 6 pods evicted under pressure (1 for memory, 5 for ephemeral-storage), 69 rejected at admission.
    evictions = _known(_recorded_events("Evicted"))
    pressure = [each for each in evictions if isinstance(each, PressureEviction)]
    assert Counter(each.resource for each in pressure) == {"memory": 1, "ephemeral-storage": 5}
    assert {each.threshold for each in pressure} == {15 * GI, 68088 * MI}
    assert all(each.complete and each.available is not None for each in pressure)
    assert Counter(evictions)[AdmissionRejection(("DiskPressure",))] == 69
    assert len(evictions) == 75


def test_the_recorded_memory_eviction_is_read_exactly() -> None:
    memory = [each for each in _known(_recorded_events("Evicted")) if each[0] == "memory"]
    # Of the recorded text: 15Gi, 15142460Ki, 5830108Ki, 128Mi.
    assert memory == [
        PressureEviction(
            "memory", 15 * GI, 15142460 * KI, (Offender("container", "w", 5830108 * KI, 128 * MI),), complete=True
        )
    ]


def test_every_recorded_pod_status_and_disruption_of_an_eviction_parses() -> None:
    statuses = [each["object"]["status"] for each in _recorded() if each["resource"] == "pods"]
    evicted = {status["message"]: status["message"] for status in statuses if status.get("reason") == "Evicted"}
    disrupted = {
        condition["message"]: condition["message"]
        for status in statuses
        for condition in status.get("conditions") or []
        if condition["type"] == "DisruptionTarget"
    }
    assert AdmissionRejection(("DiskPressure",)) in _known(evicted)
    assert len(_known(disrupted)) == 6


def test_every_recorded_image_gc_event_parses() -> None:
    assert {parse_error(message) for message in _recorded_events("FreeDiskSpaceFailed").values()} == {
        _insufficient("noop", usage_percent=74, freed_bytes=0)
    }
    assert {parse_error(message) for message in _recorded_events("InvalidDiskCapacity").values()} == {
        ImageGcFailure("error", "invalid_capacity")
    }


def test_every_recorded_node_status_parses() -> None:
    reasons = {
        reason
        for each in _recorded()
        if each["resource"] == "events"
        and (reason := each["object"].get("reason", "")).startswith("Node")
        and "status is now" in each["object"]["message"]
    }
    assert {"NodeHasDiskPressure", "NodeHasInsufficientMemory", "NodeHasSufficientPID"} <= reasons
    for reason in reasons:
        for message in _recorded_events(reason).values():
            assert parse_node_status(reason, message) is not None, message


def test_the_recording_has_kubelet_starts() -> None:
    starts = _recorded_events("Starting")
    assert starts
    assert all(is_kubelet_start("Starting", message) for message in starts.values())


@pytest.mark.parametrize(
    "message",
    [
        (
            'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing dial unix'
            ' /run/containerd/containerd.sock: connect: connection refused"'
        ),
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        "failed to get imageFs info: rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///x",
        "failed to get image stats: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    ],
)
def test_a_runtime_that_does_not_answer_is_named(message: str) -> None:
    assert parse_image_gc("ImageGCFailed", message) == ImageGcFailure("error", "runtime_error", text=message)


def test_an_unknown_text_of_image_gc_is_kept() -> None:
    found = parse_image_gc("ImageGCFailed", "something new")
    assert found == ImageGcFailure("error", "unknown", text="something new")
