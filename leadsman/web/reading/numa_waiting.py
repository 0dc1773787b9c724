"""Pods that wait for exclusive CPUs or were refused for them, and what would let them in."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.reading.asked import RowDict, ask
from leadsman.web.reading.numa_fleet import Band, NumaFleet, NumaLine
from leadsman.web.reading.overview import Overview
from sql.database.open import Database

MOST: Final = 6
"""Requests that are listed."""
_PODS: Final = 4
"""Pods that leave, at most: nobody moves more for one."""


class Waiting(NamedTuple):
    """Pods of one namespace that request the same number of exclusive CPUs."""

    namespace: str
    pod: str
    """One of them."""
    pods: int
    cpus: int
    refused: bool
    """A kubelet refused them; else they wait for a node."""
    way: str
    """A sentence that says what would let one in."""


def read_numa_waiting(db: Database, view: Overview, numa: NumaFleet) -> list[Waiting]:
    """List pods that wait, then pods that were refused in the range. Raises DatabaseError."""
    pending = ask(db, "numa_waiting", view.scope)
    refused: dict[tuple[str, int], list[str]] = {}
    for row in view.numa_failures:
        if row["requested_cpus"]:
            refused.setdefault((row["namespace"], row["requested_cpus"]), []).append(row["pod"])
    asked = [(row["namespace"], row["pod"], row["pods"], row["cpus"], False) for row in pending]
    asked += [(space, pods[0], len(pods), cpus, True) for (space, cpus), pods in refused.items()]
    asked = asked[:MOST]
    if not asked or not numa.lines:
        return []
    holders = ask(db, "numa_pods", view.scope, nodes=[line.node.name for line in numa.lines])
    return [Waiting(*each, way_in(each[3], numa.lines, holders)) for each in asked]


def way_in(cpus: int, lines: Sequence[NumaLine], holders: Iterable[RowDict]) -> str:
    """Say what would let a pod of so many exclusive CPUs into one NUMA node."""
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
    return "No NUMA node would have room with a few pods less."


def _leaving(cpus: int, band: Band, holders: Sequence[RowDict]) -> list[RowDict]:
    """The fewest containers whose CPUs would make enough free; empty if they are too many, or not enough."""
    if band.free is None or band.number < 0:
        return []
    free, left, leaving = band.free, sorted(holders, key=lambda row: (-row["cpus"], row["pod"])), list[RowDict]()
    while left and free < cpus and len(leaving) < _PODS:
        # the smallest that is enough, else the largest
        row = next((each for each in reversed(left) if free + each["cpus"] >= cpus), left[0])
        left.remove(row)
        leaving.append(row)
        free += row["cpus"]
    return leaving if free >= cpus else []
