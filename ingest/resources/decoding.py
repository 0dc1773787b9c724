"""Decodes the kept fields of an object once, without credentials."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from common.scrub import is_suspicious, scrub
from ingest.resources.resource import Metadata, Object

T = TypeVar("T")
_encode: Final = msgspec.json.Encoder().encode


def kept(of: type[T], allow: Callable[[T], T] = lambda thing: thing) -> Callable[[bytes | msgspec.Raw], T]:
    """Decodes JSON to a type of `ingest.model`, which drops all other fields; no text in it has a credential, and
    messages have what `allow` leaves of them.

    Raises UNDECODABLE.
    """
    decode = msgspec.json.Decoder(of).decode

    def decoded(data: bytes | msgspec.Raw) -> T:
        thing = allow(decode(data))
        # almost none has one, and what is kept is little: looking through its JSON takes a tenth of visiting it
        return scrubbed(thing) if is_suspicious(_encode(thing).decode()) else thing

    return decoded


def scrubbed(value: Any) -> Any:
    """A decoded object whose texts are without credentials."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        return type(value)(scrubbed(each) for each in value)
    if isinstance(value, dict):
        return {name: scrubbed(each) for name, each in value.items()}
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: scrubbed(getattr(value, name)) for name in value.__struct_fields__})
    return value


def names_of(annotations: type[msgspec.Struct]) -> Callable[[str], bool]:
    """Return a function that tells whether a name is an encoded field."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(annotations)).__contains__


def text(data: bytes | msgspec.Raw) -> str:
    """An object as the very text that it was received as. Raises UnicodeDecodeError."""
    return bytes(data).decode()


def identify(thing: Object) -> Metadata:
    """Return the metadata of an object."""
    metadata = thing.metadata
    return Metadata(metadata.name, getattr(metadata, "namespace", ""), metadata.uid, metadata.resource_version)


def without_version(thing: Object) -> bytes:
    """All that is kept of an object but its version: as JSON, half as large in memory as the object itself."""
    metadata: Any = thing.metadata
    return _encode(replace(thing, metadata=replace(metadata, resource_version="")))  # type: ignore[type-var]
