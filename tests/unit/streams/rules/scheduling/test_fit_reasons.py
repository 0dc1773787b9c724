"""The scheduler's reasons (rules: scheduler-fit)."""

from collections.abc import Mapping

from streams.rules.scheduling.filters import perhaps_ignored, shortages

ROOM = {"cpu": 2000, "memory": 4096, "ephemeral-storage": 8192, "pods": 110}


def fit_reasons(
    wanted: Mapping[str, int], allocatable: Mapping[str, int], requested: Mapping[str, int], *counts: int
) -> list[str]:
    return [each.reason for each in shortages(wanted, allocatable, requested, *counts)]


def test_a_pod_that_just_fits_has_no_reason_against_it() -> None:
    assert fit_reasons({"cpu": 1000, "memory": 4096}, ROOM, {"cpu": 1000}, 109, 110, 36) == []


def test_one_more_than_the_free_amount_is_insufficient() -> None:
    assert fit_reasons({"cpu": 1001}, ROOM, {"cpu": 1000}, 0, 110, 36) == ["Insufficient cpu"]


def test_one_pod_can_have_several_reasons_in_the_schedulers_order() -> None:
    wanted = {"example.com/gpu": 1, "hugepages-2Mi": 1, "ephemeral-storage": 9999, "memory": 9999, "cpu": 9999}
    assert fit_reasons(wanted, ROOM, {}, 110, 110, 36) == [
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient example.com/gpu",
        "Insufficient hugepages-2Mi",
    ]


def test_the_pod_itself_counts_among_the_pods() -> None:
    assert fit_reasons({}, ROOM, {}, 109, 110, 36) == []
    assert fit_reasons({}, ROOM, {}, 110, 110, 36) == ["Too many pods"]


def test_before_1_28_an_overcommitted_resource_refuses_pods_without_a_request_for_it() -> None:
    overcommitted = {"cpu": 2001}
    assert fit_reasons({"memory": 1}, ROOM, overcommitted, 0, 110, 27) == ["Insufficient cpu"]
    assert fit_reasons({"memory": 1}, ROOM, overcommitted, 0, 110, 28) == []


def test_a_pod_without_requests_fits_an_overcommitted_node_in_every_version() -> None:
    assert fit_reasons({"cpu": 0, "memory": 0}, ROOM, {"cpu": 9999}, 0, 110, 27) == []
    assert fit_reasons({}, ROOM, {"cpu": 9999}, 0, 110, 28) == []


def test_a_full_resource_does_not_refuse_a_pod_without_a_request_for_it() -> None:
    assert fit_reasons({"memory": 1}, ROOM, {"cpu": 2000}, 0, 110, 27) == []


def test_a_resource_that_the_node_does_not_have_is_insufficient() -> None:
    assert fit_reasons({"example.com/gpu": 1}, ROOM, {}, 0, 110, 36) == ["Insufficient example.com/gpu"]


def test_the_scheduler_may_ignore_an_extended_resource_that_no_node_has() -> None:
    """Not one that it was heard to lack, one of which nothing is asked, or one of Kubernetes' own."""
    requests = {
        "cpu": 100,
        "example.com/card": 1,
        "example.com/heard": 1,
        "example.com/none": 0,
        "example.com/there": 1,
    }
    heard = {"Insufficient example.com/heard": 3}
    assert perhaps_ignored(requests, {"example.com/there"}, heard) == {"example.com/card"}
