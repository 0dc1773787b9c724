"""Reads tables of `kubectl get -o custom-columns`, whose headings a person chose (rules: pasted-text).

If the text has the command, the path of each column is known from it. Otherwise a table is read only if its headings
identify it, for example NAME, NODE and REASON for pods.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ingest.files.texts.ages import UNKNOWN_AGE, PrintTime, utc
from ingest.files.texts.described import is_of_kubelet
from ingest.files.texts.event_rows import OF_NODE, REASONS_OF_NODE, event_object
from ingest.files.texts.fragments import Command, Fragment, is_prompt
from ingest.files.texts.headless_rows import (
    BETWEEN_CELLS,
    MOST_COLUMNS,
    NONE,
    TAINT,
    TAINT_FIELD,
    fields_of,
    is_head,
    row_without_head,
)
from ingest.files.texts.sections import pressures
from ingest.files.texts.templates import is_state, part_of, put, rows_of
from ingest.files.unread import CUT_OFF
from ingest.messages.reasons import is_by_kubelet, spell_out
from ingest.model.objects.base import UNKNOWN_NAME

_UNKNOWN_QOS: Final = "Unknown"
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
"""Headings that together identify the resource of a table."""
_KUBECTL_HEADS: Final = frozenset({"READY", "RESTARTS", "AGE", "ROLES"})
"""Each of kubectl's own tables has at least one of these headings."""
_OLD_EVENT_HEADS: Final = frozenset({"COUNT", "KIND", "SOURCE"})
"""Headings of kubectl's own table of Events before 1.13."""
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
"""Taints that appear after a Node stops being Ready, and disappear after it recovers. Without them, Ready is
unknown.
"""
OF_CONTAINERS: Final = ("containerStatuses", "initContainerStatuses")
_DIGITS: Final = 9
_OF_CONDITION: Final = re.compile(
    r"(lastHeartbeatTime|lastTransitionTime|message|reason|status|type):"
    r"(.*?)(?= (?:lastHeartbeatTime|lastTransitionTime|message|reason|status|type):|\]|$)"
)
_AMOUNT: Final = re.compile(r"([\w./-]{1,317}):([\w.]{1,30})")
"""Matches conditions and amounts in Go's form."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.:-]{0,252}")


def columns_of(line: str, command: Command) -> tuple[str, list[tuple[str, int]], list[str]]:
    """Return the resource, headings with offsets, and paths of columns if a line is a table's head; else all are
    empty.
    """
    of_others = bool(command.columns) and not command.resource  # such as node pools
    if of_others or not (command.columns or "NAME" in line.upper() or "NODE" in line.upper()):
        return "", [], []
    heads = [(each[0], each.start()) for each in _SEPARATED.finditer(line)]
    if len(heads) > MOST_COLUMNS:
        return "", [], []
    names = [_SHORT.get(each, each) for each in (re.sub(r"[ _.-]", "", name).upper() for name, _ in heads)]
    if command.columns:
        is_it = [name for name, _ in heads] == [head for head, _ in command.columns]
        paths = [path for _, path in command.columns]
        return (command.resource, heads, paths) if is_it else ("", [], [])
    if not _KUBECTL_HEADS.isdisjoint(names) or set(names) >= _OLD_EVENT_HEADS:
        return "", [], []
    for kind, choices in _IDENTIFYING.items():
        if any(each <= set(names) for each in choices) and (not command.resource or command.resource == kind):
            return kind, heads, [_HEADS[kind].get(name, "") for name in names]
    return "", [], []


def parse_columns(fragment: Fragment, printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the objects in output of custom columns and jsonpath: nodes, Events, and pods that a kubelet ended.

    If the headings are missing, the columns are known from the command above, or from the form of the cells.
    """
    command = fragment.command
    for kind, fields in _rows(fragment):
        if fields.pop(CUT_OFF, False):
            yield {"apiVersion": "v1", "kind": CUT_OFF}
        if fields and command.name:
            put(fields, "metadata.name", command.name)
        if kind and (made := _MADE[kind](fields, command, printed)) is not None:
            yield made


def _rows(fragment: Fragment) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the resource and the fields of each row."""
    lines, command = fragment.lines, fragment.command
    if command.template:
        part = part_of(command.template, lines) if command.name else None
        yield from ((command.resource, each) for each in ([part] if part else rows_of(command.template, lines)))
        return
    kind, heads, paths = "", list[tuple[str, int]](), list[str]()
    is_below = False  # other headings
    is_headless = not any(columns_of(line, command)[0] for line in lines)
    shown = [head for head, _ in command.columns if head]
    if len(shown) < len(command.columns) and lines and lines[0].split() == " ".join(shown).split():
        lines, is_headless = lines[1:], True  # some columns have no head: it shows no offsets
    for line in ("" if is_prompt(each) else each for each in lines):
        if is_headless:
            is_below = bool(line.strip()) and (is_below or is_head(line))
            row = ("", {}) if is_below else row_without_head(line, command)
            command = command if line.strip() else command._replace(columns=())  # the end of the command's output
            yield row
        elif not kind or not line.strip():
            kind, heads, paths = columns_of(line, command)
        elif cells := cells_of(line, heads):
            values = [cells.get(head, "") for head, _ in heads]
            if all(map(is_state, paths, values)):
                yield kind, fields_of(paths, values)


def cells_of(line: str, heads: Sequence[tuple[str, int]]) -> dict[str, str]:
    """Split a line at the offsets of the headings, or at two or more spaces if a paste lost the alignment.

    Return nothing if the number of cells differs from that of the headings.
    """
    ends = [*(start for _, start in heads[1:]), len(line)]
    if all(start == 0 or line[start - 1 : start] in {" ", ""} for _, start in heads):
        cells = [line[start:end].strip() for (_, start), end in zip(heads, ends, strict=True)]
    else:
        cells = BETWEEN_CELLS.split(line.strip(), maxsplit=len(heads) - 1)
    if len(cells) != len(heads):
        return {}
    return {name: "" if cell in NONE else cell for (name, _), cell in zip(heads, cells, strict=True)}


def _text(fields: Mapping[str, Any], path: str) -> str:
    found: Any = fields
    for name in path.split("."):
        found = found.get(name, "") if isinstance(found, dict) else ""
    return found if isinstance(found, str) else ""


def _node(fields: dict[str, Any], _: Command, __: PrintTime) -> dict[str, Any] | None:
    name, status = _text(fields, "metadata.name"), _inner(fields, "status")
    if not _NAME.fullmatch(name):
        return None
    spec = _inner(fields, "spec")
    given = spec.get("taints", "")
    printed = (
        given if isinstance(given, list) else [dict(TAINT_FIELD.findall(each)) for each in TAINT.findall(str(given))]
    )
    taints = [each for each in printed if isinstance(each, dict) and _text(each, "key") and "effect" in each]
    are_whole = "taints" in spec and len(taints) == len(printed) and (isinstance(given, list) or bool(taints))
    keys = {each["key"] for each in taints}
    conditions = list(conditions_of(status.get("conditions")))
    conditions += pressures(taints, [each for each in conditions if each["type"] != "Ready"])
    ready = "False" if _NOT_READY in keys else "Unknown" if _UNREACHABLE in keys else ""
    if ready and not any(each["type"] == "Ready" for each in conditions):
        conditions.append({"type": "Ready", "status": ready})
    amounts = {each: found for each in ("capacity", "allocatable") if (found := _amounts(status.get(each)))}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": ({"unschedulable": str(spec["unschedulable"]).lower() == "true"} if "unschedulable" in spec else {})
        | ({"taints": taints} if are_whole else {}),
        "status": {
            "conditions": conditions,
            "nodeInfo": {"kubeletVersion": _text(fields, "status.nodeInfo.kubeletVersion")},
        }
        | amounts,
    }


def _inner(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def conditions_of(given: Any) -> Iterator[dict[str, str]]:
    """Yield the conditions, from JSON, columns, or Go's form."""
    if isinstance(given, str):
        given = [dict(_OF_CONDITION.findall(each)) for each in given.split("map[")]
    for each in given if isinstance(given, list) else ():
        kept = {name: text for name, text in each.items() if isinstance(text, str)} if isinstance(each, dict) else {}
        if kept.get("type") and kept.get("status") in {"True", "False", "Unknown"}:
            dated = ((name, utc(text) if "Time" in name else text) for name, text in kept.items())
            yield {name: text for name, text in dated if text or "Time" not in name}


def _amounts(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        given = dict(_AMOUNT.findall(given))
    return {name: each for name, each in given.items() if isinstance(each, str)} if isinstance(given, dict) else {}


def _pod(fields: dict[str, Any], command: Command, _: PrintTime) -> dict[str, Any] | None:
    name, namespace = _text(fields, "metadata.name"), _text(fields, "metadata.namespace") or command.namespace
    status = _inner(fields, "status")
    message, started = _text(fields, "status.message"), utc(_text(fields, "status.startTime"))
    reason = spell_out(_text(fields, "status.reason") or _text(fields, "status.phase"))
    if not is_by_kubelet(reason) and is_of_kubelet("Evicted", message):
        reason = "Evicted"
    killed = killed_containers(status)
    if not _NAME.fullmatch(name) or not (killed or is_by_kubelet(reason)):
        return None  # the table lacks its requests, and the pod would seem to request nothing
    ended = {"phase": "Failed", "reason": reason, "message": message} if is_by_kubelet(reason) else {"phase": ""}
    conditions = {"conditions": list(conditions_of(status.get("conditions")))}
    uid = _text(fields, "metadata.uid") or f"{namespace}/{name}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "spec": {"nodeName": _text(fields, "spec.nodeName")},
        "status": killed
        | ended
        | conditions
        | {"qosClass": _UNKNOWN_QOS}
        | ({"startTime": started} if started else {}),
    }


def killed_containers(status: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the containers that were OOM killed, in the lists of a pod's status; without the other lists."""
    return {kind: found for kind in OF_CONTAINERS if (found := list(_killed(status.get(kind))))}


def _killed(given: Any) -> Iterator[dict[str, Any]]:
    for each in given if isinstance(given, list) else ():
        ends = {
            state: {"terminated": {"exitCode": None} | ended}
            for state in ("state", "lastState")
            if isinstance(each, dict)
            and (ended := _inner(_inner(each, state), "terminated")).get("reason") == "OOMKilled"
        }
        if ends:
            count = str(each.get("restartCount", ""))
            restarts = int(count) if count.isascii() and count.isdecimal() and len(count) < _DIGITS else len(ends)
            yield {"name": str(each.get("name") or UNKNOWN_NAME), "restartCount": restarts, **ends}


def _event(fields: dict[str, Any], command: Command, printed: PrintTime) -> dict[str, Any] | None:
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
    times = {each: at for each in ("firstTimestamp", "lastTimestamp") if (at := utc(_text(fields, each)))}
    if made is None or not (last := times.get("lastTimestamp") or utc(_text(fields, "eventTime"))):
        return made
    known = {name: value for name, value in made.items() if name not in {"earliest", "latest"}}
    return known | {"firstTimestamp": last} | times | {"lastTimestamp": last}


def _kind_of(reason: str, message: str) -> str:
    """Return the only kind of object that has such an Event; empty if several can."""
    if reason in REASONS_OF_NODE or OF_NODE.fullmatch(message):
        return "Node"
    return "Pod" if is_by_kubelet(reason) or reason == "FailedScheduling" else ""


_MADE: Final = {"nodes": _node, "pods": _pod, "events": _event}
