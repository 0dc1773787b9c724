"""Reads parts of `kubectl describe` without a head: below a command, or a status on its own (rules: pasted-text)."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

from ingest.files.texts.ages import PrintTime
from ingest.files.texts.described import (
    CONDITION,
    NAME,
    RANKS_OF_POD,
    field_name,
    indented_lines,
    is_of_kubelet,
    message_of,
    node_of,
    ordered,
    pod_of,
    section_events,
)
from ingest.files.texts.event_rows import ROWS_HEAD, alone, unknown_pod
from ingest.files.texts.fragments import Fragment
from ingest.files.texts.headings import OF_POD, RANKS
from ingest.model.objects.base import UNKNOWN_NAME

_SPACED_NAME: Final = re.compile(r"Name: [a-z0-9][a-z0-9.-]{0,252}[ \t]*")
"""A field name in which a page reduced several spaces to one."""
_STATE: Final = re.compile(r"[ \t]{2,}(?:Last )?State:[ \t]+[A-Z][a-z]+[ \t]*")
IS_STATE: Final = re.compile(
    rb"^[ \t]+(?:Last )?State:[ \t]+Terminated[ \t\r]*\n[ \t]+Reason:[ \t]+[A-Z]\w+[ \t\r]*\n"
    rb"(?:[ \t]+Message:[^\n]*\n)?[ \t]+Exit Code:",
    re.MULTILINE,
)
"""Matches how a container ended, which people paste on its own."""
_KILLED: Final = re.compile(r"[ \t]+Reason:[ \t]+OOMKilled[ \t]*")
_EVICTED: Final = "Evicted"
_WAS_USING: Final = r"Container [a-z0-9-]{1,63} was using \w{1,30}, "
_LOW: Final = (
    r"The node was low on resource: [\w.-]{1,40}\. (?:Threshold quantity: \w{1,30}, available: \w{1,30}\. ?"
    rf"(?:{_WAS_USING}request is \w{{1,30}}(?:, has larger consumption of [\w-]{{1,40}})?\. ?)*"
    rf"|(?:{_WAS_USING}which exceeds its request of \w{{1,30}}\. ?)+)"
)
_IN_PROSE: Final = re.compile(_LOW)
IS_IN_PROSE: Final = re.compile(_LOW.encode())
"""Matches a kubelet's whole message with its amounts, which people quote in sentences."""
_OF_STATUS: Final = frozenset(RANKS_OF_POD[each] for each in ("Status", "Reason", "Message"))


def without_head(fragment: Fragment, printed: PrintTime) -> list[dict[str, Any]]:
    """Return the objects of a fragment without heads: the one node or pod that its command describes, or pods of
    which only a status is left. Empty if a line looks like a head.
    """
    verb, resource, name, namespace, *_ = fragment.command
    lines = fragment.lines
    if any(map(NAME.fullmatch, lines)):
        return []
    if verb != "describe" or not name or resource not in {"nodes", "pods"}:
        return list(_statuses_only(lines, printed))
    if resource == "pods":
        lines = _with_containers(_with_status(lines))
    named = [field_name(each) for each in lines]
    lines = list(_add_heading(lines, "Conditions", CONDITION, named))
    lines = list(_add_heading(lines, "Events", ROWS_HEAD, named))
    known = RANKS["Roles" if resource == "nodes" else "Namespace"].keys() & set(map(field_name, lines))
    if not known:
        return []
    if resource == "nodes":
        return list(node_of(ordered([f"Name:  {name}", "Roles:  ", *lines]), printed))
    namespace = namespace or UNKNOWN_NAME
    sections = ordered([f"Name:  {name}", f"Namespace:  {namespace}", *lines])
    if {"Status", "Containers"} & set(named):
        return list(pod_of(sections, printed))
    about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": f"{namespace}/{name}"}
    return list(section_events(sections, about, "", printed))


def _with_status(lines: list[str]) -> list[str]:
    """Return the lines with the status fields that a kubelet's message implies, because people paste only the
    message.
    """
    named = [field_name(each) for each in lines]
    if "Message" not in named or "Status" in named:
        return lines
    place = named.index("Message")
    text = lines[place].partition(":")[2].strip(" \t*`")
    reason = lines[named.index("Reason")].partition(":")[2].strip() if "Reason" in named else _EVICTED
    if not is_of_kubelet(reason, text):
        return lines
    own = [each for number, each in enumerate(lines) if named[number] not in {"Reason", "Message"}]
    return [*own[:place], "Status:  Failed", f"Reason:  {reason}", f"Message:  {text}", *own[place:]]


def _with_containers(lines: list[str]) -> list[str]:
    """Return the lines with heads above the states of a container whose name was cut off."""
    start = next((number for number, line in enumerate(lines) if _STATE.fullmatch(line)), None)
    if start is None or any(field_name(each) in {"Containers", "Init Containers"} for each in lines[:start]):
        return lines
    indent = len(lines[start]) - len(lines[start].lstrip())
    states = takewhile(lambda line: line[:1].isspace() or not line, lines[start:])
    below = [f"{'':4}{line[min(indent, len(line) - len(line.lstrip())) :]}" for line in states]
    rest = lines[start + len(below) :]
    end = ["Volumes:"] if rest and field_name(rest[0]) not in RANKS_OF_POD else []
    return [*lines[:start], "Containers:", f"  {UNKNOWN_NAME}:", *below, *end, *rest]


def _states_only(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the pod of which only the end of a container is left."""
    whole = _with_containers(lines)
    if "Containers:" not in whole or not any(map(_KILLED.fullmatch, lines)):
        return  # nothing else shows by itself what ended a container
    head = [f"Name:  {UNKNOWN_NAME}", f"Namespace:  {UNKNOWN_NAME}", f"Node:  {UNKNOWN_NAME}"]
    for each in pod_of(ordered([*head, *whole[whole.index("Containers:") :]]), printed):
        if each["kind"] == "Pod":
            said = [str(each["status"]["containerStatuses"])]
            yield each | {"metadata": each["metadata"] | {"uid": unknown_pod(said)["uid"]}}


def _statuses_only(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the pods of which only status fields are left, and the Events next to them."""
    fragments = [(fragment, list(_of_status(fragment, printed))) for fragment in _fragments(lines)]
    if not any(found for _, found in fragments):
        yield from _states_only(lines, printed)
        return
    for fragment, found in fragments:
        yield from found
        if not found or found[0]["metadata"]["name"] == UNKNOWN_NAME:
            yield from alone(fragment, printed)


def _fragments(lines: list[str]) -> Iterator[list[str]]:
    """Split the lines so that each fragment has the status of one pod."""
    fragment, last = list[str](), -1
    for line in lines:
        rank = RANKS_OF_POD.get(field_name(line), len(OF_POD))
        if rank <= last:
            yield fragment
            fragment, last = [], -1
        if rank in _OF_STATUS:
            last = rank
        fragment.append(line)
    yield fragment


def _of_status(lines: list[str], printed: PrintTime) -> list[dict[str, Any]]:
    """Return a pod that the kubelet evicted or rejected, and its Events if the text still has the pod's name."""
    lines = lines if "Reason" in map(field_name, lines) else _with_status(lines)
    named = [field_name(each) for each in lines]
    if not {"Reason", "Message"} <= set(named):
        return []
    if "Status" not in named:
        place = named.index("Reason")
        lines, named = [*lines[:place], "Status:  Failed", *lines[place:]], [*named, "Status"]
    names = [each.split()[1] for each in lines if _SPACED_NAME.fullmatch(each)]
    name, namespace = (names[0], "") if len(names) == 1 else (UNKNOWN_NAME, UNKNOWN_NAME)
    sections = ordered([f"Name:  {name}", f"Namespace:  {namespace}", *lines])
    if not {"Status", "Reason", "Message"} <= sections.keys():
        return []
    section = sections["Message"]
    sections["Message"] = section._replace(lines=indented_lines(section.lines))
    message = message_of(sections["Message"])
    if sections["Status"].value != "Failed" or not is_of_kubelet(sections["Reason"].value, message):
        return []
    found = list(pod_of(sections, printed))
    if name != UNKNOWN_NAME:
        return found
    pod = found[0]
    return [pod | {"metadata": pod["metadata"] | {"uid": unknown_pod([message])["uid"]}}]


def _add_heading(lines: list[str], heading: str, first: re.Pattern[str], named: list[str]) -> Iterator[str]:
    """Return the lines with a heading before the first row that belongs below it, unless the text has the heading."""
    is_needed = heading not in named
    for line in lines:
        if is_needed and first.fullmatch(line if heading == "Events" else line.strip()):
            yield f"{heading}:"
            is_needed = False
        yield line


def in_prose(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield a pod for each kubelet message in sentences; they do not say whose pod it was."""
    for message in sorted({found[0].strip() for line in lines for found in _IN_PROSE.finditer(line)}):
        head = [f"Name:  {UNKNOWN_NAME}", f"Namespace:  {UNKNOWN_NAME}", "Node:  "]
        status = ["Status:  Failed", f"Reason:  {_EVICTED}", f"Message:  {message}"]
        for each in pod_of(ordered([*head, *status]), printed):
            yield each | {"metadata": each["metadata"] | {"uid": unknown_pod([message])["uid"]}}
