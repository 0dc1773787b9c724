"""Objects of which half is missing or of another type stop nothing: each field of each resource alone, and some at
once; through decoding, folding, alerts, tables and the encoding of states.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadRecord
from fuzz.decoding import FOLD, STATES, lands
from fuzz.target import capture_lines
from ingest.files.envelope import decode_line
from ingest.model.observation import UNDECODABLE, Observation, Observed, Position
from ingest.model.records import Record
from ingest.model.topics import decode_record, encode_record
from ingest.normalize.normalize import normalize
from profiles import EXAMPLES
from streams.fold.fold import LogState, Rejected
from streams.fold.reducer import REDUCER_FAILED, Withdrawal

GONE: Final = object()
OTHERS: Final[tuple[Any, ...]] = (GONE, None, True, -1, 1.5, "", "x", [], [None], [{}], {}, {"x": None}, "9" * 400)
"""Replacements for a field: nothing, or a value of another type."""
MOST: Final = 600
"""Changes of one object; of a larger one each field is missing, and of one other type in turn."""
Path = tuple[Any, ...]


@cache
def observed() -> dict[str, list[Observation]]:
    """Observations of each resource with the most fields, from recorded captures and scenarios."""
    found: dict[str, list[Observation]] = {}
    for line in capture_lines():
        entry = decode_line(line, Position("x", "1"))
        if isinstance(entry, Observed) and entry.observation.type != "ERROR":
            found.setdefault(entry.observation.resource, []).append(entry.observation)
    return {name: sorted(each, key=lambda one: -len(one.object))[:8] for name, each in found.items()}


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """To every field; of a list and of a map with many keys, to the first."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


def without(document: Any, path: Path, other: Any) -> Any:
    """A copy with something else at a path, or nothing; as it is where the path leads nowhere any more."""
    document = copy.deepcopy(document)
    parent = document
    try:
        for key in path[:-1]:
            parent = parent[key]
        if other is GONE:
            del parent[path[-1]]
        else:
            parent[path[-1]] = other
    except (LookupError, TypeError):
        pass
    return document


def stops_nothing(observations: Sequence[Observation]) -> None:
    """An unreadable object is a dead letter, and a readable one fails in no reducer, alert, table or state."""
    logs: dict[tuple[str, str], LogState] = {}
    for each in observations:
        try:
            records = normalize(each)
        except BadRecord:
            continue
        for record in records:
            fold(record, logs)
    for log in logs.values():
        assert STATES.decode(STATES.encode(log)).states.keys() == log.states.keys()


def fold(record: Record, logs: dict[tuple[str, str], LogState]) -> None:
    try:
        decoded = decode_record(encode_record(record))
    except UNDECODABLE:
        return  # it is a dead letter too
    outputs = FOLD.step(logs.setdefault((record.cluster, record.node), LogState()), decoded)
    for each in outputs:
        assert not isinstance(each, Rejected) or each.error.error_type != REDUCER_FAILED, (record, each)
        if isinstance(each, Record):
            fold(each, logs)
    lands(decoded, [each for each in outputs if not isinstance(each, Rejected | Withdrawal)])


def changed(observation: Observation, *changes: tuple[Path, Any]) -> Observation:
    document = msgspec.json.decode(observation.object)
    for path, other in changes:
        document = without(document, path, other)
    return msgspec.structs.replace(observation, object=msgspec.Raw(msgspec.json.encode(document)))


@pytest.mark.parametrize("resource", sorted(observed()))
def test_each_field_of_a_resource_may_be_missing_or_of_another_type(resource: str) -> None:
    whole = observed()[resource][0]
    every = list(paths(msgspec.json.decode(whole.object)))
    for number, path in enumerate(every):
        others = OTHERS if len(every) * len(OTHERS) < MOST else (GONE, OTHERS[1 + number % (len(OTHERS) - 1)])
        stops_nothing([whole, *(changed(whole, (path, other)) for other in others), whole])


@given(st.data())
@settings(max_examples=EXAMPLES)
def test_any_fields_of_any_objects_may_be_missing_or_of_another_type(data: st.DataObject) -> None:
    given: list[Observation] = []
    for resource in data.draw(st.lists(st.sampled_from(sorted(observed())), min_size=1, max_size=6)):
        whole = data.draw(st.sampled_from(observed()[resource]))
        every = list(paths(msgspec.json.decode(whole.object)))
        if every:
            change = st.tuples(st.sampled_from(every), st.sampled_from(OTHERS))
            given += [whole, changed(whole, *data.draw(st.lists(change, max_size=5)))]
    stops_nothing(given)
