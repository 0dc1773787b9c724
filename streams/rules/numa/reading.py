"""Parses NUMA data in API objects and annotations. Every function raises BadRecord."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from common.errors import BadRecord
from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from ingest.model.objects.base import Quantity
from streams.rules.numa.sources import NumaZone
from streams.rules.numa.wire import Metadata
from streams.rules.values.quantity import NANO, InvalidQuantity, nano_units

T = TypeVar("T")


def decoded(text: str, kind: type[T], what: str) -> T:
    """`text` as JSON of this type."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise BadRecord("bad_numa_source", f"{what}: {error}") from None


def distinct(zones: Iterable[NumaZone]) -> tuple[NumaZone, ...]:
    """Sorted by id, because exporters write them in any order, each once."""
    ordered = sorted(zones, key=lambda zone: zone.numa_node)
    if len({zone.numa_node for zone in ordered}) < len(ordered):
        raise BadRecord("bad_numa_source", "a NUMA node is named twice")
    return tuple(ordered)


def managed_by(metadata: Metadata) -> str:
    labels: Mapping[str, str] = metadata.labels or {}
    return labels.get("app.kubernetes.io/managed-by", "")


def number_of_cpus(quantity: Quantity) -> int:
    try:
        nanos = nano_units(quantity)
    except InvalidQuantity as error:
        raise BadRecord("bad_numa_source", str(error)) from None
    if nanos % NANO or nanos < 0:
        raise BadRecord("bad_numa_source", f"{quantity!r:.64} is not a whole number of CPUs")
    return nanos // NANO


def cpu_list(text: str) -> frozenset[int]:
    try:
        return parse_cpuset(text)
    except InvalidCpuSet as error:
        raise BadRecord("bad_numa_source", str(error)) from None


def distance(value: str | int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise BadRecord("bad_numa_source", f"{text[:64]!r} is not a distance between NUMA nodes")
    return int(text[:9])
