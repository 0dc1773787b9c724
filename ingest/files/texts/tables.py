"""The objects in tables of `kubectl get` (nodes, pods and Events), as far as their cells leave no doubt.

A table without a column NAMESPACE does not name it: it is empty then. A cell is what is below its head, or between
two spaces where a paste has lost that; a line with other cells is left out.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from ingest.files.texts.ages import AGE, Printed
from ingest.files.texts.described import UNKNOWN, event_object

Row = dict[str, str]
_HEADS: Final = {
    "events": frozenset({"LAST SEEN", "REASON", "OBJECT", "MESSAGE"}),
    "pods": frozenset({"NAME", "READY", "STATUS", "RESTARTS"}),
    "nodes": frozenset({"NAME", "STATUS", "ROLES", "VERSION"}),
}
IS_TABLE: Final = re.compile(
    rb"^(?:NAMESPACE +)?"
    rb"(?:LAST SEEN +(?:TYPE|COUNT|FIRST)|NAME +(?:READY +STATUS +RESTARTS|STATUS +ROLES +AGE +VERSION))",
    re.MULTILINE,
)
_HEAD: Final = re.compile(r"[A-Z][A-Z0-9()-]*(?: [A-Z][A-Z0-9()-]*)*")
_MOST_COLUMNS: Final = 64
"""More than `kubectl get -o wide` prints, with labels as columns."""
_AGE: Final = re.compile(AGE)
_OBJECT_NAME: Final = re.compile(r"(?:(?P<kind>[a-z][a-z.0-9]{0,62})/)?(?P<name>[a-z0-9][a-z0-9.:-]{0,252})")
_KINDS: Final = {"node": "Node", "pod": "Pod"}
_FAILED: Final = frozenset(
    {
        "Evicted",
        "TopologyAffinityError",
        "SMTAlignmentError",
        "UnexpectedAdmissionError",
        "NodeAffinity",
        "Preempting",
    }
)
_OUT_OF: Final = re.compile(r"OutOf(?:cpu|memory|pods|ephemeral-storage)")


def tabled(text: str, printed: Printed) -> Iterator[dict[str, Any]]:
    """Yield the objects in all tables of a text: nodes, Events, and pods that failed."""
    for kind, row in _rows(text):
        made = {"events": _event, "pods": _pod, "nodes": _node}[kind](row, printed)
        if made is not None:
            yield made


def _rows(text: str) -> Iterator[tuple[str, Row]]:
    kind, heads = "", list[tuple[str, int]]()
    for line in text.splitlines():
        found = [(each[0], each.start()) for each in _HEAD.finditer(line)]
        names = {name for name, _ in found}
        known = next((each for each, wanted in _HEADS.items() if wanted <= names), "")
        if known:
            kind, heads = (known, found) if len(found) <= _MOST_COLUMNS else ("", [])
        elif not line.strip():
            kind = ""
        elif kind and (cells := _cells(line, heads)):
            yield kind, cells


def _cells(line: str, heads: list[tuple[str, int]]) -> Row:
    ends = [*(begin for _, begin in heads[1:]), len(line)]
    if all(begin == 0 or line[begin - 1 : begin] in {" ", ""} for _, begin in heads):
        cells = [line[begin:end].strip() for (_, begin), end in zip(heads, ends, strict=True)]
    else:
        cells = re.split(r"\s{2,}", line.strip(), maxsplit=len(heads) - 1)
    if len(cells) != len(heads):
        return {}
    return {
        name: "" if cell in {"<none>", "<unknown>"} else cell for (name, _), cell in zip(heads, cells, strict=True)
    }


def _named(row: Row) -> str:
    found = _OBJECT_NAME.fullmatch(row["NAME"])
    return found["name"] if found and (found["kind"] or "pod") in {"pod", "node"} else ""


def _node(row: Row, _: Printed) -> dict[str, Any] | None:
    name, states = _named(row), row["STATUS"].split(",")
    if not name or states[0] not in {"Ready", "NotReady"}:
        return None
    ready = {"type": "Ready", "status": "True" if states[0] == "Ready" else "False"}
    roles = [each for each in row["ROLES"].split(",") if each]
    info = {"kubeletVersion": row["VERSION"], "containerRuntimeVersion": row.get("CONTAINER-RUNTIME", "")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {f"node-role.kubernetes.io/{each}": "" for each in roles}},
        "spec": {"unschedulable": "SchedulingDisabled" in states},
        "status": {"conditions": [ready], "nodeInfo": info},
    }


def _pod(row: Row, _: Printed) -> dict[str, Any] | None:
    name, namespace, state = _named(row), row.get("NAMESPACE", ""), row["STATUS"]
    if not name:
        return None
    if state not in _FAILED and _OUT_OF.fullmatch(state) is None:
        return None  # its requests are not in the table: it would seem to request nothing
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
        "spec": {"nodeName": row.get("NODE", "")},
        "status": {"phase": "Failed", "reason": state, "qosClass": UNKNOWN},
    }


def _event(row: Row, printed: Printed) -> dict[str, Any] | None:
    found = _OBJECT_NAME.fullmatch(row["OBJECT"])
    kind = _KINDS.get(found["kind"] or "", "") if found else ""
    age, _, more = row["LAST SEEN"].partition(" (x")
    if not kind or found is None or not _AGE.fullmatch(age):
        return None
    namespace = row.get("NAMESPACE", "") if kind == "Pod" else "default"
    about = {"kind": kind, "name": found["name"], "namespace": namespace}
    about |= {"uid": f"{namespace}/{found['name']}" if kind == "Pod" else found["name"]}
    counted = re.match(rf"(\d{{1,9}}) over ({AGE})\)", more)
    first = row.get("FIRST SEEN", "")
    ages = {
        "age": age,
        "count": counted[1] if counted else row.get("COUNT") if row.get("COUNT", "").isdecimal() else None,
        "first": counted[2] if counted else first if _AGE.fullmatch(first) else None,
    }
    component, _, host = row.get("SOURCE", "").partition(", ")
    return event_object(about, (row.get("TYPE", ""), row["REASON"], row["MESSAGE"]), (component, host), ages, printed)
