"""Every alert uses words instead of codes, numbers that agree, and a runbook that is shipped."""

import ast
import inspect
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from components.alert_log import GIB, AlertLog, at, image_gc, rejection, signal, skew
from components.rows import T0, row
from ingest.model.records import DeadLetterRecord, Record, RejectionRecord
from streams.alerting.definition import AnyAlert
from streams.alerting.rules_file import ALERT_NAMES, ALERTS
from streams.alerting.runbook import runbooks
from streams.fold.findings import (
    Eviction,
    NodeEvent,
    NodeFit,
    NodeRow,
    PodEnd,
    PressureChange,
    Row,
    SchedulerBlindSpot,
    SourceError,
)

CODES = re.compile(
    r"\w+_\w+|OutOf[a-z]+|\w+AffinityError|\w+AlignmentError|\w+AdmissionError|KubeletNotReady|NodeStatusUnknown"
    r"|InvalidDiskCapacity|FreeDiskSpaceFailed|OOMKilled|fidelity|\bNone\b|\bTrue\b|\bFalse\b|[{}\[\]]"
)
"""Names of columns and values, reasons of machines, and Python's own words."""
CODED = {"cause", "error_type", "fidelity", "reason", "result", "source", "test", "verdict"}
"""Columns of codes."""
COMMAND = re.compile(r"leadsman (query \w+( --\w+ \w+(=\w+)?)?|fit[- \w]*|validate)")
DISAGREES = re.compile(r"\b1 (pods|times|nodes|CPUs|kills|dead letters)\b")


def evicted(cause: str, **values: Any) -> Eviction:
    given = {"node": "n", "namespace": "shop", "pod": "a", "uid": "a", "resource": "memory", "message": "Too much."}
    return row(Eviction, cause=cause, **(given | values))


def ended(cause: str, number: int = 0, **values: Any) -> PodEnd:
    given = {"node": "n", "namespace": "shop", "pod": "a", "uid": f"u{number}", "container": "app"}
    return row(PodEnd, cause=cause, owner_kind="ReplicaSet", owner_name="web", **(given | values))


def gc_failed(verdict: str, reason: str) -> Row:
    return image_gc(0, verdict, reason, occurrences=2, explanation="It fails.")


def node_log(*rows: Row) -> AlertLog:
    """The log of a node an hour later, if old news are none to its alerts."""
    log = AlertLog()
    log(0, *rows)
    for minute in range(1, 16):
        log(60 * minute)
    return log


def cluster_log(*rows: Row | DeadLetterRecord | RejectionRecord) -> AlertLog:
    log = AlertLog(node="")
    for each in rows:
        log.record(each) if isinstance(each, Record) else log(0, each)
    for minute in range(1, 16):
        log(60 * minute)
    return log


TEXTS: dict[str, Sequence[AlertLog]] = {
    "EvictionThresholdNear": [
        node_log(signal(available=GIB // 2, hard_met=True, seconds_to_hard=0.0)),
        node_log(signal(seconds_to_hard=60.0)),
        node_log(signal("pid.available", available=1, capacity=1000, hard_threshold=None)),
    ],
    "PodsEvicted": [
        node_log(evicted("pressure", available=GIB, threshold=2 * GIB)),
        node_log(evicted("pressure", resource="pids", pods_usage_ratio=0.0)),
        node_log(evicted("limit", resource="ephemeral-storage")),
    ],
    "PodsRejected": [
        node_log(ended("admission", reason=reason))
        for reason in ("OutOfcpu", "OutOfexample.com/gpu", "NodeAffinity", "Whatever")
    ]
    + [cluster_log(rejection(0, reason="SMTAlignmentError"))],
    "TopologyAdmissionRunaway": [cluster_log(*(rejection(number) for number in range(12)))],
    "ContainersOOMKilled": [node_log(*(ended("oom_kill", number) for number in range(3)))],
    "NodePressureLasting": [
        node_log(row(PressureChange, node="n", condition=condition, status=True))
        for condition in ("MemoryPressure", "DiskPressure", "PIDPressure")
    ],
    "PressureOscillation": [
        node_log(*(row(PressureChange, ts=at(s), node="n", condition="DiskPressure", status=True) for s in (0, 1, 2)))
    ],
    "ImageGCInvalidCapacity": [
        node_log(gc_failed("persistent", reason))
        for reason in ("invalid_capacity", "stats_error", "detect_error", "unknown")
    ],
    "ImageGCInsufficientFreed": [node_log(gc_failed("insufficient_freed", "insufficient_freed"))],
    "ImageGCRestartLoop": [node_log(gc_failed("restart_loop", "invalid_capacity"))],
    "ContainerGCFailed": [
        node_log(
            row(NodeEvent, node="n", reason="ContainerGCFailed", object_kind="Node", occurrences=3, message="Stuck")
        )
    ],
    "NUMASkewHigh": [
        node_log(skew(skew_ratio=0.7, source=source, fidelity=fidelity))
        for source, fidelity in (("cpu_manager_state", "exact"), ("kubelet_metrics", "count"), ("pod_spec", "none"))
    ],
    "NUMAFragmented": [
        cluster_log(skew("cluster", free_cpus=20, largest_fit_cpus=6, source="nodes", fidelity="count"))
    ],
    "SchedulerBlindSpot": [
        cluster_log(row(SchedulerBlindSpot, verdict=verdict, test="nodes_total", evidence="It counts 3 of 4 nodes"))
        for verdict in ("lost_node", "stale_view", "ghost_nodes")
    ],
    "NodeOvercommitted": [
        node_log(row(NodeFit, node="n", resource=resource, allocatable=4000, requested=5000, used=None, free=-1000))
        for resource in ("cpu", "memory", "pods")
    ],
    "NodeNotReady": [
        node_log(row(NodeRow, node="n", ready=ready, ready_message="the runtime is down")) for ready in (False, None)
    ],
    "StreamStalled": [
        cluster_log(row(SourceError, resource="pods", kind="silent", silent_seconds=600.0, error="no answer")),
        cluster_log(
            *(
                row(SourceError, ts=at(60 * n), resource="pods", kind="unreadable", error="no answer")
                for n in range(4)
            )
        ),
    ],
    "DeadLetters": [cluster_log(DeadLetterRecord(ts=T0, cluster="c", error_type="not_json"))],
}


def test_the_alerts_of_this_table_exist() -> None:
    assert set(TEXTS) <= set(ALERT_NAMES)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_no_alert_puts_a_code_of_a_row_into_a_sentence(alert: AnyAlert) -> None:
    """Codes as they are, or made safe to show: words replace them."""
    tree = ast.parse(inspect.getsource(sys.modules[alert.step.__module__]))
    for part in ast.walk(tree):
        if isinstance(part, ast.FormattedValue):
            shown = part.value.args[0] if isinstance(part.value, ast.Call) and part.value.args else part.value
            is_shown = not isinstance(part.value, ast.Call) or ast.unparse(part.value.func) == "name"
            assert not (is_shown and isinstance(shown, ast.Attribute) and shown.attr in CODED), ast.unparse(part)


@pytest.mark.parametrize("alertname", TEXTS)
def test_an_alert_has_words_for_a_person_and_a_runbook_that_is_shipped(alertname: str) -> None:
    for log in TEXTS[alertname]:
        ours = [each for each in log.emitted if each.alertname == alertname]
        assert ours, "these rows should raise it"
        for alert in ours:
            summary, description = (alert.annotations[key] for key in ("summary", "description"))
            assert alert.annotations["runbook_url"].rpartition("/")[2] in runbooks()
            assert summary.startswith(("Node n: ", "Cluster c: "))
            assert not summary.endswith(".")
            for text in (summary, COMMAND.sub("", description)):
                assert not (code := CODES.search(text)), f"{code} in {text}"
                assert not DISAGREES.search(text), text
                assert "  " not in text.strip(), text
