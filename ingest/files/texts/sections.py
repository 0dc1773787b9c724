"""Parses parts of `kubectl describe`: containers of a pod, amounts and dates (rules: pasted-text)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ingest.files.texts.ages import date

FIELD: Final = re.compile(r"(?P<name>[A-Z][\w /-]{0,40}):(?:[ \t]+(?P<value>.*))?")
NUMBER: Final = re.compile(r"-?\d{1,10}")
_ITEM: Final = re.compile(r"(?P<name>[A-Za-z0-9][\w./-]{0,252}): {1,}(?P<value>\S.{0,252})")


class Section(NamedTuple):
    value: str
    lines: list[str]
    """The lines below the field, with their indentation."""

    @property
    def stripped(self) -> list[str]:
        return [each.strip() for each in (self.value, *self.lines)]


_PRESSURES: Final = {
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
}
"""Conditions, by the taints that accompany them."""
NOTHING: Final = Section("", [])


def containers(section: Section | None) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the entry of each container in the spec, and in the status, in the API's form."""
    name, lines = "", list[str]()
    for line in [*(section or NOTHING).lines, "  end:"]:  # a heading after the last container
        head = re.fullmatch(r"  (\S{1,63}):[ \t]*", line)
        if head is None:
            lines.append(line)
            continue
        if name:
            yield _container(name, "\n".join(lines))
        name, lines = head[1], []


def _container(name: str, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    fields = _sections(text, "    ")
    resources = {each.lower(): amounts(fields.get(each)) for each in ("Requests", "Limits")}
    restarts = fields.get("Restart Count", NOTHING).value
    status = {
        "name": name,
        "restartCount": int(restarts) if NUMBER.fullmatch(restarts) else 0,
        "state": _state(fields.get("State")),
        "lastState": _state(fields.get("Last State") or fields.get("Last Termination State")),
    }
    return {"name": name, "resources": resources}, status


def _state(section: Section | None) -> dict[str, Any] | None:
    if section is None:
        return None
    fields = _sections("\n".join(section.lines), "      ")
    reason = fields.get("Reason", NOTHING).value
    started = fields.get("Started", NOTHING).value
    if section.value == "Running":
        return {"running": dates(startedAt=started)}
    if section.value == "Waiting":
        return {"waiting": {"reason": reason}}
    code = fields.get("Exit Code", NOTHING).value
    if section.value != "Terminated" or not NUMBER.fullmatch(code):
        return None  # the text was truncated
    times = dates(startedAt=started, finishedAt=fields.get("Finished", NOTHING).value)
    return {"terminated": {"reason": reason, "exitCode": int(code), **times}}


def _sections(text: str, indent: str) -> dict[str, Section]:
    """Return the fields at one indentation, with the deeper lines below each; the first field with a name counts."""
    found: dict[str, Section] = {}
    current = Section("", [])
    for line in text.splitlines():
        field = FIELD.fullmatch(line.removeprefix(indent)) if line.startswith(indent) else None
        if field is not None and not line[len(indent) :].startswith((" ", "\t")):
            current = Section((field["value"] or "").strip(), [])
            found.setdefault(field["name"], current)
        else:
            current.lines.append(line)
    return found


def amounts(section: Section | None) -> dict[str, str]:
    """Return the lines `name: value` of a section; empty without one."""
    lines = [each.strip() for each in (section or NOTHING).lines]
    return {found["name"]: found["value"].strip() for each in lines if (found := _ITEM.fullmatch(each)) is not None}


def pressures(taints: Iterable[Mapping[str, str]], conditions: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the pressure conditions implied by a Node's taints, if the text has no conditions."""
    shown = {} if any(conditions) else {_PRESSURES[each["key"]]: each for each in taints if each["key"] in _PRESSURES}
    return [
        {"type": name, "status": "True"} | ({"lastTransitionTime": each["timeAdded"]} if "timeAdded" in each else {})
        for name, each in shown.items()
    ]


def dates(**texts: str) -> dict[str, str]:
    """Return the times that can be read, in the API's form, under the given names."""
    found = {name: date(text) for name, text in texts.items()}
    return {name: at.isoformat().replace("+00:00", "Z") for name, at in found.items() if at is not None}
