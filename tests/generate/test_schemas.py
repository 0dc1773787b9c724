"""The contracts of the topics: written down, and changed only so that both sides of an upgrade read each other.

After a change of a model: `make generate`. After a release: copy the files into `released/`.
"""

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from generate.schemas import FOLDER, MODELS, schema
from ingest.model.records import AnyRecord, SourceErrorRecord
from ingest.model.topics import decode_record, encode_record
from streams.fold.findings import NodeFit
from streams.kafka.messages.findings import columns_of, decode_findings, encode_findings

Json = dict[str, Any]
T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)


ANY_LABELS = {
    "anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "null"}],
    "default": None,
}
"""Labels that were not kept at first: a map of texts is an object whose fields are, and other fields are ignored."""

BOUNDS = ({-(1 << 31), (1 << 31) - 1}, {-(1 << 63), (1 << 63) - 1}, {0, (1 << 63) - 1})
"""The bounds that Kubernetes and the tables have for an integer. Beyond them nothing was ever stored: an integer that
gets them loses no message, and one that loses them or gets narrower ones would.
"""


def unbounded(meaning: Any) -> Any:
    """The same without the bounds that an integer may get."""
    if isinstance(meaning, list):
        return [unbounded(each) for each in meaning]
    if not isinstance(meaning, dict):
        return meaning
    kept = {key: unbounded(value) for key, value in meaning.items()}
    if kept.get("type") == "integer" and {kept.get("minimum"), kept.get("maximum")} in BOUNDS:
        del kept["minimum"], kept["maximum"]
    return kept


def breaks(old: Json, new: Json) -> Iterator[str]:
    """Return the reasons why one cannot read messages of the other."""
    for name, was in old["$defs"].items():
        now = new["$defs"].get(name)
        if name in {"NodeLabels", "PodLabels"} and now is None:
            continue
        if now is None:
            yield f"{name} is gone"
            continue
        if set(was.get("required", ())) != set(now.get("required", ())):
            yield f"{name}: other fields are required"
        for field, meaning in was.get("properties", {}).items():
            if field == "labels" and now["properties"][field] == ANY_LABELS:
                continue
            if field in now["properties"] and meaning not in (found := now["properties"][field], unbounded(found)):
                yield f"{name}.{field} means something else"


def released(name: str) -> Json:
    return dict(json.loads((FOLDER / "released" / f"{name}.json").read_text()))


@pytest.mark.parametrize("name", MODELS)
def test_messages_of_this_version_and_the_released_one_are_read_by_both(name: str) -> None:
    assert not list(breaks(released(name), json.loads(schema(name))))


def test_a_field_that_becomes_required_vanishes_or_changes_its_type_is_a_break() -> None:
    old = released("record")
    added = copy.deepcopy(old)
    added["$defs"]["SourceErrorRecord"]["properties"]["new"] = {"type": "string", "default": ""}
    assert not list(breaks(old, added))
    for change in ("new", "error"):
        required = copy.deepcopy(added)
        fields = required["$defs"]["SourceErrorRecord"]["required"]
        fields.remove(change) if change in fields else fields.append(change)
        assert list(breaks(old, required)) == ["SourceErrorRecord: other fields are required"]
    changed = copy.deepcopy(old)
    changed["$defs"]["SourceErrorRecord"]["properties"]["error"] = {"type": "integer"}
    assert list(breaks(old, changed)) == ["SourceErrorRecord.error means something else"]


def test_flat_rows_may_get_columns_and_tables() -> None:
    now = released("flat")
    before = copy.deepcopy(now)
    del before["$defs"]["Evictions"]["properties"]["message"]
    del before["$defs"]["NodeStalls"], before["$defs"]["Flat"]["properties"]["node_stalls"]
    for messages in (now, before):
        for message in messages["$defs"].values():
            message["required"] = [name for name in message.get("required", ()) if name in message["properties"]]
    assert not list(breaks(before, now))


def test_an_integer_may_get_the_bounds_of_its_type_and_no_others_and_not_lose_them() -> None:
    free: Json = {"$defs": {"Record": {"properties": {"n": {"items": {"type": "integer"}, "type": "array"}}}}}
    whole, narrow = copy.deepcopy(free), copy.deepcopy(free)
    for bounded, most in ((whole, (1 << 63) - 1), (narrow, 100)):
        bounded["$defs"]["Record"]["properties"]["n"]["items"] |= {"minimum": 0, "maximum": most}
    assert not list(breaks(free, whole))
    assert list(breaks(free, narrow)) == list(breaks(whole, free)) == ["Record.n means something else"]


def test_a_record_with_fields_of_a_later_version_is_read() -> None:
    record = SourceErrorRecord(ts=T0, cluster="c", resource="nodes", error="forbidden")
    later = json.loads(encode_record(record)) | {"later": {"deep": [1]}}
    assert decode_record(json.dumps(later).encode()) == record


def test_every_record_type_may_lack_what_has_a_default() -> None:
    known = msgspec.json.schema(AnyRecord)["$defs"]
    assert "node" not in known["SourceErrorRecord"]["required"]
    assert decode_record(
        b'{"kind":"source_error","ts":"2026-07-01T12:00:00Z","cluster":"c","resource":"r","error":""}'
    )


def test_findings_of_an_older_version_lack_columns_and_of_a_later_one_have_more() -> None:
    rows = [NodeFit("c", T0, "n", "cpu", 4, 3, 2, None, 1, pods) for pods in (7, 8)]
    message = json.loads(encode_findings("c", "n", T0, rows))
    for column in ("used", "pods"):
        del message["tables"]["node_fit"][column]
    message["tables"]["node_fit"]["later"] = [1, 2]
    message["tables"]["later"] = {"x": [1]}
    found = columns_of(decode_findings(json.dumps(message).encode()))
    assert set(found) == {"node_fit"}
    assert found["node_fit"]["used"] == [None, None]
    assert found["node_fit"]["pods"] == [0, 0]  # a count that is never unknown: the table takes no null
    assert found["node_fit"]["ts"] == [T0, T0]
    assert "later" not in found["node_fit"]
