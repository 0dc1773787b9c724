"""Defines the common form of all sources of exclusive CPUs, and reads the kubelet's metrics (rules: kubelet-metrics,
numa-sources).

The parsers of API objects are in `streams.rules.numa.objects`, of podresources in `streams.rules.numa.podresources`;
the checkpoint's is `streams.rules.numa.cpu_checkpoint`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple, TypeAlias

from common.errors import BadRecord
from ingest.model.machine import Cpu, Metric

Fidelity: TypeAlias = Literal["exact", "count", "none"]
"""`exact`: CPU ids and their NUMA nodes; `count`: CPUs per NUMA node; `none`: CPUs of the node, no NUMA node."""

CHECKPOINT: Final = "cpu_manager_state"
PODRESOURCES: Final = "podresources"
KOORDINATOR: Final = "koordinator"
VOLCANO: Final = "volcano"
METRICS: Final = "kubelet_metrics"
NRT: Final = "noderesourcetopology"
CRANE: Final = "crane"
POD_SPEC: Final = "pod_spec"

PREFERENCE: Final = (CHECKPOINT, PODRESOURCES, KOORDINATOR, VOLCANO, METRICS, NRT, CRANE, POD_SPEC)
"""Among sources of equal fidelity the first wins: the kubelet's own come before derived ones."""

GAUGE: Final = "kubelet_cpu_manager_allocation_per_numa"
TOTAL: Final = "kubelet_cpu_manager_exclusive_cpu_allocation_count"
_MOST_NUMA_NODES: Final = 16
_MOST_NUMA_ID: Final = 4096


class Amount(NamedTuple):
    """A resource of a NUMA node in its base unit."""

    capacity: int
    allocatable: int
    available: int | None
    """None if the source does not report it."""


class NumaZone(NamedTuple):
    """A source's report about one NUMA node; None for missing values."""

    numa_node: int
    cpus: int | None = None
    reserved_cpus: int | None = None
    exclusive_cpus: int | None = None
    resources: dict[str, Amount] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Resources except cpu, by the API's name."""
    distances: dict[int, int] = {}  # noqa: RUF012  as above
    """Distance to each NUMA node; 10 is local (ACPI)."""


class Holder(NamedTuple):
    """A container that holds CPUs exclusively; what its source does not report is empty."""

    namespace: str
    pod: str
    uid: str
    container: str
    cpus: frozenset[int]


class NumaView(NamedTuple):
    """One source's report about a node."""

    source: str
    fidelity: Fidelity
    """The best fidelity of this source; CPU ids are exact only together with a topology."""
    producer: str = ""
    """The writer, if named, because exporters differ (rules: noderesourcetopology)."""
    cpus: tuple[Cpu, ...] = ()
    """The topology, if the source has it."""
    reserved: frozenset[int] | None = None
    zones: tuple[NumaZone, ...] = ()
    holders: tuple[Holder, ...] = ()
    exclusive_cpus: int | None = None
    """Exclusive CPUs of the whole node, if the source has the number besides zones and holders."""
    cpu_manager_policy: str = ""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""
    quirk: str = ""
    """Corrected or unusable parts of the source, in words, with the reason."""


def numa_id(text: str, prefixes: tuple[str, ...] = ("",)) -> int:
    """Return the id at the end of a NUMA node's name; raises BadRecord for another text."""
    for prefix in prefixes:
        digits = text.removeprefix(prefix)
        if text.startswith(prefix) and digits.isascii() and digits.isdecimal() and int(digits[:5]) < _MOST_NUMA_ID:
            return int(digits[:5])
    raise BadRecord("bad_numa_source", f"{text[:64]!r} is not a NUMA node's name")


def metrics_view(metrics: Sequence[Metric]) -> NumaView | None:
    """Return the kubelet's gauges of exclusive CPUs, or None if it has none (before 1.33).

    A gauge keeps its last value when its NUMA node releases the last pinned CPU (rules: kubelet-metrics). If the
    gauges together exceed `exclusive_cpu_allocation_count`, those that must be stale count as 0. If that is
    ambiguous, none is believed. That count in turn counts CPUs twice that init containers left to others, until the
    kubelet restarts: if the gauges together are below it, they are right. A NUMA node without a gauge holds nothing.
    Raises BadRecord.
    """
    gauges = {numa_id(m.labels.get("numa_node", "")): _count(m.value) for m in metrics if m.name == GAUGE}
    total = next((_count(m.value) for m in metrics if m.name == TOTAL), None)
    if not gauges and total is None:
        return None
    believed = _without_stale(gauges, total)
    return NumaView(
        source=METRICS,
        fidelity="count",
        producer="kubelet",
        zones=tuple(
            NumaZone(numa, exclusive_cpus=None if believed is None else believed[numa]) for numa in sorted(gauges)
        ),
        exclusive_cpus=sum(gauges.values()) if gauges and believed == gauges else total,
        quirk="" if total in {None, sum(gauges.values())} else _gauge_doubt(gauges, total, believed),
    )


def stale_gauges(view: NumaView, metrics: Sequence[Metric]) -> dict[int, int]:
    """Return the kubelet's stale gauges, which the view of these metrics leaves out, by NUMA node."""
    shown = {numa_id(m.labels.get("numa_node", "")): _count(m.value) for m in metrics if m.name == GAUGE}
    return {
        zone.numa_node: shown[zone.numa_node] for zone in view.zones if zone.exclusive_cpus != shown[zone.numa_node]
    }


def _without_stale(gauges: dict[int, int], total: int | None) -> dict[int, int] | None:
    if total is None or sum(gauges.values()) <= total:
        return gauges
    if len(gauges) > _MOST_NUMA_NODES:
        return None
    fitting = [
        live
        for size in range(len(gauges) + 1)
        for live in combinations(sorted(gauges), size)
        if sum(gauges[numa] for numa in live) == total and all(gauges[numa] for numa in live)
    ]
    if len(fitting) != 1:
        return None
    return {numa: value if numa in fitting[0] else 0 for numa, value in gauges.items()}


def _gauge_doubt(gauges: dict[int, int], total: int | None, believed: dict[int, int] | None) -> str:
    shown = ", ".join(f"{value} on NUMA node {numa}" for numa, value in sorted(gauges.items())) or "nothing"
    text = f"{GAUGE} shows {shown}; {TOTAL} shows {total}: "
    if believed == gauges:
        return (
            text + "the latter counts CPUs of init containers twice" if gauges else text + "no NUMA node has a gauge"
        )
    if believed is None:
        return text + "no subset of the gauges shows which are stale"
    stale = ", ".join(str(numa) for numa in sorted(gauges) if gauges[numa] != believed[numa])
    return text + f"the gauge keeps its value after the last release, so NUMA node {stale} holds 0"


def _count(value: float) -> int:
    if not (0 <= value < 2**31 and value % 1 == 0):
        raise BadRecord("bad_numa_source", f"{value} is not a count of CPUs")
    return int(value)
