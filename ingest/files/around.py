"""Removes text between the objects of a file: output of kubectl and terminals, and logs of containers."""

import csv
import html
import io
import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from ingest.model.observation import if_decodable

NEWLINE: Final = b"\n"
_LOGS: Final = re.compile(
    rb"^==== START logs for container [^\n]*\n.*?(?:^==== END logs for container [^\n]*\n?|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""The log of a container, as `kubectl cluster-info dump` prints it between its lists."""
TYPED: Final = rb"```|[^\n{}\"]{0,80}[$#>] +\w"
"""Start of a line that a ticket or a terminal puts around objects: a fence, or a prompt and a command."""
_WARNINGS: Final = re.compile(
    rb"^(?:Warning: |---\s*$|[IWE]\d{4} \d\d:\d\d:\d\d|" + TYPED + rb")[^\n]*$", re.MULTILINE
)
"""Lines that kubectl, client-go or a terminal print between objects; they are removed."""
_ERRORS: Final = re.compile(
    rb"^(?:Error from server|error: |The connection to the server|Unable to connect to the server)[^\n]*$",
    re.MULTILINE,
)


def without_logs(data: bytes) -> bytes:
    """Return the text with empty lines in place of containers' logs."""
    return _LOGS.sub(lambda log: NEWLINE * log[0].count(NEWLINE), data)


def without_lines(document: bytes) -> tuple[bytes, bytes]:
    """Return a document without kubectl's output before and after it, and the errors in that output."""
    text = _WARNINGS.sub(b"", document)
    errors = [found[0].strip() for found in _ERRORS.finditer(text)] if b"rror" in text else []
    return (_ERRORS.sub(b"", text), b"; ".join(errors)) if errors else (text, b"")


_COMMAS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|,(?=\s*[}\]])')


def without_trailing_commas(document: bytes) -> bytes:
    """Return JSON without trailing commas."""
    return _COMMAS.sub(lambda found: b"" if found[0] == b"," else found[0], document)


_PREFIXED: Final = re.compile(
    rb'\s*(?=[^\n]{0,4000}"(?:involvedObject|regarding|kind)")[^\s{"][^\n{"]{0,200}\{"[^\n]*\}[ \t]*\r?(?:\n|\Z)'
)
_PREFIX: Final = re.compile(rb'^[^\n{"]{1,200}(?=\{"[^\n]*\}[ \t]*\r?$)', re.MULTILINE)


_EVENT_LINE: Final = re.compile(rb'^\{"[^\n]{0,4000}"(?:involvedObject|regarding)":[^\n]*\}[ \t]*\r?$', re.MULTILINE)
"""An Event that an exporter printed between the lines of its own log."""
_JSON_LINE: Final = re.compile(rb"^[{\[]", re.MULTILINE)


_FENCED: Final = re.compile(rb"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def without_fences(data: bytes) -> bytes:
    """Return the YAML inside the fences of a ticket; other text, and YAML outside of fences, stays unchanged."""
    found = [each for each in _FENCED.findall(data) if b"kind:" in each]
    return b"---\n".join(found) if found and b"kind:" not in _FENCED.sub(b"", data) else data


def is_prefixed(head: bytes) -> bool:
    """Tell whether the first line has an object after a log's prefix, even if other lines of the log are text."""
    return _PREFIXED.match(head) is not None or _EVENT_LINE.search(head) is not None


def without_prefixes(data: bytes) -> bytes:
    """Return the lines without a log's prefix before an object; of a log of text, return only the objects."""
    if _PREFIXED.match(data):
        return _PREFIX.sub(b"", data)
    if data.lstrip().startswith((b"{", b"[")):
        return data
    found = _EVENT_LINE.findall(data)
    return NEWLINE.join(found) if found and len(found) == len(_JSON_LINE.findall(data)) else data


_CSV: Final = re.compile(rb'"?[@_A-Za-z][\w@.() -]{0,80}"?(?:,"?[@_A-Za-z][\w@.() -]{0,80}"?)+\r?\n')
_LONGEST_CELL: Final = 1 << 30
"""Maximum size of a CSV cell: more than any file that is read, because Python's limit of 128 KiB would end the
reading.
"""
_IN_CELLS: Final = re.compile(
    rb'""(?:involvedObject|regarding|apiVersion)"" ?:|\b(?:involved_?[oO]bject|regarding)\.name\b'
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w-]+\.go:\d+\]"
)


def is_csv(head: bytes) -> bool:
    """Tell whether text is a CSV export of a log store, with objects or klog's lines in cells."""
    return _CSV.match(head) is not None and _IN_CELLS.search(head) is not None


def rows_as_json(data: bytes) -> bytes:
    """Return a CSV table as an array of objects, one for each row, with texts as values; the table may be
    truncated.
    """
    names, *rows = csv_rows(io.StringIO(data.decode(errors="replace"), newline=""))
    return msgspec.json.encode([dict(zip(names, row, strict=False)) for row in rows if len(row) <= len(names)])


def csv_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Return the rows of a CSV table, except empty ones."""
    csv.field_size_limit(_LONGEST_CELL)
    return filter(None, csv.reader(lines))


_NAME: Final = rb"[a-z0-9][a-z0-9.-]{0,252}"
ANSWERED: Final = re.compile(
    rb"(?:^|(?<=\}))[ \t#=*>:-]*(?:[^\n{}]{0,200}/api/v1/nodes/(?P<asked>" + _NAME + rb")/proxy/[^\n{}]{1,40}"
    rb"|(?:[Nn]ode[/: ]+)?(?P<name>"
    + _NAME
    + rb")[ \t:=*-]*)\r?\n\s*(?=\{\s*\"(?:kubeletconfig|node)\"|# (?:HELP|TYPE) )",
    re.MULTILINE,
)
"""A line that names the node before its kubelet's answer, as printed by a loop over nodes, or its command."""


def by_node(data: bytes) -> list[tuple[str, bytes]]:
    """Return the answers of kubelets with the names of their nodes; empty for other text."""
    if not ANSWERED.match(data.lstrip()):
        return []
    found = [*ANSWERED.finditer(data)]
    ends = [*(each.start() for each in found[1:]), len(data)]
    return [
        ((each["asked"] or each["name"]).decode(), data[each.end() : end])
        for each, end in zip(found, ends, strict=True)
    ]


_JIRA: Final = re.compile(rb"^[ \t]*\{(?:code|noformat)(?::[^}\n]{0,100})?\}[ \t]*\r?$", re.MULTILINE)
_RECORDS: Final = re.compile(rb"^(?:\x1e|data: )(?=\{)", re.MULTILINE)
"""Begins a record of `journalctl -o json-seq` and `-o json-sse`."""
_FIELD_OF_JOURNAL: Final = re.compile(rb"^([A-Z_][A-Z0-9_]{0,63})=([^\n]*)$", re.MULTILINE)


def _as_lines(data: bytes) -> bytes:
    """Return the records of `journalctl -o export` as lines of JSON, without binary fields."""
    records = (_FIELD_OF_JOURNAL.findall(each) for each in data.split(b"\n\n"))
    texts = ({name.decode(): value.decode(errors="replace") for name, value in record} for record in records)
    return b"".join(msgspec.json.encode(record) + NEWLINE for record in texts if record)


_VERBOSE: Final = re.compile(
    rb"^(\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [A-Z+\-\d]{1,6}) \[s=[^\n]*\n"
    rb"(([ \t]+)[A-Z_][A-Z0-9_]{0,63}=[^\n]*(?:\n|\Z)(?:\3[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)
_FIELD_OF_VERBOSE: Final = re.compile(rb"^([ \t]+)([A-Z_][A-Z0-9_]*)=([^\n]*)$", re.MULTILINE)


def _as_full(record: re.Match[bytes]) -> bytes:
    """Return a record of `journalctl -o verbose` as a line of `-o short-full`, with the first line of its message.

    Further lines of a message are indented more than fields, and may look like fields.
    """
    fields = {name: value for indent, name, value in _FIELD_OF_VERBOSE.findall(record[2]) if indent == record[3]}
    host, program = fields.get(b"_HOSTNAME", b""), fields.get(b"SYSLOG_IDENTIFIER") or fields.get(b"_COMM", b"")
    return b"%b %b %b: %b\n" % (record[1], host, program, fields.get(b"MESSAGE", b""))


_COLOURS: Final = re.compile(rb"\x1b\[[0-9;]{0,20}[mK]")
_WIDE: Final = re.compile(rb"(?P<little>(?:[\x20-\x7e\r\n\t]\0){4})|(?:\0[\x20-\x7e\r\n\t]){4}")


def _unescaped(data: bytes) -> bytes:
    """Return the JSON inside a JSON string; for a truncated string, enough of it to identify the content."""
    text = if_decodable(msgspec.json.Decoder(str).decode, data)
    return data[1:].replace(b'\\"', b'"').replace(b"\\n", NEWLINE) if text is None else text.encode()


_QUOTED: Final = re.compile(
    rb"^(?P<before>> |\+| {0,5}1\t)(?:\{\s*$|apiVersion: \S+\s*$|---\s*$|kind: \S+\s*$)", re.MULTILINE
)
"""The first line of an object in an e-mail, in a patch, or after `cat -n`."""
_QUOTES: Final = {
    b" ": re.compile(rb"^> ?", re.MULTILINE),
    b"+": re.compile(rb"^\+(?!\+\+ )", re.MULTILINE),
    b"\t": re.compile(rb"^ {0,5}\d{1,7}\t", re.MULTILINE),
}
"""Matches the mark before each line of an object, by the last character of the mark."""
_MARKS: Final = re.compile(rb"^(?:> ?)+", re.MULTILINE)
_FIRST_BYTES: Final = 1 << 16


def _strip_mail_marks(data: bytes) -> bytes:
    """Return the text of an e-mail without the marks before its lines, if everything in it is quoted."""
    is_quoted = data.startswith(b"> ") and all(not line or line.startswith(b">") for line in data.splitlines())
    return _MARKS.sub(b"", data) if is_quoted else data


_AS_CODE: Final = re.compile(
    rb"(?:\A|\n[ \t\r]*\n)(?: {4}|\t)(?=\{|apiVersion: |kind: |---\r?\n"
    rb"|[\w@:~.-]{0,60}[$#] |NAME(?:SPACE)? |LAST SEEN "
    rb"|Name: {2,}|[IWEF]\d{4} \d\d:|[A-Z][a-z]{2} [ \d]\d \d\d:|-- [A-Z]|\* ==> )"
)
"""Matches indentation by which Markdown shows text as code."""
_AT_MARGIN: Final = re.compile(rb"^(?:apiVersion:|data:|items:|kind:|metadata:|Name: |NAME|[{\[])", re.MULTILINE)
_INDENT: Final = re.compile(rb"^(?: {4}|\t)", re.MULTILINE)
_CURLED: Final = re.compile(rb"\xe2\x80(?:(?P<one>[\x98\x99])|[\x9c-\x9e])")
"""Matches single and double quotes as e-mail editors write them."""


def _as_typed(data: bytes) -> bytes:
    """Undo changes of a web page or an e-mail: remove the indentation of code, and straighten quotes."""
    if _AS_CODE.search(data, 0, _FIRST_BYTES) and not _AT_MARGIN.search(data, 0, _FIRST_BYTES):
        data = _INDENT.sub(b"", data)
    if b"\xe2\x80" in data[:_FIRST_BYTES] and b'"' not in data:
        data = _CURLED.sub(lambda found: b"'" if found["one"] else b'"', data)
    return data


def as_utf8(data: bytes) -> bytes:
    """Return text as UTF-8 without a byte order mark; PowerShell's `>` writes UTF-16.

    A truncated text loses its partial character. Terminal colours are removed, because JSON strings cannot contain
    them. Jira's fences become Markdown's, and typographic quotes JSON's. Line numbers and the indentation of code are
    removed. So are the marks of an e-mail before each line, and of a patch before each line of an object.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data[: len(data) & ~1].decode("utf-16", errors="replace").encode()
    elif wide := _WIDE.match(data):
        encoding = "utf-16-le" if wide["little"] else "utf-16-be"
        data = data[: len(data) & ~1].decode(encoding, errors="replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = _as_typed(_strip_mail_marks(data))
    if data.startswith(b'"{\\'):
        data = _unescaped(data)
    if data.startswith((b"\x1e{", b"data: {")):
        data = _RECORDS.sub(b"", data)
    if data.startswith(b"__CURSOR="):
        data = _as_lines(data.replace(b"\r\n", NEWLINE))
    if b" [s=" in data[:_FIRST_BYTES]:
        data = _VERBOSE.sub(_as_full, data.replace(b"\r\n", NEWLINE))
    if b"&quot;" in data and b'"' not in data:
        data = html.unescape(data.decode(errors="replace")).encode()
    if quoted := _QUOTED.search(data, 0, _FIRST_BYTES):
        data = _QUOTES[quoted["before"][-1:]].sub(b"", data)
    if b"{code" in data or b"{noformat" in data:
        data = _JIRA.sub(b"```", data)
    return _COLOURS.sub(b"", data) if b"\x1b[" in data else data
