"""Reads facts about each node to which a pod could go, as candidates of `streams.questions.fit`.

Rows from before a node was recreated (its Node object is younger) are ignored.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sql.database.open import Database
from sql.questions.fit_rows import NodeRows, RowDict, candidate, neighbour, neighbours
from sql.questions.fit_storage import Scheduled, read_scheduled, with_devices, with_volumes
from sql.questions.queries import BadParameter
from sql.schema.statements import query_unless_empty
from sql.schema.views import CHANGE_SORT_KEY
from streams.questions.fit import Answer, Candidate
from streams.questions.fit_like import PerNodePod, as_new
from streams.questions.fit_request import FitRequest
from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.device_claims import NO_DEVICES, Devices
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.volume_needs import Storage
from streams.rules.values.version import minor_version

NEWEST_MINOR: Final = 99
"""The newest rules apply if no version is known."""

WAITING: Final = "(namespace, pod, uid, requests, exclusive_cpus, tolerations, labels, constraints)"
"""The columns of `streams.questions.pending.waiting_pod`."""
_CLUSTERS: Final = "SELECT DISTINCT cluster FROM nodes ORDER BY cluster"
_NODES: Final = """
SELECT n.cluster AS cluster, n.node AS node, n.ts AS ts, n.created_at AS created_at,
    n.kubelet_version AS kubelet_version, n.unschedulable AS unschedulable, n.ready AS ready, n.taints AS taints,
    n.allocatable AS allocatable, n.labels AS labels, f.requested AS requested, f.pods AS pods,
    nullIf(f.ts, toDateTime64(0, 6, 'UTC')) AS fit_ts
FROM
(
    SELECT * FROM nodes WHERE cluster IN {clusters:Array(String)} ORDER BY ts DESC LIMIT 1 BY cluster, node
) AS n
LEFT JOIN
(
    SELECT cluster, node, max(ts) AS ts, max(pods) AS pods,
        mapFromArrays(groupArray(toString(resource)), groupArray(requested)) AS requested
    FROM node_fit_latest WHERE cluster IN {clusters:Array(String)} GROUP BY cluster, node
) AS f ON f.cluster = n.cluster AND f.node = n.node
WHERE NOT n.deleted
ORDER BY node
"""
_SETTINGS: Final = """
SELECT cluster, node, ts, cpu_manager_policy, cpu_manager_policy_options, memory_manager_policy,
    topology_manager_policy, topology_manager_scope, topology_manager_policy_options
FROM kubelet_settings WHERE cluster IN {clusters:Array(String)} ORDER BY ts DESC LIMIT 1 BY cluster, node
"""
_SKEW: Final = """
SELECT cluster, node, ts, free_cpus, largest_fit_cpus, exclusive_cpus, source, fidelity, assumed, explanation,
    cpu_manager_policy, topology_manager_policy, topology_manager_scope
FROM numa_skew WHERE cluster IN {clusters:Array(String)} AND scope = 'node'
ORDER BY ts DESC LIMIT 1 BY cluster, node
"""
_ALLOCATIONS: Final = """
SELECT cluster, node, ts, numa_node, cpus, free_cpus, cores, source, free_cpuset, core_cpusets, reserved_cpuset,
    core_sockets
FROM numa_allocations WHERE cluster IN {clusters:Array(String)}
ORDER BY node, numa_node, ts DESC LIMIT 1 BY cluster, node, numa_node
"""
_RESOURCES: Final = """
SELECT cluster, node, ts, numa_node, resource, capacity, allocatable, available, cells, source
FROM numa_resources WHERE cluster IN {clusters:Array(String)}
ORDER BY node, numa_node, resource, source, ts DESC LIMIT 1 BY cluster, node, numa_node, resource, source
"""
_WHATIF: Final = """
SELECT cluster, node, ts, scope, strategy, largest_fit_cpus
FROM numa_whatif WHERE cluster IN {clusters:Array(String)}
"""
_PODS: Final = f"""
SELECT cluster, namespace, labels, constraints, preferences, deletion_asked_at IS NOT NULL AS terminating,
    groupArray(node) AS nodes
FROM
(
    SELECT * FROM pod_bindings WHERE cluster IN {{clusters:Array(String)}}
    ORDER BY {CHANGE_SORT_KEY} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node != '' AND change IN ('bound', 'updated') AND ({{every:Bool}} OR constraints != '')
GROUP BY cluster, namespace, labels, constraints, preferences, terminating
"""


class ClusterFacts(NamedTuple):
    """A database's facts about a cluster that decide where pods could go."""

    cluster: str
    read_at: dict[str, datetime]
    """Time of the newest row of each node."""
    candidates: list[Candidate]
    strategies: dict[str, int]
    scheduler_minor: int
    """Assumed to be that of the newest kubelet, because no kubelet may be newer than the control plane."""
    everywhere: tuple[NodeState, ...] = ()
    """Storage objects, if pods were requested."""
    storage: Storage = Storage()
    """The known storage, if pods were requested."""
    namespaces: Mapping[str, Mapping[str, str]] = {}
    """Labels of known namespaces; empty unless pods were requested."""
    devices: Devices = NO_DEVICES
    """Devices, if pods were requested."""
    budgets: Mapping[tuple[str, str], Budget] = {}
    """Disruption budgets by namespace and name, if pods were requested."""

    @property
    def as_of(self) -> datetime | None:
        """Return the time of the newest row that was read."""
        return max(self.read_at.values(), default=None)

    def of(self, node: str) -> "ClusterFacts":
        """Return the facts about one node. Raises BadParameter for an unknown node."""
        if node not in self.read_at:
            raise BadParameter(
                f"no node {node!r} is known in cluster {self.cluster!r}: leadsman query nodes lists them"
            )
        only = [each for each in self.candidates if each.state.node == node]
        return self._replace(read_at={node: self.read_at[node]}, candidates=only)


def fit_document(known: ClusterFacts, request: FitRequest, found: Answer) -> dict[str, Any]:
    """Return an answer for programs: cluster, as_of, the request, and the fields of `Answer`."""
    return {
        "cluster": known.cluster,
        "as_of": known.as_of,
        "request": request._asdict(),
        **msgspec.structs.asdict(found),
    }


def read_known(database: Database, cluster: str = "", node: str = "", *, with_pods: bool = False) -> ClusterFacts:
    """Read the facts about the nodes of a cluster, or about one of them; `with_pods` if a pod depends on its
    neighbours. `cluster` may be empty if the database has no more than one. Raises BadParameter for an unknown
    cluster or node, and DatabaseError.
    """
    cluster = _cluster(database, cluster)
    known = read_clusters(database, [cluster], pods="all" if with_pods else "none")[cluster]
    return known.of(node) if node else known


def read_clusters(
    database: Database, clusters: Sequence[str], pods: Literal["none", "constrained", "all"]
) -> dict[str, ClusterFacts]:
    """Read the facts about the nodes of each cluster, with the selected pods. Raises DatabaseError."""
    database = database.noting_empty_tables()
    rows = [
        read_rows(database, sql, clusters) for sql in (_NODES, _SETTINGS, _SKEW, _ALLOCATIONS, _RESOURCES, _WHATIF)
    ]
    there = {} if pods == "none" else read_rows(database, _PODS, clusters, every=pods == "all")
    scheduled = {} if pods == "none" else read_scheduled(database, clusters)
    return {
        each: _known(
            each,
            [tables.get(each, []) for tables in rows],
            None if pods == "none" else neighbours(there.get(each, [])),
            scheduled.get(each, Scheduled()),
        )
        for each in clusters
    }


def _known(
    cluster: str, rows: Sequence[list[RowDict]], pods: Mapping[str, list[Neighbour]] | None, scheduled: Scheduled
) -> ClusterFacts:
    nodes, whatif = rows[0], rows[-1]
    made_at = {row["node"]: row["created_at"] for row in nodes}
    tables = [_by_node(evidence, made_at) for evidence in rows[1:]]
    found = [NodeRows(row, *(table.get(row["node"], []) for table in tables)) for row in nodes]
    candidates = [candidate(evidence, (pods or {}).get(evidence.node["node"], ())) for evidence in found]
    storage, devices = scheduled.storage(), scheduled.devices()
    if pods is not None:
        candidates = with_devices([*with_volumes(candidates, storage)], devices)
    return ClusterFacts(
        cluster=cluster,
        read_at={evidence.node["node"]: max(_times(evidence)) for evidence in found},
        candidates=candidates,
        strategies={row["strategy"]: row["largest_fit_cpus"] for row in whatif if row["scope"] == "cluster"},
        scheduler_minor=_scheduler_minor(nodes),
        everywhere=() if pods is None else tuple(each.state for each in candidates),
        storage=storage,
        namespaces=scheduled.namespaces(),
        devices=devices,
        budgets=scheduled.budgets(),
    )


def _cluster(database: Database, cluster: str) -> str:
    known = [row[0] for row in database.query(_CLUSTERS).rows]
    if not cluster and len(known) <= 1:
        return known[0] if known else ""
    if cluster not in known:
        raise BadParameter(f"name one of the clusters with --cluster: {', '.join(known)}")
    return cluster


def read_rows(
    database: Database, sql: str, clusters: Sequence[str], **parameters: Any
) -> defaultdict[str, list[RowDict]]:
    """Read the rows of each cluster. Raises DatabaseError."""
    read = query_unless_empty(database, sql, {"clusters": list(clusters), **parameters})
    found = defaultdict[str, list[RowDict]](list)
    for row in read.rows:
        named = dict(zip(read.column_names, row, strict=True))
        found[named["cluster"]].append(named)
    return found


def _by_node(rows: Sequence[RowDict], made_at: Mapping[str, datetime | None]) -> dict[str, list[RowDict]]:
    """Return the rows of existing nodes, without those of earlier nodes with the same name."""
    found = defaultdict(list)
    for row in rows:
        if row["node"] in made_at and row["ts"] >= (made_at[row["node"]] or row["ts"]):
            found[row["node"]].append(row)
    return dict(found)


def _times(rows: NodeRows) -> Iterator[datetime]:
    yield from (ts for ts in (rows.node["ts"], rows.node["fit_ts"]) if ts is not None)
    yield from (row["ts"] for table in rows[1:] for row in table)


def _scheduler_minor(nodes: Sequence[RowDict]) -> int:
    minors = [version[1] for row in nodes if (version := minor_version(row["kubelet_version"])) is not None]
    return max(minors, default=NEWEST_MINOR)


_STAYING: Final = f"""
SELECT cluster, namespace, labels, constraints, preferences, deletion_asked_at IS NOT NULL AS terminating, requests
FROM
(
    SELECT * FROM pod_bindings WHERE cluster IN {{clusters:Array(String)}}
    ORDER BY {CHANGE_SORT_KEY} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node = {{node:String}} AND change IN ('bound', 'updated') AND owner_kind IN ('DaemonSet', 'Node')
"""


def one_more(database: Database, known: ClusterFacts, node: str) -> ClusterFacts:
    """Return the facts about a new node like `node`, beside all others. Raises BadParameter and DatabaseError."""
    (like,) = known.of(node).candidates
    rows = read_rows(database, _STAYING, [known.cluster], node=node)[known.cluster]
    staying = [PerNodePod(row["requests"], neighbour(row)) for row in rows]
    name = f"new node like {node}"
    new = as_new(like, staying, name, known.devices)
    return known._replace(
        read_at={name: known.read_at[node]},
        candidates=[new],
        strategies={},
        everywhere=(*known.everywhere, new.state) if known.everywhere else (),
    )
