"""Effective eviction thresholds (rules: eviction-thresholds, allocatable)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.node import KubeletConfiguration
from streams.rules.eviction.signals import SIGNALS, Layout
from streams.rules.eviction.thresholds import (
    BadThreshold,
    NodeThresholds,
    SignalThresholds,
    default_hard,
    effective_thresholds,
    percent_of,
    threshold_value,
)
from streams.rules.values.quantity import InvalidQuantity

MI = 2**20


def _hard(thresholds: NodeThresholds) -> dict[str, str | None]:
    return {signal: each.hard for signal, each in thresholds.by_signal.items()}


def test_without_configuration_the_defaults_of_1_36_are_assumed() -> None:
    thresholds = effective_thresholds(None, "v1.36.3")
    assert thresholds.assumed
    assert _hard(thresholds) == {
        "memory.available": "100Mi",
        "allocatableMemory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
        "containerfs.available": "10%",
        "containerfs.inodesFree": "5%",
    }


def test_there_is_no_default_for_processes_and_no_default_soft_threshold() -> None:
    thresholds = effective_thresholds(None, "v1.36.3").by_signal
    assert "pid.available" not in thresholds
    assert {each.soft for each in thresholds.values()} == {None}


@pytest.mark.parametrize(
    ("version", "has_default"), [("v1.28.0", False), ("v1.30.0", True), ("v1.36.3+k3s1", True), ("", True)]
)
def test_imagefs_inodes_have_a_default_from_1_30_on(version: str, has_default: bool) -> None:
    assert ("imagefs.inodesFree" in effective_thresholds(None, version).by_signal) is has_default


@pytest.mark.parametrize(("version", "has_signal"), [("v1.30.14", False), ("v1.31.0", True), ("", True)])
def test_containerfs_has_thresholds_from_1_31_on(version: str, has_signal: bool) -> None:
    assert ("containerfs.available" in effective_thresholds(None, version).by_signal) is has_signal


def test_the_feature_gate_decides_about_containerfs() -> None:
    on = KubeletConfiguration(feature_gates={"KubeletSeparateDiskGC": True})
    off = KubeletConfiguration(feature_gates={"KubeletSeparateDiskGC": False})
    assert "containerfs.available" in effective_thresholds(on, "v1.29.0").by_signal
    assert "containerfs.available" not in effective_thresholds(off, "v1.36.0").by_signal


def test_windows_defaults_to_500Mi_of_memory_and_no_inodes() -> None:  # noqa: N802 - a unit's own case
    assert default_hard("v1.36.3", windows=True) == {
        "memory.available": "500Mi",
        "nodefs.available": "10%",
        "imagefs.available": "15%",
    }
    assert _hard(effective_thresholds(None, "v1.36.3", windows=True))["memory.available"] == "500Mi"


def test_one_hard_threshold_of_the_user_drops_all_other_defaults() -> None:
    thresholds = effective_thresholds(KubeletConfiguration(eviction_hard={"nodefs.available": "5%"}), "v1.36.3")
    assert not thresholds.assumed
    assert _hard(thresholds) == {"nodefs.available": "5%", "containerfs.available": "5%"}


def test_merged_defaults_fill_what_the_user_left_out() -> None:
    config = KubeletConfiguration(eviction_hard={"nodefs.available": "5%"}, merge_default_eviction_settings=True)
    hard = _hard(effective_thresholds(config, "v1.33.0"))
    assert hard["nodefs.available"] == "5%"
    assert hard["memory.available"] == "100Mi"
    assert hard["imagefs.available"] == "15%"


def test_an_empty_eviction_hard_differs_from_a_missing_one() -> None:
    empty = effective_thresholds(KubeletConfiguration(eviction_hard={}), "v1.36.3")
    missing = effective_thresholds(KubeletConfiguration(), "v1.36.3")
    assert (empty.by_signal, empty.assumed) == ({}, False)
    assert missing == effective_thresholds(None, "v1.36.3")


@pytest.mark.parametrize("ignored", ["0%", "100%"])
def test_0_and_100_percent_mean_no_threshold(ignored: str) -> None:
    config = KubeletConfiguration(
        eviction_hard={"nodefs.available": ignored, "memory.available": "1Gi"},
        eviction_soft={"nodefs.available": ignored},
    )
    assert set(effective_thresholds(config, "v1.36.3").by_signal) == {
        "memory.available",
        "allocatableMemory.available",
    }


def test_a_merged_default_does_not_come_back_where_the_user_switched_it_off() -> None:
    config = KubeletConfiguration(eviction_hard={"nodefs.available": "0%"}, merge_default_eviction_settings=True)
    assert "nodefs.available" not in effective_thresholds(config, "v1.36.3").by_signal


def test_a_soft_threshold_comes_with_its_grace_and_reclaim() -> None:
    # Of the capture's middle part (rules: recorded-behaviour), with a minimum reclaim added.
    config = KubeletConfiguration(
        eviction_hard={"memory.available": "15Gi"},
        eviction_soft={"memory.available": "17Gi"},
        eviction_soft_grace_period={"memory.available": "1m30s"},
        eviction_minimum_reclaim={"memory.available": "500Mi"},
    )
    assert effective_thresholds(config, "v1.36.3").by_signal["memory.available"] == SignalThresholds(
        hard="15Gi", soft="17Gi", soft_grace_seconds=90.0, minimum_reclaim="500Mi"
    )


def test_a_soft_threshold_without_any_grace_is_a_hard_one() -> None:
    config = KubeletConfiguration(
        eviction_hard={},
        eviction_soft={"memory.available": "1Gi"},
        eviction_soft_grace_period={"memory.available": "0s"},
    )
    by_signal = effective_thresholds(config, "v1.36.3").by_signal
    assert by_signal == dict.fromkeys(
        ("memory.available", "allocatableMemory.available"), SignalThresholds(hard="1Gi")
    )


def test_a_minimum_reclaim_may_be_more_than_everything() -> None:
    config = KubeletConfiguration(
        eviction_hard={"pid.available": "10%"}, eviction_minimum_reclaim={"pid.available": "150%"}
    )
    assert effective_thresholds(config, "v1.36.3").by_signal["pid.available"].minimum_reclaim == "150%"


def test_a_grace_period_without_a_soft_threshold_has_no_effect() -> None:
    config = KubeletConfiguration(
        eviction_hard={"nodefs.available": "5%"}, eviction_soft_grace_period={"nodefs.available": "30s"}
    )
    assert effective_thresholds(config).by_signal["nodefs.available"] == SignalThresholds(hard="5%")


def test_allocatable_memory_copies_the_hard_threshold_alone() -> None:
    config = KubeletConfiguration(
        eviction_hard={"memory.available": "15Gi"},
        eviction_soft={"memory.available": "17Gi"},
        eviction_soft_grace_period={"memory.available": "30s"},
        eviction_minimum_reclaim={"memory.available": "10%"},
    )
    assert effective_thresholds(config).by_signal["allocatableMemory.available"] == SignalThresholds(
        hard="15Gi", minimum_reclaim="10%"
    )


@pytest.mark.parametrize(
    ("enforced", "copied"), [(None, True), (["pods"], True), (["pods", "kube-reserved"], True), (["none"], False)]
)
def test_allocatable_memory_has_a_threshold_where_pods_are_enforced(enforced: list[str] | None, copied: bool) -> None:
    config = KubeletConfiguration(enforce_node_allocatable=enforced)
    assert ("allocatableMemory.available" in effective_thresholds(config).by_signal) is copied


@pytest.mark.parametrize(
    ("layout", "available", "inodes"),
    [
        (Layout.SINGLE, "7%", "3%"),
        (Layout.SPLIT, "7%", "3%"),
        (Layout.SEPARATE_IMAGEFS, "9%", "4%"),
    ],
)
def test_containerfs_has_the_thresholds_of_the_file_system_that_holds_it(
    layout: Layout, available: str, inodes: str
) -> None:
    config = KubeletConfiguration(
        eviction_hard={
            "nodefs.available": "7%",
            "nodefs.inodesFree": "3%",
            "imagefs.available": "9%",
            "imagefs.inodesFree": "4%",
            "containerfs.available": "50%",
            "containerfs.inodesFree": "50%",
        }
    )
    hard = _hard(effective_thresholds(config, "v1.36.3", layout))
    assert (hard["containerfs.available"], hard["containerfs.inodesFree"]) == (available, inodes)


def test_containerfs_of_the_user_is_dropped_where_its_file_system_has_no_threshold() -> None:
    config = KubeletConfiguration(eviction_hard={"containerfs.available": "50%", "memory.available": "1Gi"})
    assert "containerfs.available" not in effective_thresholds(config, "v1.36.3").by_signal


def test_containerfs_takes_over_soft_grace_and_reclaim() -> None:
    config = KubeletConfiguration(
        eviction_hard={},
        eviction_soft={"imagefs.available": "20%"},
        eviction_soft_grace_period={"imagefs.available": "2m"},
        eviction_minimum_reclaim={"imagefs.available": "2Gi"},
    )
    by_signal = effective_thresholds(config, "v1.36.3", Layout.SEPARATE_IMAGEFS).by_signal
    assert by_signal["containerfs.available"] == SignalThresholds(
        soft="20%", soft_grace_seconds=120.0, minimum_reclaim="2Gi"
    )


def test_signals_are_in_the_kubelets_order() -> None:
    config = KubeletConfiguration(eviction_hard=dict.fromkeys(reversed(SIGNALS), "10%"))
    assert tuple(effective_thresholds(config).by_signal) == SIGNALS


@pytest.mark.parametrize(
    "config",
    [
        KubeletConfiguration(eviction_hard={"memory.available": "101%"}),
        KubeletConfiguration(eviction_hard={"memory.available": "-5%"}),
        KubeletConfiguration(eviction_hard={"memory.available": "x%"}),
        KubeletConfiguration(eviction_hard={"memory.available": "%"}),
        KubeletConfiguration(eviction_hard={"memory.available": ""}),
        KubeletConfiguration(eviction_hard={"memory.available": "100 MB"}),
        KubeletConfiguration(eviction_hard={"memory.available": "0"}),
        KubeletConfiguration(eviction_hard={"memory.available": "-1Gi"}),
        KubeletConfiguration(eviction_hard={"disk.available": "1Gi"}),
        KubeletConfiguration(eviction_soft={"memory.available": "1Gi"}),
        KubeletConfiguration(
            eviction_soft={"memory.available": "1Gi"}, eviction_soft_grace_period={"nodefs.available": "1m"}
        ),
        KubeletConfiguration(
            eviction_soft={"memory.available": "1Gi"}, eviction_soft_grace_period={"memory.available": "soon"}
        ),
        KubeletConfiguration(
            eviction_soft={"memory.available": "1Gi"}, eviction_soft_grace_period={"memory.available": "-1m"}
        ),
        KubeletConfiguration(
            eviction_soft={"memory.available": "1Gi"}, eviction_soft_grace_period={"memory.available": ""}
        ),
        KubeletConfiguration(eviction_minimum_reclaim={"memory.available": "-1Gi"}),
        KubeletConfiguration(eviction_minimum_reclaim={"memory.available": "-5%"}),
        KubeletConfiguration(eviction_minimum_reclaim={"memory.available": "0%"}),
        KubeletConfiguration(eviction_minimum_reclaim={"memory.available": "lots"}),
        KubeletConfiguration(eviction_minimum_reclaim={"disk.available": "1Gi"}),
    ],
)
def test_a_setting_with_which_no_kubelet_starts_is_refused(config: KubeletConfiguration) -> None:
    with pytest.raises(BadThreshold, match=r"'(memory|nodefs|disk)\.available'"):
        effective_thresholds(config, "v1.36.3")


def test_a_percent_goes_through_float32() -> None:
    # Of a real node (rules: allocatable): capacity 82533764Ki at 10 % leaves 76063116777, where 0.1 would give
    # ...903.
    capacity = 82533764 * 1024
    assert capacity - threshold_value("10%", capacity) == 76063116777
    # The capture's node (rules: recorded-behaviour): 264212084Ki at 5 % leaves 257025515114.
    assert 264212084 * 1024 - threshold_value("5%", 264212084 * 1024) == 257025515114


@pytest.mark.parametrize(
    ("text", "value"), [("100Mi", 100 * MI), ("68088Mi", 68088 * MI), ("1500", 1500), ("1G", 10**9), ("0.5", 1)]
)
def test_a_quantity_does_not_depend_on_the_capacity(text: str, value: int) -> None:
    assert threshold_value(text, 7) == value


@pytest.mark.parametrize("text", ["", "ten", "10 %", "1e%", "NaN%", "inf%", "²%", "9" * 400 + "%", "9" * 400])
def test_a_text_that_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(BadThreshold):
        threshold_value(text, 100)


@given(
    st.dictionaries(st.sampled_from([*SIGNALS, "x"]), st.text(max_size=6)),
    st.dictionaries(st.sampled_from(SIGNALS), st.text("0123456789.%KMGi-hms", max_size=6)),
)
def test_any_configuration_gives_thresholds_or_one_kind_of_error(hard: dict[str, str], soft: dict[str, str]) -> None:
    config = KubeletConfiguration(
        eviction_hard=hard, eviction_soft=soft, eviction_soft_grace_period=dict.fromkeys(soft, "1m")
    )
    try:
        thresholds = effective_thresholds(config, "v1.36.3")
    except BadThreshold:
        return
    for each in thresholds.by_signal.values():
        for text in (each.hard, each.soft):
            assert text is None or threshold_value(text, 2**40) >= 0


@pytest.mark.parametrize(
    ("capacity", "text", "expected"),
    [
        (264212084 * 1024, "5%", 264212084 * 1024 - 257025515114),
        (82533764 * 1024, "10%", 82533764 * 1024 - 76063116777),
        (1000, "0%", 0),
        (1000, "50%", 500),
        (1000, "100%", 1000),
        (1000, "12.5%", 125),
        (1000, "150%", 1500),
        (1000, "5%%", 50),
        (0, "10%", 0),
    ],
)
def test_percentages_of_a_capacity(capacity: int, text: str, expected: int) -> None:
    assert percent_of(capacity, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "%", "5", "x%%", " 5%", "5 %", "nan%", "inf%", "1e999%", "5%\n", "1__0%", "_1%", "9" * 99 + "%"],
)
def test_a_text_that_is_not_a_percentage_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        percent_of(1000, text)


@given(st.integers(0, 2**50), st.integers(0, 100))
def test_a_rounded_percentage_is_close_to_the_exact_one(capacity: int, percent: int) -> None:
    """24 bits of the fraction are right, and the result is cut to a whole number."""
    exact = capacity * percent / 100
    assert abs(percent_of(capacity, f"{percent}%") - exact) <= exact * 2**-24 + 1
