"""Lines of kubelets in the records of stores of logs, and hostile records."""

import json
from typing import Any

import pytest

from ingest.files.documents import FIELDS, Found
from ingest.files.recognize import recognize
from ingest.files.texts.klog import parse
from ingest.files.texts.shipped import lines_in

EVICTED = 'I0318 04:11:31.322222    1873 eviction_manager.go:616] "Eviction manager: pod is evicted successfully"'


def read(record: dict[str, Any] | bytes) -> list[tuple[str, str]]:
    """The time and the host of each line; no time where the zone is not known."""
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    lines = [parse(each.encode()) for each in lines_in(raw)]
    return [(f"{each.at:%d %H:%M}" if each.at else "", each.host) for each in lines if each is not None]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e300", "9" * 400])
def test_a_number_of_any_size_is_no_time_and_ends(number: str) -> None:
    assert read(b'{"timestamp": %b, "message": %b}' % (number.encode(), json.dumps(EVICTED).encode())) == [("", "")]


@pytest.mark.parametrize("depth", [10, 300, 600, 900])
def test_what_an_exporter_took_apart_may_be_nested_to_any_depth(depth: int) -> None:
    raw = b'{"reason":"x","involved_object":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)
    assert recognize(Found("1", raw, FIELDS.decode(raw), "", "", None)) is not None


@pytest.mark.parametrize(
    ("message", "is_read"),
    [([EVICTED, "again"], True), (list(EVICTED.encode()), True), ([None], False), ([300], False)],
)
def test_a_journal_with_several_messages_or_bytes_is_read(message: list[Any], is_read: bool) -> None:
    record = {"__REALTIME_TIMESTAMP": "1773807091300000", "SYSLOG_IDENTIFIER": "kubelet", "MESSAGE": message}
    assert (parse(json.dumps(record).encode()) is not None) is is_read
