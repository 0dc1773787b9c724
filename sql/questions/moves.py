"""Reads which pods hold which CPUs, from which `streams.questions.moves` plans restarts."""

from collections import defaultdict
from typing import Final

import msgspec

from common.amounts import counted
from ingest.model.cpuset import parse_cpuset
from sql.database.open import Database
from sql.questions.drain import pods_on
from sql.questions.fit import ClusterFacts, read_rows
from sql.questions.fit_storage import BUDGETS
from streams.questions.drain import Cluster
from streams.questions.fit import Answer, prepared
from streams.questions.moves import Holder, Home, MovesAnswer, plan
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.preemption import NO_BUDGETS

_HELD: Final = """
SELECT cluster, node, namespace, pod, uid, cpuset
FROM
(
    SELECT * FROM numa_pods WHERE cluster IN {clusters:Array(String)}
    ORDER BY ts DESC LIMIT 1 BY cluster, node, namespace, pod, uid, container
)
WHERE cpus > 0 AND fidelity = 'exact' AND cpuset != ''
"""


def read_moves(database: Database, known: ClusterFacts, pod: PodRequest, found: Answer) -> MovesAnswer:
    """Return which pods to restart for a pod. `known` has all nodes with their pods, and `found` is the answer
    without restarts. Raises DatabaseError.
    """
    for each in found.nodes:
        if each.verdict == "fits" and len(each.numa_nodes) == 1:
            return MovesAnswer(each.node)
    nodes, minor = known.everywhere, known.scheduler_minor
    resources = set().union(*(each.allocatable for each in nodes))
    pod, _ = prepared(pod, nodes, resources, minor, known.storage, known.namespaces, known.devices)
    exact = {
        each.state.node: each.state for each in known.candidates if each.state.machine and each.fidelity == "exact"
    }
    homes, unnamed = _homes(database, known.cluster, exact)
    cluster = Cluster(nodes, (), minor, known.storage, known.namespaces, known.devices, known.budgets)
    moves = plan(pod, homes, cluster)
    vague = [each for each in known.candidates if each.state.node not in exact and _pins(each.state)]
    doubts = {
        NO_BUDGETS: moves.restarts and BUDGETS not in known.storage.listed,
        f"{counted(unnamed, 'holder')} of exclusive CPUs without a known pod, which stay": unnamed,
        f"which CPUs pods hold on {counted(len(vague), 'node')}": vague and not moves.node,
    }
    return msgspec.structs.replace(
        moves, unknown=[*moves.unknown, *(text for text, is_so in doubts.items() if is_so)]
    )


def _homes(database: Database, cluster: str, exact: dict[str, NodeState]) -> tuple[list[Home], int]:
    """Return the nodes with the pods that hold CPUs by the newest numbers too, and the number of other holders."""
    held = defaultdict[tuple[str, ...], list[frozenset[int]]](list)
    for row in read_rows(database, _HELD, [cluster])[cluster]:
        state = exact.get(row["node"])
        cpus = parse_cpuset(row["cpuset"])
        if state and state.machine and cpus.isdisjoint(state.machine.free):
            named = (row["uid"],) if row["uid"] else (row["namespace"], row["pod"])
            held[row["node"], *named].append(cpus)
    homes = {node: Home(node, []) for node in exact}
    for there in pods_on(database, cluster, exact):
        names = ((there.pod.uid,), (there.pod.namespace, there.pod.pod))
        sets = [cpus for each in names for cpus in held.pop((there.node, *each), ())]
        if sets:
            homes[there.node].holders.append(Holder(there, frozenset().union(*sets), len(sets)))
    return [*homes.values()], len(held)


def _pins(node: NodeState) -> bool:
    return any(each.cpu_policy == "static" for each in node.settings)
