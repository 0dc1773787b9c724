"""The views, on rows reasoned by hand; where a rule exists in Python too, on random rows that both must agree on."""

import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from components.rows import T0, dicts, row, store, store_samples, summary
from ingest.model.samples import NodeSample
from sql.database.open import Database
from sql.schema.views import load_views
from streams.fold.findings import (
    Eviction,
    EvictionSignal,
    KubeletSetting,
    NodeFit,
    NodeRow,
    PodBinding,
    PressureChange,
)
from streams.rules.eviction.order import RankedPod, rank, signal_use
from streams.rules.eviction.signals import layout_of, observe
from streams.rules.image_gc.thresholds import decide

GIB = 1 << 30
MIB = 1 << 20


def after(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def binding(pod: str, **values: Any) -> PodBinding:
    given = {"ts": after(-60), "change": "bound", "node": "n", "namespace": "ns", "pod": pod, "uid": f"u-{pod}"}
    return row(PodBinding, **(given | values))


def pod(name: str, **values: Any) -> dict[str, Any]:
    return {"namespace": "ns", "pod": name, "uid": f"u-{name}", **values}


def order(db: Database, signal: str, node: str = "n") -> list[str]:
    found = dicts(
        db,
        "SELECT pod FROM eviction_order WHERE node = {node:String} AND signal = {signal:String} ORDER BY rank",
        node=node,
        signal=signal,
    )
    return [one["pod"] for one in found]


MEMORY = {"memory_available_bytes": GIB, "memory_working_set_bytes": 3 * GIB}


def test_memory_order_is_exceeding_then_priority_then_excess(database: Database) -> None:
    # rules: eviction-order: exceeding its request, then lower priority, then the larger usage above the request.
    store(
        database,
        binding("within", eviction_memory_request_bytes=2 * GIB),
        binding("small-excess", eviction_memory_request_bytes=100 * MIB),
        binding("large-excess", eviction_memory_request_bytes=100 * MIB),
        binding("important", eviction_memory_request_bytes=0, priority=1000),
        binding("critical", eviction_memory_request_bytes=0, critical=True),
        binding("no-stats"),
    )
    pods = [
        pod("within", memory_working_set_bytes=GIB),
        pod("small-excess", memory_working_set_bytes=150 * MIB),
        pod("large-excess", memory_working_set_bytes=300 * MIB),
        pod("important", memory_working_set_bytes=2 * GIB),
        pod("critical", memory_working_set_bytes=2 * GIB),
    ]
    store_samples(database, summary(T0, "n", pods, **MEMORY))
    assert order(database, "memory.available") == ["no-stats", "large-excess", "small-excess", "important", "within"]


def test_eviction_order_takes_the_latest_sample_of_each_node(database: Database) -> None:
    store(database, binding("a"), binding("b"), binding("other", node="m"))
    store_samples(
        database,
        summary(
            after(0), "n", [pod("a", memory_working_set_bytes=9), pod("b", memory_working_set_bytes=1)], **MEMORY
        ),
        summary(
            after(10), "n", [pod("a", memory_working_set_bytes=1), pod("b", memory_working_set_bytes=9)], **MEMORY
        ),
        summary(after(5), "m", [pod("other", memory_working_set_bytes=1)], **MEMORY),
    )
    assert order(database, "memory.available") == ["b", "a"]
    assert order(database, "memory.available", "m") == ["other"]


def test_eviction_order_leaves_out_pods_that_ended_or_came_after_the_sample(database: Database) -> None:
    store(
        database,
        binding("lives"),
        binding("deleted"),
        binding("deleted", ts=after(1), change="deleted"),
        binding("finished"),
        binding("finished", ts=after(1), change="finished"),
        binding("new", ts=after(1)),
    )
    names = ("lives", "deleted", "finished")
    store_samples(database, summary(T0, "n", [pod(n, memory_working_set_bytes=1) for n in names], **MEMORY))
    assert order(database, "memory.available") == ["lives"]


def test_eviction_order_has_only_the_signals_that_the_sample_observes(database: Database) -> None:
    # A signal with any missing input is not observed (rules: eviction-signals).
    store(database, binding("a"))
    store_samples(database, summary(T0, "n", [pod("a")], memory_available_bytes=1, pids_max=9, pids_current=1))
    assert [one["signal"] for one in dicts(database, "SELECT signal FROM eviction_order")] == ["pid.available"]


@pytest.mark.parametrize(
    ("version", "expected"), [("v1.19.16", ["a", "b"]), ("v1.20.0", ["b", "a"]), ("", ["b", "a"])]
)
def test_processes_count_since_1_20(database: Database, version: str, expected: list[str]) -> None:
    store(database, row(NodeRow, node="n", kubelet_version=version), binding("a"), binding("b"))
    pods = [pod("a", processes=1), pod("b", processes=9)]
    store_samples(database, summary(T0, "n", pods, pids_max=99, pids_current=10))
    assert order(database, "pid.available") == expected


def test_eviction_order_agrees_with_the_rule_for_every_signal_and_layout(database: Database) -> None:
    rng = random.Random(4)  # noqa: S311 - cases, not secrets
    records, bindings, expected = [], [], {}
    for number in range(60):
        node = f"node-{number}"
        sample = _random_sample(rng)
        pods = [_random_pod(rng, f"{node}-{i}") for i in range(rng.randrange(1, 9))]
        measured = [_columns(one) for one in pods if one.has_stats]
        records.append(summary(T0, node, measured, **sample))
        bindings += [_bound(one, node) for one in pods]
        known = NodeSample(**sample)
        layout = layout_of(known)
        for signal in observe(known):
            ranked = [(pods[i], signal_use(signal, layout, pods[i])) for i in rank(signal, layout, pods)]
            expected[node, signal] = [(p.uid, s.usage, s.request, int(s.exceeds_request)) for p, s in ranked]
    store_samples(database, *records)
    store(database, *bindings)
    found: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for one in dicts(database, "SELECT * FROM eviction_order ORDER BY node, signal, rank"):
        found.setdefault((one["node"], one["signal"]), []).append(
            (one["uid"], one["usage"], one["request"], one["exceeds_request"])
        )
    assert found == {key: value for key, value in expected.items() if value}


def _random_sample(rng: random.Random) -> dict[str, Any]:
    few = [None, 0, 100, 100, 200, 300]
    return {name: rng.choice(few) for name in NodeSample.__struct_fields__ if "psi" not in name and "cpu" not in name}


def _random_pod(rng: random.Random, name: str) -> RankedPod:
    return RankedPod(
        namespace=rng.choice(["a", "é", "z"]),
        name=rng.choice(["p", "q"]),
        uid=name,
        priority=rng.choice([-5, 0, 0, 7]),
        memory_request_bytes=rng.randrange(4),
        ephemeral_request_bytes=rng.randrange(4),
        has_stats=rng.random() < 0.8,
        memory_working_set_bytes=rng.randrange(4),
        rootfs_used_bytes=rng.randrange(4),
        rootfs_inodes_used=rng.randrange(4),
        logs_used_bytes=rng.randrange(4),
        logs_inodes_used=rng.randrange(4),
        volumes_used_bytes=rng.randrange(4),
        volumes_inodes_used=rng.randrange(4),
        processes=rng.randrange(4),
        critical=rng.random() < 0.2,
    )


def _columns(one: RankedPod) -> dict[str, Any]:
    """Its local volume is among others that do not count."""
    used = f"disk:{one.volumes_used_bytes}:{one.volumes_inodes_used}"
    return {**one._asdict(), "pod": one.name, "volumes": f"secret:9:9,{used},disk-2:9:9"}


def _bound(one: RankedPod, node: str) -> PodBinding:
    return binding(
        one.name,
        node=node,
        namespace=one.namespace,
        uid=one.uid,
        priority=one.priority,
        critical=one.critical,
        eviction_memory_request_bytes=one.memory_request_bytes,
        eviction_ephemeral_request_bytes=one.ephemeral_request_bytes,
        local_volumes=["other", "disk"],
    )


CGROUPS: Final = {
    ("BestEffort", 0, None, None): (2, 1, 1, None, None),
    ("BestEffort", 1000, 1000, GIB): (2, 1, 1, None, None),
    ("Burstable", 0, 0, 0): (2, 1, 1, None, None),
    ("Burstable", 2, 1, None): (2, 1, 1, 1000, None),
    # of 3 shares: 1 + 9999 / 262142, and 10^0.122
    ("Burstable", 3, 10, None): (3, 1, 2, 1000, None),
    ("Burstable", 100, None, GIB): (102, 4, 17, None, GIB),
    ("Burstable", 1000, 11, 0): (1024, 39, 100, 1100, None),
    ("Guaranteed", 4000, 4000, GIB): (4096, 157, 303, 400_000, GIB),
    ("Burstable", 256_000, None, None): (262_144, 10_000, 10_000, None, None),
    ("Burstable", 10**9, None, None): (262_144, 10_000, 10_000, None, None),
}
"""Values by QoS class, CPU request, CPU limit, memory limit: shares, the weights of kubelet and runtime, quota,
memory limit (rules: cgroup-values).
"""


def test_pod_cgroups_are_those_of_the_kubelet_and_of_the_runtime(database: Database) -> None:
    store(
        database,
        *(
            binding(
                f"p{number}",
                qos_class=qos_class,
                cpu_request_millicores=request,
                cpu_limit_millicores=limit,
                memory_limit_bytes=memory,
            )
            for number, (qos_class, request, limit, memory) in enumerate(CGROUPS)
        ),
    )
    columns = "cpu_shares, cpu_weight, runtime_cpu_weight, cpu_quota_microseconds, memory_limit_bytes"
    found = {pod: tuple(values) for pod, *values in database.query(f"SELECT pod, {columns} FROM pod_cgroups").rows}
    assert found == {f"p{number}": values for number, values in enumerate(CGROUPS.values())}


def test_pod_cgroups_of_the_reference(database: Database) -> None:
    # rules: cgroup-values: 100m is weight 4 by the kubelet and 17 by new runtimes, 1 CPU 39 and 100, 4 CPU 157 and
    # 303.
    store(
        database,
        *(binding(f"{m}m", qos_class="Burstable", cpu_request_millicores=m) for m in (100, 1000, 4000)),
        binding("pending", change="pending", node=""),
        binding("gone"),
        binding("gone", ts=T0, change="deleted"),
    )
    found = dicts(
        database, "SELECT pod, cpu_shares, cpu_weight, runtime_cpu_weight FROM pod_cgroups ORDER BY cpu_shares"
    )
    assert [tuple(one.values()) for one in found] == [
        ("100m", 102, 4, 17),
        ("1000m", 1024, 39, 100),
        ("4000m", 4096, 157, 303),
    ]


def test_the_latest_binding_gives_the_cgroup(database: Database) -> None:
    store(
        database,
        binding("a", qos_class="Burstable", cpu_request_millicores=1000),
        binding("a", ts=T0, change="updated", qos_class="Burstable", cpu_request_millicores=2000),
    )
    assert dicts(database, "SELECT cpu_shares FROM pod_cgroups") == [{"cpu_shares": 2048}]


def _shares(database: Database) -> dict[str, float]:
    rows = database.query("SELECT pod, cpu_percent FROM pod_cgroups ORDER BY pod").rows
    return {pod: round(percent, 1) for pod, percent in rows}


def test_a_pod_s_share_of_a_busy_node_changes_with_the_others(database: Database) -> None:
    # rules: cgroup-values: 1024 and 512 shares are 2/3 and 1/3; beside a third of 1024 they are 2/5 and 1/5
    store(
        database,
        binding("a", qos_class="Guaranteed", cpu_request_millicores=1000),
        binding("b", qos_class="Guaranteed", cpu_request_millicores=500),
    )
    assert _shares(database) == {"a": 66.7, "b": 33.3}
    store(
        database,
        binding("c", qos_class="Guaranteed", cpu_request_millicores=1000),
        binding("elsewhere", node="m", qos_class="Burstable", cpu_request_millicores=1),
    )
    assert _shares(database) == {"a": 40.0, "b": 20.0, "c": 40.0, "elsewhere": 100.0}


def test_pods_of_a_qos_class_divide_what_their_class_gets(database: Database) -> None:
    # Guaranteed 1024, the Burstable cgroup 1024 for both, the BestEffort one 2: 1024 / 2050 is 49.95 %
    store(
        database,
        binding("g", qos_class="Guaranteed", cpu_request_millicores=1000),
        binding("b1", qos_class="Burstable", cpu_request_millicores=750),
        binding("b2", qos_class="Burstable", cpu_request_millicores=250),
        *(binding(f"e{number}", qos_class="BestEffort", cpu_request_millicores=0) for number in range(2)),
    )
    rows = database.query("SELECT pod, cpu_percent FROM pod_cgroups").rows
    expected = {"g": 1024, "b1": 768, "b2": 256, "e0": 1, "e1": 1}
    assert dict(rows) == pytest.approx({pod: 100 * shares / 2050 for pod, shares in expected.items()})


def test_a_quota_is_of_the_period_that_the_kubelet_has(database: Database) -> None:
    limited = {"qos_class": "Burstable", "cpu_request_millicores": 100, "cpu_limit_millicores": 2000}
    store(
        database,
        *(binding(f"of-{node}", node=node, **limited) for node in ("usual", "short", "free")),
        row(KubeletSetting, node="short", cpu_quota_enforced=True, cpu_quota_period_seconds=0.005),
        row(KubeletSetting, node="free", cpu_quota_enforced=False, cpu_quota_period_seconds=0.1),
    )
    columns = "node, cpu_quota_microseconds, cpu_period_microseconds"
    assert database.query(f"SELECT {columns} FROM pod_cgroups ORDER BY node").rows == [
        ("free", None, 100_000),
        ("short", 10_000, 5_000),
        ("usual", 200_000, 100_000),
    ]


def test_a_pod_s_cgroup_has_the_path_that_the_kubelet_s_driver_gives_it(database: Database) -> None:
    """Source: `ToSystemd` and `ToCgroupfs` of `cgroup_manager_linux.go`. Without the driver there is no path, and a
    static pod's is named by the hash of its file, which its UID is not.
    """
    store(
        database,
        *(
            binding(f"{node}-{qos_class[:2]}", node=node, uid="5f0e-07", qos_class=qos_class)
            for node in ("slices", "files", "unasked")
            for qos_class in ("Guaranteed", "Burstable", "BestEffort")
        ),
        binding("static", node="files", qos_class="Burstable", owner_kind="Node"),
        binding("pasted", node="files", qos_class="Unknown"),
        row(KubeletSetting, node="slices", cgroup_driver="systemd"),
        row(KubeletSetting, node="files", cgroup_driver="cgroupfs"),
    )
    assert dict(database.query("SELECT pod, cgroup FROM pod_cgroups").rows) == {
        "slices-Gu": "/kubepods.slice/kubepods-pod5f0e_07.slice",
        "slices-Bu": "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5f0e_07.slice",
        "slices-Be": "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod5f0e_07.slice",
        "files-Gu": "/kubepods/pod5f0e-07",
        "files-Bu": "/kubepods/burstable/pod5f0e-07",
        "files-Be": "/kubepods/besteffort/pod5f0e-07",
        **{f"unasked-{qos}": None for qos in ("Gu", "Bu", "Be")},
        "static": None,
        "pasted": None,
    }


def test_pods_of_a_qos_class_share_the_shares_of_their_summed_requests(database: Database) -> None:
    """rules: cgroup-values: 1000m and 500m together are 1500m, 1536 shares; a BestEffort cgroup has 2."""
    store(
        database,
        binding("g", qos_class="Guaranteed", cpu_request_millicores=1000),
        binding("b1", qos_class="Burstable", cpu_request_millicores=1000),
        binding("b2", qos_class="Burstable", cpu_request_millicores=500),
        binding("e", qos_class="BestEffort"),
        binding("u", qos_class="Unknown"),
    )
    rows = database.query("SELECT pod, qos_cpu_shares FROM pod_cgroups").rows
    assert dict(rows) == {"g": None, "b1": 1536, "b2": 1536, "e": 2, "u": None}


def test_image_gc_state_agrees_with_the_rule(database: Database) -> None:
    rng = random.Random(2)  # noqa: S311 - cases, not secrets
    records, settings, expected = [], [], {}
    for number in range(300):
        node = f"node-{number}"
        capacity = rng.choice([None, 0, 1, 99, 1000, 264212084 * 1024])
        available = rng.choice([None, 0, rng.randrange(1, 2000), (capacity or 0) * rng.randrange(101) // 100])
        known = rng.random() < 0.7
        high, low, age = rng.choice([85, 100, 50]), rng.choice([80, 20]), rng.choice([0.0, 60.0])
        if known:
            settings.append(
                row(
                    KubeletSetting,
                    ts=after(-rng.randrange(9)),
                    node=node,
                    image_gc_high_percent=high,
                    image_gc_low_percent=low,
                    image_maximum_gc_age_seconds=age,
                )
            )
        records.append(summary(T0, node, imagefs_capacity_bytes=capacity, imagefs_available_bytes=available))
        decision = decide(available, capacity, high, low, age) if known else decide(available, capacity)
        expected[node] = (
            decision.verdict,
            decision.usage_percent,
            int(decision.verdict == "free"),
            decision.wanted_bytes,
            int(not known),
        )
    store_samples(database, *records)
    store(database, *settings)
    found = database.query(
        "SELECT node, decision, usage_percent, over_high, wanted_bytes, settings_assumed FROM image_gc_state"
    )
    assert {one[0]: one[1:] for one in found.rows} == expected


def test_image_gc_state_uses_the_settings_of_its_time(database: Database) -> None:
    store(
        database,
        row(KubeletSetting, ts=after(5), node="n", image_gc_high_percent=50, image_gc_low_percent=40),
        row(KubeletSetting, ts=after(15), node="n", image_gc_high_percent=90, image_gc_low_percent=40),
    )
    disk: dict[str, Any] = {"imagefs_capacity_bytes": 1000, "imagefs_available_bytes": 300}
    store_samples(database, *(summary(after(s), "n", **disk) for s in (0, 10, 20)))
    found = database.query(
        "SELECT usage_percent, high_percent, decision, wanted_bytes, settings_assumed FROM image_gc_state ORDER BY ts"
    )
    # 70 % used: under the default 85; over 50, and 1000*(100-40)/100 - 300 = 300 bytes to free; under 90.
    assert found.rows == [
        (70, 85, "below_high", 0, 1),
        (70, 50, "free", 300, 0),
        (70, 90, "below_high", 0, 0),
    ]


def rejection(seconds: float, uid: str, **values: Any) -> Eviction:
    given = {"ts": after(seconds), "node": "n", "namespace": "ns", "uid": uid, "cause": "admission"}
    return row(Eviction, **(given | {"resource": "DiskPressure"} | values))


def test_rejections_less_than_a_minute_apart_are_one_storm(database: Database) -> None:
    store(
        database,
        rejection(0, "a"),
        rejection(0, "b"),
        rejection(59.9, "c"),
        rejection(119.9, "d"),
        rejection(0, "x", node="m"),
        rejection(1, "evicted", cause="pressure"),
        binding("p", uid="a", owner_kind="ReplicaSet", owner_name="hog-1"),
        binding("q", uid="b", owner_kind="ReplicaSet", owner_name="hog-1"),
    )
    found = dicts(database, "SELECT * FROM admission_storms ORDER BY node, started_at")
    assert [(s["node"], s["started_at"], s["ended_at"], s["pods"], s["owners"]) for s in found] == [
        ("m", T0, T0, 1, []),
        ("n", T0, after(59.9), 3, ["ReplicaSet/hog-1"]),
        ("n", after(119.9), after(119.9), 1, []),
    ]
    assert {s["condition"] for s in found} == {"DiskPressure"}


def pressure(seconds: float, status: bool, **values: Any) -> PressureChange:
    given = {"ts": after(seconds), "node": "n", "condition": "DiskPressure", "status": status}
    return row(PressureChange, **(given | values))


def test_oscillation_counts_changes_and_time_by_the_hour(database: Database) -> None:
    # Pressure 12:50 to 12:55, relief for 2 minutes, pressure 12:57 to 13:10.
    store(
        database,
        pressure(50 * 60, True),
        pressure(55 * 60, False),
        pressure(57 * 60, True),
        pressure(70 * 60, False),
        row(KubeletSetting, ts=T0, node="n", eviction_pressure_transition_seconds=30.0),
    )
    found = dicts(database, "SELECT * FROM pressure_oscillation ORDER BY ts")
    assert [(h["ts"], h["changes"], h["pressure_seconds"], h["longest_relief_seconds"]) for h in found] == [
        (T0, 3, 480.0, 120.0),
        (after(3600), 1, 600.0, None),
    ]
    # The condition outlives the pressure by the transition period of 30 s: 150 s would have bridged the relief.
    assert [(h["transition_seconds"], h["joining_transition_seconds"], h["settings_assumed"]) for h in found] == [
        (30.0, 150.0, 0),
        (30.0, None, 0),
    ]


def test_a_kubelet_restart_is_no_oscillation(database: Database) -> None:
    store(database, pressure(0, False, kubelet_restart=True), pressure(5, False, kubelet_restart=True))
    assert dicts(database, "SELECT * FROM pressure_oscillation") == []


def test_pressure_that_goes_on_lasts_until_the_last_sample(database: Database) -> None:
    store(database, pressure(0, True))
    store_samples(database, summary(after(90), "n"))
    found = dicts(database, "SELECT changes, pressure_seconds, settings_assumed FROM pressure_oscillation")
    assert found == [{"changes": 1, "pressure_seconds": 90.0, "settings_assumed": 1}]


def forecast(seconds: float, to_hard: float | None, met: bool = False, **values: Any) -> EvictionSignal:
    given = {"ts": after(seconds), "node": "n", "signal": "memory.available", "hard_met": met}
    return row(EvictionSignal, **(given | {"seconds_to_hard": to_hard} | values))


def test_a_band_holds_where_the_threshold_was_met_within_it(database: Database) -> None:
    """Met after 30 s, 20 s and never: in 20 to 40 s, after the latest of 15 s, and past its latest."""
    store(
        database,
        forecast(0, 25.0, seconds_to_hard_earliest=20.0, seconds_to_hard_latest=40.0, acts_first="soft"),
        forecast(10, 10.0, seconds_to_hard_earliest=5.0, seconds_to_hard_latest=15.0),
        forecast(20, 10.0),
        forecast(30, 0.0, met=True),
        forecast(40, 20.0, seconds_to_hard_earliest=10.0, seconds_to_hard_latest=30.0),
        forecast(100, None),
    )
    found = dicts(database, "SELECT in_band, outcome, acts_first FROM forecast_accuracy ORDER BY ts")
    assert [(each["in_band"], each["outcome"]) for each in found] == [
        (1, "met"),
        (0, "met"),
        (None, "met"),
        (0, "not_met"),
    ]
    assert found[0]["acts_first"] == "soft"


def test_a_forecast_is_compared_with_when_the_threshold_was_met(database: Database) -> None:
    store(
        database,
        forecast(0, 25.0),
        forecast(10, None),
        forecast(20, 15.0),
        forecast(30, 0.0, met=True),
        forecast(40, 5.0),
        forecast(50, 100.0),
    )
    found = dicts(database, "SELECT * FROM forecast_accuracy ORDER BY ts")
    assert [(f["ts"], f["threshold"], f["actual_seconds"], f["error_seconds"], f["outcome"]) for f in found] == [
        (T0, "hard", 30.0, -5.0, "met"),
        (after(20), "hard", 10.0, 5.0, "met"),
        (after(40), "hard", None, None, "not_met"),
        (after(50), "hard", None, None, "open"),
    ]


def test_a_soft_and_a_hard_threshold_are_judged_apart(database: Database) -> None:
    store(
        database,
        forecast(0, 20.0, seconds_to_soft=10.0),
        forecast(10, 10.0, soft_met=True),
        forecast(20, 0.0, met=True, soft_met=True),
    )
    found = dicts(
        database, "SELECT threshold, error_seconds FROM forecast_accuracy WHERE ts = {t:DateTime64(6)}", t=T0
    )
    assert sorted(tuple(f.values()) for f in found) == [("hard", 0.0), ("soft", 0.0)]


def test_an_eviction_shows_that_its_threshold_was_met_where_no_sample_does(database: Database) -> None:
    """The kubelet hears of a lack of memory at once, and evicts between two samples (rules: eviction-signals)."""
    thresholds: dict[str, Any] = {"hard_threshold": 100, "soft_threshold": 200}
    store(database, forecast(0, 25.0, **thresholds), forecast(10, 20.0, seconds_to_soft=5.0, **thresholds))
    store(database, evicted(24, "a", None)._replace(threshold=100), forecast(40, None, **thresholds))
    found = dicts(database, "SELECT ts, threshold, error_seconds, outcome FROM forecast_accuracy ORDER BY ALL")
    assert [tuple(one.values()) for one in found] == [
        (T0, "hard", 1.0, "met"),
        (after(10), "hard", 6.0, "met"),
        (after(10), "soft", None, "not_met"),
    ]


def evicted(seconds: float, uid: str, predicted: int | None) -> Eviction:
    return row(
        Eviction,
        ts=after(seconds),
        node="n",
        uid=uid,
        time_known=True,
        cause="pressure",
        signal="memory.available",
        predicted_rank=predicted,
        predicted_at=None if predicted is None else T0,
        ranked_pods=None if predicted is None else 9,
    )


def test_a_rank_is_right_when_all_before_it_had_gone(database: Database) -> None:
    store(database, evicted(1, "a", 1), evicted(2, "b", 2), evicted(3, "c", 4), evicted(4, "d", None))
    found = dicts(database, "SELECT uid, rank_when_evicted, was_next, seconds_before FROM rank_accuracy ORDER BY ts")
    assert [tuple(one.values()) for one in found] == [("a", 1, 1, 1.0), ("b", 1, 1, 2.0), ("c", 2, 0, 3.0)]


def test_a_rank_behind_pods_that_tie_could_be_next(database: Database) -> None:
    # Three of three tie and the last of them goes first: the kubelet's sort is unstable (rules: eviction-order).
    store(database, evicted(1, "a", 3)._replace(tied_pods=3), evicted(2, "b", 3)._replace(signal="x", tied_pods=1))
    found = dicts(database, "SELECT uid, was_next, could_be_next FROM rank_accuracy ORDER BY ts")
    assert [tuple(one.values()) for one in found] == [("a", 0, 1), ("b", 0, 0)]


def fit(seconds: float, resource: str, node: str = "n", **values: Any) -> NodeFit:
    return row(NodeFit, ts=after(seconds), node=node, resource=resource, **values)


def test_the_latest_fit_is_that_of_the_nodes_latest_row(database: Database) -> None:
    store(
        database,
        fit(0, "cpu", free=1),
        fit(0, "example.com/gpu", free=1),
        fit(10, "cpu", free=2),
        fit(0, "cpu", node="deleted"),
        row(NodeRow, ts=after(1), node="deleted", deleted=True),
        row(NodeRow, ts=after(1), node="n"),
    )
    found = dicts(database, "SELECT node, resource, free FROM node_fit_latest")
    assert found == [{"node": "n", "resource": "cpu", "free": 2}]


def test_history_keeps_the_extremes_and_the_last_of_five_minutes(database: Database) -> None:
    store_samples(
        database,
        summary(after(0), "n", [pod("a", memory_working_set_bytes=7)], memory_available_bytes=5),
        summary(after(290), "n", [pod("a", memory_working_set_bytes=3)], memory_available_bytes=4),
        summary(after(300), "n", memory_available_bytes=9),
    )
    store_samples(database, summary(after(10), "n", [pod("a", memory_working_set_bytes=9)], memory_available_bytes=1))
    nodes = database.query(
        "SELECT ts, memory_available_bytes_min, memory_available_bytes_max, memory_available_bytes_last "
        "FROM node_history ORDER BY ts"
    )
    assert nodes.rows == [(T0, 1, 5, 4), (after(300), 9, 9, 9)]
    pods = database.query("SELECT memory_working_set_bytes_min, memory_working_set_bytes_max FROM pod_history")
    assert pods.rows == [(3, 9)]


def test_history_has_how_long_a_pod_stood_still_and_null_where_no_sample_knew(database: Database) -> None:
    stalled = [
        pod("a", memory_psi_full_total_nanoseconds=total, io_psi_some_total_nanoseconds=None) for total in (5, 8)
    ]
    for seconds, each in zip((10, 200), stalled, strict=True):
        store_samples(database, summary(after(seconds), "n", [each]))
    totals = "memory_psi_full_total_nanoseconds_min, memory_psi_full_total_nanoseconds_max"
    found = database.query(f"SELECT {totals}, io_psi_some_total_nanoseconds_max FROM pod_history")
    assert found.rows == [(5, 8, None)]


def test_views_show_a_replaced_row_once(database: Database) -> None:
    seen = rejection(0, "a", evidence="event", updated_at=T0)
    store(database, seen)
    store(database, seen._replace(evidence="both", updated_at=after(9)))
    assert dicts(database, "SELECT pods FROM admission_storms") == [{"pods": 1}]


def test_times_of_a_view_are_utc(database: Database) -> None:
    store(database, rejection(0, "a"))
    assert dicts(database, "SELECT started_at FROM admission_storms")[0]["started_at"].tzinfo == UTC


def test_each_view_comes_after_those_that_it_reads() -> None:
    views = load_views()
    later = {view.name for view in views}
    for view in views:
        later.discard(view.name)
        assert not later.intersection(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", view.text)), view.name
