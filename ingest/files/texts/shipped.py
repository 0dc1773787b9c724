"""Finds a kubelet's lines in exports of log stores: Cloud Logging, CloudWatch, Loki, Elasticsearch, a journal.

Each becomes a journal line with the record's time and host, so that it is read like any other (kubelet-log).
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ingest.model.observation import EARLIEST, LATEST

_KLOG: Final = (
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (?:eviction_manager|image_gc_manager|helpers|kubelet\w*|kuberuntime_\w+"
    r"|pod_workers|preemption|predicate|topology_manager|cpu_manager|memory_manager|event|server)\.go:\d+\]"
)
_LINE: Final = re.compile(_KLOG)
_ALONE: Final = re.compile(r"(?:\S[^\n]{0,100} )?kubelet(?:\[\d+\])?: $|$")
"""Matches the text before a line that is a whole record.

A line quoted inside a message gets no time, because it is older.
"""
_MAY_HAVE: Final = re.compile(rb'%b|\\"caller\\": ?\\"|"caller": ?"' % _KLOG.encode())
_BESIDE: Final = re.compile(rb"^(?:[A-Z0-9][^\n\"{]{0,200})?%b[^\n]*$" % _KLOG.encode(), re.MULTILINE)
_TIMES: Final = ("__REALTIME_TIMESTAMP", "timestamp", "@timestamp", "time", "_time", "date", "ts", "TimeGenerated")
_IN_UTC: Final = frozenset({"@timestamp", "TimeGenerated"})
"""Fields whose times without a zone are in UTC, as in Logs Insights.

Other fields are in the zone of the program that wrote them.
"""
_HOSTS: Final = ("_HOSTNAME", "node_name", "nodename", "hostname", "node", "instance", "Computer", "host")
_DOTTED: Final = ("host.name", "kubernetes.node.name", "host.hostname")
"""Fields in which collectors name a node, the most reliable first."""
_PROGRAMS: Final = frozenset({"stdout", "stderr", "journal", "journald", "syslog", "kubelet", "k3s", "rke2"})
"""Names of programs in `source`, where Graylog has the node."""
_HOST: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,252}")
_PARTS: Final = (1, 10**3, 10**6, 10**9)
"""Units of numeric times: seconds, and fractions down to nanoseconds."""
_DEEPEST: Final = 16
_LONGEST: Final = 16 * 1024


class _Around(NamedTuple):
    at: datetime | None = None
    host: str = ""


def _has_lines(raw: bytes) -> bool:
    """Tell whether JSON may contain lines of a kubelet, by a quick search."""
    return _MAY_HAVE.search(raw) is not None


def lines_in(raw: bytes) -> Iterator[str]:
    """Yield the kubelets' lines in a JSON object's values, in the form of a journal if their time is known."""
    if not _has_lines(raw):
        return
    try:
        yield from _lines(json.loads(raw), _Around(), 0)
    except (ValueError, RecursionError):
        return


def texts_in(raw: bytes) -> list[bytes]:
    """Return the multi-line values of a JSON object, usually the output of a command that a tool ran. klog's lines in
    them become empty, because `lines_in` yields those.
    """
    try:
        return [text.encode(errors="replace") for text in _texts(json.loads(raw), 0)] if b"\\n" in raw else []
    except (ValueError, RecursionError):
        return []


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value.strip():
        yield "\n".join("" if _LINE.search(line[:_LONGEST]) else line for line in value.splitlines())
    elif isinstance(value, dict | list) and depth <= _DEEPEST:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each, depth + 1)


def lines_beside(data: bytes) -> tuple[list[str], bytes]:
    """Return the kubelets' lines between the objects in a text, and the text with empty lines in their place."""
    if not _has_lines(data):
        return [], data
    return [found[0].decode(errors="replace") for found in _BESIDE.finditer(data)], _BESIDE.sub(b"", data)


def _lines(value: Any, around: _Around, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield from _lines_of_record(value, around, depth)
    elif isinstance(value, str):
        yield from _lines_of_text(value, around, depth)
    elif isinstance(value, list):
        match value:
            case [str() as stamp, str() as line, *_] if (at := time_of(stamp)) is not None:  # Loki's
                yield from _lines(line, around._replace(at=at), depth + 1)
            case [{"field": _}, *_]:  # Logs Insights'
                fields = {str(each["field"]): each.get("value") for each in value if _is_field(each)}
                yield from _lines(fields, around, depth + 1)
            case _:
                for each in value:
                    yield from _lines(each, around, depth + 1)


def _is_field(value: Any) -> bool:
    return isinstance(value, dict) and "field" in value


def _lines_of_record(value: dict[str, Any], around: _Around, depth: int) -> Iterator[str]:
    if "caller" in value and isinstance(value.get("msg"), str) and isinstance(value.get("ts"), int | float):
        yield _journal(json.dumps(value), around)
        return
    source = value.get("source")
    source = source if isinstance(source, str) and _HOST.fullmatch(source) and source not in _PROGRAMS else ""
    around = _Around(_time_of(value) or around.at, _host_of(value, 0) or source or around.host)
    for each in _rows(value) or value.values():
        yield from _lines(each, around, depth + 1)


def _rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows below columns, as Log Analytics answers, with the column names; empty for anything else."""
    columns, rows = value.get("columns"), value.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return []
    names = [str(each.get("name")) for each in columns if isinstance(each, dict)]
    return [dict(zip(names, row, strict=False)) for row in rows if isinstance(row, list)]


def _lines_of_text(value: str, around: _Around, depth: int) -> Iterator[str]:
    if (inner := _object_of(value)) is not None:
        yield from _lines(inner, around, depth + 1)
        return
    for line in value.splitlines():
        if line.startswith("{"):
            yield from _lines(_object_of(line), around._replace(at=None), depth + 1)
        elif (found := _LINE.search(line[:_LONGEST])) is not None:
            is_record = line == value.rstrip("\r\n") and _ALONE.match(line[: found.start()])
            yield _journal(line[found.start() :], around) if is_record else line


def _object_of(text: str) -> Any:
    """Return the object if a text is JSON of one; None for any other text."""
    try:
        return json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _journal(line: str, around: _Around) -> str:
    if around.at is None:
        return f"{around.host}: {line}" if around.host else line
    at = f"{around.at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
    return f"{at} {around.host} kubelet[1]: {line}" if around.host else f"{at} {line}"


def _time_of(record: Mapping[str, Any]) -> datetime | None:
    times = (time_of(record.get(name), is_utc=name in _IN_UTC) for name in _TIMES)
    return next(filter(None, times), None)


def _host_of(record: Mapping[str, Any], depth: int) -> str:
    """Return the first host in a record, or in its nested objects, but not in lists."""
    for name in (*_HOSTS, *_DOTTED):
        value = record.get(name)
        value = value.get("name") if isinstance(value, dict) else value
        if isinstance(value, str) and _HOST.fullmatch(value):
            return value
    inner = (each for each in record.values() if isinstance(each, dict))
    return next((host for each in inner if depth < _DEEPEST and (host := _host_of(each, depth + 1))), "")


def time_of(value: Any, *, is_utc: bool = False) -> datetime | None:
    """Return the time of a text in ISO form, or of a number of seconds or fractions by its size; else None.

    Text without a zone has a time only with `is_utc`.
    """
    try:
        if isinstance(value, str) and not re.fullmatch(r"\d{9,19}(?:\.\d{1,9})?", value):
            at = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value)) if value[:2] == "20" else None
            at = at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None and is_utc else at
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            parts = next((each for each in _PARTS if number / each < LATEST.timestamp()), 1)
            at = datetime.fromtimestamp(number / parts, UTC)
        else:
            at = None
    except (ValueError, OverflowError, OSError):
        return None
    return at if at is not None and at.tzinfo is not None and EARLIEST <= at < LATEST else None
