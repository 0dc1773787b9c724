"""Reads the detail view of nodes for a time range, with the use of each: CPU, memory, and how long tasks were
stalled (PSI).
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
"""Reserved or held; the source does not report which."""
COLOURS: Final = 8
"""Size of the palette; holders that share a colour differ by mark."""
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
    """True if its CPUs are on several NUMA nodes."""


class Cell(NamedTuple):
    """One CPU; `state` is free, reserved, unknown or held."""

    cpu: int
    state: str
    holder: Holder | None


class NumaNode(NamedTuple):
    """One NUMA node of the map; a number is None if the source does not report it."""

    number: int
    cores: tuple[tuple[Cell, ...], ...]
    """Its CPUs, grouped by physical core; empty if the source has no CPU ids, or for more than MOST_CELLS CPUs."""
    cpus: int | None
    reserved: int | None
    exclusive: int | None
    free: int | None
    free_cores: int | None


class NumaMap(NamedTuple):
    """The NUMA nodes of one node, and the containers that hold their CPUs exclusively."""

    numa_nodes: tuple[NumaNode, ...]
    holders: tuple[Holder, ...]
    source: str
    fidelity: str
    """Exactness of the source: exact, count or none."""
    assumed: tuple[str, ...]
    """Facts that no source reports and Leadsman concluded, for example `reserved_cpus`."""


def numa_map(allocations: Sequence[RowDict], pods: Sequence[RowDict]) -> NumaMap | None:
    """Build the map from one node's rows of `numa_nodes` and `numa_pods`; None if there are none."""
    if not allocations:
        return None
    holders = tuple(_holder(index, each) for index, each in enumerate(pods))
    by_cpu = {cpu: holder for holder in holders for cpu in _cpus(holder.cpuset)}
    first = allocations[0]
    return NumaMap(
        tuple(_numa_node(each, by_cpu) for each in allocations),
        holders,
        first["source"],
        first["fidelity"],
        tuple(first["assumed"]),
    )


def _holder(index: int, row: RowDict) -> Holder:
    return Holder(
        mark(index),
        index % COLOURS,
        row["namespace"],
        row["pod"],
        row["container"],
        row["cpus"],
        row["cpuset"],
        tuple(row["numa_nodes"]),
        spans=len(row["numa_nodes"]) > 1,
    )


def mark(index: int) -> str:
    """Return the mark of the holder at this position, counted from 0: A, B, ... Z, AA, AB, ..."""
    above, here = divmod(index, len(_LETTERS))
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
"""Maximum number of nodes for which the order before their first eviction is read, by three queries each."""
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
    """Eviction order before the first eviction of the range under pressure."""
    evicted: tuple[RowDict, ...]
    settings: RowDict | None
    """None if no /configz was seen."""
    usage: tuple[Usage, ...]
    growers: tuple[RowDict, ...]
    """Users of its disk at the end of the range, at most 8: those over their limit, then what grows by 1 MiB/h."""


def read_details(db: Database, scope: Scope, nodes: Sequence[NodeLine]) -> list[Detail]:
    """Read the details of each node. Each query reads all nodes, except for `first_order`. Raises DatabaseError."""
    if not nodes:
        return []
    names = [node.name for node in nodes]
    charts = read_charts(db, scope, {node.name: node.margins for node in nodes})
    found_of = {name: by_node(ask(db, name, scope, nodes=names)) for name in _QUESTIONS}
    last = _last_minutes(scope, nodes)
    found_of |= {name: by_node(ask(db, name, last, nodes=names)) for name in _ORDERING}
    found_of["pod_usage"] = _pod_usage(db, last, names)
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
_GROWING: Final = timedelta(minutes=15)
"""The growth of a pod is computed over this long before its node's last sample."""


def _last_minutes(scope: Scope, nodes: Sequence[NodeLine]) -> Scope:
    """Return the end of the range, from five minutes before the earliest of the nodes' last samples."""
    sampled = [node.sampled_at for node in nodes if node.sampled_at is not None]
    earliest = min((*sampled, scope.until)) - _ROLLUP
    return scope._replace(since=max(scope.since, earliest))


def _orders(node: NodeLine, found_of: _Grouped, signals: Sequence[str]) -> tuple[Order, ...]:
    samples, pods = found_of["last_sample"].get(node.name), found_of["order_pods"].get(node.name)
    if not samples or not pods:
        return ()
    found = orders(signals, samples[0], pods, node.kubelet_version, found_of.get("pod_usage", {}).get(node.name, ()))
    # signals of one file system have the same order
    by_file_system: dict[tuple[object, ...], Order] = {}
    for order in found:
        if order.places:
            by_file_system.setdefault((order.places, order.signal.partition(".")[2]), order)
    return tuple(by_file_system.values())


def _pod_usage(db: Database, scope: Scope, nodes: Sequence[str]) -> dict[str, list[RowDict]]:
    earlier = scope._replace(since=scope.since - _GROWING)
    return by_node(ask(db, "pod_usage", earlier, nodes=nodes, seconds=int(_GROWING.total_seconds())))


def _first_order(db: Database, scope: Scope, node: NodeLine, evicted: Sequence[RowDict]) -> FirstOrder | None:
    if not evicted:
        return None
    at, _, _, signal = evicted[0]["first_under_pressure"]
    if not signal:
        return None
    # Event times have whole seconds, so use the sample before
    before = scope._replace(since=scope.since - _LOOK_BACK, until=at)
    found_of = {name: by_node(ask(db, name, before, nodes=[node.name])) for name in _ORDERING}
    found_of["pod_usage"] = _pod_usage(db, before._replace(since=at), [node.name])
    found = _orders(node, found_of, [signal])
    return FirstOrder(at, found[0]) if found else None


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


def _usage(row: RowDict, key: str, name: str, format_value: Callable[[float], str], suffix: str) -> Usage | None:
    measured = [(at, value) for at, value in zip(row["at"], row[key], strict=True) if value >= 0]
    if not measured:
        return None
    at, values = zip(*measured, strict=True)
    return Usage(name, format_value(values[-1]) + suffix, format_value(max(values)), at, values, max(*values, 1e-9))
