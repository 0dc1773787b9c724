"""Lines of kubelets in the records of stores of logs, and hostile records."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingest.files.documents import FIELDS, Found
from ingest.files.lines import SourceError
from ingest.files.recognize import recognize
from ingest.files.sources import read_sources
from ingest.files.texts.klog import parse
from ingest.files.texts.shipped import lines_in
from ingest.model.objects.event import Event
from ingest.model.observation import Observed

EVICTED = 'I0318 04:11:31.322222    1873 eviction_manager.go:616] "Eviction manager: pod is evicted successfully"'


def read(record: dict[str, Any] | bytes) -> list[tuple[str, str]]:
    """The time and the host of each line; no time where the zone is not known."""
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    lines = [parse(each.encode()) for each in lines_in(raw)]
    return [(f"{each.at:%d %H:%M}" if each.at else "", each.host) for each in lines if each is not None]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e300", "9" * 400])
def test_a_number_of_any_size_is_no_time_and_ends(number: str) -> None:
    assert read(b'{"timestamp": %b, "message": %b}' % (number.encode(), json.dumps(EVICTED).encode())) == [("", "")]


KLOG_JSON = {
    "ts": 1773807091322.222,
    "caller": "eviction/eviction_manager.go:616",
    "msg": "Eviction manager: pod is evicted successfully",
    "pod": {"namespace": "billing", "name": "a"},
}


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"timestamp": 1773807091300, "host": "w-3", "message": EVICTED}, [("18 04:11", "w-3")]),
        ({"node": "w-3", "message": EVICTED}, [("", "w-3")]),
        ({"all": [{"node": each, "log": EVICTED} for each in ("w-3", "w-4")]}, [("", "w-3"), ("", "w-4")]),
        ({"timestamp": 1773807999000, "host": "w-3", "message": json.dumps(KLOG_JSON)}, [("18 04:11", "w-3")]),
        ({"host": "w-3", "message": json.dumps(KLOG_JSON)}, [("18 04:11", "w-3")]),
        # a time without a zone is of the node's zone, which nobody knows, except where the store has all in UTC
        ({"time": "2026-03-18 05:11:31", "log": EVICTED}, [("", "")]),
        ({"@timestamp": "2026-03-18 04:11:31.300", "@message": EVICTED}, [("18 04:11", "")]),
        (
            {
                "columns": [{"name": "TimeGenerated"}, {"name": "Computer"}, {"name": "SyslogMessage"}],
                "rows": [["2026-03-18T04:11:31.1234567Z", "w-3", EVICTED], ["2026-03-18T04:12:31Z", "w-4", EVICTED]],
            },
            [("18 04:11", "w-3"), ("18 04:12", "w-4")],
        ),
        ({"columns": [{"name": []}, 1], "rows": [1, [[], {}]], "a": EVICTED}, []),
        ({"source": "w-3", "log": EVICTED}, [("", "w-3")]),
        ({"source": "stdout", "log": EVICTED}, [("", "")]),
        ({"source": "x", "kubernetes": {"host": "w-3"}, "log": EVICTED}, [("", "w-3")]),
        ({"output": f"{json.dumps(KLOG_JSON)}\n{json.dumps(KLOG_JSON)}"}, [("18 04:11", "")] * 2),
        ({"timestamp": 1773893491300, "text": f"see:\n{json.dumps({'log': EVICTED})}"}, [("", "")]),
    ],
)
def test_a_line_has_the_time_and_the_host_of_its_record(record: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert read(record) == found


def test_half_a_letter_in_json_in_json_does_not_end_the_reading(tmp_path: Path) -> None:
    """msgspec refuses it, and Python's json does not."""
    (tmp_path / "a.json").write_text(json.dumps({"host": "w-3", "message": json.dumps({"log": f"{EVICTED} \ud800"})}))
    assert [each.observation.resource for each in _observed(tmp_path)] == ["kubelet_log"]


TABLE = (
    "NAMESPACE   LAST SEEN   TYPE      REASON    OBJECT                     MESSAGE\n"
    "billing     3m          Warning   Evicted   pod/invoices-7d9c5-x2k4p   The node was low on resource: memory.\n"
)


@pytest.mark.parametrize(
    "record", [{"logs": f"{TABLE}Mar 18 04:11:31 w-3 kubelet[1]: {EVICTED}\n"}, {"a": TABLE, "b": f"x\n{EVICTED}\n"}]
)
def test_a_table_beside_lines_of_a_kubelet_is_read_and_each_line_once(tmp_path: Path, record: dict[str, str]) -> None:
    (tmp_path / "invoke.json").write_text(json.dumps(record))
    assert sorted(each.observation.resource for each in _observed(tmp_path)) == ["events", "kubelet_log"]


def test_an_array_in_a_folder_is_read_as_it_is_alone(tmp_path: Path) -> None:
    (tmp_path / "logs.json").write_text(json.dumps([{"host": "w-3", "message": EVICTED}]))
    (tmp_path / "errors.json").write_text('["forbidden"]')
    assert [each.observation.node for each in _observed(tmp_path)] == ["w-3"]


def test_an_object_behind_the_answer_of_a_kubelet_is_not_of_its_node(tmp_path: Path) -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "uid": "1"}, "status": {"phase": "Failed"}}
    (tmp_path / "all.txt").write_text(f'w-1\n{{"kubeletconfig": {{}}}}\n{json.dumps(pod)}\n')
    assert {each.observation.resource: each.observation.node for each in _observed(tmp_path)} == {
        "configz": "w-1",
        "pods": "",
    }


def test_text_in_json_of_which_nothing_is_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "invoke.json").write_text(json.dumps({"logs": "NAME STATUS\nw-3 NotReady\n"}))
    with pytest.raises(SourceError, match="holds nothing that Leadsman reads, only JSON without a kind"):
        _observed(tmp_path / "invoke.json")


def _observed(path: Path) -> list[Observed]:
    return [each for each in read_sources([path]) if isinstance(each, Observed)]


@pytest.mark.parametrize("last", [1773807091000, "1773807091", "2026-03-18T05:11:31+01:00"])
def test_an_event_in_parts_may_have_numbers_for_times_and_text_for_a_count(last: Any) -> None:
    about = {f"involvedObject.{name}": each for name, each in (("kind", "Pod"), ("name", "a"), ("namespace", "b"))}
    raw = json.dumps(about | {"reason": "Evicted", "count": "3", "lastTimestamp": last}).encode()
    thing = recognize(Found("1", raw, FIELDS.decode(raw), "", "", None))
    assert thing is not None
    event = msgspec.json.decode(thing.raw, type=Event)
    assert (event.last_timestamp, event.count) == (datetime(2026, 3, 18, 4, 11, 31, tzinfo=UTC), 3)


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
