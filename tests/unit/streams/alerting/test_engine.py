"""Alerts over hand-made findings: when they fire, how long they stay, and what makes one of many."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row
from ingest.model.records import DeadLetterRecord
from streams.alerting.engine import alert_reducers
from streams.alerting.holding import State, fingerprint
from streams.alerting.rules import AlertRules
from streams.alerting.rules_file import default_rules
from streams.fold.findings import (
    Alert,
    Eviction,
    EvictionSignal,
    ImageGc,
    KubeletSetting,
    LateJoiners,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaSkew,
    PressureChange,
    Row,
    SchedulerBlindSpot,
    SourceError,
)
from streams.fold.reducer import Concluded

GIB = 1 << 30


def at(seconds: float) -> Any:
    return T0 + timedelta(seconds=seconds)


def changed(**by_alert: dict[str, object]) -> AlertRules:
    """The packaged rules with other settings, by their names in YAML."""
    values = default_rules().model_dump(by_alias=True)
    for alertname, settings in by_alert.items():
        values["alerts"][alertname] |= settings
    for rule in values["alerts"].values():
        for name, value in rule.items():
            if isinstance(value, float) and name in {"for", "keep_firing", "within", "window"}:
                rule[name] = f"{value}s"
    return AlertRules.model_validate(values)


class Log:
    """One log: rows in, alerts out."""

    def __init__(self, rules: AlertRules | None = None, *, node: str = "n") -> None:
        self._reducer = alert_reducers(rules)[0 if node else 1]
        self._node = node
        self.state = State()
        self.told: list[Alert] = []

    def __call__(self, seconds: float, *rows: Row, new_minute: bool = False) -> list[str]:
        """What is told at this time, as `status alertname`."""
        before = self.state
        copy = msgspec.msgpack.encode(before)
        self.state, told = self._reducer.step(before, Concluded(at(seconds), self._node, new_minute, rows))
        assert msgspec.msgpack.encode(before) == copy, "a step changed its state"
        alerts = [alert for alert in told if isinstance(alert, Alert)]
        self.told += alerts
        return [f"{alert.status} {alert.alertname}" for alert in alerts]


def signal(seconds: float = 0, name: str = "memory.available", **values: Any) -> EvictionSignal:
    given_ = {"available": 5 * GIB, "capacity": 10 * GIB, "hard_threshold": GIB, "ts": at(seconds), "node": "n"}
    return row(EvictionSignal, signal=name, **(given_ | values))


def eviction(seconds: float, pod: str, cause: str = "pressure", **values: Any) -> Eviction:
    given_ = {"resource": "memory", "node": "n", "namespace": "default", "uid": pod, "evidence": "event"}
    return row(Eviction, ts=at(seconds), pod=pod, cause=cause, **(given_ | values))


def gc(seconds: float, verdict: str, reason: str, **values: Any) -> ImageGc:
    given_ = {"node": "n", "high_percent": 85, "low_percent": 80, "last_at": at(seconds), "ts": at(0)}
    return row(ImageGc, verdict=verdict, reason=reason, **(given_ | values))


# Near a threshold


def test_a_forecast_must_hold_before_it_fires() -> None:
    log = Log()
    assert log(0, signal(seconds_to_hard=600.0)) == []
    assert log(20, signal(seconds_to_hard=580.0)) == []
    assert log(30, signal(seconds_to_hard=570.0)) == ["firing EvictionThresholdNear"]
    assert log(40, signal(seconds_to_hard=560.0)) == []


def test_a_forecast_that_is_gone_before_it_fired_is_forgotten() -> None:
    log = Log()
    log(0, signal(seconds_to_hard=600.0))
    assert log(30, signal()) == []
    assert log(40, signal()) == []
    assert log.state.entries == {}
    assert log(50, signal(seconds_to_hard=600.0)) == []
    assert log(79, signal(seconds_to_hard=600.0)) == []
    assert log(80, signal(seconds_to_hard=600.0)) == ["firing EvictionThresholdNear"]


def test_with_less_time_left_than_it_should_hold_it_fires_at_once() -> None:
    assert Log()(0, signal(seconds_to_hard=29.0)) == ["firing EvictionThresholdNear"]
    assert Log()(0, signal(hard_met=True, seconds_to_hard=0.0)) == ["firing EvictionThresholdNear"]
    # a soft threshold evicts after its grace period (rules: eviction-thresholds)
    assert Log()(0, signal(seconds_to_soft=29.0, soft_grace_seconds=30.0, soft_threshold=2 * GIB)) == []


def test_a_threshold_far_ahead_raises_nothing() -> None:
    log = Log()
    for seconds in range(0, 600, 10):
        assert log(seconds, signal(seconds_to_hard=901.0)) == []
    assert log.state.entries == {}


def test_a_level_is_resolved_after_it_was_quiet_for_so_long() -> None:
    log = Log()
    log(0, signal(seconds_to_hard=1.0))
    assert log(10, signal()) == []
    assert log(100, signal(seconds_to_hard=1.0)) == []
    assert log(110, signal()) == []
    assert log(229, signal()) == []
    assert log(230, signal()) == ["resolved EvictionThresholdNear"]
    fired, resolved = log.told
    assert (fired.ts, fired.starts_at, fired.ends_at) == (at(0), at(0), None)
    assert (resolved.ts, resolved.starts_at, resolved.ends_at) == (at(230), at(0), at(230))
    assert fired.fingerprint == resolved.fingerprint


def test_signals_of_one_resource_are_one_alert_that_names_the_nearest() -> None:
    log = Log()
    rows = [
        signal(0, "nodefs.available", seconds_to_hard=25.0),
        signal(0, "containerfs.available", seconds_to_hard=20.0),
        signal(0, "nodefs.inodesFree", seconds_to_hard=10.0, available=5, hard_threshold=4),
    ]
    log(0, *rows)
    assert [alert.labels["resource"] for alert in log.told] == ["ephemeral-storage", "inodes"]
    assert "containerfs.available meets in 20 s its hard eviction threshold" in log.told[0].annotations["summary"]
    assert "5 inodes left, threshold 4 inodes" in log.told[1].annotations["summary"]


def test_where_image_gc_acts_first_it_is_quiet_until_the_threshold_is_met() -> None:
    log = Log()
    near = signal(0, "nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(0, near) == []
    assert log(60, near) == []
    assert log(70, near._replace(hard_met=True, seconds_to_hard=0.0)) == ["firing EvictionThresholdNear"]


def test_where_image_gc_is_known_to_fail_nothing_waits_for_it() -> None:
    log = Log()
    log(0, gc(0, "insufficient_freed", "insufficient_freed"))
    near = signal(0, "nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(10, near) == ["firing EvictionThresholdNear"]


def test_waiting_for_image_gc_can_be_switched_off() -> None:
    log = Log(changed(EvictionThresholdNear={"wait_for_image_gc": False}))
    near = signal(0, "nodefs.available", seconds_to_hard=1.0, gc_first=True)
    assert log(0, near) == ["firing EvictionThresholdNear"]


def test_a_disabled_alert_never_fires() -> None:
    off: dict[str, object] = {"enabled": False}
    rules = changed(EvictionThresholdNear=off, PodsEvicted=off, ImageGCInsufficientFreed=off, StreamStalled=off)
    log = Log(rules)
    log(0, signal(hard_met=True, seconds_to_hard=0.0), eviction(0, "a"), gc(0, "insufficient_freed", "x"))
    log(20, signal(hard_met=True, seconds_to_hard=0.0))
    assert log.told == []


# Evicted pods


def test_a_storm_of_rejected_pods_is_one_alert_that_counts_them() -> None:
    log = Log()
    for number in range(69):
        assert log(number / 10, eviction(number / 10, f"p{number}", "admission", resource="DiskPressure")) == []
    assert log(12) == ["firing PodsEvicted"]
    assert log.told[0].annotations["summary"] == "Node n: 69 pods rejected at admission within 7 s (DiskPressure)"
    assert log.told[0].labels["cause"] == "admission"


def test_a_pod_that_two_witnesses_tell_of_is_counted_once() -> None:
    log = Log()
    log(0, eviction(0, "a"))
    log(1, eviction(0, "a", evidence="both"))
    log(2, eviction(1, "b"))
    log(20)
    assert "2 pods evicted" in log.told[0].annotations["summary"]


def test_a_pod_of_the_same_name_that_was_made_anew_is_another() -> None:
    log = Log()
    log(0, eviction(0, "web-0", uid="first"))
    log(1, eviction(1, "web-0", uid="second"))
    log(20)
    assert "2 pods evicted" in log.told[0].annotations["summary"]


def test_causes_and_resources_are_alerts_of_their_own() -> None:
    log = Log()
    log(0, eviction(0, "a"), eviction(0, "b", resource="ephemeral-storage"), eviction(0, "c", "limit"))
    assert len(log(20)) == 3
    assert len({alert.fingerprint for alert in log.told}) == 3


def test_evictions_that_a_list_tells_again_long_after_raise_nothing() -> None:
    log = Log()
    assert log(3600, eviction(0, "a")) == []
    assert log(3700) == []


def test_evictions_are_resolved_when_no_more_came() -> None:
    log = Log()
    log(0, eviction(0, "a"))
    log(10)
    log(200, eviction(200, "b"))
    assert log(439) == []
    assert log(440) == ["resolved PodsEvicted"]


def test_with_too_few_pods_it_does_not_fire() -> None:
    log = Log(changed(PodsEvicted={"pods_admission": 3}))
    log(0, eviction(0, "a", "admission"))
    log(1, eviction(1, "b", "admission"))
    assert log(100) == []
    assert log(300) == []
    assert log.state.entries == {}
    for second, pod in enumerate("cde"):
        log(400 + second, eviction(400 + second, pod, "admission"))
    assert log(410) == ["firing PodsEvicted"]


def test_what_grows_while_it_fires_is_told_once_a_minute() -> None:
    log = Log()
    log(0, eviction(0, "a"))
    assert log(10) == ["firing PodsEvicted"]
    assert log(11, eviction(11, "b")) == []
    assert log(60, new_minute=True) == ["firing PodsEvicted"]
    assert log(120, new_minute=True) == []
    assert [alert.starts_at for alert in log.told] == [at(10), at(10)]
    assert log.told[1].updated_at == at(60)


def test_a_firing_alert_is_told_again_once_an_hour() -> None:
    log = Log()
    log(0, signal(hard_met=True, seconds_to_hard=0.0))
    told = [minute for minute in range(1, 181) if log(minute * 60, new_minute=True)]
    assert told == [60, 120, 180]


# Pressure, image GC


def test_pressure_that_comes_three_times_within_an_hour_oscillates() -> None:
    log = Log()

    def began(seconds: float, *, status: bool = True, **values: Any) -> PressureChange:
        given_ = {"condition": "DiskPressure", "node": "n"} | values
        return row(PressureChange, ts=at(seconds), status=status, **given_)

    assert log(0, began(0)) == []
    assert log(300, began(300, status=False)) == []
    assert log(600, began(600), began(600, evidence="both")) == []
    assert log(900, began(900, kubelet_restart=True)) == []
    assert log(1200, began(1200)) == ["firing PressureOscillation"]
    assert log(3599) == []
    assert log(3600) == ["resolved PressureOscillation"]
    assert log(3700, began(3700)) == ["firing PressureOscillation"]  # the third since 600
    assert log(9000, began(9000)) == ["resolved PressureOscillation"]


@pytest.mark.parametrize(
    ("verdict", "reason", "alertname"),
    [
        ("persistent", "invalid_capacity", "ImageGCInvalidCapacity"),
        ("persistent", "stats_error", "ImageGCInvalidCapacity"),
        ("persistent", "delete_error", "ImageGCInsufficientFreed"),
        ("insufficient_freed", "insufficient_freed", "ImageGCInsufficientFreed"),
        ("restart_loop", "invalid_capacity", "ImageGCRestartLoop"),
    ],
)
def test_image_gc_that_fails_has_an_alert_by_what_is_wrong(verdict: str, reason: str, alertname: str) -> None:
    assert Log()(0, gc(0, verdict, reason)) == [f"firing {alertname}"]


@pytest.mark.parametrize("verdict", ["benign_startup", "recovered"])
def test_image_gc_that_healed_itself_raises_nothing(verdict: str) -> None:
    log = Log()
    assert log(0, gc(0, verdict, "invalid_capacity")) == []
    assert log(60) == []


def test_image_gc_that_recovers_is_resolved_at_once() -> None:
    log = Log()
    log(0, gc(0, "persistent", "invalid_capacity"))
    assert log(30, gc(0, "recovered", "invalid_capacity")) == ["resolved ImageGCInvalidCapacity"]


def test_image_gc_that_frees_too_little_goes_on_while_usage_is_over_the_threshold() -> None:
    log = Log()
    log(0, gc(0, "insufficient_freed", "insufficient_freed"))
    full = signal(0, "imagefs.available", available=10, capacity=100)  # 90 % used, image GC begins at 85 %
    for seconds in range(10, 3000, 10):
        assert log(seconds, full) == []
    assert log(3000, full._replace(available=20)) == ["resolved ImageGCInsufficientFreed"]
    assert log.told[-1].ends_at is not None
    assert at(2980) < log.told[-1].ends_at <= at(3000)


def test_other_settings_can_end_that_image_gc_frees_too_little() -> None:
    log = Log()
    log(0, gc(0, "insufficient_freed", "insufficient_freed", high_percent=3))
    log(10, signal(0, "imagefs.available", available=26, capacity=100))
    log(400, signal(0, "imagefs.available", available=26, capacity=100))
    assert log(410, row(KubeletSetting, node="n", image_gc_high_percent=85)) == ["resolved ImageGCInsufficientFreed"]


def test_who_wants_every_invalid_disk_capacity_gets_it() -> None:
    event = row(
        NodeEvent, ts=at(0), node="n", reason="InvalidDiskCapacity", message="invalid capacity 0", occurrences=1
    )
    assert Log()(0, event) == []
    every = default_rules().model_copy(update={"every_invalid_disk_capacity": True})
    log = Log(every)
    assert log(0, event) == ["firing ImageGCInvalidCapacity"]
    assert log(1, gc(0, "benign_startup", "invalid_capacity")) == []
    assert log(660) == ["resolved ImageGCInvalidCapacity"]
    assert Log(every)(0, event._replace(occurrences=0)) == []
    assert Log(every)(0, event._replace(reason="Rebooted")) == []


# Placement


def skew(scope: str = "node", **values: Any) -> NumaSkew:
    given_ = {"node": "n" if scope == "node" else "", "exclusive_cpus": 8, "free_cpus": 20, "largest_fit_cpus": 12}
    return row(NumaSkew, scope=scope, **(given_ | values))


def test_skew_must_last_before_it_fires() -> None:
    log = Log()
    assert log(0, skew(skew_ratio=0.5)) == []
    assert log(599) == []
    assert log(600) == ["firing NUMASkewHigh"]
    assert log(700, skew(skew_ratio=0.49)) == []
    assert log(1300) == ["resolved NUMASkewHigh"]


def test_skew_of_few_cpus_or_that_no_source_tells_raises_nothing() -> None:
    log = Log()
    log(0, skew(skew_ratio=1.0, exclusive_cpus=3))
    log(10, skew(skew_ratio=None))
    assert log(700) == []


def test_a_cluster_is_fragmented_where_no_numa_node_takes_the_request() -> None:
    log = Log(node="")
    log(0, skew("cluster", skew_ratio=0.0, free_cpus=44, largest_fit_cpus=6))
    assert log(600) == ["firing NUMAFragmented"]
    assert "44 CPUs are free, but no NUMA node has more than 6" in log.told[0].annotations["summary"]
    assert log.told[0].node == ""
    log(660, skew("cluster", skew_ratio=0.0, free_cpus=44, largest_fit_cpus=8))
    assert log(1260) == ["resolved NUMAFragmented"]


def test_a_node_is_fragmented_only_for_those_who_ask() -> None:
    fragmented = skew(free_cpus=14, largest_fit_cpus=7, skew_ratio=0.0)
    log = Log()
    log(0, fragmented)
    assert log(700) == []
    asked = Log(changed(NUMAFragmented={"scopes": ["node"]}))
    asked(0, fragmented)
    assert asked(700) == ["firing NUMAFragmented"]


def test_the_late_joiners_explain_the_skew_of_a_cluster() -> None:
    log = Log(node="")
    log(0, row(LateJoiners, verdict="late_joiners_emptier", explanation="nodes that joined last are emptier"))
    log(0, skew("cluster", skew_ratio=0.9, nodes=6))
    log(600)
    assert "Nodes that joined last are emptier." in log.told[0].annotations["description"]


def test_a_blind_spot_is_one_alert_for_each_verdict_and_node() -> None:
    log = Log(node="")

    def blind(seconds: float, verdict: str, node: str = "", pod: str = "p") -> SchedulerBlindSpot:
        return row(SchedulerBlindSpot, ts=at(seconds), verdict=verdict, test="text", node=node, pod=pod)

    assert log(0, blind(0, "lost_node", "a"), blind(0, "lost_node", "a", "q")) == ["firing SchedulerBlindSpot"]
    assert log(60, blind(60, "lost_node", "b"), blind(60, "inconclusive")) == ["firing SchedulerBlindSpot"]
    assert [alert.node for alert in log.told] == ["a", "b"]
    assert log(1800) == ["resolved SchedulerBlindSpot"]


def test_a_node_that_promises_or_uses_more_than_allocatable_is_overcommitted() -> None:
    log = Log()
    fits = row(NodeFit, node="n", resource="memory", allocatable=10, requested=10, used=10, free=0)
    asked = fits._replace(requested=11, free=-1)
    used = fits._replace(resource="cpu", used=11)
    assert log(0, fits, asked._replace(resource="pods"), used) == []
    assert len(log(600, fits, asked._replace(resource="pods"), used)) == 2
    assert {alert.labels["resource"] for alert in log.told} == {"pods", "cpu"}
    log(610, fits._replace(resource="pods"), fits._replace(resource="cpu"))
    assert len(log(910)) == 2


def test_over_commitment_can_be_tolerated_or_be_told_earlier() -> None:
    fits = row(NodeFit, node="n", resource="cpu", allocatable=10, requested=9, used=None, free=1)
    early = Log(changed(NodeOvercommitted={"requested_percent": 80, "for": "0s"}))
    assert early(0, fits) == ["firing NodeOvercommitted"]
    lenient = Log(changed(NodeOvercommitted={"requested_percent": 150, "for": "0s"}))
    assert lenient(0, fits._replace(requested=15, free=-5)) == []
    assert lenient(10, fits._replace(requested=16, free=-6)) == ["firing NodeOvercommitted"]


# Sources


def failed(seconds: float, kind: str = "unreadable", resource: str = "stats/summary", **values: Any) -> SourceError:
    return row(SourceError, ts=at(seconds), node="n", resource=resource, kind=kind, error="refused", **values)


def test_a_silent_stream_has_stalled_until_its_silence_should_have_doubled() -> None:
    log = Log()
    assert log(0, failed(0, "silent", "events", silent_seconds=60.0)) == []
    assert log(120, failed(120, "silent", "events", silent_seconds=180.0)) == ["firing StreamStalled"]
    assert "events is silent since 2026-07-01 11:59:00 UTC" in log.told[0].annotations["summary"]
    assert log(300, failed(300, "silent", "events", silent_seconds=360.0)) == []
    assert log(959) == []  # 300 + 360, and five minutes
    assert log(960) == ["resolved StreamStalled"]


def test_a_kubelet_that_is_heard_again_has_not_stalled_any_more() -> None:
    log = Log()
    log(0, failed(0, "silent", silent_seconds=600.0))
    log(10, signal())
    assert log(309, signal()) == []
    assert log(310, signal()) == ["resolved StreamStalled"]


def test_a_source_that_fails_again_and_again_has_stalled_and_a_restart_has_not() -> None:
    log = Log()
    assert log(0, failed(0), failed(5), failed(9)) == []
    assert log(60, failed(60)) == []
    assert log(120, failed(120)) == ["firing StreamStalled"]
    restarts = Log()
    for seconds in range(0, 3000, 500):
        assert restarts(seconds, failed(seconds)) == []
        assert restarts(seconds + 10, signal()) == []


def test_a_gap_is_over_when_it_is_told() -> None:
    assert Log()(0, failed(0, "gap"), failed(200, "gap"), failed(300, "gap")) == []


# Identity, state


def test_a_node_that_is_deleted_has_no_alerts_any_more() -> None:
    log = Log()
    log(0, signal(hard_met=True, seconds_to_hard=0.0), gc(0, "persistent", "invalid_capacity"))
    gone = log(5, row(NodeRow, node="n", deleted=True))
    assert sorted(gone) == ["resolved EvictionThresholdNear", "resolved ImageGCInvalidCapacity"]
    assert log.state.entries == {}


def test_labels_are_identity_and_hold_no_measured_value() -> None:
    log = Log()
    log(0, signal(hard_met=True, seconds_to_hard=0.0, available=GIB - 1))
    log(10, signal())
    log(200, signal())
    log(300, signal(hard_met=True, seconds_to_hard=0.0, available=7))
    first, _, second = log.told
    assert first.fingerprint == second.fingerprint
    assert first.labels == {
        "alertname": "EvictionThresholdNear",
        "severity": "critical",
        "cluster": "c",
        "node": "n",
        "resource": "memory",
    }


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4))
def test_a_fingerprint_does_not_depend_on_the_order_of_labels(labels: dict[str, str]) -> None:
    assert fingerprint(labels) == fingerprint(dict(reversed(labels.items())))
    assert fingerprint(labels) != fingerprint({**labels, "one more label": ""})


def test_a_hostile_name_is_one_harmless_line() -> None:
    log = Log()
    log(0, eviction(0, "x\x1b[31m\n\u202ey" * 200))
    log(20)
    for text in log.told[0].annotations.values():
        assert text.isprintable()
        assert len(text) < 2000


STEPS = st.lists(
    st.tuples(
        st.integers(1, 200),
        st.lists(
            st.sampled_from(
                [
                    signal(),
                    signal(seconds_to_hard=400.0),
                    signal(hard_met=True, seconds_to_hard=0.0),
                    signal(name="nodefs.available", seconds_to_hard=5.0, gc_first=True),
                    signal(name="imagefs.available", available=1, capacity=100),
                    eviction(0, "a"),
                    eviction(300, "b", "admission"),
                    gc(100, "insufficient_freed", "insufficient_freed"),
                    gc(200, "recovered", "insufficient_freed"),
                    skew(skew_ratio=0.9),
                    skew(skew_ratio=0.1),
                    failed(50, "silent", silent_seconds=300.0),
                    row(NodeRow, node="n", deleted=True),
                ]
            ),
            max_size=4,
        ),
    ),
    max_size=30,
)


def run(steps: Sequence[tuple[int, list[Row]]], state: State) -> tuple[State, list[Alert]]:
    reducer = alert_reducers()[0]
    told: list[Alert] = []
    for seconds, rows in steps:
        state, found = reducer.step(state, Concluded(at(seconds), "n", new_minute=True, rows=rows))
        told += [alert for alert in found if isinstance(alert, Alert)]
    return state, told


def timed(steps: list[tuple[int, list[Row]]]) -> list[tuple[int, list[Row]]]:
    """The steps with their times one after the other."""
    now, found = 0, []
    for seconds, rows in steps:
        now += seconds
        found.append((now, rows))
    return found


@given(STEPS, st.integers(0, 30))
def test_a_state_that_is_stored_and_read_again_goes_on_the_same(steps: list[tuple[int, list[Row]]], cut: int) -> None:
    every = timed(steps)
    whole = run(every, State())
    before, first = run(every[:cut], State())
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(before), type=State)
    assert stored == before
    after, second = run(every[cut:], stored)
    assert (after, first + second) == whole


@given(STEPS)
def test_alerts_fire_before_they_are_resolved_and_each_once(steps: list[tuple[int, list[Row]]]) -> None:
    state, told = run(timed(steps), State())
    firing: dict[str, Any] = {}
    for alert in told:
        if alert.status == "firing":
            assert firing.setdefault(alert.fingerprint, alert.starts_at) == alert.starts_at
        else:
            assert firing.pop(alert.fingerprint) == alert.starts_at
            assert alert.ends_at is not None
            assert alert.ends_at >= alert.starts_at
        assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    assert {entry.starts_at for entry in state.entries.values() if entry.starts_at} == set(firing.values())


# Dead letters


def test_dead_letters_of_a_cluster_are_one_alert_that_counts_those_of_its_first_minute() -> None:
    reducer = alert_reducers()[1]
    state = State()
    told: list[Any] = []
    for seconds, error_type in ((5, "not_json"), (20, "not_json"), (59, "cut_off"), (65, "late")):
        record = DeadLetterRecord(ts=at(seconds), cluster="c", error_type=error_type)
        state, found = reducer.step(state, record)
        told += found
    state, found = reducer.step(state, Concluded(at(130), "", new_minute=True, rows=()))
    firing = [*told, *found]
    assert len(firing) == 1
    assert isinstance(firing[0], Alert)
    assert (firing[0].alertname, firing[0].status, firing[0].starts_at) == ("DeadLetters", "firing", at(60))
    assert "Cluster c: 3 dead letters within a minute (1 cut_off, 2 not_json)" in firing[0].annotations["summary"]
    state, found = reducer.step(state, Concluded(at(965), "", new_minute=True, rows=()))
    assert not found
    state, found = reducer.step(state, Concluded(at(1020), "", new_minute=True, rows=()))
    assert [each.ends_at for each in found if isinstance(each, Alert)] == [
        at(965)
    ]  # a quarter of an hour after the last


def test_a_cluster_s_alerts_do_not_depend_on_which_record_of_a_minute_came_first() -> None:
    rows = [
        (5.0, skew("cluster", skew_ratio=0.9, nodes=3)),
        (10.0, skew("cluster", skew_ratio=0.1, nodes=4)),
        (50.0, skew("cluster", skew_ratio=0.8, nodes=5)),
    ]
    told: list[Any] = []
    for order in (rows, rows[::-1]):
        log = Log(node="")
        for seconds, one in order:
            log(seconds, one)
        log(59.0, rows[-1][1])
        log(60 * 10 + 7)
        told.append([alert._replace(annotations={}) for alert in log.told])
    assert told[0] == told[1]
    assert [alert.starts_at for alert in told[0]] == [at(600)]


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 8), st.integers(0, 8))
def test_holding_is_as_a_naive_reading_of_the_samples_says(near: list[bool], wait: int, keep: int) -> None:
    """Samples every ten seconds; `wait` and `keep` are in samples."""
    log = Log(changed(EvictionThresholdNear={"for": f"{wait * 10}s", "keep_firing": f"{keep * 10}s"}))
    told = []
    for number, is_near in enumerate(near):
        said = log(number * 10, signal(seconds_to_hard=600.0) if is_near else signal())
        told += [(number, each.split()[0]) for each in said]

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
    assert told == expected
