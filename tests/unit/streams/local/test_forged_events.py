"""Events that anyone who may create them can forge, and what becomes of them (SECURITY.md#what-is-not-defended)."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from ingest.model.observation import Observation
from ingest.model.records import Record
from ingest.normalize.normalize import normalize
from streams.analytics.registry import REDUCERS
from streams.fold.findings import (
    Alert,
    Eviction,
    ImageGc,
    NodeEvent,
    PodEnd,
    PressureChange,
    Reclaim,
    Row,
    SchedulingFailure,
)
from streams.fold.fold import Fold, LogKey, LogState

T0 = datetime(2026, 11, 1, tzinfo=UTC)
OF_EVENTS = (NodeEvent, ImageGc, Reclaim)
"""Rows that nothing else than an Event tells."""
MARKED = {Eviction: "evidence", PodEnd: "witness", PressureChange: "evidence", SchedulingFailure: "text_source"}
"""The column of other rows that has who told it."""
POD = {"kind": "Pod", "namespace": "shop", "name": "p", "uid": "u-p"}
NODE = {"kind": "Node", "name": "n", "uid": "n"}
SCHEDULER = {"component": "default-scheduler"}
FORGED: dict[str, tuple[str, dict[str, str], dict[str, str] | None]] = {
    "Evicted": ("The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ", POD, None),
    "SystemOOM": ("System OOM encountered, victim process: a, pid: 1", NODE, None),
    "OOMKilling": ("Memory cgroup out of memory: Killed process 1 (a)", NODE, None),
    "NodeHasDiskPressure": ("Node n status is now: NodeHasDiskPressure", NODE, None),
    "NodeNotReady": ("Node n status is now: NodeNotReady", NODE, None),
    "NodeNotSchedulable": ("Node n status is now: NodeNotSchedulable", NODE, None),
    "RemovingNode": ("Node n event: Removing Node n from Controller", NODE, {"component": "node-controller"}),
    "Rebooted": ("Node n has been rebooted, boot id: x", NODE, None),
    "FreeDiskSpaceFailed": ("Attempted to free 1 bytes, but only found 0 bytes eligible to free.", NODE, None),
    "InvalidDiskCapacity": ("invalid capacity 0 on image filesystem", NODE, None),
    "EvictionThresholdMet": ("Attempting to reclaim memory", NODE, None),
    "TopologyAffinityError": ("Resources cannot be allocated with Topology locality", POD, None),
    "FailedScheduling": ("0/1 nodes are available: 1 Insufficient cpu.", POD, SCHEDULER),
    "Preempted": ("by shop/q on node n", POD, SCHEDULER),
    "TaintManagerEviction": ("Marking for deletion Pod shop/p", POD, {"component": "taint-eviction-controller"}),
    "Killing": ("Stopping container c", POD, None),
    "Unhealthy": ("Liveness probe failed: connection refused", POD, None),
}


def seen(seconds: float, resource: str, thing: dict[str, Any], change: Any = "ADDED") -> Observation:
    at, raw = T0 + timedelta(seconds=seconds), msgspec.Raw(msgspec.json.encode(thing))
    return Observation(ts=at, cluster="c", source="watch", resource=resource, type=change, object=raw)


def node(seconds: float, label: str) -> Observation:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]
    metadata = {"name": "n", "uid": "u-n", "labels": {"l": label}}
    return seen(seconds, "nodes", {"metadata": metadata, "status": {"conditions": conditions}}, "MODIFIED")


def pod(seconds: float, label: str) -> Observation:
    metadata = {"name": "p", "namespace": "shop", "uid": "u-p", "labels": {"l": label}}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    return seen(seconds, "pods", {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}, "MODIFIED")


def forged(reason: str) -> Observation:
    message, about, source = FORGED[reason]
    at = (T0 + timedelta(seconds=60)).isoformat()
    event = {
        "metadata": {"name": "x", "namespace": "tenant", "uid": "e"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": source or {"component": "kubelet", "host": "n"},
    }
    return seen(61, "events", event)


def concluded(observations: Sequence[Observation]) -> list[Row]:
    fold, logs, rows = Fold(REDUCERS), defaultdict[LogKey, LogState](LogState), list[Row]()
    for observation in observations:
        records = list(normalize(observation))
        while records:
            record = records.pop(0)
            for output in fold.step(logs[LogKey(record.cluster, record.node)], record):
                if isinstance(output, Record):
                    records.append(output)
                else:
                    rows.append(output)  # type: ignore[arg-type]
    return rows


def around(*events: Observation) -> list[Observation]:
    """A node and its pod that are well, all along."""
    return [node(0, "a"), pod(1, "a"), *events, pod(200, "b"), node(201, "b"), pod(900, "c"), node(901, "c")]


@pytest.mark.parametrize("reason", FORGED)
def test_findings_from_events_alone_are_marked_and_change_no_others(reason: str) -> None:
    """No row about the node and its pod is another or missing; what there is more has the Event as its witness."""
    honest, found = concluded(around()), concluded(around(forged(reason)))
    assert [row for row in honest if row not in found] == []
    more = [row for row in found if row not in honest]
    assert more
    for row in more:
        if isinstance(row, PressureChange) and not row.status:
            assert row.evidence == "condition", "the condition shows the next time that it is not so"
        elif column := MARKED.get(type(row)):
            assert getattr(row, column) == "event"
        else:
            assert isinstance(row, (*OF_EVENTS, Alert))
