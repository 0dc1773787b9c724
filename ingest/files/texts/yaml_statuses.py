"""Reads the status of a pod or node as YAML that was pasted without its object (rules: pasted-text).

A kubelet writes an Event when it changes a condition of its Node, and a scheduler when it finds no node. So a
condition without its object is read as that Event. A pod that a kubelet evicted or rejected becomes a pod without a
name.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import yaml

from ingest.files.texts.ages import UNKNOWN_AGE, PrintTime
from ingest.files.texts.described import is_of_kubelet
from ingest.files.texts.event_rows import event_object, unknown_pod
from ingest.files.yaml_documents import first_document
from ingest.model.objects.base import UNKNOWN_NAME

IS_YAML_STATUS: Final = re.compile(
    rb"^[ \t]*phase: (?:Failed|Pending)[ \t\r]*$|^[ \t-]*type: (?:Disk|Memory|PID)Pressure[ \t\r]*$"
    rb"|^[ \t]*reason: OOMKilled[ \t\r]*$",
    re.MULTILINE,
)
_LINE: Final = re.compile(r"\s+\S.*|(?:- )?[A-Za-z]\w*:(?: .*)?|- .*")
_ITEM: Final = re.compile(r"^[ ]*- ", re.MULTILINE)
_FIELD: Final = re.compile(r"^[ ]*(\w+): ['\"]?([^'\"\n]*)['\"]?[ ]*$", re.MULTILINE)
_REASONS: Final = {
    "DiskPressure": "NodeHasDiskPressure",
    "MemoryPressure": "NodeHasInsufficientMemory",
    "PIDPressure": "NodeHasInsufficientPID",
}
_OF_CONTAINERS: Final = ("containerStatuses", "initContainerStatuses")
_KEPT: Final = ("phase", "reason", "message", "startTime", "qosClass", "conditions", *_OF_CONTAINERS)
_KILLED: Final = "OOMKilled"
_LONGEST: Final = 64 * 1024


def yaml_statuses(lines: Sequence[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield pods that a kubelet ended, and Events about nodes and pods, from statuses in YAML."""
    for run in _runs(lines):
        text = textwrap.dedent("\n".join(run))
        if not IS_YAML_STATUS.search(text.encode()):
            continue
        status = _status(text)
        if status is not None:
            yield from _of_pod(status, printed)
        else:
            yield from _of_node(text, printed)


def _runs(lines: Sequence[str]) -> Iterator[list[str]]:
    run = list[str]()
    for line in [*lines, ""]:
        if _LINE.fullmatch(line):
            run.append(line)
        elif run:
            yield run
            run = []


def _status(text: str) -> Mapping[str, Any] | None:
    """Return the status of a pod; None for anything else."""
    try:
        found = first_document(text[:_LONGEST].encode(errors="replace"))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(inner := found.get("status"), dict):
        found = inner
    return found if isinstance(found, dict) and (isinstance(found.get("phase"), str) or _killed(found)) else None


def _killed(status: Mapping[str, Any]) -> list[str]:
    """Return the containers that were OOM killed, each with its state, in the status of a pod."""
    listed = (status.get(name) for name in _OF_CONTAINERS)
    containers = [each for found in listed if isinstance(found, list) for each in found if isinstance(each, dict)]
    ends = ((each.get(name), each) for each in containers for name in ("state", "lastState"))
    states = ((state.get("terminated"), each) for state, each in ends if isinstance(state, dict))
    return [str(each) for end, each in states if isinstance(end, dict) and end.get("reason") == _KILLED]


def _of_pod(status: Mapping[str, Any], printed: PrintTime) -> Iterator[dict[str, Any]]:
    reason, message = (str(status.get(name) or "") for name in ("reason", "message"))
    killed, phase = _killed(status), status.get("phase", "")
    if killed or (phase == "Failed" and is_of_kubelet(reason, message)):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": UNKNOWN_NAME,
                "namespace": UNKNOWN_NAME,
                "uid": unknown_pod([message, *killed])["uid"],
            },
            "spec": {"nodeName": ""},
            "status": {name: status[name] for name in _KEPT if name in status},
        }
    conditions = status.get("conditions")
    for each in conditions if phase == "Pending" and isinstance(conditions, list) else ():
        if isinstance(each, dict) and (each.get("type"), each.get("reason")) == ("PodScheduled", "Unschedulable"):
            said = " ".join(str(each.get("message") or "").split())
            words = ("Warning", "FailedScheduling", said)
            at = str(each.get("lastTransitionTime") or "")
            yield from _event(unknown_pod([said]), words, "default-scheduler", at, printed)


def _of_node(text: str, printed: PrintTime) -> Iterator[dict[str, Any]]:
    for part in _ITEM.split(text):
        fields = dict(_FIELD.findall(part))
        reason = _REASONS.get(fields.get("type", ""))
        if reason is not None and fields.get("status") == "True" and fields.get("reason", "").startswith("Kubelet"):
            words = ("Normal", reason, f"Node {UNKNOWN_NAME} status is now: {reason}")
            about = {"kind": "Node", "name": UNKNOWN_NAME, "uid": UNKNOWN_NAME}
            yield from _event(about, words, "kubelet", fields.get("lastTransitionTime", ""), printed)


def _event(
    about: dict[str, Any], words: tuple[str, str, str], component: str, at: str, printed: PrintTime
) -> Iterable[dict[str, Any]]:
    """Return an Event at the time of a condition, else at any time before the text was printed."""
    host = UNKNOWN_NAME if component == "kubelet" else ""
    ages = {"age": _as_age(at) or UNKNOWN_AGE, "count": None, "first": None}
    made = event_object(about, words, (component, host), ages, printed)
    return [made] if made is not None else []


def _as_age(text: str) -> str:
    """Return a time in Go's form; empty for any other text."""
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S %z} UTC"
    except ValueError:
        return ""
