"""A state that is over leaves the present tense at the same moment in look, page and report: a pair for each finding.

Each pair has a node of its own, and all are read at once: a page takes a second, however little it shows.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from io import StringIO
from typing import NamedTuple

from rich.console import Console

from components.reading import GIB, Text, page, ready, report, running, sampled, story
from components.rows import T0, row, store
from leadsman.cli.present.findings import Findings
from leadsman.cli.present.story import print_story
from leadsman.web.attention.badges import Severity
from sql.database.open import Database
from streams.fold.findings import (
    Alert,
    EvictionSignal,
    ImageGc,
    LateJoiners,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaSkew,
    PodBinding,
    PodEnd,
    PressureChange,
    Resize,
    Row,
    SchedulingFailure,
)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


class Pair(NamedTuple):
    """Rows of a finding that holds, and those that come when it is over."""

    title: str
    """Part of its card's title, where others hold on other nodes."""
    holds: Sequence[Row]
    ends: Sequence[Row]


def _node(seconds: float, **values: object) -> NodeRow:
    return row(NodeRow, ts=at(seconds), node="n", uid="n", **{"ready": True, **values})


def _signal(seconds: float, available: int, hard: int | None, **values: object) -> EvictionSignal:
    of = {"signal": "memory.available", "capacity": 16 * GIB, "available": available, "hard_threshold": hard}
    return row(EvictionSignal, ts=at(seconds), node="n", **of, **values)


def _skew(seconds: float, ratio: float, stranded: int) -> NumaSkew:
    cpus = {"free_cpus": 8, "largest_fit_cpus": 4, "exclusive_cpus": 8, "allocatable_cpus": 16}
    known = {"scope": "node", "nodes": 1, "source": "podresources", "fidelity": "exact"}
    return row(NumaSkew, ts=at(seconds), node="n", skew_ratio=ratio, stranded_cpus=stranded, **cpus, **known)


def _fit(seconds: float, requested: int) -> NodeFit:
    of = {"resource": "cpu", "capacity": 4000, "allocatable": 4000, "requested": requested}
    return row(NodeFit, ts=at(seconds), node="n", free=4000 - requested, **of)


def _gc(verdict: str, seconds: float, reason: str = "invalid_capacity") -> ImageGc:
    of = {"reason": reason, "high_percent": 85, "low_percent": 80, "occurrences": 3}
    return row(ImageGc, ts=at(seconds), node="n", verdict=verdict, last_at=at(seconds), updated_at=at(seconds), **of)


def _reported(seconds: float, reason: str) -> NodeEvent:
    of = {"object_kind": "Node", "object_name": "n", "name": reason, "reason": reason, "occurrences": 1}
    return row(NodeEvent, ts=at(seconds), observed_at=at(seconds), node="n", **of)


def _late(seconds: float, verdict: str) -> LateJoiners:
    return row(LateJoiners, ts=at(seconds), verdict=verdict, youngest_nodes=["n"], oldest_nodes=["n"])


def _alert(status: str, seconds: float) -> Alert:
    of = {"fingerprint": "f", "alertname": "PodsEvicted", "severity": "warning", "status": status, "node": "n"}
    ends = at(seconds) if status == "resolved" else None
    return row(Alert, ts=at(seconds), starts_at=at(0), ends_at=ends, updated_at=at(seconds), **of)


POD = {"namespace": "shop", "pod": "web-1", "uid": "w"}
PENDING = row(PodBinding, change="pending", phase="Pending", reason="Unschedulable", **POD)
REFUSED = row(SchedulingFailure, reasons={"Insufficient cpu": 1}, text_source="condition", **POD)
BOUND = row(PodBinding, ts=at(50), change="bound", phase="Running", node="n", **POD)

DELETED = {"cause": "deleted", "node": "n", **POD}


def _going(seconds: float, change: str = "updated", **values: object) -> PodBinding:
    return row(PodBinding, ts=at(seconds), change=change, phase="Running", node="n", **POD, **values)


def _resize(seconds: float, state: str) -> Resize:
    return row(Resize, ts=at(seconds), node="n", state=state, **POD)


_AT_ONCE = {f"seconds_to_{which}": 0.0 for which in ("hard", "soft", "hard_earliest", "soft_earliest")}
"""Return the words of a forecast about a threshold that is met."""

PAIRS = (
    Pair("not Ready", [_node(1, ready=False)], [_node(50)]),
    Pair("Ready unknown", [_node(1, ready=None, ready_message="Kubelet stopped posting node status.")], [_node(50)]),
    Pair("nodes cordoned", [_node(1, unschedulable=True)], [_node(50)]),
    Pair("cordoned (from an Event)", [_reported(1, "NodeNotSchedulable")], [_reported(50, "NodeSchedulable")]),
    Pair("karpenter", [_node(1, taints=["karpenter.sh/disrupted=:NoSchedule"])], [_node(50)]),
    Pair(
        "DiskPressure",
        [row(PressureChange, node="n", condition="DiskPressure", status=True)],
        [row(PressureChange, ts=at(50), node="n", condition="DiskPressure", status=False, lasted_seconds=50.0)],
    ),
    Pair(
        "below the hard threshold on 1 node",
        [_signal(1, GIB // 2, GIB, hard_met=True, **_AT_ONCE)],
        [_signal(50, 4 * GIB, GIB)],
    ),
    Pair("near a threshold on 1 node", [_signal(1, 2 * GIB, GIB, seconds_to_hard=60.0)], [_signal(50, 8 * GIB, GIB)]),
    Pair("without a threshold", [_signal(1, GIB // 8, None)], [_signal(50, 8 * GIB, None)]),
    Pair("Image GC keeps failing", [_gc("persistent", 1)], [_gc("recovered", 50)]),
    Pair(
        "Image GC fails to delete images",
        [_gc("persistent", 1, "delete_error")],
        [_gc("recovered", 50, "delete_error")],
    ),
    Pair(
        "below the soft threshold on 1 node",
        [_signal(1, GIB // 2, None, soft_threshold=GIB, soft_met=True, **_AT_ONCE)],
        [_signal(50, 4 * GIB, None, soft_threshold=GIB)],
    ),
    Pair("Image GC fails at every start", [_gc("restart_loop", 1)], [_gc("recovered", 50)]),
    Pair(
        "Image GC frees too little",
        [_gc("insufficient_freed", 1, "insufficient_freed")],
        [_gc("recovered", 50, "insufficient_freed")],
    ),
    Pair("joined later stay emptier", [_late(1, "late_joiners_emptier")], [_late(50, "even")]),
    Pair("More requested than allocatable", [_fit(1, 4001)], [_fit(50, 4000)]),
    Pair("Uneven NUMA nodes", [_skew(1, 1.0, 4)], [_skew(50, 0.0, 0)]),
    Pair("1 pod Pending", [PENDING, REFUSED], [BOUND]),
    Pair(
        "still Terminating",
        [row(PodEnd, ts=at(-700), **DELETED), _going(1, deletion_asked_at=at(-700))],
        [row(PodEnd, ts=at(-700), deleted=True, updated_at=at(50), **DELETED), _going(50, "deleted")],
    ),
    Pair("resize deferred", [_going(1), _resize(1, "deferred")], [_resize(50, "done")]),
    Pair("resize infeasible", [_going(1), _resize(1, "infeasible")], [_resize(50, "done")]),
    Pair(
        "Condition KernelDeadlock",
        [_node(1, problems={"KernelDeadlock": "DockerHung: blocked"}, problems_since={"KernelDeadlock": at(1)})],
        [_node(50)],
    ),
    Pair("PodsEvicted", [_alert("firing", 0)], [_alert("resolved", 50)]),
)


NOTHING = "No evictions, node pressure"
"""Start of the sentence that nothing was found."""
NOTES = {"nodes cordoned", "cordoned (from an Event)", "karpenter"}
"""Pairs that are nothing wrong."""


def _of(name: str, rows: Sequence[Row]) -> list[Row]:
    """The rows on a node, of a pod or an alert of that name."""
    named, listed = ("node", "uid", "pod", "fingerprint", "object_name"), ("youngest_nodes", "oldest_nodes")
    fields = [
        {field: name for field in named if getattr(each, field, "")}
        | {field: [name] for field in listed if getattr(each, field, ())}
        for each in rows
    ]
    return [each._replace(**of) for each, of in zip(rows, fields, strict=True)]  # type: ignore[attr-defined] # each is a NamedTuple


def _looked(database: Database) -> tuple[Findings, str]:
    """Return what look finds and prints, read once."""
    out = StringIO()
    (found,) = print_story(database, ["c"], Console(file=out, width=400), None)
    return found, out.getvalue()


def _open(text: Text) -> list[str]:
    """The cards of what lasts."""
    return [each for each in text.classes if each.startswith("item ") and not each.endswith((" over", " allclear"))]


def test_each_is_reported_while_it_holds_and_is_over_everywhere_at_once(database: Database) -> None:
    names = {f"n{number}": pair for number, pair in enumerate(PAIRS)}
    store(database, *(ready(name) for name in names), *(running(name)._replace(uid=f"web-{name}") for name in names))
    store(database, *(each for name, pair in names.items() for each in _of(name, pair.holds)))
    sampled(database, *names, minutes=1)
    now = at(120)
    found, reported = _looked(database)
    for name, pair in names.items():
        (item,) = (each for each in found.items if pair.title in each.title)
        assert item.now
        assert name in item.nodes or f"shop/{name}:" in item.text
        assert (item.severity <= Severity.WARNING) is (pair.title not in NOTES), "this alone is something wrong"
    lasting = reported.partition("Earlier")[0].partition("At the end")[2]
    shown = [page(database, now), report(database)]
    for text in (lasting, *(each.text for each in shown)):
        assert [pair.title for pair in PAIRS if pair.title not in text] == []
    assert NOTHING not in reported
    for each in shown:
        assert _open(each)
        assert NOTHING not in each.text
    store(database, *(each for name, pair in names.items() for each in _of(name, pair.ends)))
    assert "At the end" not in story(database)
    for over in (page(database, now), report(database)):
        assert _open(over) == []
        assert "all clear" in over.text
        assert "so far" not in over.text, "nothing lasts in the timeline either"


OF_PODS = {"1 pod Pending", "joined later stay emptier", "still Terminating", "resize deferred", "resize infeasible"}
"""Pairs about pods, or about a whole cluster."""


def test_nothing_holds_of_a_node_that_is_gone(database: Database) -> None:
    """Regression: its pressure, its thresholds and its image GC stayed in the present tense."""
    pairs = [pair for pair in PAIRS if pair.title not in OF_PODS | {"PodsEvicted"}]
    names = {f"n{number}": pair for number, pair in enumerate(pairs)}
    store(database, *map(ready, ("silent", "stays", *names)))
    store(database, *(each for name, pair in names.items() for each in _of(name, pair.holds)))
    sampled(database, "stays", *names, minutes=1)
    store(database, *(row(NodeRow, ts=at(50), node=name, uid=name, ready=True, deleted=True) for name in names))
    found, reported = _looked(database)
    assert [item.title for item in found.items if item.now] == ["No recent statistics of 1 of 2 nodes"]
    assert "2 nodes" in reported.partition("At the end")[0]
    of_gc = [item.text for item in found.items if item.title.startswith("Image GC")]
    assert of_gc
    assert [text for text in of_gc if not text.endswith("gone.")] == []
    shown = page(database, at(120))
    assert len(_open(shown)) == 1
    assert re.search(r"without recent statistics\s*1\b", shown.text)
    assert "not their Node objects" not in shown.text
    assert shown.text.count("so far") == 1, "that the silent one has no statistics"


def test_that_no_node_lacks_statistics_is_known_without_events(database: Database) -> None:
    """Events are missing, so how many pods were evicted is not known."""
    store(database, ready("n"))
    sampled(database, "n", minutes=120)
    shown = report(database).text
    assert re.search(r"without recent statistics\s*0\b", shown)
    assert re.search(r"pods evicted\s*\?", shown)
