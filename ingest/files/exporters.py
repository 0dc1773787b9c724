"""Reads Events that exporters changed: dots in field names, other letter case, or table rows."""

import re
from typing import Any, Final

import msgspec

from ingest.files import texts
from ingest.files.documents import Fields, plain_text
from ingest.files.texts.shipped import time_of
from ingest.model.observation import EARLIEST, UNDECODABLE

_DOTTED: Final = re.compile(r"(?P<before>(?:[\w@]{1,64}\.){0,4})(?:involved_?[oO]bject|regarding)\.name")
_LETTER: Final = re.compile(r"_([a-z])")
_RENAMED: Final = {"firstOccurrence": "firstTimestamp", "lastOccurrence": "lastTimestamp"}
_STAMPS: Final = frozenset({"firstTimestamp", "lastTimestamp", "eventTime"})
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_MOST_DOTS: Final = 6
_DEEPEST: Final = 8
"""Maximum nesting at which fields may be those of an Event."""


def is_exported(fields: Fields) -> bool:
    """Tell whether fields are those of an Event that an exporter flattened."""
    if "involved_object" in fields or ("KubeEventType" in fields and "ObjectKind" in fields):
        return "reason" in fields or "Reason" in fields
    return any(_DOTTED.fullmatch(name) for name in fields if "." in name)


def event_in(fields: Fields) -> dict[str, Any] | None:
    """Return the Event with these fields, in the API's form; None if the fields are unknown."""
    try:
        plain = {name: msgspec.json.decode(raw) for name, raw in fields.items()}
    except UNDECODABLE:
        return None
    if "KubeEventType" in plain and "ObjectKind" in plain:
        row = {name: "" if value is None else str(value) for name, value in plain.items()}
        return texts.event_of_row(row, texts.PrintTime(EARLIEST, ""))
    dotted = next((found for name in plain if (found := _DOTTED.fullmatch(name)) is not None), None)
    if dotted is not None:
        plain = _nest(plain, dotted["before"])
    event = _in_camel_case(plain)
    if not isinstance(event, dict) or not isinstance(event.get("reason"), str):
        return None
    times = event.pop("timestamp", None)
    event |= times if isinstance(times, dict) else {"lastTimestamp": times} if "lastTimestamp" not in event else {}
    for name in _STAMPS & event.keys():
        if (at := time_of(event[name])) is not None:
            event[name] = at.isoformat()
    if isinstance(count := event.get("count"), str):
        event["count"] = int(count) if _COUNT.fullmatch(count) else None
    metadata, about = event.get("metadata"), event.get("involvedObject")
    if isinstance(metadata, dict):
        metadata.pop("timestamp", None)
        if isinstance(about, dict) and about.get("kind") == "Pod":
            about.setdefault("namespace", metadata.get("namespace"))
    return event


def with_uid(event: dict[str, Any]) -> bool:
    """Return whether an Event's object lacks a real UID, and complete such an Event.

    Its name becomes the UID, as in pasted text, and `source` and `message` get their usual types.
    """
    about = event.get("involvedObject")
    if not isinstance(about, dict):
        return False
    name, namespace, kind, own = (plain_text(about, each) for each in ("name", "namespace", "kind", "uid"))
    if not name or (own and own not in {name, f"{namespace}/{name}"}):
        return False
    uid = f"{namespace}/{name}" if kind == "Pod" else name
    event["involvedObject"] = about | {"name": name, "namespace": namespace, "kind": kind, "uid": uid}
    source = event.get("source")
    source = source if isinstance(source, dict) else {}
    event["source"] = {each: plain_text(source, each) for each in ("component", "host")}
    event["message"] = plain_text(event, "message")
    return True


def _nest(flat: dict[str, Any], before: str) -> dict[str, Any]:
    """Turn names with dots into nested objects; a plain name that is also the name of a nested object is left out."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        if not name.startswith(before):
            continue
        *folders, last = name.removeprefix(before).split(".", _MOST_DOTS)
        inner: Any = nested
        for each in folders:
            inner = inner.setdefault(each, {}) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and not isinstance(inner.get(last), dict):
            inner[last] = value
    return nested


def _in_camel_case(value: Any, depth: int = 0) -> Any:
    if isinstance(value, dict) and depth <= _DEEPEST:
        return {
            _RENAMED.get(camel, camel): _in_camel_case(each, depth + 1)
            for name, each in value.items()
            for camel in [_LETTER.sub(lambda found: found[1].upper(), name)]
        }
    return value
