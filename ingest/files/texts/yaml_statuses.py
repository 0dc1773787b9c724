"""Reads the status of a pod or node as YAML that was pasted without its object (rules: pasted-text).

A kubelet writes an Event when it changes a condition of its Node, and a scheduler when it finds no node. So a
condition without its object is read as that Event. A pod that a kubelet evicted or rejected becomes a pod without a
name.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec
import yaml

from ingest.files.texts.ages import UNKNOWN_AGE, PrintTime, time_of, utc
from ingest.files.texts.columns import OF_CONTAINERS, conditions_of, killed_containers
from ingest.files.texts.described import is_of_kubelet
from ingest.files.texts.event_rows import event_object, unknown_pod
from ingest.files.yaml_documents import first_document
from ingest.model.numbers import ExitCode, Int32
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.observation import if_decodable

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
_OF_END: Final = {"reason": str, "exitCode": ExitCode, "startedAt": utc, "finishedAt": utc}
_OF_STATE: Final = {
    "waiting": {"reason": str, "message": str},
    "running": {"startedAt": utc},
    "terminated": _OF_END,
}
_OF_CONTAINER: Final = {"name": str, "restartCount": Int32, "state": _OF_STATE, "lastState": _OF_STATE}
_KEPT: Final = {
    **dict.fromkeys(("phase", "reason", "message", "qosClass"), str),
    "startTime": utc,
    **{name: [_OF_CONTAINER] for name in OF_CONTAINERS},
}
_IF_UNKNOWN: Final = {"name": UNKNOWN_NAME, "restartCount": 0, "exitCode": None}
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
    if not isinstance(found, dict):
        return None
    return found if isinstance(found.get("phase"), str) or killed_containers(found) else None


def _kept(given: Any, form: Any) -> Any:
    """Return the parts of a value that have the expected form: anything can be redacted, cut off, or mistyped."""
    if isinstance(form, list):
        return [_kept(each, *form) for each in given if isinstance(each, dict)] if isinstance(given, list) else None
    if form is utc:
        return utc(given) or None
    if not isinstance(form, dict):
        return if_decodable(lambda found: msgspec.convert(found, form, strict=False), given)
    if not isinstance(given, dict):
        return None
    unknown = {name: each for name, each in _IF_UNKNOWN.items() if name in form}
    kept = ((name, _kept(given.get(name), each)) for name, each in form.items())
    return unknown | {name: each for name, each in kept if each is not None}


def _of_pod(status: Mapping[str, Any], printed: PrintTime) -> Iterator[dict[str, Any]]:
    reason, message = (str(status.get(name) or "") for name in ("reason", "message"))
    killed, phase = [*chain.from_iterable(killed_containers(status).values())], status.get("phase", "")
    if killed or (phase == "Failed" and is_of_kubelet(reason, message)):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": UNKNOWN_NAME,
                "namespace": UNKNOWN_NAME,
                "uid": unknown_pod([message, *map(str, killed)])["uid"],
            },
            "spec": {"nodeName": ""},
            "status": _kept(status, _KEPT) | {"conditions": [*conditions_of(status.get("conditions"))]},
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
    known = time_of(at)
    ages = {"age": f"{known:%Y-%m-%d %H:%M:%S %z} UTC" if known else UNKNOWN_AGE, "count": None, "first": None}
    made = event_object(about, words, (component, host), ages, printed)
    return [made] if made is not None else []
