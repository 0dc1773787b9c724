"""Integers of the same width as in Kubernetes. A wider one is invalid, and its object becomes a dead letter.

Computed numbers can be wider; `storable` limits them to the range of states and tables.
"""

from typing import Annotated, Any, Final, TypeAlias

import msgspec

INT64_MAX: Final = (1 << 63) - 1
UINT64_MAX: Final = (1 << 64) - 1
_INT64_MIN: Final = -(1 << 63)
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
ExitCode: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 32) - 1)]
"""The API has 32 bits with a sign; Windows and old runtimes print the same bits without it."""
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=_INT64_MIN, le=INT64_MAX)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
"""Range of a column of 64 bits; a kubelet's number beyond it makes no sense."""


def int64_of(text: str) -> int:
    """Parse a number; raises ValueError for any other text, and beyond 64 bits."""
    number = int(text)
    if number != within_int64(number):
        raise ValueError(f"{text:.40} has more than 64 bits")
    return number


def within_int64(value: int) -> int:
    """Return the number, or the nearest one of 64 bits."""
    return min(max(value, _INT64_MIN), INT64_MAX)


def storable(value: Any) -> Any:
    """Replace each number beyond 64 bits with the nearest that fits, and a lone surrogate with `?`."""
    found: Any
    match value:
        case bool():
            found = value
        case int():
            found = within_int64(value)
        case str():
            found = value.encode(errors="replace").decode()
        case msgspec.Struct():
            found = type(value)(**{name: storable(getattr(value, name)) for name in value.__struct_fields__})
        case dict():
            found = {storable(name): storable(each) for name, each in value.items()}
        case tuple() if hasattr(value, "_fields"):
            found = type(value)(*map(storable, value))
        case list() | tuple() | set() | frozenset():
            found = type(value)(map(storable, value))
        case _:
            found = value
    return found
