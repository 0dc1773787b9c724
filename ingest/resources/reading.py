"""Decoded JSON cut down to the fields that a type reads, as a capture keeps it. Pure."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import inspect

Reads: TypeAlias = Callable[[Any], Any]

_SAYS_WHAT_IT_IS: Final = frozenset({"apiVersion", "kind"})


def only_read(of: type[Any]) -> Reads:
    """Return what drops the fields of an object that the type lacks: it decodes to the same as before.

    A value of another kind than the type's is kept, so that it fails as before.
    """
    cut = _cut(inspect.type_info(of))

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        what = {name: each for name, each in value.items() if name in _SAYS_WHAT_IT_IS and isinstance(each, str)}
        return {**what, **cut(value)}

    return read


def _cut(found: inspect.Type) -> Reads:
    match found:
        case inspect.StructType():
            return _fields(found.cls)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return _each(_cut(found.item_type))
        case inspect.DictType():
            return _values(_cut(found.value_type))
        case inspect.UnionType():
            cuts = [cut for cut in map(_cut, found.types) if cut is not _whole]
            return cuts[0] if len(cuts) == 1 else _whole
        case _:
            return _whole


def _whole(value: Any) -> Any:
    return value


def _each(cut: Reads) -> Reads:
    def read(value: Any) -> Any:
        return [cut(each) for each in value] if isinstance(value, list) else value

    return _whole if cut is _whole else read


def _values(cut: Reads) -> Reads:
    def read(value: Any) -> Any:
        return {name: cut(each) for name, each in value.items()} if isinstance(value, dict) else value

    return _whole if cut is _whole else read


@cache
def _fields(of: type[msgspec.Struct]) -> Reads:
    cuts: dict[str, Reads] = {}

    def read(value: Any) -> Any:
        if not cuts:  # not before it is used, since a type may have fields of its own type
            info = cast("inspect.StructType", inspect.type_info(of))
            cuts.update((field.encode_name, _cut(field.type)) for field in info.fields)
        if not isinstance(value, dict):
            return value
        return {name: cuts[name](each) for name, each in value.items() if name in cuts}

    return read
