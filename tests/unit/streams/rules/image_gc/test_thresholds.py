"""The arithmetic of image GC (rules: image-gc-loop, recorded-behaviour)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.eviction.signals import SIGNALS, Layout
from streams.rules.eviction.thresholds import threshold_value
from streams.rules.image_gc.thresholds import (
    ImageGcDecision,
    acts_before_eviction,
    decide,
    gc_threshold_available_bytes,
    is_disabled,
    usage_percent,
    wanted_bytes,
)

CAPACITY = 270553174016
"""Capacity of the recorded node's image file system."""

capacities = st.integers(1, 2**50)
percents = st.integers(1, 100)


def test_the_recorded_failure_reported_the_percentage_we_compute() -> None:
    # FreeDiskSpaceFailed of 04:17:49 says 74 %; the summary before it has 72896122880 available.
    assert usage_percent(72896122880, CAPACITY) == 74


def test_usage_is_rounded_up_to_whole_percents() -> None:
    # 155 of 1000 left are 15 % by integer division, so 85 % are used, though it is 84.5 %.
    assert usage_percent(155, 1000) == 85
    assert usage_percent(160, 1000) == 84


@pytest.mark.parametrize("capacity", [None, 0])
def test_capacity_0_has_no_usage(capacity: int | None) -> None:
    assert usage_percent(5, capacity) is None
    assert decide(5, capacity) == ImageGcDecision("invalid_capacity", None, 0)


def test_missing_available_counts_as_0() -> None:
    assert usage_percent(None, 1000) == 100
    assert decide(None, 1000) == ImageGcDecision("free", 100, 200)


def test_available_counts_at_most_as_the_capacity() -> None:
    assert usage_percent(2000, 1000) == 0
    assert wanted_bytes(2000, 1000, 80) == 200 - 1000


def test_below_the_high_threshold_nothing_is_freed() -> None:
    assert decide(160, 1000) == ImageGcDecision("below_high", 84, 0)


def test_at_the_high_threshold_usage_is_brought_down_to_the_low_one() -> None:
    # 20 % of 1000 should be left, 155 are.
    decision = decide(155, 1000)
    assert decision == ImageGcDecision("free", 85, 45)
    assert decision.verdict == "free"


def test_the_amount_is_divided_after_the_multiplication() -> None:
    # 999 * 20 / 100 is 199.8, so 199 less 0; dividing first would give 180.
    assert wanted_bytes(0, 999, 80) == 199


def test_the_recorded_settings_wanted_more_than_images_could_give() -> None:
    # High 3, low 2 (capture from 04:18:07): 98 % of the capacity should be left.
    decision = decide(72655368192, CAPACITY, 3, 2)
    assert decision == ImageGcDecision("free", 74, CAPACITY * 98 // 100 - 72655368192)


def test_a_high_threshold_of_100_switches_image_gc_off() -> None:
    assert decide(0, 1000, 100, 80) == ImageGcDecision("disabled", 100, 0)
    assert decide(None, None, 100, 80).verdict == "disabled"


def test_a_maximum_age_keeps_image_gc_running_at_100() -> None:
    assert not is_disabled(100, maximum_age_seconds=3600)
    assert decide(0, 1000, 100, 80, maximum_age_seconds=3600) == ImageGcDecision("free", 100, 200)


def test_with_the_defaults_image_gc_begins_below_16_percent_available() -> None:
    assert gc_threshold_available_bytes(1000, 85) == 160


@given(capacity=capacities, high=percents, available=st.integers(0, 2**50))
def test_image_gc_frees_exactly_below_its_threshold(capacity: int, high: int, available: int) -> None:
    available = min(available, capacity)
    threshold = gc_threshold_available_bytes(capacity, high)
    used = 100 - available * 100 // capacity
    assert (available < threshold) is (used >= high)


@given(capacity=capacities, high=percents)
def test_image_gc_is_idle_exactly_from_its_threshold_on(capacity: int, high: int) -> None:
    threshold = gc_threshold_available_bytes(capacity, high)
    assert decide(threshold - 1, capacity, high, 0, maximum_age_seconds=1).verdict == "free"
    if threshold <= capacity:
        assert decide(threshold, capacity, high, 0, maximum_age_seconds=1).verdict == "below_high"


@given(capacity=st.integers(100, 2**50), available=st.integers(0, 2**50), low=st.integers(0, 84))
def test_freeing_the_wanted_bytes_reaches_the_low_threshold(capacity: int, available: int, low: int) -> None:
    decision = decide(available, capacity, 85, low)
    if decision.verdict == "free":
        after = min(available, capacity) + decision.wanted_bytes
        # Integer division may leave it one percent above.
        assert usage_percent(after, capacity) in {low, low + 1}


def test_with_all_defaults_image_gc_acts_before_eviction_on_a_single_file_system() -> None:
    gc = gc_threshold_available_bytes(CAPACITY, 85)
    for signal, percent in (("nodefs.available", "10%"), ("imagefs.available", "15%")):
        assert acts_before_eviction(signal, Layout.SINGLE, threshold_value(percent, CAPACITY), gc)


def test_an_eviction_threshold_above_the_images_comes_first() -> None:
    gc = gc_threshold_available_bytes(1000, 95)
    assert not acts_before_eviction("imagefs.available", Layout.SINGLE, 150, gc)


def test_meeting_both_thresholds_at_once_is_not_first() -> None:
    assert not acts_before_eviction("imagefs.available", Layout.SINGLE, 160, 160)
    assert acts_before_eviction("imagefs.available", Layout.SINGLE, 159, 160)


@pytest.mark.parametrize(
    ("layout", "on_image_file_system"),
    [
        (Layout.SINGLE, {"nodefs.available", "imagefs.available", "containerfs.available"}),
        (Layout.SEPARATE_IMAGEFS, {"imagefs.available", "containerfs.available"}),
        (Layout.SPLIT, {"imagefs.available"}),
    ],
)
def test_image_gc_watches_only_the_bytes_of_its_own_file_system(
    layout: Layout, on_image_file_system: set[str]
) -> None:
    first = {signal for signal in SIGNALS if acts_before_eviction(signal, layout, 10, 160)}
    assert first == on_image_file_system
