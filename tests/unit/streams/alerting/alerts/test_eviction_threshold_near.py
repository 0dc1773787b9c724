"""EvictionThresholdNear: how near a threshold is, which signal counts, and what image GC does about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.alert_log import GIB, AlertLog, at, changed, image_gc, signal
from streams.rules.eviction.signals import RESOURCES, SIGNALS, describe_signal

FIRING = ["firing EvictionThresholdNear"]


def test_a_forecast_must_hold_before_it_fires() -> None:
    log = AlertLog()
    assert log(0, signal(seconds_to_hard=600.0)) == []
    assert log(20, signal(seconds_to_hard=580.0)) == []
    assert log(30, signal(seconds_to_hard=570.0)) == FIRING
    assert log(40, signal(seconds_to_hard=560.0)) == []


def test_a_forecast_that_is_gone_before_it_fired_is_forgotten() -> None:
    log = AlertLog()
    log(0, signal(seconds_to_hard=600.0))
    assert log(30, signal()) == []
    assert log(40, signal()) == []
    assert log.state.active == {}
    assert log(50, signal(seconds_to_hard=600.0)) == []
    assert log(79, signal(seconds_to_hard=600.0)) == []
    assert log(80, signal(seconds_to_hard=600.0)) == FIRING


def test_with_less_time_left_than_it_should_hold_it_fires_at_once() -> None:
    assert AlertLog()(0, signal(seconds_to_hard=29.0)) == FIRING
    assert AlertLog()(0, signal(hard_met=True, seconds_to_hard=0.0)) == FIRING
    # a soft threshold evicts after its grace period (rules: eviction-thresholds)
    assert AlertLog()(0, signal(seconds_to_soft=29.0, soft_grace_seconds=30.0, soft_threshold=2 * GIB)) == []


def test_a_threshold_far_ahead_raises_nothing() -> None:
    log = AlertLog()
    for seconds in range(0, 600, 10):
        assert log(seconds, signal(seconds_to_hard=901.0)) == []
    assert log.state.active == {}


def test_signals_of_one_resource_are_one_alert_that_names_the_nearest() -> None:
    log = AlertLog()
    log(
        0,
        signal("nodefs.available", seconds_to_hard=25.0),
        signal("containerfs.available", seconds_to_hard=20.0),
        signal("nodefs.inodesFree", seconds_to_hard=10.0, available=5, hard_threshold=4),
    )
    assert [labels["resource"] for labels in log.labels] == ["ephemeral-storage", "inodes"]
    disk, inodes = log.summaries
    assert disk == (
        "Node n: the file system of containers (containerfs.available): 5.00 GiB available, "
        "hard threshold of 1.00 GiB met in 20 s"
    )
    assert inodes == (
        "Node n: inodes of the node's file system (nodefs.inodesFree): 5 inodes available, "
        "hard threshold of 4 inodes met in 10 s"
    )


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_is_reported_in_words_and_then_once_as_the_kubelet_spells_it(name: str) -> None:
    for near in (
        {"hard_met": True, "seconds_to_hard": 0.0},
        {"seconds_to_soft": 0.0, "soft_met": True},
        {"seconds_to_hard": 1.0},
    ):
        log = AlertLog()
        log(0, signal(name, soft_threshold=2 * GIB, soft_grace_seconds=90.0, **near))
        (summary,), (description,) = log.summaries, log.descriptions
        assert summary.startswith(f"Node n: {describe_signal(name)} ({name}): ")
        assert f"{summary} {description}".count(name) == 1
        assert [labels["resource"] for labels in log.labels] == [RESOURCES[name]]


def test_of_a_soft_threshold_the_description_has_the_grace_period() -> None:
    log = AlertLog()
    log(
        0,
        signal(
            available=GIB,
            hard_threshold=0,
            soft_threshold=2 * GIB,
            soft_grace_seconds=90.0,
            seconds_to_soft=0.0,
            soft_met=True,
        ),
    )
    assert log.summaries == [
        "Node n: memory (memory.available): 1.00 GiB available, below the soft threshold of 2.00 GiB"
    ]
    assert log.descriptions[0].startswith(
        "Below the threshold for longer than its grace period, 1 min 30 s, the kubelet"
    )


def test_the_rules_choose_the_time_and_the_summary_has_the_band() -> None:
    near = signal(seconds_to_hard=1200.0, seconds_to_hard_earliest=600.0, seconds_to_hard_latest=2400.0)
    likely, earliest = AlertLog(), AlertLog(changed(EvictionThresholdNear={"by": "earliest"}))
    for log in (likely, earliest):
        log(0, near)
        log(30, near)
    assert likely.summaries == []
    (summary,) = earliest.summaries
    assert summary.endswith(" met between 10 min and 40 min from now, most likely in 20 min")


def test_the_alert_waits_for_image_gc_until_the_threshold_is_met() -> None:
    log = AlertLog()
    near = signal("nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(0, near) == []
    assert log(60, near) == []
    assert log(70, near._replace(hard_met=True, seconds_to_hard=0.0)) == FIRING


def test_the_alert_does_not_wait_for_failing_image_gc() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"))
    near = signal("nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(10, near) == FIRING


def test_that_image_gc_fails_is_known_from_the_same_record_on() -> None:
    near = signal("nodefs.available", seconds_to_hard=1.0, gc_first=True)
    failure = image_gc(0, "persistent", "invalid_capacity")
    assert FIRING[0] in AlertLog()(0, near, failure)


def test_waiting_for_image_gc_can_be_switched_off() -> None:
    log = AlertLog(changed(EvictionThresholdNear={"wait_for_image_gc": False}))
    near = signal("nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(0, near) == FIRING


def test_it_is_resolved_after_no_threshold_was_near_for_so_long() -> None:
    log = AlertLog()
    log(0, signal(seconds_to_hard=1.0))
    assert log(10, signal()) == []
    assert log(100, signal(seconds_to_hard=1.0)) == []
    assert log(110, signal()) == []
    assert log(229, signal()) == []
    assert log(230, signal()) == ["resolved EvictionThresholdNear"]
    fired, resolved = log.emitted
    assert (fired.ts, fired.starts_at, fired.ends_at) == (at(0), at(0), None)
    assert (resolved.ts, resolved.starts_at, resolved.ends_at) == (at(230), at(0), at(230))
    assert fired.fingerprint == resolved.fingerprint


def test_a_signal_without_any_threshold_fires_when_little_is_left() -> None:
    bare = signal("nodefs.available", hard_threshold=None, capacity=100 * GIB, available=5 * GIB)
    log = AlertLog()
    assert log(0, bare) == log(60, bare) == []
    low = bare._replace(available=4 * GIB)
    assert log(70, low) == []
    assert log(100, low) == FIRING
    assert [labels["resource"] for labels in log.labels] == ["ephemeral-storage"]
    assert log.summaries == [
        "Node n: the node's file system (nodefs.available): 4.00 GiB of 100 GiB left, and no eviction threshold"
    ]
    assert "Set nodefs.available in evictionHard, or mergeDefaultEvictionSettings" in log.descriptions[0]


def test_defaults_that_are_merged_guard_no_signal_without_a_default() -> None:
    """pid.available has none, and a key that is set drops those of the others."""
    log = AlertLog()
    log(0, signal("pid.available", hard_threshold=None, capacity=30_000, available=200))
    (words,) = log.descriptions
    assert "Set pid.available in evictionHard; a key that is set drops the defaults" in words
    assert "mergeDefault" not in words


def test_a_threshold_of_another_signal_of_the_same_file_system_guards_it() -> None:
    bare = signal("imagefs.available", hard_threshold=None, capacity=100 * GIB, available=4 * GIB)
    same = signal("nodefs.available", hard_threshold=GIB, capacity=100 * GIB, available=4 * GIB)
    other = same._replace(available=60 * GIB)
    guarded, separate = AlertLog(), AlertLog()
    for seconds in (0, 30):
        guarded(seconds, bare, same)
        separate(seconds, bare, other)
    assert guarded.labels == []
    assert [labels["resource"] for labels in separate.labels] == ["ephemeral-storage"]


def test_a_signal_with_a_derived_threshold_is_not_settable() -> None:
    log = AlertLog()
    for name in ("allocatableMemory.available", "containerfs.available", "containerfs.inodesFree"):
        row = signal(name, hard_threshold=None, available=0)
        assert log(0, row) == log(60, row) == []


def test_a_threshold_that_is_near_is_named_before_a_signal_that_has_none() -> None:
    log = AlertLog()
    bare = signal("imagefs.available", hard_threshold=None, available=0, capacity=7 * GIB)
    log(0, bare, signal("nodefs.available", hard_met=True, seconds_to_hard=0.0))
    assert "the node's file system (nodefs.available): " in log.summaries[0]
    assert log.summaries[0].endswith(", below the hard threshold of 1.00 GiB")


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 8), st.integers(0, 8))
def test_it_holds_as_a_naive_reading_of_the_samples_expects(near: list[bool], wait: int, keep: int) -> None:
    """Samples every ten seconds; `wait` and `keep` are in samples."""
    log = AlertLog(changed(EvictionThresholdNear={"for": f"{wait * 10}s", "keep_firing": f"{keep * 10}s"}))
    found = []
    for number, is_near in enumerate(near):
        emitted = log(number * 10, signal(seconds_to_hard=600.0) if is_near else signal())
        found += [(number, each.split()[0]) for each in emitted]

    expected, firing = [], False
    for number, is_near in enumerate(near):
        if firing and not is_near:
            quiet = next((n for n in range(number, -1, -1) if near[n]), -1) + 1
            if number - quiet >= keep:
                expected.append((number, "resolved"))
                firing = False
        if not firing and is_near:
            begun = next((n for n in range(number, -1, -1) if not near[n]), -1) + 1
            if number - begun >= wait:
                expected.append((number, "firing"))
                firing = True
    assert found == expected
