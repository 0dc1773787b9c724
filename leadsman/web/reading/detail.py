"""Reads details of single nodes in a range, and the use of each: CPU, memory, and how long tasks were stalled
(PSI).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from leadsman.web.reading.ask import RowDict, ask, by_node
from leadsman.web.reading.charts import Chart, read_charts, read_steps, with_evictions
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.order import Order, orders
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import resource, size
from sql.database.open import Database

FREE: Final = "free"
RESERVED: Final = "reserved"
UNKNOWN: Final = "unknown"
"""The CPU is held, but no source reports by whom."""
COLOURS: Final = 8
"""Number of colours that holders share; their marks distinguish them."""
MOST_CELLS: Final = 1024
"""A NUMA node with more CPUs is shown as numbers only."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COUNTS: Final = itemgetter("cpus", "reserved_cpus", "exclusive_cpus", "free_cpus", "free_cores")


class Holder(NamedTuple):
    """A container with exclusive CPUs; `colour` counts from 0."""

    mark: str
    """One or two letters that its cells show."""
    colour: int
    namespace: str
    pod: str
    container: str
    cpus: int
    cpuset: str
    numa_nodes: tuple[int, ...]
    spans: bool


class Cell(NamedTuple):
    """One CPU; `state` is free, reserved, unknown or held."""

    cpu: int
    state: str
    holder: Holder | None


class NumaNode(NamedTuple):
    """`cells` are empty if the source has no CPU ids; numbers are None if it does not report them."""

    number: int
    cores: tuple[tuple[Cell, ...], ...]
    """Its CPUs, grouped by physical core."""
    cpus: int | None
    reserved: int | None
    exclusive: int | None
    free: int | None
    free_cores: int | None


class NumaMap(NamedTuple):
    numa_nodes: tuple[NumaNode, ...]
    holders: tuple[Holder, ...]
    source: str
    fidelity: str
    assumed: tuple[str, ...]


def numa_map(allocations: Sequence[RowDict], pods: Sequence[RowDict]) -> NumaMap | None:
    """Build the map from one node's rows of `numa_nodes` and `numa_pods`; None if there are none."""
    if not allocations:
        return None
    holders = tuple(_holder(place, each) for place, each in enumerate(pods))
    by_cpu = {cpu: holder for holder in holders for cpu in _cpus(holder.cpuset)}
    first = allocations[0]
    return NumaMap(
        tuple(_numa_node(each, by_cpu) for each in allocations),
        holders,
        first["source"],
        first["fidelity"],
        tuple(first["assumed"]),
    )


def _holder(place: int, row: RowDict) -> Holder:
    return Holder(
        mark(place),
        place % COLOURS,
        row["namespace"],
        row["pod"],
        row["container"],
        row["cpus"],
        row["cpuset"],
        tuple(row["numa_nodes"]),
        spans=len(row["numa_nodes"]) > 1,
    )


def mark(place: int) -> str:
    """Return the mark of the holder at this position, counted from 0: A, B, ... Z, AA, AB, ..."""
    above, here = divmod(place, len(_LETTERS))
    return (mark(above - 1) if above else "") + _LETTERS[here]


def _numa_node(row: RowDict, by_cpu: Mapping[int, Holder]) -> NumaNode:
    cpus, free = _cpus(row["cpuset"]), set(_cpus(row["free_cpuset"]))
    if len(cpus) > MOST_CELLS:
        cpus = []
    held = sum(1 for cpu in cpus if cpu in by_cpu)
    missing = max(0, (row["exclusive_cpus"] or 0) - held)
    cells = {}
    for cpu in cpus:
        if cpu in by_cpu:
            cells[cpu] = Cell(cpu, "held", by_cpu[cpu])
        elif cpu in free:
            cells[cpu] = Cell(cpu, FREE, None)
        else:
            cells[cpu] = Cell(cpu, UNKNOWN if missing else RESERVED, None)
    return NumaNode(row["numa_node"], _cores(cells, row["core_cpusets"]), *_COUNTS(row))


def _cores(cells: Mapping[int, Cell], core_cpusets: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    """Group cells by physical core; each CPU is its own group if the cores are unknown."""
    cores = [[cells[cpu] for cpu in _cpus(text) if cpu in cells] for text in core_cpusets]
    known = {cell.cpu for core in cores for cell in core}
    alone = [[cell] for cpu, cell in cells.items() if cpu not in known]
    return tuple(
        tuple(core) for core in sorted((*cores, *alone), key=lambda core: core[0].cpu if core else -1) if core
    )


def _cpus(text: str) -> list[int]:
    try:
        return sorted(parse_cpuset(text)) if text else []
    except InvalidCpuSet:
        return []


_Grouped: TypeAlias = Mapping[str, Mapping[str, Sequence[RowDict]]]
"""Rows of each query, by node."""
FIRST_ORDERS: Final = 6
"""Maximum number of nodes for which the order before their first eviction is read, one query each."""
_LOOK_BACK: Final = timedelta(hours=1)
_STALLS: Final = (
    ("cpu_stalled", "CPU stalled"),
    ("memory_stalled", "Memory stalled"),
    ("io_stalled", "Disk stalled"),
)


class Usage(NamedTuple):
    """One curve over the range: seconds since 1970, and values up to `top`."""

    name: str
    last: str
    highest: str
    at: tuple[int, ...]
    values: tuple[float, ...]
    top: float


class FirstOrder(NamedTuple):
    """The eviction order for the signal of an eviction, from the last sample before it."""

    at: datetime
    order: Order


class Detail(NamedTuple):
    node: NodeLine
    charts: tuple[Chart, ...]
    numa: NumaMap | None
    orders: tuple[Order, ...]
    """Eviction orders at the end of the range; the signal nearest to its threshold comes first."""
    first_order: FirstOrder | None
    """Eviction order before the first eviction of the range."""
    evicted: tuple[RowDict, ...]
    settings: RowDict | None
    """None if no /configz was seen."""
    usage: tuple[Usage, ...]
    growers: tuple[RowDict, ...]
    """The fastest growing users of its disk at the end of the range."""


def read_details(db: Database, scope: Scope, nodes: Sequence[NodeLine]) -> list[Detail]:
    """Read the details of each node, in one round of queries. Raises DatabaseError."""
    if not nodes:
        return []
    names = [node.name for node in nodes]
    charts = read_charts(db, scope, {node.name: node.margins for node in nodes})
    found_of = {name: by_node(ask(db, name, scope, nodes=names)) for name in _QUESTIONS}
    last = _last_minutes(scope, nodes)
    found_of |= {name: by_node(ask(db, name, last, nodes=names)) for name in _ORDERING}
    grown = last._replace(since=last.since - _GROWING)
    found_of["pod_usage"] = by_node(ask(db, "pod_usage", grown, nodes=names))
    usage = read_usage(db, scope, nodes)
    firsts = [node.name for node in nodes if node.evicted.pressure][:FIRST_ORDERS]
    return [
        Detail(
            node,
            tuple(with_evictions(each, found_of["evicted"].get(node.name, ())) for each in charts.get(node.name, ())),
            numa_map(found_of["numa_nodes"].get(node.name, ()), found_of["numa_pods"].get(node.name, ())),
            _orders(node, found_of, [margin.signal for margin in node.margins if margin.threshold is not None]),
            _first_order(db, scope, node, found_of["evicted"].get(node.name, ())) if node.name in firsts else None,
            tuple(found_of["evicted"].get(node.name, ())),
            next(iter(found_of["settings"].get(node.name, ())), None),
            tuple(usage.get(node.name, ())),
            tuple(found_of["growers"].get(node.name, ())),
        )
        for node in nodes
    ]


_QUESTIONS: Final = ("numa_nodes", "numa_pods", "evicted", "settings", "growers")
_ORDERING: Final = ("last_sample", "order_pods")
_ROLLUP: Final = timedelta(minutes=5)
_GROWING: Final = timedelta(minutes=10)
"""The growth of a pod is computed over this long before the last five minutes."""


def _last_minutes(scope: Scope, nodes: Sequence[NodeLine]) -> Scope:
    """Return the last minutes of the range, back to the oldest last sample of these nodes."""
    sampled = [node.sampled_at for node in nodes if node.sampled_at is not None]
    earliest = min((*sampled, scope.until)) - _ROLLUP
    return scope._replace(since=max(scope.since, earliest))


def _orders(node: NodeLine, found_of: _Grouped, signals: Sequence[str]) -> tuple[Order, ...]:
    samples, pods = found_of["last_sample"].get(node.name), found_of["order_pods"].get(node.name)
    if not samples or not pods:
        return ()
    found = orders(signals, samples[0], pods, node.kubelet_version, found_of.get("pod_usage", {}).get(node.name, ()))
    # signals of one file system have the same order
    by_file_system = {
        (order.places, order.signal.partition(".")[2]): order for order in reversed(found) if order.places
    }
    return tuple(reversed(by_file_system.values()))


def _first_order(db: Database, scope: Scope, node: NodeLine, evicted: Sequence[RowDict]) -> FirstOrder | None:
    under_pressure = [row for row in evicted if row["cause"] == "pressure" and row["signal"]]
    if not under_pressure:
        return None
    first = min(under_pressure, key=lambda row: row["ts"])
    # a witness has whole seconds, so the rank is from the sample before
    before = scope._replace(since=scope.since - _LOOK_BACK, until=first["ts"])
    found_of = {name: by_node(ask(db, name, before, nodes=[node.name])) for name in _ORDERING}
    grown = before._replace(since=first["ts"] - _ROLLUP - _GROWING)
    found_of["pod_usage"] = by_node(ask(db, "pod_usage", grown, nodes=[node.name]))
    found = _orders(node, found_of, [first["signal"]])
    return FirstOrder(first["ts"], found[0]) if found else None


def read_usage(db: Database, scope: Scope, nodes: Iterable[NodeLine]) -> dict[str, list[Usage]]:
    """Read the use of each node, as far as its kubelet measured it. Raises DatabaseError."""
    lines = {node.name: node for node in nodes}
    return {row["node"]: usages(row, lines[row["node"]]) for row in read_steps(db, "usage", scope, list(lines))}


def usages(row: RowDict, node: NodeLine) -> list[Usage]:
    """Convert a row of `usage`, in which -1 means not measured."""
    cpu, memory = node.fit.get("cpu"), node.fit.get("memory")
    of_cpu = f" of {resource(cpu.capacity, 'cpu')}" if cpu else ""
    of_memory = f" of {size(memory.capacity)}" if memory else ""
    made = [
        _usage(row, "cpu", "CPU used", lambda value: resource(round(value / 1e6), "cpu"), of_cpu),
        _usage(row, "memory", "Memory used (working set)", size, of_memory),
        *(_usage(row, key, name, lambda percent: f"{percent:.0f} %", " of the time") for key, name in _STALLS),
    ]
    return [each for each in made if each is not None]


def _usage(row: RowDict, key: str, name: str, words: Callable[[float], str], unit: str) -> Usage | None:
    measured = [(at, value) for at, value in zip(row["at"], row[key], strict=True) if value >= 0]
    if not measured:
        return None
    at, values = zip(*measured, strict=True)
    return Usage(name, words(values[-1]) + unit, words(max(values)), at, values, max(*values, 1e-9))
