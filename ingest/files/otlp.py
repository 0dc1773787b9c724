"""Finds API objects in the logs of an OpenTelemetry collector, as its file exporter writes them in JSON.

The receiver `k8sobjects` puts a whole object into the body of a log record. The receiver `k8s_events` splits an
Event: its message is the body, and the rest are attributes of the record and of its resource.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from ingest.files.documents import FIELDS, Found, plain_text, text_of
from ingest.files.newest import newest_time

LOGS: Final = "resourceLogs"
"""The field of an OTLP object that contains logs."""
_DEEPEST: Final = 64
"""Maximum nesting of values; no Kubernetes object is as deep."""
_SINGLE: Final = frozenset({"stringValue", "boolValue", "doubleValue"})
_DIGITS: Final = re.compile(r"-?[0-9]{1,19}")
_NANOSECONDS: Final = 1_000_000_000
_BEFORE_FRACTION: Final = len("2026-02-16 13:18:50")


class _Attribute(msgspec.Struct, frozen=True):
    key: str = ""
    value: dict[str, Any] = {}


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    time_unix_nano: str | int = 0
    severity_text: str = ""
    body: dict[str, Any] = {}
    attributes: list[_Attribute] = []


class _Scope(msgspec.Struct, frozen=True, rename="camel"):
    log_records: list[_Record] = []


class _Attributes(msgspec.Struct, frozen=True):
    attributes: list[_Attribute] = []


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    resource: _Attributes = _Attributes()
    scope_logs: list[_Scope] = []


_RESOURCES: Final = msgspec.json.Decoder(list[_Resource])


def logged(found: Found) -> Iterator[Found]:
    """Yield the objects in log records of OTLP; other records are skipped. Raises UNDECODABLE for another form."""
    number = 0
    for resource in _RESOURCES.decode(found.fields[LOGS]):
        about = _values(resource.resource.attributes)
        for scope in resource.scope_logs:
            for record in scope.log_records:
                number += 1
                thing = _plain(record.body, 0)
                if isinstance(thing, str):
                    thing = _event(thing, record, about | _values(record.attributes))
                if isinstance(thing, dict):
                    yield _found(f"{found.place} log record {number}".lstrip(), thing)


def _found(place: str, thing: Mapping[str, Any]) -> Found:
    raw = msgspec.json.encode(thing)
    fields = FIELDS.decode(raw)
    return Found(place, raw, fields, text_of(fields, "kind"), text_of(fields, "apiVersion"), newest_time(raw))


def _values(attributes: list[_Attribute]) -> dict[str, Any]:
    return {each.key: _plain(each.value, 0) for each in attributes}


def _plain(value: Any, depth: int) -> Any:
    """Return the value of an `AnyValue`; None if it is empty, unknown or nested too deeply."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    kind, content = next(iter(value.items()), ("", None))
    inner = content.get("values", []) if isinstance(content, dict) else []
    items = inner if isinstance(inner, list) else []
    if kind == "kvlistValue":
        named = [each for each in items if isinstance(each, dict) and isinstance(each.get("key"), str)]
        return {each["key"]: _plain(each.get("value"), depth + 1) for each in named}
    if kind == "arrayValue":
        return [_plain(each, depth + 1) for each in items]
    if kind == "intValue":
        return _whole(content)
    return content if kind in _SINGLE and not isinstance(content, dict | list) else None


def _whole(content: Any) -> int | None:
    """Return a 64-bit number, which OTLP writes as digits."""
    text = str(content)
    return int(text) if _DIGITS.fullmatch(text) else None


def _event(message: str, record: _Record, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an Event that the receiver flattened; None for a record without a reason and an object."""
    reason, kind, name = (
        plain_text(about, each) for each in ("k8s.event.reason", "k8s.object.kind", "k8s.object.name")
    )
    at = _time(record.time_unix_nano)
    if not (reason and kind and name and at):
        return None
    namespace, count = plain_text(about, "k8s.namespace.name"), about.get("k8s.event.count")
    created = plain_text(about, "k8s.event.start_time")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": plain_text(about, "k8s.event.name"),
            "namespace": namespace or "default",
            "uid": plain_text(about, "k8s.event.uid"),
            "creationTimestamp": _as_in_api(created),
        },
        "involvedObject": {
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "uid": plain_text(about, "k8s.object.uid"),
        },
        "reason": reason,
        "message": message,
        "type": record.severity_text or plain_text(about, "k8s.event.type"),
        "source": {
            "component": plain_text(about, "k8s.event.sourceComponent"),
            "host": plain_text(about, "k8s.node.name"),
        },
        "lastTimestamp": at,
        "count": count if isinstance(count, int) else 1,
    }


def _time(nanoseconds: str | int) -> str:
    """Return a time in the API's form, from nanoseconds since 1970 as digits or number; empty if there is none."""
    number = _whole(nanoseconds) or 0
    if not 0 < number < 1 << 63:
        return ""
    at = datetime.fromtimestamp(number // _NANOSECONDS, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _as_in_api(text: str) -> str | None:
    """Return a time that Go printed (`2026-02-16 13:18:50 +0000 UTC`) in the API's form; None for another text."""
    try:
        at = datetime.strptime(text[:_BEFORE_FRACTION], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if text.endswith("+0000 UTC") else None
