"""Reads log lines in klog's format: as text or JSON, on their own, in systemd's journal, or after a runtime's prefix.

Every line is hostile and may be truncated: a line of any other form is None, and nothing raises (rules: kubelet-log).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from ingest.files.texts.sentences import in_later_words

Value: TypeAlias = str | list[str]

LEAP_YEAR: Final = 2000
"""Placeholder for the year, which klog does not write; it has a 29 February."""
_LONGEST: Final = 16 * 1024
"""Maximum number of characters of a line; lines about many pods are the longest."""
_VALUES: Final = 64
_NOT_A_LINE: Final = (TypeError, ValueError, OverflowError, RecursionError, msgspec.DecodeError)
_JOURNAL: Final = re.compile(
    r"(?:<\d{1,3}>)?(?:(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|\w{3} (?P<full>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) (?P<zone>[A-Z+\-\d]{1,6})"
    r"|(?P<unix>\d{9,10}\.\d{1,6})|\[ *\d{1,12}\.\d{1,6}\]"
    r"|(?:(?P<node>[a-z0-9][a-z0-9.-]{0,252}) )?"
    r"(?:\d{1,2}月|[^\s\d]{1,12}) {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,6})?)"
    r" (?P<host>[A-Za-z0-9][\w.-]{0,252}) (?P<program>[\w./@-]{1,64})(?:\[\d{1,10}\])?: "
    r"(?:(?:info|notice|warning|err) (?=[IWEF]\d{4} ))?"
)
"""The forms of journalctl, with month names of any language; `oc adm node-logs` puts the node before each line."""
_SYSLOG: Final = re.compile(
    r"(?:<\d{1,3}>)?1 (?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d))"
    r" (?P<host>[A-Za-z0-9][\w.-]{0,252}) (?P<program>[\w./@-]{1,64}) \S{1,128} \S{1,32}"
    r" (?:-|\[[^\]\n]{0,200}\]) (?:\xef\xbb\xbf|\ufeff)?"
)
"""The form of RFC 5424."""
_LABELLED: Final = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))\s+"
    r"\{(?:[^}\n]{0,1000}?\b(?:node_name|nodename|hostname|host|node|instance)=\"(?P<host>[A-Za-z0-9][\w.-]{0,252})\")?"
    r"[^}\n]{0,1000}\}\s+(?=[IWEF]\d{4} |\{)"
)
"""The form of logcli, with the labels of Loki."""
_RUNTIME: Final = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) ?(?:std(?:out|err) [FP] )?"
    r"(?=[IWEF]\d{4} |\{)"
)
_OF_TALOS: Final = re.compile(
    r"(?!(?:kubelet|hyperkube|k3s|rke2|std(?:out|err)): )(?P<host>[A-Za-z0-9][\w.:-]{0,252}): (?=\{|[IWEF]\d{4} )"
)
"""The node's address or name, which talosctl puts before each line; names of programs do not count."""
_PREFIXES: Final = (_LABELLED, _RUNTIME, _JOURNAL, _SYSLOG, _OF_TALOS)
_BEFORE: Final = 300
"""Maximum number of characters of an unknown prefix, such as that of `grep -n` or `journalctl -o verbose`."""
_MARKS: Final = re.compile(r"^\s*(?:> )*`(?=[^`\n]*`$)|^(?:> )+|`$")
"""Matches marks of a quoted line, and of one that a page formats as code."""
_HEADER: Final = 120
"""Maximum number of characters of klog's own head of a line."""
_KLOG: Final = re.compile(
    r"(?<![A-Za-z0-9])[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{6})"
    r" +\d+ (?P<file>[\w.-]{1,80}):\d+\] ?"
)
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_SAID: Final = re.compile(rf"(?P<said>{_QUOTED}|(?!\")[^\n]*)")
_PLAIN: Final = re.compile(rf"\s(?P<name>\w{{1,64}})=(?P<value>{_QUOTED}|[^\s\"]+)")
_VALUE: Final = re.compile(
    rf"\s(?P<name>\w{{1,64}})=(?P<value>{_QUOTED}|\[(?:{_QUOTED}|[^\]\"])*\]|\{{[^}}]*\}}|[^\s\"]+)"
)
_CLOSES: Final = {"[": "]", "{": "}"}
_ITEM: Final = re.compile(rf"{_QUOTED}|[^\s,\[\]\"]+")
OF_KUBELET: Final = (
    "kubelet",
    "kubenswrapper",
    "hyperkube",
    "k3s",
    "rke2",
    "microk8s",
    "microshift",
    "openshift-node",
    "origin-node",
)
"""Programs that are a kubelet, or run one."""
_OWN: Final = frozenset({"ts", "caller", "msg", "v", "logger"})


class Line(NamedTuple):
    said: str
    values: dict[str, Value]
    at: datetime | None
    """Aware; None if the line lacks a year or a zone."""
    local: datetime | None
    """The node's wall clock, naive and in `LEAP_YEAR`; None if the line lacks klog's own time."""
    host: str
    """The machine's name in the journal; empty without one."""
    program: str


def lines_with(needles: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line that contains one of the needles."""
    end = -1
    for found in needles.finditer(data):
        if found.start() >= end:
            start, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
            end = len(data) if end < 0 else end
            yield start, end


def parse(raw: bytes, programs: tuple[str, ...] = OF_KUBELET) -> Line | None:
    """Parse one line; None for other text, and for a line of any program but these."""
    text = _MARKS.sub("", raw[:_LONGEST].decode(errors="replace").rstrip())
    try:
        line = _json(text) if text.startswith("{") else _text(text)
    except _NOT_A_LINE:
        return None
    if line is None or (line.program and not any(each in line.program for each in programs)):
        return None
    return line


def _text(text: str) -> Line | None:
    at, host, program = None, "", ""
    if found := next(filter(None, (each.match(text) for each in _PREFIXES)), None):
        named = found.groupdict()
        at, host, program = _absolute(named), named.get("node") or named.get("host") or "", named.get("program") or ""
        text = text[found.end() :]
    if text.startswith("{"):
        inner = _json(text)
        return inner and inner._replace(at=inner.at or at, host=host, program=program)
    header = _KLOG.search(text[: _BEFORE + _HEADER])
    if header is None:
        return None
    body = text[header.end() :]
    if body.endswith(" bytes") and body.count('"') % 2:
        body += '"'  # a paste broke the line before its last mark
    match = _SAID.match(body)
    local = datetime.fromisoformat(f"{LEAP_YEAR}-{header['month']}-{header['day']} {header['clock']}")
    if at is not None and not at.microsecond and (at.minute, at.second) == (local.minute, local.second):
        at = at.replace(microsecond=local.microsecond)
    values: dict[str, Value] = {name: _value(each) for name, each in islice(_values(body), _VALUES)}
    text = _unquote(match["said"] if match else "").strip()
    if not body.startswith('"') and (sentence := in_later_words(text)) is not None:
        text, values = sentence
    return Line(text, values, at, local, host, program)


def _values(body: str) -> Iterator[tuple[str, str]]:
    """Yield names and values. After an unclosed bracket, others count as text, so that each is read only once."""
    form, found = _VALUE, _VALUE.search(body)
    while found:
        value = found["value"]
        yield found["name"], value
        if not value.endswith(_CLOSES.get(value[0], "")):
            form = _PLAIN
        found = form.search(body, found.end())


def _absolute(named: dict[str, str | None]) -> datetime | None:
    if iso := named.get("iso"):
        at = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", iso.replace(",", ".")))
        return at.astimezone(UTC) if at.tzinfo else None
    if unix := named.get("unix"):
        return datetime.fromtimestamp(float(unix), UTC)
    if (full := named.get("full")) and named["zone"] in {"UTC", "GMT"}:
        return datetime.fromisoformat(full).replace(tzinfo=UTC)
    return None


def _json(text: str) -> Line | None:
    fields: Any = msgspec.json.decode(text)
    if not isinstance(fields, dict):
        return None
    if isinstance(stamp := fields.get("__REALTIME_TIMESTAMP"), str):
        message = fields.get("MESSAGE")
        if isinstance(message, list):  # several values, or not UTF-8
            texts = [each for each in message if isinstance(each, str)]
            message = texts[0] if texts else bytes(message).decode(errors="replace")
        inner = _text(message) if isinstance(message, str) else None
        at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(stamp))
        program = fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM") or ""
        return inner and inner._replace(
            at=inner.at or at, host=str(fields.get("_HOSTNAME", "")), program=str(program)
        )
    message, stamp = fields.get("msg"), fields.get("ts")
    if not isinstance(message, str) or not isinstance(stamp, int | float) or "caller" not in fields:
        return None
    at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=stamp)
    values = {name: _of_json(each) for name, each in list(fields.items())[:_VALUES] if name not in _OWN}
    return Line(message, values, at, None, "", "")


def _of_json(value: Any) -> Value:
    """Return a value in its text form; a Kubernetes object is `namespace/name`."""
    if isinstance(value, list):
        return [str(_of_json(each)) for each in value]
    if isinstance(value, dict):
        return "/".join(str(value[each]) for each in ("namespace", "name") if value.get(each))
    return str(value)


def _value(text: str) -> Value:
    if text.startswith("["):
        return [_unquote(each) for each in _ITEM.findall(text)]
    return _unquote(text)


def _unquote(text: str) -> str:
    """Remove Go's quotes, which are JSON's except for bytes and letters that JSON does not escape."""
    if not text.startswith('"'):
        return text
    try:
        return str(msgspec.json.decode(text))
    except msgspec.DecodeError:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
