"""Exact Kubernetes resource quantities (rules: quantities, pod-requests).

A quantity is a multiple of 10^-9, so it is kept as a whole number of nano-units. A finer text is rounded up, away
from zero, as in the API server.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from common.errors import BadValue
from ingest.model.objects.base import Quantity

Format: TypeAlias = Literal["BinarySI", "DecimalSI"]

INT64_MAX: Final = 2**63 - 1
NANO: Final = 10**9
_MILLI: Final = 10**6
"""Nano-units in a thousandth."""

_LONGEST_TEXT: Final = 128
_LARGEST_EXPONENT: Final = 128
_LARGEST_INT_BITS: Final = 420
"""An integer of more bits has more digits than the longest text."""
_SHOWN: Final = 64

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE](?P<exponent>[+-]?[0-9]+))"
)
_BINARY_POWERS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_POWERS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LARGEST_POWER: Final = max(_DECIMAL_POWERS.values())
_BINARY_SUFFIXES: Final = ("", *_BINARY_POWERS)
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL_POWERS.items()}


class InvalidQuantity(BadValue):
    """A text that is not a quantity; the message names it, shortened and escaped."""

    def __init__(self, text: str) -> None:
        shown = repr(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
        super().__init__(f"{shown} is not a Kubernetes quantity (such as 100m, 2Gi, 1.5 or 1e3)")


def nano_units(text: Quantity) -> int:
    """Return a quantity in 10^-9 units, whose sums and comparisons are exact. Raises InvalidQuantity."""
    return _parse(_text(text))


def base_units(text: Quantity) -> int:
    """Return a quantity in its base unit (bytes, inodes, pods), rounded up, away from zero, within 64 bits."""
    return _round_up(nano_units(text), NANO)


def millicores(text: Quantity) -> int:
    """Return a cpu quantity in millicores, rounded up, away from zero, within 64 bits."""
    return _round_up(nano_units(text), _MILLI)


def in_base_units(resources: Mapping[str, Quantity] | None) -> dict[str, int]:
    """Return a resource list in base units, cpu in millicores, sorted by name. Raises InvalidQuantity."""
    return nano_in_base_units({name: nano_units(text) for name, text in sorted((resources or {}).items())})


def nano_to_base_units(nanos: int) -> int:
    """Round nano-units up, away from zero, to base units, within 64 bits."""
    return _round_up(nanos, NANO)


def nano_in_base_units(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return nano-units by resource in base units, cpu in millicores, sorted by name."""
    return {name: _round_up(nanos, _MILLI if name == "cpu" else NANO) for name, nanos in sorted(amounts.items())}


def format_quantity(value: Fraction | int, format_: Format) -> str:
    """Print a value like Kubernetes (rules: quantities).

    In BinarySI only a value of at least 1024 gets a binary suffix, and only the largest one that loses nothing:
    17348Ki, but 2722654248. A value finer than 10^-9 is rounded up.
    """
    exact = Fraction(value)
    return _print(_ceil_away(exact.numerator * NANO, exact.denominator), format_)


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, str):
        return quantity
    if isinstance(quantity, int) and quantity.bit_length() > _LARGEST_INT_BITS:
        raise InvalidQuantity("an integer of hundreds of digits")
    return str(quantity)


@lru_cache(maxsize=8192)
def _parse(text: str) -> int:
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise InvalidQuantity(text)
    sign, whole, part, suffix, exponent = match.groups()
    part = part or ""
    if not whole + part:
        raise InvalidQuantity(text)
    binary_power = _BINARY_POWERS.get(suffix, 0)
    decimal_power = int(exponent) if exponent else _DECIMAL_POWERS.get(suffix, 0)
    if abs(decimal_power) > _LARGEST_EXPONENT:
        raise InvalidQuantity(text)
    nanos = _scale(int(whole + part) << binary_power, decimal_power - len(part) + 9)
    if binary_power:
        # The API server caps what was written in binary; decimal texts stay as large as they are.
        nanos = min(nanos, INT64_MAX * NANO)
    return -nanos if sign == "-" else nanos


def _scale(number: int, decimal_power: int) -> int:
    if decimal_power >= 0:
        return number * int(10**decimal_power)
    return _ceil_away(number, int(10**-decimal_power))


def _ceil_away(numerator: int, denominator: int) -> int:
    ceiling = -(-abs(numerator) // denominator)
    return ceiling if numerator >= 0 else -ceiling


def _round_up(numerator: int, denominator: int) -> int:
    return max(-INT64_MAX - 1, min(INT64_MAX, _ceil_away(numerator, denominator)))


def _print(nanos: int, format_: Format) -> str:
    if format_ == "BinarySI" and abs(nanos) >= 1024 * NANO and nanos % NANO == 0:
        return _print_binary(nanos // NANO)
    number, power = _without_thousands(nanos)
    return f"{number}{_DECIMAL_SUFFIXES[power]}"


def _print_binary(number: int) -> str:
    thousands = 0
    while number % 1024 == 0 and thousands < len(_BINARY_SUFFIXES) - 1:
        number //= 1024
        thousands += 1
    return f"{number}{_BINARY_SUFFIXES[thousands]}"


def _without_thousands(nanos: int) -> tuple[int, int]:
    if nanos == 0:
        return 0, 0
    number, power = nanos, -9
    while number % 1000 == 0 and power < _LARGEST_POWER:
        number //= 1000
        power += 3
    return number, power
