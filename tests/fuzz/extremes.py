"""Extremes in every field of every kind of record, in the middle of what really happened: nothing but what decoding
refuses may keep a reducer, an alert, a state's encoding or a table from going on.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from fuzz.decoding import FOLD, STATES, lands
from fuzz.target import Target, capture_lines
from ingest.files.envelope import decode_line
from ingest.model.observation import UNDECODABLE, Observed, Position
from ingest.model.records import AnyRecord, PublishedRecord, Record
from ingest.model.topics import decode_record, encode_record
from ingest.normalize.normalize import normalize
from streams.fold.fold import LogState, Rejected
from streams.fold.reducer import REDUCER_FAILED, Withdrawal

SEEDS: Final = 40
AROUND: Final = 24
"""Records that are folded with those that are changed."""
CHANGES: Final = 6
_BYTES: Final = 5
"""Positions of a change: the record, the field (two) and the value (two)."""
_EXTREMES: Final[dict[Any, tuple[Any, ...]]] = {
    bool: (False, True),
    int: (0, 1, -1, 2, 100, 2**31 - 1, -(2**31), 2**53, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**63) - 1),
    float: (0.0, -0.0, -1.0, 5e-324, 1e-9, 1.7e308, -1.7e308, 1e18, 100.0),
    str: (
        *("", "x", "0", "-1", "9223372036854775807", "-9223372036854775808", "1e308", "8Ei", "1n", "100%", "-5%"),
        *("99999h", "0-65535", "n" * 300, "\N{NULL}", "\N{RIGHT-TO-LEFT OVERRIDE}", "True", "False", "DELETED"),
    ),
    datetime: (
        *("0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "1900-01-01T00:00:00+23:59", "1970-01-01T00:00:00Z"),
        *("2014-01-01T00:00:00Z", "2025-11-22T00:00:00Z", "2026-11-21T04:17:07", "2026-11-21T04:17:07.123456Z"),
        *("2026-11-22T00:00:00Z", "2027-01-01T00:00:00Z", "2199-12-31T23:59:59Z", "2262-04-12T00:00:00Z"),
        *("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"),
    ),
}


_decode_published: Final[Callable[[bytes], PublishedRecord]] = msgspec.json.Decoder(PublishedRecord).decode


class _Leaf(NamedTuple):
    """A field by the keys and indexes that lead to it, and what it can be."""

    path: tuple[Any, ...]
    values: tuple[Any, ...]


@cache
def _published() -> tuple[bytes, ...]:
    """Records of recorded captures and scenarios, a few of each kind."""
    found: list[bytes] = []
    for line in capture_lines():
        entry = decode_line(line, Position("x", "1"))
        if isinstance(entry, Observed):
            try:
                found += map(encode_record, normalize(entry.observation))
            except ValueError:
                continue
    return tuple(found)


def check_extremes(data: bytes) -> None:
    """The records are folded, encoded and landed, whatever the decoder lets through."""
    published = _published()
    begin = int.from_bytes(data[:2], "big") % len(published)
    values = [published[(begin + at) % len(published)] for at in range(AROUND // 2)]
    values += [_a_minute_later(each) for each in values]
    for at in range(2, min(len(data), 2 + CHANGES * _BYTES) - _BYTES + 1, _BYTES):
        which, field, value = data[at] % AROUND, data[at + 1 : at + 3], data[at + 3 : at + 5]
        values[which] = _changed(values[which], int.from_bytes(field, "big"), int.from_bytes(value, "big"))
    logs: dict[tuple[str, str], LogState] = {}
    for each in values:
        try:
            record = decode_record(each)
        except UNDECODABLE:
            continue  # it is a dead letter
        _fold(record, logs)
    for log in logs.values():
        assert STATES.decode(STATES.encode(log)).states.keys() == log.states.keys()


def _fold(record: AnyRecord, logs: dict[tuple[str, str], LogState]) -> None:
    outputs = FOLD.step(logs.setdefault((record.cluster, record.node), LogState()), record)
    for each in outputs:
        assert not isinstance(each, Rejected) or each.error.error_type != REDUCER_FAILED, (record, each)
        if isinstance(each, Record):
            _fold(decode_record(encode_record(each)), logs)
    lands(record, [each for each in outputs if not isinstance(each, Rejected | Withdrawal)])


@cache
def _a_minute_later(value: bytes) -> bytes:
    record = _decode_published(value)
    return encode_record(msgspec.structs.replace(record, ts=record.ts + timedelta(minutes=1)))


def _changed(value: bytes, field: int, extreme: int) -> bytes:
    """Return the JSON with another value in one field, or in all fields of its type."""
    document = msgspec.json.decode(value)
    try:
        record = decode_record(value)
    except UNDECODABLE:
        return value
    leaves = list(_leaves(type(record), document, ()))
    every, field = divmod(field, len(leaves))
    chosen = leaves[field]
    for leaf in [each for each in leaves if each.values == chosen.values] if every % 2 else [chosen]:
        with suppress(LookupError, TypeError):  # what it lies in was taken away
            _put(document, leaf.path, chosen.values[extreme % len(chosen.values)])
    return msgspec.json.encode(document)


def _leaves(hint: Any, value: Any, path: tuple[Any, ...]) -> Iterator[_Leaf]:
    """Return values of the type of a value, or of a possible one if it is None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _EXTREMES:
        yield _Leaf(path, _EXTREMES[hint])
    elif origin in {Union, UnionType}:
        for each in arguments:
            yield from _leaves(each, value, path)
    elif hint is NoneType:
        yield _Leaf(path, (None,))
    else:
        if origin in {list, tuple}:
            yield _Leaf(path, ([],))
        for key, inner, part in _parts(hint, value):
            yield from _leaves(inner, part, (*path, key))


def _parts(hint: Any, value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Keys or indexes, what is there by its type, and what is there."""
    arguments = get_args(hint)
    if get_origin(hint) is dict:
        for key in sorted(value or {})[:2] or (["1"] if arguments[0] is int else ["memory.available"]):
            yield key, arguments[1], (value or {}).get(key)
    elif get_origin(hint) in {list, tuple}:
        for index in range(min(2, len(value or ()))):
            yield index, arguments[0], value[index]
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints, is_list = get_type_hints(hint), hint.__struct_config__.array_like
        for index, field in enumerate(msgspec.structs.fields(hint)):
            if not is_list:
                yield field.encode_name, hints[field.name], (value or {}).get(field.encode_name)
            elif index < len(value or ()):
                yield index, hints[field.name], value[index]


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        if isinstance(document, dict) and document.get(key) is None:
            document[key] = {}
        document = document[key]
    document[path[-1]] = value


def _choices() -> Iterable[bytes]:
    chance = random.Random("extremes")  # noqa: S311  # no secret; the same inputs each time
    return [chance.randbytes(2 + CHANGES * _BYTES) for _ in range(SEEDS)]


TARGETS: Final = (Target("extremes", check_extremes, _choices),)
