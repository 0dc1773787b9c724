"""Defines a fuzz target and its first inputs: recorded captures, scenarios, and the unit tests."""

import ast
import gzip
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final, NamedTuple

from paths import CAPTURES, TESTS

LONGEST_SEED_BYTES: Final = 16 * 1024


class Target(NamedTuple):
    """A property that must hold for every input."""

    name: str
    check: Callable[[bytes], None]
    """Returns where the property holds; whatever it raises is a finding."""
    seeds: Callable[[], Iterable[bytes]]


@cache
def capture_lines() -> tuple[bytes, ...]:
    """Lines of recorded captures and of every scenario, of each file and resource the shortest."""
    shortest: dict[tuple[str, bytes], bytes] = {}
    for path in CAPTURES:
        data = path.read_bytes()
        for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
            kind = (path.parent.name, line.partition(b'"resource":')[2].lstrip()[:12])
            if len(line) < min(len(shortest.get(kind, line + b" ")), LONGEST_SEED_BYTES):
                shortest[kind] = line
    return tuple(shortest.values())


def objects() -> Iterable[bytes]:
    """The values of `object` in those lines."""
    return [line.partition(b'"object":')[2].strip().removesuffix(b"}") for line in capture_lines()]


@cache
def texts_of(*unit_tests: str) -> tuple[bytes, ...]:
    """Every text that stands in the source of these unit tests."""
    nodes = [node for name in unit_tests for node in ast.walk(ast.parse((TESTS / f"unit/{name}.py").read_text()))]
    found = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return tuple(text.encode(errors="replace") for text in sorted(found))


def as_text(data: bytes) -> str:
    """A text as one that was decoded from JSON: no half of a surrogate pair."""
    return data.decode(errors="replace")
