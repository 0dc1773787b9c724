"""Reads rows of custom columns without headings: by the command above, or by the form of the cells
(rules: pasted-text).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ingest.files.texts.described import is_of_kubelet
from ingest.files.texts.fragments import Command
from ingest.files.texts.templates import aligned, is_state, put
from ingest.messages.reasons import spell_out

NONE: Final = frozenset({"", "<none>", "<unknown>", "<nil>"})
_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {"spec.taints": list, "spec.unschedulable": lambda: "false"}
"""Values of fields that print nothing when empty."""
MOST_COLUMNS: Final = 64
"""More columns than `kubectl get -o wide` prints, with labels as columns."""
TAINT: Final = re.compile(r"map\[([^\[\]]{1,1000})\]")
"""Go's form of a taint."""
TAINT_FIELD: Final = re.compile(r"(effect|key|timeAdded|value):(\S{0,316})")
BETWEEN_CELLS: Final = re.compile(r"\s{2,}")
_REASON: Final = re.compile(r"[A-Z][a-z]+(?:[A-Z][A-Za-z]*)*|OutOf\w{1,60}")
_KINDS: Final = frozenset({"Pod", "Node"})
_OF_EVENTS: Final = _KINDS | {"Normal", "Warning"}
_NO_REASONS: Final = _OF_EVENTS | {"Failed", "Running", "Pending", "Succeeded"}
"""Kinds, types and phases, which look like reasons."""
_OF_OBJECT: Final = re.compile(r"(?!\d+[ydhms]?$)[a-z0-9][a-z0-9.-]{0,252}")
_OF_CONTROLLER: Final = re.compile(r".*-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d{1,4})")
"""Matches a name that a controller generated."""
_HASHED: Final = re.compile(r".*-(?!\d+$)[bcdfghjklmnpqrstvwxz2456789]{5}")
"""Matches a name that ends in a hash, which nodes' names do not."""
_IS_ADDRESS: Final = re.compile(r"[\d.]+")
_ONLY_TAINTS: Final = re.compile(r"\[map\[[^\[\]]{1,1000}\](?: map\[[^\[\]]{1,1000}\]){0,63}\]")
_OF_POD: Final = re.compile(r"\b(?:operator|tolerationSeconds):")
"""Matches a field of a toleration."""
_IS_HEAD: Final = re.compile(r"[A-Z][A-Z0-9_./() -]{0,60}")
_WHOLE: Final = 3
"""Namespace, name and node."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def fields_of(paths: Iterable[str], cells: Iterable[str]) -> dict[str, Any]:
    """Return the fields of an object from cells with known paths."""
    fields: dict[str, Any] = {}
    pairs = list(zip(paths, cells, strict=True))
    for path, cell in aligned([each for each in pairs if each[0] and each[1] not in NONE]):
        put(fields, path, cell)
    for path, cell in pairs:
        if path in _EMPTY and cell in NONE:
            put(fields, path, _EMPTY[path]())
    return fields


def row_without_head(line: str, command: Command) -> tuple[str, dict[str, Any]]:
    """Return the resource and the fields of a row without headings; no resource for other text."""
    most = len(command.columns) or MOST_COLUMNS
    cells = BETWEEN_CELLS.split(line.strip(), maxsplit=most - 1)
    if command.columns:
        paths = [path for _, path in command.columns]
        is_row = len(cells) == most > 1 and all(map(is_state, paths, cells))
        return (command.resource, fields_of(paths, cells)) if is_row else ("", {})
    return _by_form(cells) or ("", {})


def is_head(line: str) -> bool:
    """Tell whether a line is the head of a table."""
    cells = BETWEEN_CELLS.split(line.strip())
    return len(cells) > 1 and all(map(_IS_HEAD.fullmatch, cells))


def _by_form(cells: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Return the resource and the fields of a row by the form of its cells; None if they are ambiguous."""
    names = [each for each in cells if _OF_OBJECT.fullmatch(each) and not _IS_ADDRESS.fullmatch(each)]
    of_words = [each for each in cells if re.search(r"\s", each)]
    if any(each.startswith("[map[") for each in cells):
        taints = next((each for each in cells if _ONLY_TAINTS.fullmatch(each) and _are_taints(each)), "")
        is_one = taints and len(names) == 1 and not set(of_words) - {taints}
        return ("nodes", fields_of(("metadata.name", "spec.taints"), (names[0], taints))) if is_one else None
    times = sorted(filter(_TIME.fullmatch, cells))
    reasons = [each for each in cells if _REASON.fullmatch(each) and each not in _NO_REASONS]
    kinds = [each for each in cells if each in _KINDS]
    if len(of_words) != 1 or len(reasons) != 1 or len(kinds) > 1:
        return None
    (reason,), (message,), place = reasons, of_words, _placed(names)
    if kinds == ["Node"]:
        place = {"name": names[0]} if len(names) == 1 else {}
    if not place:
        return None
    if kinds and 1 <= len(times) <= 2:  # noqa: PLR2004 - the first and the last
        about = {"kind": kinds[0], "namespace": ""} | {each: name for each, name in place.items() if each != "node"}
        first, last = {"firstTimestamp": times[0]}, {"lastTimestamp": times[-1]}
        return "events", {"involvedObject": about, "reason": reason, "message": message} | first | last
    if _OF_EVENTS.isdisjoint(cells) and is_of_kubelet(spell_out(reason), message):
        paths = {"namespace": "metadata.namespace", "name": "metadata.name", "node": "spec.nodeName"}
        status = {"status": {"reason": reason, "message": message}}
        return "pods", fields_of([paths[each] for each in place], place.values()) | status
    return None


def _are_taints(cell: str) -> bool:
    taints = TAINT.findall(cell)
    return all({"effect", "key"} <= dict(TAINT_FIELD.findall(each)).keys() for each in taints) and not _OF_POD.search(
        cell
    )


def _placed(names: Sequence[str]) -> dict[str, str]:
    """Return the name of a pod, with its namespace and node if no other cell could be these; else nothing.

    Names of pods and of nodes can end in ordinals: next to such a cell, no name is certain. A namespace has no dot.
    """
    made = [each for each in names if _OF_CONTROLLER.fullmatch(each)]
    if len(made) != 1 or not _HASHED.fullmatch(made[0]):
        return {}
    others = [each for each in names if each != made[0]]
    dotted = [each for each in others if "." in each]
    if len(names) == _WHOLE and dotted == others[1:] and names[1] == made[0]:
        return {"namespace": names[0], "name": made[0], "node": names[2]}
    return {"name": made[0]} | ({"node": dotted[0]} if dotted and dotted == others[:1] == others else {})
