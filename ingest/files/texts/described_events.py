"""Reads the Event in the text of `kubectl describe event`, which prints field names as words (rules: pasted-text)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

_FIELD: Final = re.compile(
    r"(?P<indent> {0,4})(?P<name>[A-Z][A-Za-z]{0,30}(?: [A-Z][A-Za-z]{0,30}){0,3}):(?: +(?P<value>.*))?"
)
_OF_EVENT: Final = re.compile(r"Kind: +Event")
_ABOUT: Final = re.compile(r"(?:Involved Object|Regarding):")
_TEXTS: Final = ("type", "reason", "message", "note", "reportingComponent")
_TIMES: Final = ("firstTimestamp", "lastTimestamp", "eventTime")
_NOTHING: Final = frozenset({"", "<none>", "<nil>"})
_DEEPEST: Final = 3


def event_of(lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the Event that a block of lines describes; None for any other object."""
    if not any(map(_OF_EVENT.match, lines)) or not any(map(_ABOUT.match, lines)):
        return None
    made: dict[str, Any] = {}
    path: list[str] = []
    for indent, name, value in _fields(lines):
        del path[indent:]
        if len(path) < indent or indent >= _DEEPEST:
            continue  # a line of a message that looks like a field
        within = made
        for each in path:
            within = within[each]
        if value in _NOTHING:
            within.setdefault(name, {})
            if isinstance(within[name], dict):
                path.append(name)
        else:
            within.setdefault(name, value)
    metadata = {"name": made.get("name"), "namespace": made.get("namespace")} | _mapping(made, "metadata")
    about = _mapping(made, "involvedObject") or _mapping(made, "regarding")
    times = _texts(made, _TIMES)
    if not {"kind", "name"} <= about.keys() or not times:
        return None
    about = {"namespace": "", "uid": f"{about.get('namespace', '')}/{about['name']}"} | about
    count, texts = made.get("count"), _texts(made, _TEXTS)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": _texts(metadata, ("name", "namespace", "uid")),
        "involvedObject": _texts(about, about),
        "type": "",
        "reason": "",
        "message": texts.pop("note", ""),
        "count": int(count) if isinstance(count, str) and re.fullmatch(r"\d{1,9}", count) else 1,
        "source": {"component": texts.pop("reportingComponent", ""), "host": ""} | _mapping(made, "source"),
        "lastTimestamp": max(times.values()),
        **texts,
        **times,
    }


def _texts(made: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    found = {name: made.get(name) for name in names}
    return {name: each for name, each in found.items() if isinstance(each, str)}


def _mapping(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = made.get(name)
    return found if isinstance(found, dict) else {}


def _fields(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield depth, name and value of each line with a field."""
    for line in lines:
        if (found := _FIELD.fullmatch(line)) is not None and len(found["indent"]) % 2 == 0:
            yield len(found["indent"]) // 2, _name(found["name"]), (found["value"] or "").strip()


def _name(words: str) -> str:
    """Return a field's name in the API: `First Timestamp` is `firstTimestamp`, and `UID` is `uid`."""
    first, *others = words.split()
    return "".join([first.lower(), *others])
