"""Finds the objects in a saved JSON file: a List, one object, or several in a row."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from common.text import plain
from ingest.files.around import NEWLINE, without_lines, without_logs, without_trailing_commas
from ingest.files.envelope import ErrorType, explain
from ingest.files.newest import newest_time
from ingest.model.observation import UNDECODABLE, if_decodable

Fields: TypeAlias = dict[str, msgspec.Raw]


class Found(NamedTuple):
    place: str
    raw: bytes
    """The object as JSON."""
    fields: Fields
    kind: str
    """Its own kind, or for an item of a typed List (`PodList`) that of the list; empty if neither has one."""
    api_version: str
    newest: datetime | None
    """The newest time in its document."""


class Bad(NamedTuple):
    """A part of a file that contains no object."""

    place: str
    raw: bytes
    error_type: ErrorType
    reason: str


Part: TypeAlias = Found | Bad

FIELDS: Final = msgspec.json.Decoder(Fields)
ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _Listed(msgspec.Struct, frozen=True):
    """The end of a List with a limit: a continue token, and the number of remaining items."""

    token: str = msgspec.field(default="", name="continue")
    remaining: int = msgspec.field(default=0, name="remainingItemCount")


class _Row(msgspec.Struct, frozen=True):
    object: msgspec.Raw = msgspec.Raw()


class _Column(msgspec.Struct, frozen=True):
    name: str


class _NamedTable(msgspec.Struct, frozen=True):
    columns: list[_Column]
    rows: list[list[msgspec.Raw]]


_LISTED: Final = msgspec.json.Decoder(_Listed)
_TABLE: Final = msgspec.json.Decoder(_NamedTable)
_ROWS: Final = msgspec.json.Decoder(list[_Row])
STRING: Final = msgspec.json.Decoder(str)
_ITEMS_START: Final = re.compile(r'"items"\s*:\s*\[')
_LIST_KIND: Final = re.compile(r'"kind"\s*:\s*"(\w+)List"')
_BETWEEN: Final = re.compile(r"[\s,]*")


_OF_A_WHOLE: Final = frozenset({"metadata", "spec", "status"})


def kind_by_fields(fields: Fields) -> str:
    """Name a pod or node without a kind, which is an item of the API server's own List; empty for other objects."""
    if not fields.keys() >= _OF_A_WHOLE:
        return ""
    spec, status = (fields_of(bytes(fields[name])) for name in ("spec", "status"))
    if spec is None or status is None:
        return ""
    if "nodeInfo" in status:
        return "Node"
    return "Pod" if "containers" in spec and "phase" in status else ""


class ListHead(NamedTuple):
    """Facts that a List has for all its items."""

    place: str
    """The List's number in its file; empty for the only one."""
    kind: str
    """The kind of the items; empty if each item has its own."""
    api_version: str
    newest: datetime | None


def json_parts(data: bytes, kind: str = "") -> Iterator[Part]:
    """Yield the objects in JSON text, those of a List one by one, and the parts that are not objects.

    `kind` is the kind of objects without their own kind, in an array without a List. A truncated List yields every
    complete item. Objects in a row, for example from `kubectl get -w -o json`, start at the start of a line.
    """
    if data.lstrip().startswith(b"["):
        yield from _array_parts(data, kind)
        return
    if (fields := fields_of(data)) is not None:
        yield from object_parts("", data, fields)
        return
    documents = re.split(rb"\n(?=\{)", without_logs(data.replace(b"\r\n", b"\n")))
    line = 1
    for document in documents:
        place = "" if len(documents) == 1 else f"line {line}"
        if (fields := fields_of(document)) is not None:
            yield from object_parts(place, document, fields)
        else:
            yield from _parts_between_lines_of_kubectl(place, document, line)
        line += document.count(NEWLINE) + 1


def fields_of(document: bytes) -> Fields | None:
    return if_decodable(FIELDS.decode, document)


def _parts_between_lines_of_kubectl(place: str, document: bytes, line: int) -> Iterator[Part]:
    """Yield the objects in a document that may have warnings and errors of kubectl around it, and then the errors."""
    text, complaints = without_lines(document)
    if text.strip():
        yield from document_parts(place, text)
    if complaints:
        reason = f"kubectl reported: {plain(complaints.decode(errors='replace'))}"
        yield Bad(f"line {line + text.count(NEWLINE)}", complaints, "not_json", reason)


def _array_parts(data: bytes, kind: str) -> Iterator[Part]:
    head = ListHead("", kind, "", newest_time(data))
    try:
        items = map(bytes, ITEMS.decode(data))
    except UNDECODABLE as error:
        text = data.decode(errors="replace")
        complete = list(_complete_values(text, text.index("[") + 1))
        yield from (item_part(head, index, text[start:end].encode()) for index, (start, end) in enumerate(complete))
        yield Bad("1", text[complete[-1][1] :].encode() if complete else data, *explain(error, data))
        return
    for index, item in enumerate(items):
        yield from item_parts(head, index, item)


def document_parts(place: str, document: bytes) -> Iterator[Part]:
    """Yield the object that a JSON document contains, or the items if it is a List."""
    try:
        fields = FIELDS.decode(document)
    except UNDECODABLE as error:
        yield from _broken_document(place, document, error)
    else:
        yield from object_parts(place, document, fields)


def object_parts(place: str, document: bytes, fields: Fields) -> Iterator[Part]:
    if "items" not in fields:
        if "rows" in fields and text_of(fields, "kind") == "Table":
            yield from _rows_parts(place, document, fields)
            return
        kind, api_version = text_of(fields, "kind"), text_of(fields, "apiVersion")
        yield Found(place or "1", document, fields, kind, api_version, newest_time(document))
        return
    head = list_head(place, fields, newest_time(document))
    try:
        items = ITEMS.decode(fields["items"])
    except msgspec.ValidationError as error:
        if fields["items"] != b"null":
            yield Bad(place or "1", document, "wrong_type", f"{error} of items")
        return
    for index, item in enumerate(items):
        yield from item_parts(head, index, bytes(item))
    listed = if_decodable(_LISTED.decode, fields.get("metadata", b""))
    if listed is not None and listed.token:
        left = f"{listed.remaining:,} more items" if listed.remaining else "more items"
        yield Bad(place or "1", bytes(fields["metadata"]), "cut_off", f"a limit cut the List: {left} exist")


def _rows_parts(place: str, document: bytes, fields: Fields) -> Iterator[Part]:
    """Yield the objects in the rows of a Table that has them (`includeObject=Object`), else the Table itself."""
    newest = newest_time(document)
    try:
        objects = [row.object for row in _ROWS.decode(fields["rows"])]
        whole = [(raw, FIELDS.decode(raw)) for raw in objects if bytes(raw)]
    except UNDECODABLE:
        whole = []
    found = [
        Found(f"{place} rows".lstrip(), bytes(raw), each, text_of(each, "kind"), text_of(each, "apiVersion"), newest)
        for raw, each in whole
    ]
    if all(each.kind == "PartialObjectMetadata" for each in found):
        found = [Found(place or "1", document, fields, "Table", text_of(fields, "apiVersion"), newest)]
    yield from found


def list_head(place: str, fields: Fields, newest: datetime | None) -> ListHead:
    return ListHead(place, text_of(fields, "kind").removesuffix("List"), text_of(fields, "apiVersion"), newest)


def item_parts(head: ListHead, index: int, raw: bytes) -> Iterator[Part]:
    """Yield an item of a List, or its items if it is a List itself."""
    part = item_part(head, index, raw)
    if isinstance(part, Found) and part.kind.endswith("List") and "items" in part.fields:
        yield from object_parts(part.place, raw, part.fields)
    else:
        yield part


def item_part(head: ListHead, index: int, raw: bytes) -> Part:
    """Return item `index` of a List; an item of a typed List (`PodList`) may lack its own kind."""
    place = f"{head.place} items[{index}]".lstrip()
    try:
        fields = FIELDS.decode(raw)
    except UNDECODABLE as error:
        return Bad(place, raw, *explain(error, raw))
    kind, api_version = text_of(fields, "kind") or head.kind, text_of(fields, "apiVersion") or head.api_version
    return Found(place, raw, fields, kind, api_version, head.newest)


def text_of(fields: Fields, name: str) -> str:
    """Return the field if it is a string, else an empty one."""
    return if_decodable(STRING.decode, fields.get(name, b"")) or ""


def plain_text(fields: Mapping[str, Any], name: str) -> str:
    """Return the decoded field if it is a string, else an empty one."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _broken_document(place: str, document: bytes, error: Exception) -> Iterator[Part]:
    """Yield objects in a row, or complete items of a truncated List; and the rest unchanged."""
    error_type, reason = explain(error, document)
    if "trailing comma" in reason and (mended := without_trailing_commas(document)) != document:
        yield from document_parts(place, mended)
        return
    text = document.decode(errors="replace")
    whole = [] if error_type == "cut_off" else list(_complete_values(text, 0))
    if whole and text[whole[0][0]] == "{":
        for start, end in whole:
            value = text[start:end].encode()
            if (fields := fields_of(value)) is not None:
                yield from object_parts(place, value, fields)
            else:  # invalid JSON that Python accepts, for example a lone surrogate
                yield Bad(place or "1", value, error_type, reason)
        if left := text[whole[-1][1] :].strip():
            yield Bad(place or "1", left.encode(), error_type, reason)
        return
    found = _ITEMS_START.search(text)
    rest = 0
    if found is not None:
        kind = _LIST_KIND.search(text[: found.start()])
        head = ListHead(place, kind[1] if kind else "", "", newest_time(document))
        rest = found.end()
        for index, (start, end) in enumerate(_readable_items(text, rest)):
            yield item_part(head, index, text[start:end].encode())
            rest = end
    yield Bad(place or "1", text[rest:].encode() if rest else document, error_type, reason)


def _readable_items(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Yield the positions of complete items of a List; after a damaged one, continue at the next that begins like the
    first.
    """
    first = _BETWEEN.match(text, position)
    between = text[position : first.end()] if first else ""
    while True:
        for start, end in _complete_values(text, position):
            yield start, end
            position = end
        start = text.find(f"}},{between}{{", position) if "\n" in between else -1
        if start < 0:
            return
        position = start + 2


def _complete_values(text: str, position: int) -> Iterator[tuple[int, int]]:
    decoder = json.JSONDecoder()
    while match := _BETWEEN.match(text, position):
        try:
            _, position = decoder.raw_decode(text, match.end())
        except (RecursionError, ValueError):
            return
        yield match.end(), position


ABOUT: Final = frozenset({"involvedObject", "regarding"})
"""Fields that name the object of an Event: `involvedObject` in v1, `regarding` in events.k8s.io."""
_TAKEN_APART: Final = frozenset({"involved_object"})
_DOTTED: Final = ("involvedObject.name", "involved_object.name", "regarding.name")
"""The same fields as some exporters write them."""
_DEPTH: Final = 8
"""Maximum nesting:

Loki's answer has its lines at the sixth level, and JSON in a line of a container's log is one more.
"""


def within(found: Found) -> Iterator[Part]:
    """Yield the objects inside an object without a kind.

    It may be from an exporter (`{"event": {...}}`), a script (`{"pods": {...}}`), a container's log, a search engine
    or a log store.
    """
    for name, raw in found.fields.items():
        yield from _inside(found, f"{found.place} {plain(name)}", bytes(raw), 1)


def _inside(found: Found, place: str, raw: bytes, depth: int) -> Iterator[Part]:
    """Yield the objects in a value, at most `_DEPTH` levels deep; objects in strings are JSON."""
    inner = (if_decodable(STRING.decode, raw) or "").encode().lstrip() if raw.startswith(b'"') else raw
    if depth > _DEPTH or not inner.startswith((b"{", b"[")):
        return
    if inner.startswith(b"["):
        for item in if_decodable(ITEMS.decode, inner) or ():
            yield from _inside(found, place, bytes(item), depth + 1)
    elif (rows := _rows_by_name(inner)) is not None:
        for row in rows:
            yield from _inside(found, place, row, depth + 1)
    elif (fields := fields_of(inner)) is not None and _is_object(fields, is_near=depth == 1):
        for part in object_parts(place, inner, fields):
            newest = max(filter(None, (found.newest, part.newest)), default=None) if isinstance(part, Found) else None
            yield part._replace(newest=newest) if isinstance(part, Found) else part
    else:
        for value in (fields or {}).values():
            yield from _inside(found, place, bytes(value), depth + 1)


def _rows_by_name(inner: bytes) -> list[bytes] | None:
    """Return rows below columns, as Log Analytics answers, as objects; None for anything else."""
    if b'"columns"' not in inner or b'"rows"' not in inner:
        return None
    if (table := if_decodable(_TABLE.decode, inner)) is None:
        return None
    names = [each.name for each in table.columns]
    return [msgspec.json.encode(dict(zip(names, row, strict=False))) for row in table.rows]


def _is_object(fields: Fields, *, is_near: bool) -> bool:
    """Tell whether fields may be an API object.

    At deeper levels, they need `kind` and `apiVersion`, or the fields of an Event.
    """
    is_event = "reason" in fields and not (ABOUT | _TAKEN_APART).isdisjoint(fields)
    is_event = is_event or "KubeEventType" in fields or any(name.endswith(_DOTTED) for name in fields)
    if not is_near:
        return is_event or {"kind", "apiVersion"} <= fields.keys() or fields.keys() >= _OF_A_WHOLE
    return is_event or fields.keys() >= _OF_A_WHOLE or "kind" in fields or "items" in fields
