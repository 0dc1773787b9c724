"""What the tables know of each node that a pod could go to: the candidates of `streams.fit`.

Numbers of a node that was made again since (its Node object is younger) are not believed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sql.database import Database
from sql.queries import BadParameter
from streams.fit import Candidate
from streams.rules.fit import NodeState
from streams.rules.cpuset import parse_cpuset
from streams.rules.fit_machine import NumaCpus, Policies, machine_of, options_not_followed, settings_of
from streams.rules.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa_resolve import RESERVED_CPUS, SINGLE_NUMA_NODE
from streams.rules.numa_sources import POD_SPEC
from streams.rules.topology_manager import Devices, Machine
from streams.rules.version import minor_version

CHECKPOINT: Final = "memory_manager_state"
PODRESOURCES: Final = "podresources"
MEMORY_TYPES: Final = ("memory", "hugepages-")
NEWEST_MINOR: Final = 99
"""Where no version is known, the newest rules hold."""

_CLUSTERS: Final = "SELECT DISTINCT cluster FROM nodes ORDER BY cluster"
_NODES: Final = """
SELECT n.node AS node, n.ts AS ts, n.created_at AS created_at, n.kubelet_version AS kubelet_version,
    n.unschedulable AS unschedulable, n.ready AS ready, n.taints AS taints, n.allocatable AS allocatable,
    f.requested AS requested, f.pods AS pods, f.ts AS fit_ts
FROM
(
    SELECT * FROM nodes WHERE cluster = {cluster:String} ORDER BY ts DESC LIMIT 1 BY node
) AS n
LEFT JOIN
(
    SELECT node, max(ts) AS ts, mapFromArrays(groupArray(toString(resource)), groupArray(requested)) AS requested,
        max(pods) AS pods
    FROM node_fit_latest WHERE cluster = {cluster:String} GROUP BY node
) AS f ON f.node = n.node
WHERE NOT n.deleted
ORDER BY node
"""
_SETTINGS: Final = """
SELECT node, ts, cpu_manager_policy, cpu_manager_policy_options, memory_manager_policy, topology_manager_policy,
    topology_manager_scope, topology_manager_policy_options
FROM kubelet_settings WHERE cluster = {cluster:String} ORDER BY ts DESC LIMIT 1 BY node
"""
_SKEW: Final = """
SELECT node, ts, free_cpus, exclusive_cpus, source, fidelity, assumed, explanation, cpu_manager_policy, topology_manager_policy,
    topology_manager_scope
FROM numa_skew WHERE cluster = {cluster:String} AND scope = 'node' ORDER BY ts DESC LIMIT 1 BY node
"""
_ALLOCATIONS: Final = """
SELECT node, ts, numa_node, cpus, free_cpus, cores, source, free_cpuset, core_cpusets
FROM numa_allocations WHERE cluster = {cluster:String}
ORDER BY node, numa_node, ts DESC LIMIT 1 BY node, numa_node
"""
_RESOURCES: Final = """
SELECT node, ts, numa_node, resource, capacity, allocatable, available, cells, source
FROM numa_resources WHERE cluster = {cluster:String}
ORDER BY node, numa_node, resource, source, ts DESC LIMIT 1 BY node, numa_node, resource, source
"""
_WHATIF: Final = """
SELECT scope, node, strategy, largest_fit_cpus FROM numa_whatif WHERE cluster = {cluster:String}
"""


class Known(NamedTuple):
    """All that a database knows of where pods of a cluster could go."""

    cluster: str
    as_of: datetime | None
    """The newest row that was read."""
    candidates: list[Candidate]
    strategies: dict[str, int]
    scheduler_minor: int
    """Taken to be that of the newest kubelet: no kubelet may be newer than the control plane."""


class _Row(dict[str, Any]):
    """A row by column name."""


def read_known(database: Database, cluster: str = "", node: str = "") -> Known:
    """What is known of the nodes of a cluster, or of one of them.

    `cluster` may be empty where the database holds no more than one. Raises BadParameter for a cluster or node that
    it does not know, and DatabaseError.
    """
    cluster = _cluster(database, cluster)
    nodes = _rows(database, _NODES, cluster)
    if node and node not in {row["node"] for row in nodes}:
        raise BadParameter(f"no node {node!r} is known in cluster {cluster!r}: leadsman query nodes lists them")
    made_at = {row["node"]: row["created_at"] for row in nodes}
    by_node: dict[str, dict[str, list[_Row]]] = {
        sql: _by_node(_rows(database, sql, cluster), made_at) for sql in (_SETTINGS, _SKEW, _ALLOCATIONS, _RESOURCES)
    }
    whatif = _rows(database, _WHATIF, cluster)
    asked = [row for row in nodes if node in {"", row["node"]}]
    return Known(
        cluster=cluster,
        as_of=max((ts for row in asked for ts in _times(row, by_node)), default=None),
        candidates=[_candidate(row, by_node, whatif) for row in asked],
        strategies={row["strategy"]: row["largest_fit_cpus"] for row in whatif if row["scope"] == "cluster"},
        scheduler_minor=_scheduler_minor(nodes),
    )


def _cluster(database: Database, cluster: str) -> str:
    known = [row[0] for row in database.query(_CLUSTERS).rows]
    if not cluster and len(known) <= 1:
        return known[0] if known else ""
    if cluster not in known:
        raise BadParameter(f"name one of the clusters with --cluster: {', '.join(known)}")
    return cluster


def _rows(database: Database, sql: str, cluster: str) -> list[_Row]:
    found = database.query(sql, {"cluster": cluster})
    return [_Row(zip(found.column_names, row, strict=True)) for row in found.rows]


def _by_node(rows: Sequence[_Row], made_at: Mapping[str, datetime | None]) -> dict[str, list[_Row]]:
    """Rows of nodes that are there, without those of an earlier node of that name."""
    found = defaultdict(list)
    for row in rows:
        if row["node"] in made_at and row["ts"] >= (made_at[row["node"]] or row["ts"]):
            found[row["node"]].append(row)
    return dict(found)


def _times(row: _Row, by_node: Mapping[str, Mapping[str, Sequence[_Row]]]) -> Iterator[datetime]:
    yield row["ts"]
    if row["fit_ts"] and row["fit_ts"].year > 1970:  # noqa: PLR2004  the engine's nothing
        yield row["fit_ts"]
    yield from (each["ts"] for table in by_node.values() for each in table.get(row["node"], ()))


def _scheduler_minor(nodes: Sequence[_Row]) -> int:
    minors = [version[1] for row in nodes if (version := minor_version(row["kubelet_version"])) is not None]
    return max(minors, default=NEWEST_MINOR)


def _candidate(row: _Row, by_node: Mapping[str, Mapping[str, Sequence[_Row]]], whatif: Sequence[_Row]) -> Candidate:
    node = row["node"]
    configz = next(iter(by_node[_SETTINGS].get(node, ())), None)
    skew = next(iter(by_node[_SKEW].get(node, ())), None)
    told = _policies(configz, skew)
    machine = _machine(skew, by_node[_ALLOCATIONS].get(node, ()), by_node[_RESOURCES].get(node, ()), configz)
    state = NodeState(
        node=node,
        allocatable=row["allocatable"],
        requested=row["requested"],
        pods=row["pods"],
        unschedulable=bool(row["unschedulable"]),
        taints=tuple(row["taints"]),
        settings=settings_of(told),
        machine=machine,
        free_cpus=skew["free_cpus"] if skew else None,
    )
    not_ready = [] if row["ready"] else ["the node is not Ready"]
    fits = {each["strategy"]: each["largest_fit_cpus"] for each in whatif if _is_of(each, node)}
    return Candidate(
        state=state,
        source=skew["source"] if skew else "",
        fidelity=skew["fidelity"] if skew else "",
        notes=(*not_ready, *options_not_followed(told), *_doubts(skew)),
        largest_fits=fits,
    )


def _is_of(whatif: _Row, node: str) -> bool:
    return bool(whatif["scope"] == "node" and whatif["node"] == node)


def _policies(configz: _Row | None, skew: _Row | None) -> Policies:
    """By the kubelet's own settings, else by the source of the NUMA numbers: who holds CPUs was given them."""
    if configz is not None:
        return Policies(
            configz["cpu_manager_policy"],
            configz["topology_manager_policy"],
            configz["topology_manager_scope"],
            configz["cpu_manager_policy_options"],
            configz["topology_manager_policy_options"],
        )
    if skew is None:
        return Policies()
    holds = bool(skew["exclusive_cpus"]) and skew["source"] != POD_SPEC
    cpu = skew["cpu_manager_policy"] or ("static" if holds else "")
    return Policies(cpu, skew["topology_manager_policy"], skew["topology_manager_scope"])


def _doubts(skew: _Row | None) -> list[str]:
    if skew is None:
        return ["nothing tells of its NUMA nodes"]
    doubts = [_ASSUMED[each] for each in skew["assumed"] if each in _ASSUMED]
    if skew["fidelity"] == "count":
        doubts.append(f"{skew['source']} tells how many CPUs are free, not which: free cores are taken to be whole")
    if skew["fidelity"] == "none" and skew["explanation"]:
        doubts.append(skew["explanation"])
    return doubts


_ASSUMED: Final = {
    RESERVED_CPUS: "which CPUs are reserved was concluded, not told",
    SINGLE_NUMA_NODE: "it is taken to have one NUMA node",
}


def _machine(
    skew: _Row | None, allocations: Sequence[_Row], resources: Sequence[_Row], configz: _Row | None
) -> Machine | None:
    if skew is None or skew["fidelity"] == "none":
        return None
    parts = [_numa_cpus(each) for each in allocations if each["cpus"] != 0 and each["source"] == skew["source"]]
    is_static = configz is not None and configz["memory_manager_policy"] == "Static"
    return machine_of(parts, _memory(resources, is_static=is_static), _devices(resources))


def _numa_cpus(row: _Row) -> NumaCpus:
    return NumaCpus(
        numa_node=row["numa_node"],
        cpus=row["cpus"],
        free_cpus=row["free_cpus"],
        cores=row["cores"],
        free=parse_cpuset(row["free_cpuset"]),
        core_cpus=tuple(map(parse_cpuset, row["core_cpusets"])),
    )


def _memory(resources: Sequence[_Row], *, is_static: bool) -> dict[int, MemoryNode]:
    """By the kubelet's checkpoint, else, where its policy is known to be Static, by another source."""
    rows = [row for row in resources if row["resource"].startswith(MEMORY_TYPES) and row["available"] is not None]
    sources = {row["source"] for row in rows if is_static or row["source"] == CHECKPOINT}
    if not sources:
        return {}
    best = min(sources, key=lambda source: (source != CHECKPOINT, source))
    nodes: dict[int, MemoryNode] = {}
    for row in (row for row in rows if row["source"] == best):
        capacity, allocatable, free = row["capacity"], row["allocatable"], row["available"]
        table = MemoryTable(capacity, max(0, capacity - allocatable), allocatable, allocatable - free, free)
        node = nodes.get(row["numa_node"], MemoryNode(0, {}, ()))
        nodes[row["numa_node"]] = MemoryNode(
            # How many blocks there are is not stored, only that there are some: enough for who may join a group.
            assignments=max(node.assignments, int(free < allocatable)),
            tables={**node.tables, row["resource"]: table},
            cells=tuple(row["cells"]) or node.cells,
        )
    return nodes


def _devices(resources: Sequence[_Row]) -> dict[str, Devices]:
    """By the kubelet itself, else by the first other source; only where it tells what is available."""
    rows = [row for row in resources if not row["resource"].startswith(("cpu", *MEMORY_TYPES))]
    devices: dict[str, Devices] = {}
    for name in sorted({row["resource"] for row in rows}):
        of_name = [row for row in rows if row["resource"] == name]
        best = min((row["source"] for row in of_name), key=lambda source: (source != PODRESOURCES, source))
        chosen = [row for row in of_name if row["source"] == best]
        if all(row["available"] is not None for row in chosen):
            devices[name] = Devices(
                {row["numa_node"]: row["allocatable"] for row in chosen},
                {row["numa_node"]: row["available"] for row in chosen},
            )
    return devices
