"""Reads the objects in the text of `kubectl describe` about nodes, pods and Events (rules: pasted-text).

Ambiguous text is skipped, and a truncated or forged line loses only the object or field to which it belongs. The text
lacks a pod's UID, so `namespace/name` is used instead.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise, takewhile
from typing import Any, Final, NamedTuple

from ingest.files.texts.ages import PrintTime, date, time_of
from ingest.files.texts.described_events import event_of
from ingest.files.texts.event_rows import MORE, event_rows, events_of
from ingest.files.texts.fragments import is_fence, is_typed
from ingest.files.texts.headings import OF_NODE, OF_POD, RANKS
from ingest.files.texts.sections import FIELD, NOTHING, NUMBER, Section, amounts, containers, dates, pressures
from ingest.messages.modes import fit
from ingest.messages.reasons import OUT_OF, REFUSALS, REJECTED, is_by_kubelet, without_rejection
from ingest.model.objects.event import AUTOSCALERS

IS_DESCRIBED: Final = re.compile(rb"^[ \t]*Name:(?: {2,}|[ ]?\t[ \t]*)\S[^\n]*\n[ \t]*[A-Z][\w /-]*:", re.MULTILINE)
IS_LEASED: Final = re.compile(rb"^\s+HolderIdentity: +[a-z0-9]", re.MULTILINE)
IS_STATUS: Final = re.compile(
    rb"^(?:Status:[ \t]+Failed[ \t\r]*\n)?Reason:[ \t]+[A-Z]\w+[ \t\r]*\nMessage:", re.MULTILINE
)
"""Matches the status of a pod, which people paste on its own."""
_OF_YAML: Final = re.compile(
    r"^[ -]*(?:lastHeartbeatTime|startTime|startedAt|finishedAt): ['\"]?(\d{4}-\d\d-\d\dT[\d:]{8}Z)", re.MULTILINE
)
NAME: Final = re.compile(r"Name: {2,}[a-z0-9][a-z0-9.-]{0,252}[ \t]*")
RANKS_OF_POD: Final = RANKS["Namespace"]
_WITHOUT_TEXT: Final = {"", *OF_POD[: OF_POD.index("Labels")], "Status", "Reason", "Message", "IP", "IPs"}
"""Fields of a pod after which no text of a container can follow."""
_OF_NODES_ALONE: Final = frozenset({"Taints", "Unschedulable", "Conditions", "Capacity", "Allocatable"})
_OF_PODS_ALONE: Final = frozenset({"Node", "Start Time", "Status", "Reason"})
_SHOW_A_POD: Final = frozenset({"Node", "Containers", "QoS Class"})
"""Fields at column 0 that only a pod has among objects of a namespace; a person may leave out its node."""
_BEHIND_CONTAINERS: Final = frozenset(OF_POD[OF_POD.index("Containers") + 1 :])
_MAY_SAY: Final = re.compile(r"\s+Message:")
_FIRST_CONTAINERS: Final = RANKS_OF_POD["Init Containers"]
_CONTAINERS: Final = RANKS_OF_POD["Containers"]
_PROMPT: Final = re.compile(r".{0,200}\bkubectl .{0,2000}")
CONDITION: Final = re.compile(
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
_OF_NODE_ALONE: Final = frozenset({"Unschedulable", "Roles", "Role"})
"""Fields that only a node has; a text can be cut before its capacity."""
UNKNOWN: Final = "Unknown"
"""The QoS class of a pod if the text lacks its limits."""
_HOLDER: Final = re.compile(r"\s+HolderIdentity: +([a-z0-9][a-z0-9.-]{0,252})\s*")
_OF_NODE_FIELDS: Final = frozenset(OF_NODE) - {"Name"}
_HEAD_OF_CONDITIONS: Final = re.compile(r"Type +Status +LastHeartbeatTime .*")
_BEFORE_CONDITIONS: Final = frozenset(OF_NODE[: OF_NODE.index("Conditions")]) - {"Name"}
PHASES: Final = frozenset({"Pending", "Running", "Succeeded", "Failed", "Unknown"})


def strip_common_indent(lines: list[str]) -> list[str]:
    """Return the lines without common indentation, such as that of code in Markdown.

    If a description begins at the margin, the lines stay unchanged, because indented lines belong to it.
    """
    if any(map(NAME.fullmatch, lines)):
        return lines
    moved, indent = list[str](), ""
    for line, following in pairwise((*lines, "")):
        name = line.lstrip()
        space = line[: len(line) - len(name)]
        if space and NAME.fullmatch(name) and field_name(following.removeprefix(space)) in RANKS:
            indent = space
        elif line.strip() and not line.startswith(indent):
            indent = ""
        moved.append(line.removeprefix(indent))
    return moved


def with_second_fields(lines: list[str]) -> list[str]:
    """Return the lines with the field that shows an object's kind and the heading of conditions, if a paste left
    these out.
    """
    whole, section = list[str](), ""
    for line, following in pairwise((*lines, "")):
        whole.append(line)
        name = field_name(following)
        section = field_name(line) or section
        if section in _BEFORE_CONDITIONS and _HEAD_OF_CONDITIONS.fullmatch(following.strip()):
            whole.append("Conditions:")
            section = "Conditions"
        if not NAME.fullmatch(line) or name in RANKS:
            continue
        if CONDITION.fullmatch(following.strip()):
            whole += ["Roles:", "Conditions:"]
        elif name in _OF_NODES_ALONE:
            whole.append("Roles:")
        elif name in _OF_PODS_ALONE:
            whole.append("Namespace:")
    return whole


def newest_in(text: str) -> datetime | None:
    """Return the newest time of an object in the text."""
    found = re.findall(
        r"(?:^ *(?:CreationTimestamp|RenewTime|AcquireTime|Start Time|Started|Finished):"
        r"|True |False |Unknown |[+-]\d{4}) +"
        r"(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4})",
        text,
        re.MULTILINE,
    )
    return max(filter(None, (*map(date, found), *map(time_of, _OF_YAML.findall(text)))), default=None)


def named_by_lease(lines: list[str]) -> list[str]:
    """Return the lines with a name above the fields of a node whose head was cut off: its lease has the name."""
    whole, start = list[str](), -1
    for line in lines:
        if field_name(line) in _OF_NODE_FIELDS:
            start = len(whole) if start < 0 else start
        elif not line[:1].isspace():
            start = -1
        whole.append(line)
        if start > 0 and NAME.fullmatch(whole[start - 1]):
            start = -1
        if start >= 0 and (holder := _HOLDER.fullmatch(line)) is not None:
            whole[start:start] = [f"Name:  {holder[1]}", "Roles:"]
            start = -1
    return whole


class Described(NamedTuple):
    """The objects of a text, and the lines about each of them."""

    objects: list[dict[str, Any]]
    spans: list[tuple[int, int]]


def described(lines: list[str], printed: PrintTime) -> Described:
    """Return the described nodes, pods and Events, the pods listed under a node, and Events about them."""
    found = Described([], [])
    for start, end in pairwise([*_starts(lines), len(lines)]):
        block = lines[start:end]
        if (event := event_of(block)) is not None:
            found.objects.append(event)
            ends = (number for number, line in enumerate(block) if line.startswith("Events:"))
            found.spans.append((start, start + next(ends, len(block) - 1) + 1))
            continue
        sections = ordered(block)
        found.objects.extend(_objects(sections, printed))
        found.spans.append((start, start + _length(block, sections)))
    return found


def _objects(sections: dict[str, Section], printed: PrintTime) -> Iterator[dict[str, Any]]:
    if not _OF_NODE_ALONE.isdisjoint(sections) or {"Capacity", "Allocatable"} <= sections.keys():
        yield from node_of(sections, printed)
    elif "Namespace" in sections and (sections.keys() & _SHOW_A_POD or _is_status_of_kubelet(sections)):
        yield from pod_of({"Node": NOTHING} | sections, printed)


def _is_status_of_kubelet(sections: dict[str, Section]) -> bool:
    """Tell whether a kubelet evicted or rejected the described object, which must then be a pod."""
    status, reason, message = (sections.get(name, NOTHING) for name in ("Status", "Reason", "Message"))
    return status.value == "Failed" and is_of_kubelet(reason.value, message_of(message))


def _length(block: list[str], sections: dict[str, Section]) -> int:
    """Return the number of lines about an object: to the end of its Events, else to the next command."""
    if "Events" in sections:
        rows = sections["Events"].lines
        ends = (number for number, row in enumerate(rows) if not (row[:1].isspace() or MORE.fullmatch(row)))
        return len(block) - len(rows) + next(ends, len(rows))
    fields = (number for number, line in enumerate(block) if field_name(line) in sections)
    last = max(fields, default=0)
    return next((number for number in range(last, len(block)) if is_typed(block[number])), len(block))


def is_of_kubelet(reason: str, message: str) -> bool:
    """Tell whether a kubelet writes such a message with a reason, because any object can have a status with these
    fields.
    """
    text = " ".join(message.split())
    if reason in REFUSALS or OUT_OF.fullmatch(reason):
        return text.startswith(REJECTED)
    is_known = any(fit(reason, each) is not None for each in (text, without_rejection(text)))
    return is_by_kubelet(reason) and is_known and not text.startswith("Job ")


def _starts(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that begin an object.

    A name inside containers is ignored, because their text can look like one. It counts if the text is cut there: no
    field of a pod follows, and no message of a container precedes it. An object ends with its Events, a command, a
    fence, or an empty line outside of containers.
    """
    is_closed, within, is_fenced, is_pod, is_said = True, "", False, False, False
    last = max((number for number, line in enumerate(lines) if field_name(line) in _BEHIND_CONTAINERS), default=-1)
    for number, (line, following) in enumerate(pairwise((*lines, ""))):
        head = FIELD.fullmatch(line)
        is_of_others = is_pod and within not in _WITHOUT_TEXT
        is_cut = is_of_others and "Containers" in within and number > last and not is_said
        is_said = is_of_others and (is_said or _MAY_SAY.match(line) is not None)
        if is_fence(line):
            is_closed, is_fenced = is_closed or is_fenced, not is_fenced
        if (is_closed or is_cut or not is_of_others) and NAME.fullmatch(line) and field_name(following) in RANKS:
            yield number
            is_closed, within, is_pod = False, "", RANKS[field_name(following)] is RANKS_OF_POD
        elif head is not None and head["name"] in OF_POD[OF_POD.index(within) + 1 if within else 0 :]:
            within = head["name"]
            is_closed = is_closed or within == "Events"
        elif is_typed(line) or _PROMPT.fullmatch(line) or (not line.strip() and "Containers" not in within):
            is_closed = True


def field_name(line: str) -> str:
    """Return the name of the field that a line begins, or empty."""
    field = FIELD.fullmatch(line)
    return field["name"] if field is not None else ""


def ordered(lines: list[str]) -> dict[str, Section]:
    """Return the longest chain of fields in kubectl's order; `lines[1]` must be such a field.

    Among the longest chains, the last one counts, because foreign text comes before the real fields. After a name
    inside containers, all but later fields may belong to another pod.
    """
    ranks = RANKS[field_name(lines[1])]
    best: dict[int, tuple[int, int, Any]] = {}  # by rank: length of the chain, its line, and the previous field
    least = 0
    for number, line in enumerate(lines):
        rank = ranks.get(field_name(line))
        if rank == 0 and number and max(best) >= _FIRST_CONTAINERS:
            least = _CONTAINERS + 1
        if rank is None or rank < least or (rank == 0) != (number == 0):
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
            found[field["name"]] = Section((field["value"] or "").strip(), indented_lines(below) if is_end else below)
        end = number
    return found


def indented_lines(lines: list[str]) -> list[str]:
    """Return the indented lines that continue the one above; text after them may belong to something else."""
    return list(takewhile(lambda line: line[:1].isspace() and line.strip(), lines))


def node_of(sections: dict[str, Section], printed: PrintTime) -> Iterator[dict[str, Any]]:
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
        for each in _matches(CONDITION, sections, "Conditions")
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
            "conditions": [*conditions, *pressures(taints, conditions)],
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
    yield from section_events(sections, {"kind": "Node", "name": name, "uid": name}, name, printed)


def pod_of(sections: dict[str, Section], printed: PrintTime) -> Iterator[dict[str, Any]]:
    name, namespace = sections["Name"].value, sections["Namespace"].value
    uid, node = f"{namespace}/{name}", sections.get("Node", NOTHING).value.partition("/")[0].replace("<none>", "")
    phase = sections.get("Status", NOTHING).value
    kind, _, owner = sections.get("Controlled By", NOTHING).value.partition("/")
    of_init, of_app = (list(containers(sections.get(each))) for each in ("Init Containers", "Containers"))
    priority = sections.get("Priority", NOTHING).value
    conditions = [_given(each) for each in _matches(_POD_CONDITION, sections, "Conditions")]
    about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid}
    events = list(section_events(sections, about, node, printed))
    if phase == "Pending" and not node:
        conditions = [_with_scheduler_message(each, events) for each in conditions]
    status = {
        "phase": phase if phase in PHASES else "",
        "reason": sections.get("Reason", NOTHING).value,
        "message": message_of(sections.get("Message", NOTHING)),
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
    """Add the scheduler's message to the condition PodScheduled, because the text has it only as an Event.

    The newest Event comes first. Cluster autoscalers also write Events with this reason.
    """
    failures = (each for each in events if each["reason"] == "FailedScheduling")
    said = (each["message"] for each in failures if each["source"]["component"] not in AUTOSCALERS)
    message = next(said, "")
    is_unscheduled = (condition["type"], condition["status"]) == ("PodScheduled", "False")
    return condition | {"reason": "Unschedulable", "message": message} if is_unscheduled and message else condition


def message_of(section: Section) -> str:
    """Return a message of one or more lines; kubectl removes a space at the end of the kubelet's message."""
    return "\n".join(filter(None, section.stripped))


def section_events(
    sections: dict[str, Section], about: dict[str, Any], node: str, printed: PrintTime
) -> Iterator[dict[str, Any]]:
    return events_of(event_rows(sections.get("Events", NOTHING).lines), about, node, printed)


def _matches(pattern: re.Pattern[str], sections: dict[str, Section], name: str) -> Iterator[re.Match[str]]:
    section = sections.get(name, NOTHING)
    return (found for each in section.stripped if (found := pattern.match(each)) is not None)


def _given(found: re.Match[str]) -> dict[str, str]:
    return {name: each for name, each in found.groupdict().items() if each is not None}
