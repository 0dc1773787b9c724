"""Reads all NUMA nodes of a fleet: free, exclusive and reserved CPUs, which pods would still fit, and which wait."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.reading.ask import RowDict, ask, by_node
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview
from sql.database.open import Database

EMPTIER: Final = "late_joiners_emptier"
SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of exclusive pods that are tried."""
MOST_SIZES: Final = 5


class Band(NamedTuple):
    """One NUMA node. CPUs are None if no source reports them; memory is in bytes."""

    number: int
    """-1 if only the whole node's CPUs are known."""
    cpus: int | None
    reserved: int | None
    exclusive: int | None
    free: int | None
    memory_allocatable: int | None
    memory_available: int | None

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """Return the uses of its CPUs as shares of 1; empty if unknown."""
        if not self.cpus:
            return ()
        held = (("reserved", self.reserved or 0), ("exclusive", self.exclusive or 0))
        return tuple((name, max(0, count) / self.cpus) for name, count in held)


class NumaLine(NamedTuple):
    node: NodeLine
    bands: tuple[Band, ...]
    created_at: datetime | None
    late: bool
    """True for the nodes that joined last, if they stay emptier."""

    @property
    def free(self) -> int:
        return sum(band.free or 0 for band in self.bands)

    def number(self, name: str) -> float:
        """Return a number from its row of numa_skew; 0 if unknown."""
        return float((self.node.numa or {}).get(name) or 0)


class Sums(NamedTuple):
    cpus: int
    reserved: int
    exclusive: int
    free: int


class NumaFleet(NamedTuple):
    lines: tuple[NumaLine, ...]
    sums: Sums
    largest_fit: int
    """CPUs of the largest exclusive pod that fits on one NUMA node."""
    fits: tuple[tuple[int, int], ...]
    """Maximum number of additional pods of this size, each on one NUMA node."""
    pinless: tuple[str, ...]
    """Nodes whose CPU manager policy is `none`, so that they have no room on NUMA nodes."""
    unreported: int
    """Nodes without a source for their NUMA nodes."""


def read_numa_fleet(db: Database, view: Overview, order: str = "") -> NumaFleet:
    """Read the NUMA nodes of an overview. Raises DatabaseError."""
    return numa_fleet(view.nodes, ask(db, "numa_fleet", view.scope), view.late_joiners, order)


def numa_fleet(
    nodes: Sequence[NodeLine], rows: Iterable[RowDict], late_joiners: Mapping[str, object] | None, order: str = ""
) -> NumaFleet:
    """Build the fleet from rows of `numa_fleet` and the last of `late_joiners`.

    Nodes that pin nothing are only counted.
    """
    known = by_node(rows)
    since = late_joiners["youngest_created_at"] if late_joiners and late_joiners["verdict"] == EMPTIER else None
    pinless = tuple(node.name for node in nodes if node.cpu_manager_policy == "none")
    lines = [
        _line(node, known[node.name], since)
        for node in nodes
        if node.name in known and node.cpu_manager_policy != "none" and (node.numa or {}).get("fidelity") != "none"
    ]
    bands = [band for line in lines for band in line.bands]
    return NumaFleet(
        tuple(sorted(lines, key=ORDERS_OF[order])),
        Sums(*(sum(getattr(band, name) or 0 for band in bands) for name in Sums._fields)),
        int(max((line.number("largest_fit_cpus") for line in lines), default=0)),
        _fits(bands),
        pinless,
        len(nodes) - len(lines) - len(pinless),
    )


def _line(node: NodeLine, rows: Sequence[RowDict], since: object) -> NumaLine:
    created = rows[0]["created_at"]
    late = isinstance(since, datetime) and created is not None and created >= since
    return NumaLine(node, tuple(_band(row) for row in rows), created, late)


def _band(row: RowDict) -> Band:
    names = ("numa_node", "cpus", "reserved", "exclusive", "free", "memory_allocatable", "memory_available")
    return Band(*(row[name] for name in names))


def _fits(bands: Iterable[Band]) -> tuple[tuple[int, int], ...]:
    """Count how many pods fit, for increasing sizes, up to the first that does not fit."""
    free = [band.free or 0 for band in bands if band.number >= 0]
    counted = [(size, sum(each // size for each in free)) for size in SIZES]
    fitting = sum(1 for _, pods in counted if pods)
    return tuple(counted[max(0, fitting + 1 - MOST_SIZES) : fitting + 1]) if free else ()


ORDERS_OF: Final[Mapping[str, Callable[[NumaLine], tuple[float, float, str]]]] = {
    "": lambda line: (-line.number("skew_ratio"), -line.number("stranded_cpus"), line.node.name),
    "free": lambda line: (-line.number("largest_fit_cpus"), -line.free, line.node.name),
    "joined": lambda line: (-line.created_at.timestamp() if line.created_at else 0.0, 0.0, line.node.name),
    "zone": lambda line: (0.0, 0.0, f"{line.node.zone}\0{line.node.pool}\0{line.node.name}"),
}
ORDERS: Final = {"": "Skew", "free": "Free CPUs", "joined": "Joined last", "zone": "Zone and pool"}


MOST: Final = 6
"""Maximum number of requests that are listed."""
_PODS: Final = 4
"""Maximum number of pods that would have to leave to make room for one."""


class Waiting(NamedTuple):
    """Pods of one namespace that request the same number of exclusive CPUs."""

    namespace: str
    pod: str
    """The name of one of them."""
    pods: int
    cpus: int
    refused: bool
    """True if a kubelet refused them; otherwise they wait for a node."""
    remedy: str
    """A sentence about what would make room for one."""


def read_numa_waiting(db: Database, view: Overview, numa: NumaFleet) -> list[Waiting]:
    """List pods that wait, then pods that were refused in the range. Raises DatabaseError."""
    pending = ask(db, "numa_waiting", view.scope)
    refused: dict[tuple[str, int], list[str]] = {}
    for row in view.numa_failures:
        if row["requested_cpus"]:
            refused.setdefault((row["namespace"], row["requested_cpus"]), []).append(row["pod"])
    waiting = [(row["namespace"], row["pod"], row["pods"], row["cpus"], False) for row in pending]
    waiting += [(space, pods[0], len(pods), cpus, True) for (space, cpus), pods in refused.items()]
    waiting = waiting[:MOST]
    if not waiting or not numa.lines:
        return []
    holders = ask(db, "numa_pods", view.scope, nodes=[line.node.name for line in numa.lines])
    return [Waiting(*each, remedy_for(each[3], numa.lines, holders)) for each in waiting]


def remedy_for(cpus: int, lines: Sequence[NumaLine], holders: Iterable[RowDict]) -> str:
    """Describe what would make room for a pod with this many exclusive CPUs on one NUMA node."""
    fitting = [line for line in lines if line.number("largest_fit_cpus") >= cpus]
    if fitting:
        more = f" and {counted(len(fitting) - 1, 'more node')} have" if len(fitting) > 1 else " has"
        return f"{fitting[0].node.name}{more} that many free in one NUMA node now."
    most = max((band.cpus - (band.reserved or 0) for line in lines for band in line.bands if band.cpus), default=0)
    if cpus > most:
        return f"No NUMA node is large enough: request at most {counted(most, 'CPU')}, or allow several NUMA nodes."
    held: dict[tuple[str, int], list[RowDict]] = {}
    for row in holders:
        if len(row["numa_nodes"]) == 1:
            held.setdefault((row["node"], row["numa_nodes"][0]), []).append(row)
    found = [
        (len(leaving), sum(row["cpus"] for row in leaving), line.node.name, band.number, leaving)
        for line in lines
        for band in line.bands
        if (leaving := _leaving(cpus, band, held.get((line.node.name, band.number), ())))
    ]
    if found:
        _, _, node, number, leaving = min(found, key=lambda each: each[:4])
        names = ", ".join(f"{row['namespace']}/{row['pod']} ({counted(row['cpus'], 'CPU')})" for row in leaving)
        return f"It would fit NUMA node {number} of {node} without {names}."
    return "Removing a few pods would not make room on any NUMA node."


def _leaving(cpus: int, band: Band, holders: Sequence[RowDict]) -> list[RowDict]:
    """Return the fewest containers whose CPUs would free enough; empty if they are too many, or all are not
    enough.
    """
    if band.free is None or band.number < 0:
        return []
    free, left, leaving = band.free, sorted(holders, key=lambda row: (-row["cpus"], row["pod"])), list[RowDict]()
    while left and free < cpus and len(leaving) < _PODS:
        # the smallest container that frees enough, else the largest
        row = next((each for each in reversed(left) if free + each["cpus"] >= cpus), left[0])
        left.remove(row)
        leaving.append(row)
        free += row["cpus"]
    return leaving if free >= cpus else []
