"""Linux CPU lists, the text form of a CPU set: `0-3,8,10-11` (rules: cpu-lists)."""

import re
from collections.abc import Iterable
from typing import Final

from common.errors import BadValue

_PART: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_MOST_CPUS: Final = 65_536
"""Eight times the maximum of Linux; a list with more CPUs is hostile or broken."""
_SHOWN: Final = 64


class InvalidCpuSet(BadValue):
    """A text that is not a CPU list; the message names the wrong part."""


def parse_cpuset(text: str) -> frozenset[int]:
    """Return the CPU ids of a list in any order; the empty text, or a lone newline, is the empty set.

    One newline at the end is dropped, as sysfs writes one. Raises InvalidCpuSet, also for more than 65,536 CPUs
    or an id of more than six digits.
    """
    text = text.removesuffix("\n")
    if not text:
        return frozenset()
    cpus: set[int] = set()
    counted = 0
    for part in text.split(","):
        first, last = _bounds(part)
        counted += last - first + 1
        if counted > _MOST_CPUS:
            raise InvalidCpuSet(f"a CPU list names more than {_MOST_CPUS} CPUs")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def format_cpuset(cpus: Iterable[int]) -> str:
    """Return the canonical list: sorted, neighbours merged (`0-1`, never `0,1`), the empty set as the empty text."""
    ranges: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], cpu)
        else:
            ranges.append((cpu, cpu))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _bounds(part: str) -> tuple[int, int]:
    match = _PART.fullmatch(part)
    if match is None:
        raise InvalidCpuSet(f"{part[:_SHOWN]!r} is neither a CPU nor a range of CPUs in a CPU list")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if last < first:
        raise InvalidCpuSet(f"{part!r} is a range of CPUs that ends before it begins")
    return first, last
