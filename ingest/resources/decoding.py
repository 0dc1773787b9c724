"""Decodes the kept fields of an object, without credentials."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from common.scrub import is_suspicious, scrub
from ingest.resources.resource import Metadata, Object

T = TypeVar("T")
_encode: Final = msgspec.json.Encoder().encode


def kept(kind: type[T], allow: Callable[[T], T] = lambda thing: thing) -> Callable[[bytes | msgspec.Raw], T]:
    """Decode JSON to a type of `ingest.model`, which drops all other fields.

    No text in it contains a credential, and messages keep only what `allow` returns. Raises UNDECODABLE.
    """
    decode = msgspec.json.Decoder(kind).decode

    def decoded(data: bytes | msgspec.Raw) -> T:
        thing = allow(decode(data))
        # credentials are rare, and searching the kept JSON takes a tenth of the time of visiting it
        return scrub_value(thing) if is_suspicious(_encode(thing).decode()) else thing

    return decoded


def scrub_value(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        return type(value)(scrub_value(each) for each in value)
    if isinstance(value, dict):
        return {name: scrub_value(each) for name, each in value.items()}
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: scrub_value(getattr(value, name)) for name in value.__struct_fields__})
    return value


def names_of(annotations: type[msgspec.Struct]) -> Callable[[str], bool]:
    """Return a function that tells whether a name is an encoded field."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(annotations)).__contains__


def text(data: bytes | msgspec.Raw) -> str:
    """Return an object as the exact text received. Raises UnicodeDecodeError."""
    return bytes(data).decode()


def identify(thing: Object) -> Metadata:
    metadata = thing.metadata
    return Metadata(metadata.name, getattr(metadata, "namespace", ""), metadata.uid, metadata.resource_version)


def without_version(thing: Object) -> bytes:
    """Encode an object's kept fields except its version as JSON, half as large in memory as the object."""
    metadata: Any = thing.metadata
    return _encode(replace(thing, metadata=replace(metadata, resource_version="")))  # type: ignore[type-var]


Reads: TypeAlias = Callable[[Any], Any]

_IDENTIFYING: Final = frozenset({"apiVersion", "kind"})


def only_read(kind: type[Any]) -> Reads:
    """Return a function that drops the fields that the type lacks, so that an object decodes to the same as before.

    A value of another kind than the type's is kept, so that decoding still fails.
    """
    cut = _cut(inspect.type_info(kind))

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        what = {name: each for name, each in value.items() if name in _IDENTIFYING and isinstance(each, str)}
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
def _fields(struct: type[msgspec.Struct]) -> Reads:
    cuts: dict[str, Reads] = {}

    def read(value: Any) -> Any:
        if not cuts:  # computed on first use, because a type may contain fields of its own type
            info = cast("inspect.StructType", inspect.type_info(struct))
            cuts.update((field.encode_name, _cut(field.type)) for field in info.fields)
        if not isinstance(value, dict):
            return value
        return {name: cuts[name](each) for name, each in value.items() if name in cuts}

    return read
