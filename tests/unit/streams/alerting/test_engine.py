"""The engine handles every alert's hold times, repeats, resolution, identity and state."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from components.alert_log import AlertLog, at, changed, image_gc, signal, skew
from components.rows import row
from ingest.model.records import ForgetRecord, HeartbeatRecord
from streams.alerting.engine import WITHDRAWN_AFTER, LogState, alert_reducers, log_state
from streams.alerting.holding import State, fingerprint
from streams.alerting.rules_file import ALERTS
from streams.fold.findings import Alert, Eviction, NodeRow, Row, SourceError
from streams.fold.reducer import LogFindings, NoState, Withdrawal

THRESHOLD_MET = signal(hard_met=True, seconds_to_hard=0.0)
OFF: dict[str, object] = {"enabled": False}


def eviction(seconds: float, pod: str, cause: str = "pressure") -> Eviction:
    return row(Eviction, ts=at(seconds), pod=pod, uid=pod, cause=cause, resource="memory", node="n")


def silent(seconds: float) -> SourceError:
    return row(
        SourceError,
        ts=at(seconds),
        node="n",
        resource="stats/summary",
        kind="silent",
        silent_seconds=300.0,
        error="e",
    )


def test_the_reducers_take_what_the_alerts_look_at() -> None:
    node, cluster = alert_reducers()
    assert node.takes == (ForgetRecord, HeartbeatRecord)
    assert set(node.row_types) == {each for alert in ALERTS for each in alert.node_rows} | {NodeRow}
    assert {*cluster.takes, *cluster.row_types} == {each for alert in ALERTS for each in alert.cluster_rows}


def test_what_grows_while_it_fires_is_emitted_once_a_minute() -> None:
    log = AlertLog()
    log(0, eviction(0, "a"))
    assert log(10) == ["firing PodsEvicted"]
    assert log(11, eviction(11, "b")) == []
    assert log(60, new_minute=True) == ["firing PodsEvicted"]
    assert log(120, new_minute=True) == []
    assert [alert.starts_at for alert in log.emitted] == [at(10), at(10)]
    assert log.emitted[1].updated_at == at(60)


def test_a_firing_alert_is_emitted_again_once_an_hour() -> None:
    log = AlertLog()
    log(0, THRESHOLD_MET)
    assert [minute for minute in range(1, 181) if log(minute * 60, new_minute=True)] == [60, 120, 180]


def test_a_node_that_is_deleted_has_no_alerts_any_more() -> None:
    log = AlertLog()
    log(0, THRESHOLD_MET, image_gc(0, "persistent", "invalid_capacity"))
    gone = log(5, row(NodeRow, node="n", deleted=True))
    assert sorted(gone) == ["resolved EvictionThresholdNear", "resolved ImageGCInvalidCapacity"]
    assert log.state.active == {}
    assert all(each.endswith(" Resolved because the node was deleted.") for each in log.descriptions[-2:])


def test_an_alert_ends_no_earlier_than_it_fired_where_a_list_without_its_node_comes_late() -> None:
    log = AlertLog()
    log(10, THRESHOLD_MET)
    assert log(5, row(NodeRow, node="n", deleted=True)) == ["resolved EvictionThresholdNear"]
    assert log.emitted[-1].ends_at == log.emitted[-1].starts_at == at(10)


CORDONED = row(NodeRow, node="n", ready=True, unschedulable=True)
UNCORDONED = row(NodeRow, node="n", ready=True)
SKEW_AT_ONCE = changed(NUMASkewHigh={"for": "60s"})


def test_a_condition_that_outlives_a_drain_must_hold_again_once_the_node_is_uncordoned() -> None:
    log = AlertLog(SKEW_AT_ONCE)
    log(0, skew(skew_ratio=1.0))
    assert log(60) == ["firing NUMASkewHigh"]
    assert log(100, CORDONED) == ["resolved NUMASkewHigh"]
    assert log.descriptions[-1].endswith(" Resolved because the node was cordoned.")
    assert (log.emitted[-1].reason, log.emitted[-1].ends_at) == ("cordoned", at(100))
    assert log(4000) == []
    assert log(5000, UNCORDONED) == []  # no row about NUMA comes with it: nothing changed there
    assert log(5059) == []
    assert log(5060) == ["firing NUMASkewHigh"]


def test_a_condition_that_ends_during_a_drain_raises_nothing_after_it() -> None:
    log = AlertLog(SKEW_AT_ONCE)
    log(0, CORDONED)
    log(10, skew(skew_ratio=1.0))
    log(200, skew(skew_ratio=0.0))
    assert log(300, UNCORDONED) == []
    assert log(900) == []


def test_what_happens_during_a_drain_is_no_news_after_it() -> None:
    log = AlertLog()
    log(0, CORDONED)
    assert log(600, silent(600)) == []
    assert log(601, UNCORDONED) == []
    assert log(602) == []
    assert log(700, silent(700)) == ["firing StreamStalled"]


def test_evictions_of_a_cordoned_node_are_loud() -> None:
    log = AlertLog()
    log(0, CORDONED, eviction(0, "a"))
    assert log(10) == ["firing PodsEvicted"]


def test_a_node_made_anew_is_not_cordoned() -> None:
    log = AlertLog(SKEW_AT_ONCE)
    log(0, CORDONED)
    log(10, row(NodeRow, node="n", deleted=True))
    log(20, skew(skew_ratio=1.0))
    assert log(80) == ["firing NUMASkewHigh"]


@pytest.mark.parametrize(
    "taint", ["karpenter.sh/disrupted=:NoSchedule", "ToBeDeletedByClusterAutoscaler=1:NoSchedule"]
)
def test_a_node_that_an_autoscaler_drains_is_as_a_cordoned_one(taint: str) -> None:
    log = AlertLog(SKEW_AT_ONCE)
    log(0, skew(skew_ratio=1.0), row(NodeRow, node="n", ready=True, taints=[taint]))
    assert log(600) == []
    assert AlertLog(changed(NUMASkewHigh={"for": "60s", "cordoned": True}))(0, CORDONED) == []


def test_rules_decide_which_alerts_a_drain_hushes() -> None:
    log = AlertLog(changed(NUMASkewHigh={"for": "60s", "cordoned": True}, PodsEvicted={"cordoned": False}))
    log(0, CORDONED, skew(skew_ratio=1.0), eviction(0, "a"))
    assert log(60) == ["firing NUMASkewHigh"]


def test_what_was_concluded_before_a_node_was_deleted_raises_nothing_and_what_comes_after_does() -> None:
    log = AlertLog(changed(NUMASkewHigh={"for": "0s"}))
    assert log(0, skew(skew_ratio=1.0), row(NodeRow, node="n", deleted=True), THRESHOLD_MET) == [
        "firing EvictionThresholdNear"
    ]


def test_a_disabled_alert_never_fires() -> None:
    log = AlertLog(changed(EvictionThresholdNear=OFF, PodsEvicted=OFF, ImageGCInsufficientFreed=OFF))
    log(0, THRESHOLD_MET, eviction(0, "a"), image_gc(0, "insufficient_freed", "insufficient_freed"))
    log(20, THRESHOLD_MET)
    assert log.emitted == []


def test_an_alert_that_is_disabled_while_it_fires_is_resolved() -> None:
    before = AlertLog()
    assert before(0, THRESHOLD_MET) == ["firing EvictionThresholdNear"]
    after = AlertLog(changed(EvictionThresholdNear=OFF))
    after.state = before.state
    assert after(60, THRESHOLD_MET) == []
    assert after(180, THRESHOLD_MET) == ["resolved EvictionThresholdNear"]


def test_labels_are_identity_and_hold_no_measured_value() -> None:
    log = AlertLog()
    log(0, THRESHOLD_MET)
    log(10, signal())
    log(200, signal())
    log(300, THRESHOLD_MET._replace(available=7))
    first, _, second = log.emitted
    assert first.fingerprint == second.fingerprint
    assert first.labels == {
        "alertname": "EvictionThresholdNear",
        "severity": "critical",
        "cluster": "c",
        "node": "n",
        "resource": "memory",
    }


def test_a_fingerprint_stays_what_it_was_in_every_version() -> None:
    # Alertmanager and consumers know alerts by it. The digest is BLAKE2b of the sorted pairs as Python prints them.
    labels = {"severity": "warning", "alertname": "PodsEvicted"}
    assert fingerprint(labels) == "25a32e6e6b4eeffa"


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4))
def test_a_fingerprint_does_not_depend_on_the_order_of_labels(labels: dict[str, str]) -> None:
    assert fingerprint(labels) == fingerprint(dict(reversed(labels.items())))
    assert fingerprint(labels) != fingerprint({**labels, "one more label": ""})


STEPS = st.lists(
    st.tuples(
        st.integers(1, 200),
        st.lists(
            st.sampled_from(
                [
                    signal(),
                    signal(seconds_to_hard=400.0),
                    THRESHOLD_MET,
                    signal("nodefs.available", seconds_to_hard=5.0, gc_first=True),
                    signal("imagefs.available", available=1, capacity=100),
                    eviction(0, "a"),
                    eviction(300, "b", "admission"),
                    image_gc(100, "insufficient_freed", "insufficient_freed"),
                    image_gc(200, "recovered", "insufficient_freed"),
                    skew(skew_ratio=0.9),
                    skew(skew_ratio=0.1),
                    silent(50),
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
    emitted: list[Alert] = []
    for seconds, rows in steps:
        state, found = reducer.step(state, LogFindings(at(seconds), "n", new_minute=True, rows=rows))
        emitted += [alert for alert in found if isinstance(alert, Alert)]
    return state, emitted


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
    whole = run(every, LogState())
    before, first = run(every[:cut], LogState())
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(before), type=LogState)
    assert stored == before
    after, second = run(every[cut:], stored)
    assert (after, first + second) == whole


@given(STEPS)
def test_alerts_fire_before_they_are_resolved_and_each_once(steps: list[tuple[int, list[Row]]]) -> None:
    state, emitted = run(timed(steps), LogState())
    firing: dict[str, Any] = {}
    for alert in emitted:
        if alert.status == "firing":
            assert firing.setdefault(alert.fingerprint, alert.starts_at) == alert.starts_at
        else:
            assert firing.pop(alert.fingerprint) == alert.starts_at
            assert alert.ends_at is not None
            assert alert.ends_at >= alert.starts_at
        assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    active = [each for of_name in state.active.values() for each in of_name.values()]
    assert {each.starts_at for each in active if each.starts_at} == set(firing.values())


def test_a_log_that_was_quiet_for_ever_is_encoded_in_a_few_bytes() -> None:
    # a thousand nodes' states are written with every minute: no field is stored for an alert that remembers nothing
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(LogState("c", "n"))) == {"cluster": "c", "node": "n"}


@pytest.mark.parametrize("alert", [each for each in ALERTS if each.state is not NoState], ids=lambda each: each.name)
def test_each_alert_has_its_own_field_of_the_state(alert: Any) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(LogState)}
    assert fields[alert.name] == alert.state | None


def test_a_log_without_alerts_is_forgotten() -> None:
    expire = alert_reducers()[0].expire
    assert expire(LogState("c", "n"), at(60)) == (None, [])
    log = AlertLog()
    log(0, eviction(0, "a"))
    assert expire(log.state, at(60)) == (log.state, [])


def test_a_resolved_alert_is_withdrawn_a_day_later_unless_it_fires_again() -> None:
    expire = alert_reducers()[0].expire
    log = AlertLog()
    log(0, eviction(0, "a"))
    log(10)
    resolved = next(each.ts for each in _until_resolved(log))
    (mark,) = log.state.resolved
    state, early = expire(log.state, resolved + WITHDRAWN_AFTER - timedelta(seconds=1))
    assert (state, early) == (log.state, [])
    assert expire(log.state, resolved + WITHDRAWN_AFTER) == (None, [Withdrawal(mark)])
    log(80_000, eviction(80_000, "b"))
    assert log(80_010) == ["firing PodsEvicted"]
    assert log.state.resolved == {}, "what fires again stays"


def _until_resolved(log: AlertLog) -> list[Alert]:
    for minute in range(1, 600):
        log(60 * minute, new_minute=True)
        if not log.state.active:
            return [each for each in log.emitted if each.status == "resolved"]
    raise AssertionError


def test_what_fires_on_the_log_of_a_node_that_is_forgotten_is_resolved_and_withdrawn_the_next_time() -> None:
    log = AlertLog()
    log(0, skew(skew_ratio=0.9))
    assert log(600) == ["firing NUMASkewHigh"]
    step = alert_reducers()[0].step
    state, outputs = step(log.state, ForgetRecord(ts=at(30_000), cluster="c", node="n"))
    assert [each.status for each in outputs if isinstance(each, Alert)] == ["resolved"]
    state, outputs = step(state, ForgetRecord(ts=at(60_000), cluster="c", node="n"))
    assert (state, outputs) == (LogState(), [Withdrawal(log.emitted[0].fingerprint)])


def test_an_alert_that_fails_on_a_row_is_reported_and_the_others_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise ZeroDivisionError

    frail = next(each for each in ALERTS if each.name == "EvictionThresholdNear")
    others = [replace(each, step=fail) if each is frail else each for each in ALERTS]
    monkeypatch.setattr("streams.alerting.engine.ALERTS", others)
    node, _ = alert_reducers()
    rows = (THRESHOLD_MET, image_gc(0, "persistent", "invalid_capacity"))
    _, outputs = node.step(node.state(), LogFindings(at(0), "n", new_minute=True, rows=rows))
    assert [each.alertname for each in outputs if isinstance(each, Alert)] == ["ImageGCInvalidCapacity"]
    (failed,) = [each for each in outputs if isinstance(each, BadRecord)]
    assert failed.error_type == "reducer_failed"
    assert str(failed).startswith("EvictionThresholdNear failed at test_engine.py:")


class _Remembered(msgspec.Struct, frozen=True):
    """The state of an alert in a later version."""

    since: list[float] = []


@pytest.mark.parametrize("name", [alert.name for alert in ALERTS if alert.state is not NoState])
def test_a_later_version_of_an_alert_begins_anew_and_keeps_the_others_and_all_that_is_active(name: str) -> None:
    """The state is one that the present version wrote."""
    log = AlertLog()
    log(0, THRESHOLD_MET, eviction(0, "a"))
    log(10)
    remembered = {alert.name: alert.state() for alert in ALERTS if alert.state is not NoState}
    written = msgspec.msgpack.encode(msgspec.structs.replace(log.state, **remembered))
    later = [replace(alert, state=_Remembered, version=2) if alert.name == name else alert for alert in ALERTS]
    read = msgspec.msgpack.decode(written, type=log_state(later))
    assert getattr(read, name) is None
    assert {each: getattr(read, each) for each in remembered if each != name} == {
        each: state for each, state in remembered.items() if each != name
    }
    assert read.active == log.state.active
    assert read.active.keys() >= {"PodsEvicted", "EvictionThresholdNear"}
    again = msgspec.msgpack.encode(msgspec.structs.replace(read, **{name: _Remembered([1.0])}))
    assert getattr(msgspec.msgpack.decode(again, type=log_state(later)), name) == _Remembered([1.0])
