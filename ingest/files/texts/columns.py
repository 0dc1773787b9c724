"""Reads tables of `kubectl get -o custom-columns`, whose heads a person chose (rules: pasted-text).

If the text has the command, the path of each column is known from it. Otherwise a table is read only if its heads
identify it, for example NAME, NODE and REASON for pods.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ingest.files.texts.ages import UNKNOWN_AGE, Printed
from ingest.files.texts.event_rows import OF_NODE, REASONS_OF_NODE, event_object
from ingest.files.texts.fragments import Command, Fragment
from ingest.files.texts.sections import pressures
from ingest.messages.reasons import is_by_kubelet, spelled

MOST_COLUMNS: Final = 64
"""More than `kubectl get -o wide` prints, with labels as columns."""
_UNKNOWN_QOS: Final = "Unknown"
_NONE: Final = frozenset({"", "<none>", "<unknown>", "<nil>"})
_SEPARATED: Final = re.compile(r"\S+(?: \S+)*")
_HEADS: Final[Mapping[str, Mapping[str, str]]] = {
    "events": {
        "LAST": "lastTimestamp",
        "LASTSEEN": "lastTimestamp",
        "LASTTIMESTAMP": "lastTimestamp",
        "FIRST": "firstTimestamp",
        "FIRSTSEEN": "firstTimestamp",
        "FIRSTTIMESTAMP": "firstTimestamp",
        "TIME": "eventTime",
        "EVENTTIME": "eventTime",
        "COUNT": "count",
        "TYPE": "type",
        "REASON": "reason",
        "MESSAGE": "message",
        "KIND": "involvedObject.kind",
        "NAME": "involvedObject.name",
        "OBJECT": "involvedObject.name",
        "NAMESPACE": "involvedObject.namespace",
        "HOST": "source.host",
        "COMPONENT": "source.component",
        "SOURCE": "source.component",
    },
    "pods": {
        "NAMESPACE": "metadata.namespace",
        "NAME": "metadata.name",
        "POD": "metadata.name",
        "UID": "metadata.uid",
        "NODE": "spec.nodeName",
        "NODENAME": "spec.nodeName",
        "PHASE": "status.phase",
        "STATUS": "status.phase",
        "REASON": "status.reason",
        "MESSAGE": "status.message",
        "START": "status.startTime",
        "STARTTIME": "status.startTime",
        "STARTED": "status.startTime",
    },
    "nodes": {
        "NAME": "metadata.name",
        "NODE": "metadata.name",
        "NODENAME": "metadata.name",
        "TAINTS": "spec.taints",
        "UNSCHEDULABLE": "spec.unschedulable",
        "VERSION": "status.nodeInfo.kubeletVersion",
    },
}
_SHORT: Final = {"NS": "NAMESPACE", "MSG": "MESSAGE"}
_IDENTIFYING: Final[Mapping[str, Sequence[frozenset[str]]]] = {
    "events": [frozenset({"KIND", "NAME", "REASON", "MESSAGE"})],
    "pods": [frozenset({"NAME", "NODE", each}) for each in ("PHASE", "STATUS", "REASON")],
    "nodes": [frozenset({"NAME", "TAINTS"}), frozenset({"NODE", "TAINTS"})],
}
"""Heads that together identify the resource of a table."""
_KUBECTL_HEADS: Final = frozenset({"READY", "RESTARTS", "AGE", "ROLES"})
"""Each of kubectl's own tables has at least one of these heads."""
_OLD_EVENT_HEADS: Final = frozenset({"COUNT", "KIND", "SOURCE"})
"""Heads that kubectl's own table of Events had before 1.13."""
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
"""Taints that come after a Node stopped being Ready and go after it recovered. Without them, Ready is unknown."""
_TAINT: Final = re.compile(r"map\[([^\[\]]{1,1000})\]")
"""Go's form of a taint."""
_FIELD: Final = re.compile(r"(effect|key|timeAdded|value):(\S{0,316})")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.:-]{0,252}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def columns_of(line: str, command: Command) -> tuple[str, list[tuple[str, int]], list[str]]:
    """Return resource, heads with offsets and paths of columns if a line is a table's head; else all are empty."""
    if not (command.columns or "NAME" in line.upper() or "NODE" in line.upper()):
        return "", [], []
    heads = [(each[0], each.start()) for each in _SEPARATED.finditer(line)]
    if len(heads) > MOST_COLUMNS:
        return "", [], []
    names = [_SHORT.get(each, each) for each in (re.sub(r"[ _.-]", "", name).upper() for name, _ in heads)]
    if command.columns and command.resource:
        is_it = [name for name, _ in heads] == [head for head, _ in command.columns]
        paths = [path for _, path in command.columns]
        return (command.resource, heads, paths) if is_it else ("", [], [])
    if not _KUBECTL_HEADS.isdisjoint(names) or set(names) >= _OLD_EVENT_HEADS:
        return "", [], []
    for kind, choices in _IDENTIFYING.items():
        if any(each <= set(names) for each in choices) and (not command.resource or command.resource == kind):
            return kind, heads, [_HEADS[kind].get(name, "") for name in names]
    return "", [], []


def columned(fragment: Fragment, printed: Printed) -> Iterator[dict[str, Any]]:
    """Yield the objects in tables with custom columns: nodes, Events, and pods that a kubelet evicted or rejected."""
    kind, heads, paths = "", list[tuple[str, int]](), list[str]()
    for line in fragment.lines:
        if not kind or not line.strip():
            kind, heads, paths = columns_of(line, fragment.command)
            continue
        cells = cells_of(line, heads)
        fields: dict[str, Any] = {}
        for path, (head, _) in zip(paths, heads, strict=True):
            if path and (cell := cells.get(head, "")) not in _NONE:
                _put(fields, path, cell)
        if cells and (made := _MADE[kind](fields, fragment.command, printed)) is not None:
            yield made


def cells_of(line: str, heads: Sequence[tuple[str, int]]) -> dict[str, str]:
    """Split a line at the offsets of the heads, or at two spaces and more where a paste lost its alignment.

    Empty if the number of cells differs from that of the heads.
    """
    ends = [*(start for _, start in heads[1:]), len(line)]
    if all(start == 0 or line[start - 1 : start] in {" ", ""} for _, start in heads):
        cells = [line[start:end].strip() for (_, start), end in zip(heads, ends, strict=True)]
    else:
        cells = re.split(r"\s{2,}", line.strip(), maxsplit=len(heads) - 1)
    if len(cells) != len(heads):
        return {}
    return {
        name: "" if cell in {"<none>", "<unknown>"} else cell for (name, _), cell in zip(heads, cells, strict=True)
    }


def _put(fields: dict[str, Any], path: str, cell: str) -> None:
    *names, last = re.sub(r"\[\*?\d*\]", "", path).split(".")
    within = fields
    for name in names:
        within = within.setdefault(name, {})
        if not isinstance(within, dict):
            return
    within.setdefault(last, cell)


def _text(fields: Mapping[str, Any], path: str) -> str:
    found: Any = fields
    for name in path.split("."):
        found = found.get(name, "") if isinstance(found, dict) else ""
    return found if isinstance(found, str) else ""


def _node(fields: dict[str, Any], _: Command, __: Printed) -> dict[str, Any] | None:
    name = _text(fields, "metadata.name")
    if not _NAME.fullmatch(name):
        return None
    taints = [dict(_FIELD.findall(each)) for each in _TAINT.findall(_text(fields, "spec.taints"))]
    keys = {each.get("key", "") for each in taints}
    status = "False" if _NOT_READY in keys else "Unknown" if _UNREACHABLE in keys else ""
    taints = [each for each in taints if "key" in each and "effect" in each]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {
            "unschedulable": _text(fields, "spec.unschedulable") == "true",
            "taints": taints,
        },
        "status": {
            "conditions": [*([{"type": "Ready", "status": status}] if status else []), *pressures(taints, ())],
            "nodeInfo": {"kubeletVersion": _text(fields, "status.nodeInfo.kubeletVersion")},
        },
    }


def _pod(fields: dict[str, Any], command: Command, _: Printed) -> dict[str, Any] | None:
    name, namespace = _text(fields, "metadata.name"), _text(fields, "metadata.namespace") or command.namespace
    phase = _text(fields, "status.phase")
    reason = spelled(_text(fields, "status.reason") or phase)
    if not _NAME.fullmatch(name) or not is_by_kubelet(reason):
        return None  # its requests are not in the table: it would seem to request nothing
    started = _text(fields, "status.startTime")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": _text(fields, "metadata.uid") or f"{namespace}/{name}",
        },
        "spec": {"nodeName": _text(fields, "spec.nodeName")},
        "status": {
            "phase": "Failed",
            "reason": reason,
            "message": _text(fields, "status.message"),
            "qosClass": _UNKNOWN_QOS,
        }
        | ({"startTime": started} if _TIME.fullmatch(started) else {}),
    }


def _event(fields: dict[str, Any], command: Command, printed: Printed) -> dict[str, Any] | None:
    kind, _, name = _text(fields, "involvedObject.name").rpartition("/")
    reason = _text(fields, "reason")
    kind = (_text(fields, "involvedObject.kind") or kind).capitalize() or _kind_of(reason, _text(fields, "message"))
    if kind not in {"Pod", "Node"} or not _NAME.fullmatch(name) or not reason:
        return None
    namespace = _text(fields, "involvedObject.namespace") or _text(fields, "metadata.namespace") or command.namespace
    namespace = namespace if kind == "Pod" else "default"
    uid = f"{namespace}/{name}" if kind == "Pod" else name
    count = _text(fields, "count")
    made = event_object(
        {"kind": kind, "name": name, "namespace": namespace, "uid": uid},
        (_text(fields, "type"), reason, _text(fields, "message")),
        (_text(fields, "source.component"), _text(fields, "source.host")),
        {"age": UNKNOWN_AGE, "count": count if count.isdecimal() else None, "first": None},
        printed,
    )
    times = {each: at for each in ("firstTimestamp", "lastTimestamp") if _TIME.fullmatch(at := _text(fields, each))}
    if made is None or not (last := times.get("lastTimestamp") or _text(fields, "eventTime")):
        return made
    known = {name: value for name, value in made.items() if name not in {"earliest", "latest"}}
    return known | {"firstTimestamp": last} | times | {"lastTimestamp": last}


def _kind_of(reason: str, message: str) -> str:
    """Return the kind of object that alone has such an Event; empty where several may."""
    if reason in REASONS_OF_NODE or OF_NODE.fullmatch(message):
        return "Node"
    return "Pod" if is_by_kubelet(reason) or reason == "FailedScheduling" else ""


_MADE: Final = {"nodes": _node, "pods": _pod, "events": _event}
