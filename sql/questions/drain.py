"""Reads the facts from which `streams.questions.drain` predicts the effect of a drain."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sql.database.open import Database
from sql.questions.fit import WAITING, ClusterFacts, read_known
from sql.questions.fit_storage import BUDGETS
from sql.schema.statements import query_unless_empty
from sql.schema.views import CHANGE_SORT_KEY
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.pending import waiting_pod
from streams.rules.scheduling.constraints import restored
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.neighbours import Neighbour

_PODS_ON_NODES: Final = f"""
SELECT {WAITING},
    node, priority, phase, owner_kind, owner_name, deletion_asked_at IS NOT NULL
FROM
(
    SELECT * FROM pod_bindings WHERE cluster = {{cluster:String}}
    ORDER BY {CHANGE_SORT_KEY} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node IN {{nodes:Array(String)}} AND change IN ('bound', 'updated')
"""


class Drain(NamedTuple):
    """The nodes, their pods and budgets, and where the pods could go."""

    known: ClusterFacts
    pods: list[DrainedPod]
    cluster: Cluster
    budgets_are_listed: bool
    """True if a complete list of budgets was read, so that a pod without a known budget has none."""


def read_drain(database: Database, cluster: str, nodes: Collection[str]) -> Drain:
    """Read a drain's facts. Raises BadParameter for an unknown cluster or node, and DatabaseError."""
    known = read_known(database, cluster, with_pods=True)
    for each in nodes:
        known.of(each)  # raises BadParameter for an unknown node
    rows = query_unless_empty(database, _PODS_ON_NODES, {"cluster": known.cluster, "nodes": sorted(nodes)}).rows
    pods = [_drained_pod(*row) for row in rows]
    return Drain(
        known,
        pods,
        Cluster(
            others=[each for each in known.everywhere if each.node not in nodes],
            drained=[_after_drain(each, pods) for each in known.everywhere if each.node in nodes],
            scheduler_minor=known.scheduler_minor,
            storage=known.storage,
            namespaces=known.namespaces,
            devices=known.devices,
            budgets=known.budgets,
        ),
        budgets_are_listed=BUDGETS in known.storage.listed,
    )


def _drained_pod(
    row: Sequence[Any], node: str, priority: int, phase: str, kind: str, owner: str, terminating: int
) -> DrainedPod:
    return DrainedPod(node, waiting_pod(*row), priority, phase, kind, owner, bool(terminating))


def _after_drain(node: NodeState, pods: Collection[DrainedPod]) -> NodeState:
    """Return the node as a drain leaves it: cordoned, with only the pods that stay. They count for affinity."""
    staying = (each.pod for each in pods if each.node == node.node and each.stays)
    neighbours = tuple(Neighbour(pod.namespace, pod.labels, restored(pod.constraints)) for pod in staying)
    return node._replace(unschedulable=True, neighbours=neighbours)
