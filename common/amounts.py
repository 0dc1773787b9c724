"""Amounts in words, to three digits."""

from typing import Final

BYTES: Final = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_COUNTS: Final = (("G", 10**9), ("M", 10**6), ("k", 10**3))
_WHOLE: Final = 10_000
"""Counts below this are written in full."""
HIGH: Final = 100
MIDDLE: Final = 10
_MOST_DIGITS: Final = 4


def size(value: float) -> str:
    """Format bytes, such as 14.4 GiB."""
    return _scale(value, BYTES, " B")


def two_sizes(one: float, other: float) -> tuple[str, str]:
    """Format two amounts of bytes with enough digits to distinguish them, such as 254.00 GiB and 253.51 GiB."""
    pairs = ((_scale(one, BYTES, " B", more), _scale(other, BYTES, " B", more)) for more in range(_MOST_DIGITS))
    return next((pair for pair in pairs if one == other or pair[0] != pair[1]), (f"{one:,.0f} B", f"{other:,.0f} B"))


def count(value: float) -> str:
    """Format a number, such as 12.6 M."""
    return _scale(value, _COUNTS if abs(value) >= _WHOLE else (), "")


def _scale(value: float, scales: tuple[tuple[str, int], ...], base: str, more: int = 0) -> str:
    for name, scale in scales:
        if abs(value) >= scale:
            scaled = value / scale
            digits = 0 if abs(scaled) >= HIGH else 1 if abs(scaled) >= MIDDLE else 2
            return f"{scaled:,.{digits + more}f} {name}"
    return f"{value:z,.0f}{base}"


def counted(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun, such as 1 pod or 2 pods."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def how_often(times: int) -> str:
    """Format a number of times: once, 2 times."""
    return "once" if times == 1 else f"{times:,} times"


def cpus(millicores: float) -> str:
    """Format an amount of CPU, such as 1 CPU or 1.5 CPUs."""
    shown = f"{millicores / 1000:.4g}"
    return f"{shown} {'CPU' if shown == '1' else 'CPUs'}"
