"""Objects of the API in JSON of something else: of exporters, scripts, containers' logs and stores of logs."""

from collections.abc import Iterator
from typing import Final

import msgspec

from common.text import plain
from ingest.files.documents import DECODE_ERRORS, ITEMS, STRING, Fields, Found, Part, fields_of, object_parts

ABOUT: Final = frozenset({"involvedObject", "regarding"})
"""Fields that name the object of an Event: `involvedObject` in v1, `regarding` in events.k8s.io."""
_DEPTH: Final = 8
"""Values in values: Loki's answer has its lines in the sixth, and a line of a container's log is one more."""


def within(found: Found) -> Iterator[Part]:
    """Yield the objects that an object without a kind holds.

    It may come from an exporter (`{"event": {...}}`), a script (`{"pods": {...}}`), a container's log, a search
    engine or a store of logs.
    """
    for name, raw in found.fields.items():
        yield from _inside(found, f"{found.place} {plain(name)}", bytes(raw), 1)


def _inside(found: Found, place: str, raw: bytes, depth: int) -> Iterator[Part]:
    """Yield the objects in a value, at most `_DEPTH` values deep; one in a string is in it as JSON."""
    inner = _unquoted(raw).lstrip() if raw.startswith(b'"') else raw
    if depth > _DEPTH or not inner.startswith((b"{", b"[")):
        return
    if inner.startswith(b"["):
        for item in _items(inner):
            yield from _inside(found, place, item, depth + 1)
    elif (fields := fields_of(inner)) is not None and _is_object(fields, is_near=depth == 1):
        for part in object_parts(place, inner, fields):
            newest = max(filter(None, (found.newest, part.newest)), default=None) if isinstance(part, Found) else None
            yield part._replace(newest=newest) if isinstance(part, Found) else part
    else:
        for value in (fields or {}).values():
            yield from _inside(found, place, bytes(value), depth + 1)


def _unquoted(raw: bytes) -> bytes:
    try:
        return STRING.decode(raw).encode()
    except (UnicodeError, msgspec.DecodeError):
        return b""


def _items(raw: bytes) -> list[bytes]:
    try:
        return [bytes(each) for each in ITEMS.decode(raw)]
    except DECODE_ERRORS:
        return []


def _is_object(fields: Fields, *, is_near: bool) -> bool:
    """Tell whether fields may be an API object; deeper ones need `kind` and `apiVersion`, or those of an Event."""
    is_event = "reason" in fields and not ABOUT.isdisjoint(fields)
    if not is_near:
        return is_event or {"kind", "apiVersion"} <= fields.keys()
    return is_event or "kind" in fields or "items" in fields
