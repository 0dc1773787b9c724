"""Reads the objects in the text of `kubectl describe` about nodes, pods and Events (rules: pasted-text).

Ambiguous text is skipped: a truncated or forged line loses only the object or the field that it belongs to. The text
does not have a pod's UID, so `namespace/name` stands for it.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise, takewhile
from typing import Any, Final, NamedTuple

from ingest.files.texts.ages import Printed, date
from ingest.files.texts.described_events import event_of
from ingest.files.texts.event_rows import ROWS_HEAD, alone, event_row, events_of, unknown_pod
from ingest.files.texts.fragments import Fragment, is_typed
from ingest.files.texts.headings import OF_POD, RANKS
from ingest.files.texts.sections import FIELD, NOTHING, NUMBER, Section, amounts, containers, dates
from ingest.messages.modes import fit
from ingest.messages.reasons import OUT_OF, REFUSALS, REJECTED, is_by_kubelet, without_rejection
from ingest.model.objects.base import UNKNOWN_NAME

IS_DESCRIBED: Final = re.compile(rb"^Name:(?: {2,}|[ ]?\t[ \t]*)\S[^\n]*\n[A-Z][\w /-]*:", re.MULTILINE)
IS_STATUS: Final = re.compile(
    rb"^(?:Status:[ \t]+Failed[ \t\r]*\n)?Reason:[ \t]+[A-Z]\w+[ \t\r]*\nMessage:", re.MULTILINE
)
"""Matches the status of a pod, which people paste alone."""
_NAME: Final = re.compile(r"Name: {2,}[a-z0-9][a-z0-9.-]{0,252}[ \t]*")
_SPACED_NAME: Final = re.compile(r"Name: [a-z0-9][a-z0-9.-]{0,252}[ \t]*")
"""A name where a page has made one space of several."""
_RANKS_OF_POD: Final = RANKS["Namespace"]
_OF_STATUS: Final = frozenset({_RANKS_OF_POD["Status"], _RANKS_OF_POD["Reason"]})
_PROMPT: Final = re.compile(r".{0,200}\bkubectl .{0,2000}")
_CONDITION: Final = re.compile(
    r"(?P<type>[A-Za-z]\S{0,252}) +(?P<status>True|False|Unknown) +(?P<beat>\w{3}, .{26}) +(?P<turned>\w{3}, .{26}) +"
    r"(?P<reason>\S{1,252})(?: +(?P<message>.*))?"
)
_POD_CONDITION: Final = re.compile(r"(?P<type>[A-Za-z]\S{0,252}) +(?P<status>True|False|Unknown)")
_REQUESTS: Final = re.compile(
    r"(?P<ns>[a-z0-9][a-z0-9-]{0,62}) +(?P<pod>[a-z0-9][a-z0-9.-]{0,252}) +(?P<cpu>[0-9.]{1,12}[a-zA-Z]{0,2}) "
    r"\(\d+%\) +\S+ \(\d+%\) +(?P<memory>[0-9.]{1,20}[a-zA-Z]{0,2}) \(\d+%\) +\S+ \(\d+%\)"
)
_TAINT: Final = re.compile(
    r"(?P<key>[^=:\s]{1,316})(?:=(?P<value>[^:\s]{0,63}))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)"
)
_LABEL: Final = re.compile(r"(?P<key>[^=\s]{1,316})=(?P<value>\S{0,63})")
UNKNOWN: Final = "Unknown"
"""The QoS class of a pod whose limits the text lacks."""
PHASES: Final = frozenset({"Pending", "Running", "Succeeded", "Failed", "Unknown"})


def newest_in(text: str) -> datetime | None:
    """Return the newest time that an object in the text has."""
    found = re.findall(
        r"(?:^ *(?:CreationTimestamp|RenewTime|AcquireTime|Start Time|Started|Finished):"
        r"|True |False |Unknown |[+-]\d{4}) +"
        r"(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4})",
        text,
        re.MULTILINE,
    )
    return max(filter(None, map(date, found)), default=None)


class Described(NamedTuple):
    """The objects of a text, and the lines that are about each of them."""

    objects: list[dict[str, Any]]
    spans: list[tuple[int, int]]


def described(lines: list[str], printed: Printed) -> Described:
    """Return the nodes, pods and Events that are described, the pods that a node has, and Events about them."""
    found = Described([], [])
    for start, end in pairwise([*_starts(lines), len(lines)]):
        block = lines[start:end]
        if (event := event_of(block)) is not None:
            found.objects.append(event)
            ends = (number for number, line in enumerate(block) if line.startswith("Events:"))
            found.spans.append((start, start + next(ends, len(block) - 1) + 1))
            continue
        sections = _ordered(block)
        found.objects.extend(_objects(sections, printed))
        found.spans.append((start, start + _length(block, sections)))
    return found


def _objects(sections: dict[str, Section], printed: Printed) -> Iterator[dict[str, Any]]:
    if "Unschedulable" in sections or {"Capacity", "Allocatable"} <= sections.keys():
        yield from _node(sections, printed)
    elif "Namespace" in sections and "Node" in sections:
        yield from _pod(sections, printed)


def _length(block: list[str], sections: dict[str, Section]) -> int:
    """Return the number of lines about an object: to the end of its Events, else to the next command."""
    if "Events" in sections:
        rows = sections["Events"].lines
        ends = (number for number, row in enumerate(rows) if not row[:1].isspace())
        return len(block) - len(rows) + next(ends, len(rows))
    fields = (number for number, line in enumerate(block) if _field_name(line) in sections)
    last = max(fields, default=0)
    return next((number for number in range(last, len(block)) if is_typed(block[number])), len(block))


def without_head(fragment: Fragment, printed: Printed) -> list[dict[str, Any]]:
    """Return the objects of a fragment without the head of any: of the one node or pod that its command describes, or
    pods of which only a status is left. Empty if a line looks like a head.
    """
    verb, resource, name, namespace, _ = fragment.command
    lines = fragment.lines
    if any(map(_NAME.fullmatch, lines)):
        return []
    if verb != "describe" or not name or resource not in {"nodes", "pods"}:
        return list(_statuses_only(lines, printed))
    named = [_field_name(each) for each in lines]
    lines = list(_headed(lines, "Conditions", _CONDITION, named))
    lines = list(_headed(lines, "Events", ROWS_HEAD, named))
    known = RANKS["Roles" if resource == "nodes" else "Namespace"].keys() & set(map(_field_name, lines))
    if not known:
        return []
    if resource == "nodes":
        return list(_node(_ordered([f"Name:  {name}", "Roles:  ", *lines]), printed))
    namespace, own = namespace or UNKNOWN_NAME, [] if "Node" in named else ["Node:  "]
    sections = _ordered([f"Name:  {name}", f"Namespace:  {namespace}", *own, *lines])
    if "Status" in named:
        return list(_pod(sections, printed))
    about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": f"{namespace}/{name}"}
    return list(_events(sections, about, "", printed))


def _statuses_only(lines: list[str], printed: Printed) -> Iterator[dict[str, Any]]:
    """Yield the pods of which only the fields of a status are left, and the Events beside them."""
    fragments = [(fragment, list(_of_status(fragment, printed))) for fragment in _fragments(lines)]
    if not any(found for _, found in fragments):
        return
    for fragment, found in fragments:
        yield from found
        if not found or found[0]["metadata"]["name"] == UNKNOWN_NAME:
            yield from alone(fragment, printed)


def _fragments(lines: list[str]) -> Iterator[list[str]]:
    """Split the lines so that each fragment has one status of a pod."""
    fragment, last = list[str](), -1
    for line in lines:
        rank = _RANKS_OF_POD.get(_field_name(line), len(OF_POD))
        if rank <= last:
            yield fragment
            fragment, last = [], -1
        if rank in _OF_STATUS:
            last = rank
        fragment.append(line)
    yield fragment


def _of_status(lines: list[str], printed: Printed) -> list[dict[str, Any]]:
    """Return the pod that the kubelet evicted or rejected, and its Events if the text still has its name."""
    named = [_field_name(each) for each in lines]
    if not {"Reason", "Message"} <= set(named):
        return []
    if "Status" not in named:
        place = named.index("Reason")
        lines, named = [*lines[:place], "Status:  Failed", *lines[place:]], [*named, "Status"]
    names = [each.split()[1] for each in lines if _SPACED_NAME.fullmatch(each)]
    name, namespace = (names[0], "") if len(names) == 1 else (UNKNOWN_NAME, UNKNOWN_NAME)
    own = [] if "Node" in named else ["Node:  "]
    sections = _ordered([f"Name:  {name}", f"Namespace:  {namespace}", *own, *lines])
    if not {"Status", "Reason", "Message"} <= sections.keys():
        return []
    section = sections["Message"]
    sections["Message"] = section._replace(lines=_indented(section.lines))
    message = _message(sections["Message"])
    if sections["Status"].value != "Failed" or not _is_of_kubelet(sections["Reason"].value, message):
        return []
    found = list(_pod(sections, printed))
    if name != UNKNOWN_NAME:
        return found
    pod = found[0]
    return [pod | {"metadata": pod["metadata"] | {"uid": unknown_pod([message])["uid"]}}]


def _is_of_kubelet(reason: str, message: str) -> bool:
    """Tell whether a kubelet writes such a message with a reason: anything can have a status with these fields."""
    text = " ".join(message.split())
    if reason in REFUSALS or OUT_OF.fullmatch(reason):
        return text.startswith(REJECTED)
    is_known = any(fit(reason, each) is not None for each in (text, without_rejection(text)))
    return is_by_kubelet(reason) and is_known and not text.startswith("Job ")


def _headed(lines: list[str], heading: str, first: re.Pattern[str], named: list[str]) -> Iterator[str]:
    """Yield the lines with a heading before the first row that is of it, unless the text has that itself."""
    is_needed = heading not in named
    for line in lines:
        if is_needed and first.fullmatch(line if heading == "Events" else line.strip()):
            yield f"{heading}:"
            is_needed = False
        yield line


def _starts(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that begin an object.

    A name within an open object is ignored, because the text of a container can look like one. An object is closed by
    its Events, by a command, and by an empty line outside of its containers.
    """
    is_closed, within = True, ""
    for number, (line, following) in enumerate(pairwise((*lines, ""))):
        head = FIELD.fullmatch(line)
        if is_closed and _NAME.fullmatch(line) and _field_name(following) in RANKS:
            yield number
            is_closed, within = False, ""
        elif head is not None and head["name"] in OF_POD[OF_POD.index(within) + 1 if within else 0 :]:
            within = head["name"]
            is_closed = is_closed or within == "Events"
        elif is_typed(line) or _PROMPT.fullmatch(line) or (not line.strip() and "Containers" not in within):
            is_closed = True


def _field_name(line: str) -> str:
    """Return the name of the field that a line begins, or empty."""
    field = FIELD.fullmatch(line)
    return field["name"] if field is not None else ""


def _ordered(lines: list[str]) -> dict[str, Section]:
    """Return the longest chain of fields in the order in which kubectl prints them; `lines[1]` must be such a field.

    If several are longest, the one that ends last counts: text of others comes before the real fields.
    """
    ranks = RANKS[_field_name(lines[1])]
    best: dict[int, tuple[int, int, Any]] = {}  # by rank: how many, the line, and what is before it
    for number, line in enumerate(lines):
        rank = ranks.get(_field_name(line))
        if rank is None or (rank == 0) != (number == 0):
            continue
        before = max((each for at, each in best.items() if at < rank), key=lambda each: each[:2], default=None)
        if (rank == 0 or before) and (length := before[0] + 1 if before else 1) >= best.get(rank, (0,))[0]:
            best[rank] = (length, number, before)
    found, end = dict[str, Section](), len(lines)
    chain = max(best.values(), key=lambda each: each[:2], default=None)
    while chain is not None:
        _, number, chain = chain
        if (field := FIELD.fullmatch(lines[number])) is not None:
            below = lines[number + 1 : end]
            is_end = end == len(lines) and field["name"] == "Message"
            found[field["name"]] = Section((field["value"] or "").strip(), _indented(below) if is_end else below)
        end = number
    return found


def _indented(lines: list[str]) -> list[str]:
    """Return the indented lines that continue the one above: what follows them may belong to something else."""
    return list(takewhile(lambda line: line[:1].isspace() and line.strip(), lines))


def _node(sections: dict[str, Section], printed: Printed) -> Iterator[dict[str, Any]]:
    name = sections["Name"].value
    info = {each["name"]: each["value"].strip() for each in _matches(FIELD, sections, "System Info") if each["value"]}
    taints = [_given(each) for each in _matches(_TAINT, sections, "Taints")]
    conditions = [
        {
            "type": each["type"],
            "status": each["status"],
            **dates(lastHeartbeatTime=each["beat"], lastTransitionTime=each["turned"]),
            "reason": each["reason"],
            "message": (each["message"] or "").strip(),
        }
        for each in _matches(_CONDITION, sections, "Conditions")
    ]
    labels = {each["key"]: each["value"] for each in _matches(_LABEL, sections, "Labels")}
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            **dates(creationTimestamp=sections.get("CreationTimestamp", NOTHING).value),
        },
        "spec": {"unschedulable": sections.get("Unschedulable", NOTHING).value == "true", "taints": taints},
        "status": {
            "capacity": amounts(sections.get("Capacity")),
            "allocatable": amounts(sections.get("Allocatable")),
            "conditions": conditions,
            "nodeInfo": {
                "kubeletVersion": info.get("Kubelet Version", ""),
                "containerRuntimeVersion": info.get("Container Runtime Version", ""),
                "operatingSystem": info.get("Operating System", ""),
            },
        },
    }
    for each in _matches(_REQUESTS, sections, "Non-terminated Pods"):
        requests = {"cpu": each["cpu"], "memory": each["memory"]}
        metadata = {"name": each["pod"], "namespace": each["ns"], "uid": f"{each['ns']}/{each['pod']}"}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": name, "containers": [], "resources": {"requests": requests}},
            "status": {"qosClass": UNKNOWN},
        }
    yield from _events(sections, {"kind": "Node", "name": name, "uid": name}, name, printed)


def _pod(sections: dict[str, Section], printed: Printed) -> Iterator[dict[str, Any]]:
    name, namespace = sections["Name"].value, sections["Namespace"].value
    uid, node = f"{namespace}/{name}", sections["Node"].value.partition("/")[0].replace("<none>", "")
    phase = sections.get("Status", NOTHING).value
    kind, _, owner = sections.get("Controlled By", NOTHING).value.partition("/")
    of_init, of_app = (list(containers(sections.get(each))) for each in ("Init Containers", "Containers"))
    priority = sections.get("Priority", NOTHING).value
    conditions = [_given(each) for each in _matches(_POD_CONDITION, sections, "Conditions")]
    about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid}
    events = list(_events(sections, about, node, printed))
    if phase == "Pending" and not node:
        conditions = [_with_scheduler_message(each, events) for each in conditions]
    status = {
        "phase": phase if phase in PHASES else "",
        "reason": sections.get("Reason", NOTHING).value,
        "message": _message(sections.get("Message", NOTHING)),
        "qosClass": sections.get("QoS Class", NOTHING).value.replace("<none>", ""),
        **dates(startTime=sections.get("Start Time", NOTHING).value),
        "conditions": conditions,
        "initContainerStatuses": [status for _, status in of_init],
        "containerStatuses": [status for _, status in of_app],
    }
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "labels": {each["key"]: each["value"] for each in _matches(_LABEL, sections, "Labels")},
            "ownerReferences": [{"kind": kind, "name": owner, "controller": True}] if owner else [],
        },
        "spec": {
            "nodeName": node,
            "priority": int(priority) if NUMBER.fullmatch(priority) else None,
            "initContainers": [spec for spec, _ in of_init],
            "containers": [spec for spec, _ in of_app],
        },
        "status": status,
    }
    yield from events


def _with_scheduler_message(condition: dict[str, str], events: list[dict[str, Any]]) -> dict[str, str]:
    """Add the scheduler's message to the condition PodScheduled: the text has it only as an Event."""
    message = next((each["message"] for each in events if each["reason"] == "FailedScheduling"), "")
    is_unscheduled = (condition["type"], condition["status"]) == ("PodScheduled", "False")
    return condition | {"reason": "Unschedulable", "message": message} if is_unscheduled and message else condition


def _message(section: Section) -> str:
    """Return a message of one or more lines; kubectl leaves out a space at the end of the kubelet's."""
    return "\n".join(filter(None, section.stripped))


def _events(
    sections: dict[str, Section], about: dict[str, Any], node: str, printed: Printed
) -> Iterator[dict[str, Any]]:
    rows = filter(None, map(event_row, sections.get("Events", NOTHING).lines))
    return events_of(rows, about, node, printed)


def _matches(pattern: re.Pattern[str], sections: dict[str, Section], name: str) -> Iterator[re.Match[str]]:
    section = sections.get(name, NOTHING)
    return (found for each in section.stripped if (found := pattern.match(each)) is not None)


def _given(found: re.Match[str]) -> dict[str, str]:
    return {name: each for name, each in found.groupdict().items() if each is not None}
