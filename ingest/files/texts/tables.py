"""Reads objects from tables of `kubectl get` (nodes, pods and Events), if their cells are unambiguous.

Without a column NAMESPACE, the namespace is known from the command above the table, or is empty. A cell is the text
below its heading, or between double spaces if a paste lost the alignment; other lines are skipped. Rows without
headings, for example after `grep`, are read if their form identifies them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ingest.files.texts.ages import AGE, UNKNOWN_AGE, PrintTime
from ingest.files.texts.columns import cells_of, parse_columns
from ingest.files.texts.described import UNKNOWN
from ingest.files.texts.event_rows import OF_NODE, SCHEDULED, each_named, event_object, unknown_pod
from ingest.files.texts.fragments import Fragment
from ingest.files.texts.headless_rows import MOST_COLUMNS
from ingest.messages.reasons import is_by_kubelet, spell_out
from ingest.model.objects.base import UNKNOWN_NAME

Row = dict[str, str]
_HEADS: Final = {
    "events": frozenset({"LAST SEEN", "REASON", "OBJECT", "MESSAGE"}),
    "old_events": frozenset({"COUNT", "NAME", "KIND", "REASON", "SOURCE", "MESSAGE"}),
    "events_of_kinds": frozenset({"LAST SEEN", "TYPE", "REASON", "KIND", "MESSAGE"}),
    "pods": frozenset({"NAME", "READY", "STATUS"}),
    "pods_of_lens": frozenset({"NAME", "NAMESPACE", "RESTARTS", "QOS", "STATUS"}),
    "nodes": frozenset({"NAME", "STATUS", "ROLES", "VERSION"}),
}
IS_TABLE: Final = re.compile(
    rb"^(?:EVENT +)?(?:NAMESPACE +)?"
    rb"(?:LAST SEEN +(?:TYPE|COUNT|FIRST)|(?:LAST|FIRST)SEEN +(?:FIRST|LAST)SEEN +COUNT"
    rb"|NAME +(?:(?:PF +)?READY +(?:STATUS +R|RESTARTS +STATUS)|STATUS +ROLES +AGE +VERSION"
    rb"|NAMESPACE +[A-Z ]{0,99}\bQOS\b))"
    rb"|^ {0,4}(?:[a-z0-9-]{1,63} +)?(?:[a-z0-9./-]{1,253} +\d{1,4}/\d{1,4} +[A-Z][\w./-]+(?: Affinity Error)? +\d+\b"
    rb"|(?:\d+[ydhms]){1,4} +(?:Normal|Warning) "
    rb"|[a-z0-9./-]{1,253} +(?:Not)?Ready(?:,\w+)? +\S+ +\d+[ydhms]\S* +v1\.)",
    re.MULTILINE,
)
LACKING: Final = "Pod in a table, which lacks its requests"
"""The kind of a row that is recognised, but not used."""
_KILLED: Final = "OOMKilled"
_READY: Final = re.compile(r"\d{1,4}/\d{1,4}")
_DIGITS: Final = 9
_HEAD: Final = re.compile(r"[A-Z][A-Z0-9()-]*(?: [A-Z][A-Z0-9()-]*)*")
_OF_K9S: Final = re.compile(r"\bREADY (?:STATUS|RESTARTS)\b")
_SINGLE_HEAD: Final = re.compile(r"\S+")
"""Headings of k9s, which are separated by one space."""
_AGE: Final = re.compile(AGE)
_POD_ROW: Final = (
    r"(?:(?P<NAMESPACE>[a-z0-9][a-z0-9-]{0,62}) +)?(?P<NAME>(?:pod/)?[a-z0-9][a-z0-9.-]{0,252}) +\d{1,4}/\d{1,4} +"
    rf"(?P<STATUS>[A-Z][\w./-]{{1,252}}(?: Affinity Error)?) +(?P<RESTARTS>\d{{1,9}})(?: \({AGE} ago\))?"
    rf"(?: +{AGE}(?: +\S+ +(?P<NODE>\S+)(?: .*)?)?)?"
)
_NODE_ROW: Final = (
    r"(?P<NAME>(?:node/)?[a-z0-9][a-z0-9.-]{0,252}) +(?P<STATUS>(?:Not)?Ready(?:,SchedulingDisabled)?) +"
    rf"(?P<ROLES>\S+) +{AGE} +(?P<VERSION>v\d\S{{1,60}})(?: .*)?"
)
_EVENT_ROW: Final = (
    rf"(?:(?P<NAMESPACE>[a-z0-9][a-z0-9-]{{0,62}}) +)?(?P<LAST_SEEN>{AGE}(?: \(x\d{{1,9}} over {AGE}\))?) +"
    r"(?P<TYPE>Normal|Warning) +"
    r"(?P<REASON>[A-Z]\w{1,252}) +(?P<OBJECT>[A-Za-z]+/\S{1,253}) +"
)
_WIDE_ROW: Final = (
    _EVENT_ROW
    + r"(?:spec\.\w+\{[^}\s]{1,252}\} +)?(?P<SOURCE>[a-z][\w.-]{0,252}(?:, [a-z0-9][a-z0-9.-]{0,252})?) {2,}"
    + r"(?P<MESSAGE>\S.*?) {2,}"
    + rf"(?P<FIRST_SEEN>{AGE}) +(?P<COUNT>\d{{1,9}}) +\S+\.[0-9a-f]{{14,16}}"
)
"""The form of `-o wide`, whose source is not part of the message."""
_ROWS: Final = (
    ("events", re.compile(_WIDE_ROW)),
    ("pods", re.compile(_POD_ROW)),
    ("events", re.compile(_EVENT_ROW + r"(?P<MESSAGE>(?!\d+ *$)\S.*)")),
    ("nodes", re.compile(_NODE_ROW)),
)
"""Rows of pods, Events and nodes, by their form alone."""
_OBJECT_NAME: Final = re.compile(
    r"(?:(?P<kind>[A-Za-z][A-Za-z.0-9]{0,62})/)?(?P<name>[a-z0-9](?:[a-z0-9.:-]{0,251}[a-z0-9])?)"
)
_MASKED: Final = re.compile(r"(?P<kind>node|pod)/(?=\S*(?:\.{3}|[*<\u2026]))\S+")
"""A masked or truncated name."""
_SOURCE: Final = re.compile(r"\{(?P<component>[^\s}]{1,252})(?: (?P<host>[^\s}]{1,252}))? *\}")
"""The form before 1.7."""
_OF_EVENT: Final = re.compile(r"\.[0-9a-f]{14,16}")
"""Suffix of the name of an Event, which kubectl 1.9 to 1.12 prints instead of its object's name."""
_KINDS: Final = {"node": "Node", "pod": "Pod"}
_STATES: Final = {"Ready": "True", "NotReady": "False", "Unknown": ""}
"""The status of the condition Ready by the printed word; `Unknown` is a Node without the condition, which says
nothing.
"""


def parse_tables(fragment: Fragment, printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the objects in the tables of a fragment: nodes, Events, and failed pods; every other pod as LACKING.

    The command has what a table lacks: the namespace, and the paths of custom columns.
    """
    for kind, rows in _tables(fragment.lines):
        placed = (row | {"NAMESPACE": row.get("NAMESPACE") or fragment.command.namespace} for row in rows)
        made = list(filter(None, (_MADE[kind](row, printed) for row in placed)))
        yield from each_named(_with_own_uids(made)) if "events" in kind else made
    chosen = list(parse_columns(fragment, printed))
    yield from (each for each in chosen if each["kind"] != "Event")
    yield from each_named(each for each in chosen if each["kind"] == "Event")


def _with_own_uids(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give each nameless pod with the same message its own UID, counted from the newest.

    Equal Events about one pod would be one row with a count, so equal rows are about different pods.
    """
    seen: Counter[str] = Counter()
    for event in sorted(events, key=lambda each: str(each["lastTimestamp"]), reverse=True):
        about = event["involvedObject"]
        if about["name"] != UNKNOWN_NAME or not is_by_kubelet(event["reason"]):
            yield event
            continue
        uid = about["uid"]
        yield event | {"involvedObject": about | {"uid": f"{uid}.{seen[uid]}" if seen[uid] else uid}}
        seen[uid] += 1


def _known(line: str) -> tuple[str, list[tuple[str, int]]]:
    """Return the kind of table that a line is the head of, and its headings with offsets."""
    head = _SINGLE_HEAD if _OF_K9S.search(line) else _HEAD
    found = [(each[0], each.start()) for each in head.finditer(line)]
    names = {name for name, _ in found}
    return next((each for each, wanted in _HEADS.items() if wanted <= names), ""), found


def _tables(lines: Iterable[str]) -> Iterator[tuple[str, list[Row]]]:
    kind, heads, rows = "", list[tuple[str, int]](), list[Row]()
    for line in [*lines, ""]:
        known, found = _known(line)
        of_row, row = ("", None) if heads or known else _row_without_head(line)
        if known or not line.strip() or (kind and not heads and of_row != kind):
            if kind:
                yield kind, rows
            kind, heads, rows = (known, found, []) if known and len(found) <= MOST_COLUMNS else ("", [], [])
        if row is not None:
            kind = of_row
            rows.append(row)
        elif heads and not known and (cells := cells_of(line, heads) or _by_form(kind, line)):
            rows.append(cells)


def _by_form(kind: str, line: str) -> Row:
    """Return the cells of a row that does not stand below its headings and lacks one, if its form identifies it."""
    found, row = _row_without_head(line)
    return row if row is not None and found == kind else {}


def _row_without_head(line: str) -> tuple[str, Row | None]:
    """Return the kind and cells of a row without headings; neither for other text."""
    for kind, form in _ROWS:
        if (found := form.fullmatch(line.strip())) is not None:
            cells = {name.replace("_", " "): each or "" for name, each in found.groupdict().items()}
            return kind, {name: "" if cell == "<none>" else cell for name, cell in cells.items()}
    return "", None


def _named(row: Row) -> str:
    found = _OBJECT_NAME.fullmatch(row["NAME"])
    return found["name"] if found and (found["kind"] or "pod") in {"pod", "node"} else ""


def _node(row: Row, _: PrintTime) -> dict[str, Any] | None:
    name, states = _named(row), row["STATUS"].split(",")
    if not name or states[0] not in _STATES:
        return None
    ready = [{"type": "Ready", "status": status}] if (status := _STATES[states[0]]) else []
    roles = [each for each in row["ROLES"].split(",") if each]
    info = {"kubeletVersion": row["VERSION"], "containerRuntimeVersion": row.get("CONTAINER-RUNTIME", "")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "age": row.get("AGE", ""),
            "labels": {f"node-role.kubernetes.io/{each}": "" for each in roles},
        },
        "spec": {"unschedulable": "SchedulingDisabled" in states},
        "status": {"conditions": ready, "nodeInfo": info},
    }


def _pod(row: Row, _: PrintTime) -> dict[str, Any] | None:
    name, namespace, state = _named(row), row.get("NAMESPACE", ""), spell_out(row["STATUS"])
    is_killed = state.removeprefix("Init:") == _KILLED
    if not name:
        return None
    if not (is_killed or is_by_kubelet(state)):
        is_row = row["STATUS"] and _READY.fullmatch(row.get("READY", "0/0"))  # prose below a table is not a row
        return {"apiVersion": "v1", "kind": LACKING} if is_row else None  # it would seem to request nothing
    status = _killed(row) if is_killed else {"phase": "Failed", "reason": state}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
        "spec": {"nodeName": row.get("NODE", "")},
        "status": status | {"qosClass": UNKNOWN},
    }


def _killed(row: Row) -> dict[str, Any]:
    """Return the status of a pod whose last container was OOM killed and not restarted. The table lacks its phase."""
    count = row.get("RESTARTS", row.get("RS", "")).partition(" (")[0]
    restarts = int(count) if count.isascii() and count.isdecimal() and len(count) <= _DIGITS else 0
    ended = {"reason": _KILLED, "exitCode": None}
    container = {"name": UNKNOWN_NAME, "restartCount": restarts, "state": {"terminated": ended}}
    kind = "initContainerStatuses" if row["STATUS"].startswith("Init:") else "containerStatuses"
    return {"phase": "", kind: [container]}


def _old_event(row: Row, printed: PrintTime) -> dict[str, Any] | None:
    """Return an Event in the columns before 1.13: separate columns for name and kind, and one for both ages."""
    source = _SOURCE.fullmatch(row["SOURCE"])
    now = {
        "OBJECT": f"{row['KIND'].lower()}/{_OF_EVENT.sub('', row['NAME'])}",
        "LAST SEEN": row.get("LAST SEEN") or row.get("LASTSEEN", ""),
        "FIRST SEEN": row.get("FIRST SEEN") or row.get("FIRSTSEEN", ""),
        "SOURCE": ", ".join(filter(None, source.groups())) if source is not None else row["SOURCE"],
    }
    return _event(row | now, printed)


def _event_of_kind(row: Row, printed: PrintTime) -> dict[str, Any] | None:
    """Return an Event in the columns of 1.13, which have the object's kind and not its name."""
    kind, message = row["KIND"].lower(), row["MESSAGE"]
    found = OF_NODE.fullmatch(message) if kind == "node" else SCHEDULED.fullmatch(message)
    if found is not None:
        named = found.groupdict()
        space = {"NAMESPACE": named.get("ns") or row.get("NAMESPACE", "")}
        return _event(row | {"OBJECT": f"{kind}/{named.get('pod') or named['node']}"} | space, printed)
    about = unknown_pod([message]) if kind == "pod" else {"kind": "Node", "name": UNKNOWN_NAME}
    is_known = kind in _KINDS and _AGE.fullmatch(row["LAST SEEN"].partition(" (x")[0]) is not None
    return _about(about, row, printed) if is_known else None


def _event(row: Row, printed: PrintTime) -> dict[str, Any] | None:
    found = _OBJECT_NAME.fullmatch(row["OBJECT"])
    kind = _KINDS.get((found["kind"] or "").lower(), "") if found else ""
    age = (row["LAST SEEN"] or UNKNOWN_AGE).partition(" (x")[0]
    if found is None and (masked := _MASKED.fullmatch(row["OBJECT"])) is not None and row["MESSAGE"]:
        return _event_of_kind(row | {"KIND": masked["kind"]}, printed)
    if not kind or found is None or not _AGE.fullmatch(age):
        return None
    namespace = row.get("NAMESPACE", "") if kind == "Pod" else "default"
    about = {"kind": kind, "name": found["name"], "namespace": namespace}
    about |= {"uid": f"{namespace}/{found['name']}" if kind == "Pod" else found["name"]}
    return _about(about, row, printed)


def _about(about: dict[str, Any], row: Row, printed: PrintTime) -> dict[str, Any] | None:
    age, _, more = (row["LAST SEEN"] or UNKNOWN_AGE).partition(" (x")
    counted = re.match(rf"(\d{{1,9}}) over ({AGE})\)", more)
    first = row.get("FIRST SEEN", "")
    ages = {
        "age": age,
        "count": counted[1] if counted else row.get("COUNT") if row.get("COUNT", "").isdecimal() else None,
        "first": counted[2] if counted else first if _AGE.fullmatch(first) else None,
    }
    component, _, host = row.get("SOURCE", "").partition(", ")
    return event_object(about, (row.get("TYPE", ""), row["REASON"], row["MESSAGE"]), (component, host), ages, printed)


_MADE: Final[dict[str, Callable[[Row, PrintTime], dict[str, Any] | None]]] = {
    "events": _event,
    "old_events": _old_event,
    "events_of_kinds": _event_of_kind,
    "pods": _pod,
    "pods_of_lens": _pod,
    "nodes": _node,
}
