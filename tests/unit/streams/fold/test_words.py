"""A finding has its words, which the story, the page and alerts share, and which its table stores."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, row
from streams.fold.findings import Eviction, ImageGc, PodEnd, PressureChange, SchedulerBlindSpot, SchedulingFailure

GIB = 1 << 30
LOW = "The node was low on resource: memory. "


def evicted(**values: Any) -> str:
    given = {"namespace": "shop", "pod": "web", "cause": "pressure", "resource": "inodes", "time_known": True}
    return row(Eviction, **(given | values)).what


def test_an_eviction_names_the_low_resource_and_the_predicted_rank() -> None:
    found = evicted(
        resource="ephemeral-storage", available=GIB, threshold=2 * GIB, predicted_rank=1, ranked_pods=4, tied_pods=3
    )
    low = "Pod shop/web was evicted: low on ephemeral storage, 1.00 GiB available, below the 2.00 GiB threshold."
    assert found == f"{low} Predicted rank 1 of 4, tied with 2 other pods."


def test_amounts_that_read_the_same_have_their_difference() -> None:
    found = evicted(resource="memory", available=66 * GIB, threshold=66 * GIB + (10 << 20))
    assert "low on memory, 66.0 GiB available, 10.0 MiB below the 66.0 GiB threshold. " in found


def test_inodes_are_counted() -> None:
    low = "Pod shop/web was evicted: low on inodes, 9 available, below the threshold of 10."
    assert evicted(available=9, threshold=10) == f"{low} No rank could be predicted."


def test_an_eviction_for_minimum_reclaim_is_not_called_below_the_threshold() -> None:
    found = evicted(resource="memory", available=11 * GIB, threshold=10 * GIB)
    assert "low on memory, 11.0 GiB available, not below the 10.0 GiB threshold. " in found
    assert "low on inodes, 11 available, not below the threshold of 10. " in evicted(available=11, threshold=10)


def test_kubelets_before_1_5_name_no_resource() -> None:
    assert evicted(resource="").startswith("Pod shop/web was evicted: low on an unknown resource. ")


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ("status", "its message was not seen"),
        ("event", "its message was not seen"),
        ("log", "the line of its kubelet's log does not say"),
    ],
)
def test_the_word_evicted_alone_shows_no_shortage(evidence: str, why: str) -> None:
    """It may have exceeded its own limit, while the node was low on nothing; no rank is missed then."""
    assert evicted(cause="unknown", resource="", evidence=evidence) == (
        f"Pod shop/web was evicted. The reason is unknown: {why}."
    )


@pytest.mark.parametrize(
    ("message", "is_bystander"),
    [
        (LOW, True),
        (
            f"{LOW}Container c was using 2Gi, request is 1Gi, has larger consumption of memory. ",
            False,
        ),
        # cut off before the containers, perhaps
        (f"{LOW}Contai", False),
    ],
)
def test_a_bystander_is_one_of_which_the_whole_message_names_no_container(message: str, is_bystander: bool) -> None:
    assert ("others used the memory" in evicted(resource="memory", message=message)) is is_bystander


def test_a_shortage_that_no_pod_explains_points_outside_of_pods() -> None:
    outside = "Pods use almost none of it: look for processes and files outside pods."
    assert [evicted(pods_usage_ratio=share).endswith(outside) for share in (0.09, 0.1, None)] == [True, False, False]


@pytest.mark.parametrize("message", ["It exceeds its limit", "It exceeds its limit. "])
def test_an_own_limit_is_described_in_the_kubelets_words(message: str) -> None:
    found = evicted(cause="limit", message=message)
    assert found == "Pod shop/web was evicted for its own limit. It exceeds its limit."


def test_an_unknown_time_is_marked_as_unknown() -> None:
    between = {"time_known": False, "earliest": T0, "latest": T0 + timedelta(minutes=1)}
    assert evicted(**between).endswith("It was evicted between 2026-07-01 12:00:00 and 2026-07-01 12:01:00 UTC.")
    assert evicted(**between | {"latest": None}).endswith("It was evicted at or after 2026-07-01 12:00:00 UTC.")
    assert evicted(**between | {"earliest": None}).endswith("It was evicted at or before 2026-07-01 12:01:00 UTC.")
    assert evicted(time_known=False).endswith("is unknown: this is when the pod was seen.")


def test_a_rejection_is_listed_with_the_others_of_its_storm() -> None:
    assert evicted(cause="admission") == ""


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"cause": "api_eviction", "actor": "eviction API"}, "evicted by the eviction API"),
        ({"cause": "api_eviction", "actor": "karpenter"}, "evicted by karpenter, which drains the node"),
        ({"cause": "oom_kill", "container": "app"}, "OOM killed in container app"),
        ({"cause": "exited", "exit_code": 1}, "ended by its own process with exit code 1"),
        (
            {"cause": "exited", "exit_code": 137, "container": "app"},
            "restarted in container app with exit code 137 (SIGKILL): nothing shows who ended it",
        ),
        # an access violation, which Windows counts without a sign
        (
            {"cause": "exited", "exit_code": 0xC0000005 - (1 << 32)},
            "ended by its own process with exit code -1073741819 (0xC0000005)",
        ),
        ({"cause": "deleted"}, ""),
        ({"cause": "node_pressure"}, ""),
    ],
)
def test_an_end_has_its_words(end: dict[str, Any], words: str) -> None:
    assert row(PodEnd, **end).ending == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": True}, "DiskPressure began."),
        ({"status": True, "time_known": False, "evidence": "event"}, "DiskPressure began around this time."),
        (
            {"status": True, "time_known": False, "evidence": "condition"},
            "DiskPressure began at or before this time.",
        ),
        ({"status": False}, "DiskPressure ended."),
        ({"status": False, "lasted_seconds": 300.0}, "DiskPressure ended after 5 min."),
        (
            {"status": False, "lasted_seconds": 90.0, "kubelet_restart": True},
            "DiskPressure ended after 1 min 30 s because the kubelet restarted.",
        ),
    ],
)
def test_a_condition_begins_and_ends(change: dict[str, Any], words: str) -> None:
    assert row(PressureChange, **({"condition": "DiskPressure", "time_known": True} | change)).what == words


def test_a_verdict_in_words_precedes_its_reasons() -> None:
    failing = row(ImageGc, verdict="persistent", explanation="It fails.", time_known=True)
    assert failing.what == "Image GC keeps failing: It fails."
    assert failing._replace(time_known=False).what.endswith("It fails. Its exact start is unknown.")
    found = row(SchedulerBlindSpot, verdict="lost_node", namespace="a", pod="b", evidence="0/4 nodes.").what
    assert found == "The scheduler does not see a node, by pod a/b: 0/4 nodes."


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"reasons": {"Insufficient cpu": 2, "Insufficient memory": 1}}, "2 Insufficient cpu, 1 Insufficient memory"),
        (
            {"reasons": {"Insufficient cpu": 2}, "truncated": True},
            "2 Insufficient cpu (the text was cut: more nodes can have them)",
        ),
        ({"prefilter": "volume is gone", "nodes_total": 3}, "volume is gone"),
        ({"nodes_total": 0}, "no nodes available to schedule pods"),
        ({"nodes_total": 3}, ""),
    ],
)
def test_why_no_node_was_found_is_composed_once(given: dict[str, Any], why: str) -> None:
    assert row(SchedulingFailure, **given).why == why


def test_a_log_that_names_no_more_than_the_resource_is_no_evidence_about_the_pods_own_use() -> None:
    """The kubelet's message names containers above their request; its log has the message only with -v=3."""
    low = row(
        Eviction,
        cause="pressure",
        resource="memory",
        message="The node was low on resource: memory. ",
        evidence="log",
    )
    whole = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
    assert not low.remark
    assert low._replace(message=whole, threshold=104857600).remark.startswith("It was within its request")
