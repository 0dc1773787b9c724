"""Text around an object in a file is removed, and nothing else."""

import json
from datetime import UTC, datetime

import pytest

from ingest.files.around import as_utf8, rows_as_json, without_fences, without_prefixes
from ingest.files.documents import Found
from ingest.files.texts.ages import PrintTime
from ingest.files.texts.exported import event_of_row
from ingest.files.yaml_documents import yaml_parts

EVENT = b'{"kind":"Event","involvedObject":{"kind":"Pod"},"reason":"Evicted"}'
NODE = b'{"kind":"Node","metadata":{"name":"n"}}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ([b"starting", EVENT, b"watching", EVENT], [EVENT, EVENT]),  # an exporter's log
        ([b"$ kubectl get nodes", NODE, b"$ kubectl get events", EVENT], None),  # a terminal
        ([b"Warning: deprecated", NODE, EVENT], None),
        ([b"$ kubectl get nodes", b"{", b'"kind":"Node"}', EVENT], None),
        ([NODE, EVENT], None),
    ],
)
def test_events_between_lines_of_text_are_taken_alone_only_if_nothing_else_is_there(
    text: list[bytes], left: list[bytes] | None
) -> None:
    whole = b"\n".join(text)
    assert without_prefixes(whole) == (whole if left is None else b"\n".join(left))


FENCED = b"```yaml\nkind: Node\n```\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"See:\n" + FENCED, b"kind: Node\n"),
        (b"kind: Node\n```\nkubectl get nodes\n```\n", None),
        (b"kind: Pod\n" + FENCED, None),
        (b"kind: Node\n", None),
    ],
)
def test_yaml_between_fences_is_taken_alone_only_if_none_is_outside(text: bytes, left: bytes | None) -> None:
    assert without_fences(text) == (text if left is None else left)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["1,a", f"2,{'x' * 200_000}", "3,c"], ["a", "x" * 200_000, "c"]),  # an object longer than Python's own limit
        (["1,a\u2028b", "2,c\x0cd"], ["a\u2028b", "c\x0cd"]),  # no ends of lines in a table
        (["1,a", "", "2,b"], ["a", "b"]),
        (["1,a", "2"], ["a", None]),
    ],
)
def test_each_row_of_a_table_with_commas_is_read_whatever_the_others_have(
    rows: list[str], found: list[str | None]
) -> None:
    table = "\n".join(["_time,_raw", *rows]).encode()
    assert [each.get("_raw") for each in json.loads(rows_as_json(table))] == found


@pytest.mark.parametrize(
    "seen",
    ["2026-03-18T04:11:31.1234567Z", "2026-03-18T05:11:31+01:00", "3/18/2026, 4:11:31.000 AM", "2026-03-18 04:11:31"],
)
def test_a_row_of_azure_has_its_time_in_each_form(seen: str) -> None:
    row = {
        "ObjectKind": "Pod",
        "Name": "a",
        "Namespace": "b",
        "Reason": "Evicted",
        "KubeEventType": "W",
        "LastSeen": seen,
    }
    event = event_of_row(row, PrintTime(datetime(2026, 3, 19, tzinfo=UTC), ""))
    assert event is not None
    assert event["lastTimestamp"] == "2026-03-18T04:11:31Z"


@pytest.mark.parametrize(
    "files",
    [
        ["apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "kind: Pod\napiVersion: v1\nmetadata: {name: b}\n"],
        ["kind: Pod\nmetadata: {name: a}\napiVersion: v1\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n"],
    ],
)
def test_files_behind_each_other_may_begin_with_different_fields(files: list[str]) -> None:
    found = [part for part in yaml_parts("".join(files).encode()) if isinstance(part, Found)]
    assert [(each.kind, json.loads(each.raw)["metadata"]["name"]) for each in found] == [("Pod", "a"), ("Pod", "b")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_journal_in_its_longest_form_is_lines_with_their_time_and_machine(end: bytes) -> None:
    record = (
        b"Sun 2026-03-01 09:10:00.123456 UTC [s=1;i=2;b=3;m=4;t=5;x=6]\n    _HOSTNAME=w-1\n    PRIORITY=6\n"
        b"    SYSLOG_IDENTIFIER=kubelet\n    MESSAGE=I0301 09:10:00.123456       1 a.go:1] x=y\n"
    )
    text = b"-- Logs begin at Sun 2026-03-01 --\n" + record + record
    text = text.removesuffix(b"\n") if not end else text.replace(b"\n", end)
    line = b"Sun 2026-03-01 09:10:00.123456 UTC w-1 kubelet: I0301 09:10:00.123456       1 a.go:1] x=y\n"
    assert as_utf8(text) == b"-- Logs begin at Sun 2026-03-01 --\n" + line + line


def test_no_further_line_of_a_message_is_a_field_of_the_journal() -> None:
    """Anyone whose output is in the journal can write lines that look so."""
    record = (
        b"Sun 2026-03-01 09:10:00.123456 UTC [s=1;i=2;b=3;m=4;t=5;x=6]\n    _HOSTNAME=w-1\n"
        b"    MESSAGE=first\n            _HOSTNAME=w-2\n            second\n            MESSAGE=forged\n"
        b"    SYSLOG_IDENTIFIER=app\n"
    )
    line = b"Sun 2026-03-01 09:10:00.123456 UTC w-1 app: first\n"
    assert as_utf8(record + record) == line + line


LITERAL = b"data:\n  kubelet: |\n\n    apiVersion: v1\n    kind: x\n"


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        (b'We see:\n\n    {\n      "a": 1\n    }\n\nWhy?\n', b'We see:\n\n{\n  "a": 1\n}\n\nWhy?\n'),
        (b"\tNAME   STATUS\r\n\tn1     Ready\r\n", b"NAME   STATUS\r\nn1     Ready\r\n"),
        (LITERAL, LITERAL),
        ("pod=\u201cshop/web-0\u201d can\u2019t".encode(), b'pod="shop/web-0" can\'t'),
        ('{"a": "\u201cb\u201d"}'.encode(), '{"a": "\u201cb\u201d"}'.encode()),
    ],
    ids=["code", "a table", "YAML in YAML", "quotes", "quotes in JSON"],
)
def test_code_of_a_page_and_quotes_of_a_letter_are_as_they_were_typed(given: bytes, typed: bytes) -> None:
    assert as_utf8(given) == typed
