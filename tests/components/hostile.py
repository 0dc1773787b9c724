"""A database with a finding of each kind, in which a cluster chose every name and message."""

from datetime import timedelta
from typing import Final

from components.rows import T0, row, store, store_samples, summary
from sql.database.open import Database
from streams.fold.findings import (
    DeadLetter,
    Eviction,
    EvictionSignal,
    ImageGc,
    LateJoiners,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaAdmissionFailure,
    NumaAllocation,
    NumaPod,
    NumaSkew,
    PodBinding,
    PressureChange,
    SchedulerBlindSpot,
    SchedulingFailure,
    SourceError,
)

GIB: Final = 1 << 30


def everything(db: Database, name: str) -> None:
    """A finding of each kind, with `name` wherever a cluster may choose a name or a message."""
    at = {"node": name, "namespace": name, "pod": name, "uid": "u"}
    store(
        db,
        row(NodeRow, node=name, kubelet_version=name, zone_key=name, ready=False),
        row(NodeEvent, node=name, reason="Starting", object_kind="Node", component="kubelet", observed_at=T0),
        row(PodBinding, change="bound", priority=1, **at),
        row(Eviction, cause="pressure", resource="memory", signal="memory.available", threshold=2, available=1,
            predicted_rank=1, ranked_pods=1, evidence="both", message=name, updated_at=T0, **at),
        row(Eviction, **{**at, "uid": "v"}, cause="limit", message=name, evidence="event", updated_at=T0),
        row(PressureChange, node=name, condition="MemoryPressure", status=True, evidence="event", updated_at=T0),
        row(ImageGc, node=name, verdict="persistent", result="error", reason="invalid_capacity", explanation=name,
            high_percent=85, low_percent=80, occurrences=3, last_at=T0, updated_at=T0),
        row(NodeFit, node=name, resource=name, capacity=10, allocatable=10, requested=12, free=-2),
        row(NumaAllocation, node=name, numa_node=0, cpus=2, reserved_cpus=0, exclusive_cpus=1, free_cpus=1,
            source=name, fidelity="exact", cpuset="0-1", free_cpuset="1"),
        row(NumaPod, container=name, cpus=1, cpuset="0", numa_nodes=[0], source=name, fidelity="exact", **at),
        row(NumaSkew, scope="node", node=name, skew_ratio=0.9, free_cpus=5, largest_fit_cpus=3, stranded_cpus=2,
            fidelity="exact", explanation=name),
        row(NumaAdmissionFailure, reason=name, explanation=name, **at),
        row(LateJoiners, verdict="late_joiners_emptier", explanation=name),
        row(SchedulingFailure, namespace=name, pod=name, uid="w", reasons={name: 1}, text_source="condition"),
        row(SchedulerBlindSpot, verdict="lost_node", node=name, namespace=name, pod=name, evidence=name,
            scheduler_version=name, test="nodes_total"),
        row(SourceError, node=name, resource=name, kind="silent", silent_seconds=99.0, error=name),
        row(DeadLetter, error_type="bad", position=name, reason=name),
        *(row(EvictionSignal, ts=T0 - timedelta(seconds=2 - nth), node=name, signal="memory.available",
              available=GIB - nth, capacity=GIB, hard_threshold=GIB // 2, seconds_to_hard=60.0) for nth in range(3)),
    )  # fmt: skip
    sample = {"memory_available_bytes": GIB, "memory_working_set_bytes": GIB}
    store_samples(
        db,
        summary(T0, name, [{"namespace": name, "name": name, "uid": "u", "memory_working_set_bytes": 5}], **sample),
    )
    db.command(
        "INSERT INTO alerts (cluster, ts, fingerprint, alertname, severity, status, starts_at, node, annotations) "
        "SELECT 'c', {ts:DateTime64(6)}, 'f', {name:String}, 'critical', 'firing', {ts:DateTime64(6)}, {name:String},"
        " map('summary', {name:String}, 'description', {name:String}, 'runbook_url', 'javascript:alert(3)')",
        {"ts": T0.strftime("%Y-%m-%d %H:%M:%S"), "name": name},
    )
