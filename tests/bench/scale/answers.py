"""Answers of the stub kubelets: real shapes, rendered once; a request only has bytes patched into them."""

import gzip
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from bench.shapes import Json, load_shapes
from bench.summaries import Summaries, node_name, pod_names

METRICS: Final = Path(__file__).with_name("metrics.txt.gz")
"""All of `/metrics` of a kubelet 1.36.3 soon after its start: 1,807 lines."""
_BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
_TIME: Final = b"2000-01-01T00:00:00Z"
_STEADY_DIGITS: Final = 2
_FACTOR: Final = 40_503_121


class _Number(NamedTuple):
    """A number that changes by a few percent: where its lower digits begin, and how many they are."""

    begin: int
    digits: int


class Answers:
    """Renders the answers of any node; the names and numbers in a summary differ, and keep their length."""

    def __init__(self, pods: int) -> None:
        shapes = load_shapes()
        summary = Summaries(shapes, pods, 0, _BEGIN).at(0, _BEGIN)
        self.compact_bytes = len(msgspec.json.encode(summary))
        """Bytes of a summary without the white space that a kubelet puts into it."""
        self._template = _indented(summary)
        self._numbers = list(_numbers(summary))
        self._names = [self._places(text) for text in _texts(0, pods)]
        self._pods = pods
        self._of_node: dict[int, list[bytes]] = {}
        self._second = ""
        self._now = self._template
        self._configz = _indented(shapes.configz)
        self._metrics = gzip.decompress(METRICS.read_bytes())
        self.metrics_lines = self._metrics.count(b"\n")

    def body(self, path: bytes, node: int, now: datetime) -> bytes:
        """The body for a path, empty if there is nothing."""
        match path:
            case b"/stats/summary":
                return self._summary(node, now)
            case b"/configz":
                return self._configz
            case b"/metrics":
                return self._metrics
            case _:
                return b""

    def _summary(self, node: int, now: datetime) -> bytes:
        second = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        if second != self._second:
            self._second, self._now = second, self._template.replace(_TIME, second.encode())
        if node not in self._of_node:
            self._of_node[node] = list(_texts(node, self._pods))
        body = bytearray(self._now)
        for places, text in zip(self._names, self._of_node[node], strict=True):
            for place in places:
                body[place : place + len(text)] = text
        lively = zlib.crc32(second.encode(), node)
        for begin, digits in self._numbers:
            body[begin : begin + digits] = b"%0*d" % (digits, (lively + begin) * _FACTOR % 10**digits)
        return bytes(body)

    def _places(self, text: bytes) -> list[int]:
        return [found.start() for found in re.finditer(re.escape(text), self._template)]


def _indented(value: Json) -> bytes:
    """Return a time in a kubelet's format."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def _texts(node: int, pods: int) -> Iterator[bytes]:
    """The parts that name the node and its pods; each has the same length for every node."""
    yield node_name(node).encode()
    for pod in range(pods):
        _, name, uid = pod_names(node, pod)
        yield from (name.encode(), uid.encode())


def _numbers(summary: Json) -> Iterator[_Number]:
    """Find the numbers that change by putting another of the same length into each."""
    before = _indented(summary)
    parts: list[Any] = [summary["node"], *summary["pods"]]
    changing = [(part["memory"], "workingSetBytes") for part in parts] + [
        (part["cpu"], "usageNanoCores") for part in parts
    ]
    changing += [(summary["node"]["memory"], "availableBytes"), (summary["node"]["fs"], "availableBytes")]
    for place, name in changing:
        value = place[name]
        place[name] = int("".join("1" if digit == "9" else "9" for digit in str(value)))
        begin = next(at for at, (old, new) in enumerate(zip(before, _indented(summary), strict=True)) if old != new)
        place[name] = value
        yield _Number(begin + _STEADY_DIGITS, len(str(value)) - _STEADY_DIGITS)
