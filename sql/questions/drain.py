"""The tables' facts for a drain: the pods of the nodes, disruption budgets, and where the pods could go."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sql.database.open import Database
from sql.questions.fit import LAST, Known, read_known
from sql.questions.fit_storage import BUDGETS
from sql.schema.statements import asked
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.pending import Waiting
from streams.rules.scheduling.constraints import restored
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.neighbours import Neighbour

_THERE: Final = f"""
SELECT (namespace, pod, uid, requests, exclusive_cpus, tolerations, labels, constraints),
    node, priority, phase, owner_kind, owner_name, deletion_asked_at IS NOT NULL
FROM
(
    SELECT * FROM pod_bindings WHERE cluster = {{cluster:String}}
    ORDER BY {LAST} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node IN {{nodes:Array(String)}} AND change IN ('bound', 'updated')
"""


class Drain(NamedTuple):
    """The facts about a drain."""

    known: Known
    pods: list[DrainedPod]
    cluster: Cluster
    budgets_are_listed: bool
    """A complete list of budgets was read, so that a pod without one has none."""


def read_drain(database: Database, cluster: str, nodes: Collection[str]) -> Drain:
    """Read a drain's facts. Raises BadParameter for an unknown cluster or node, and DatabaseError."""
    known = read_known(database, cluster, with_pods=True)
    for each in nodes:
        known.of(each)
    rows = asked(database, _THERE, {"cluster": known.cluster, "nodes": sorted(nodes)}).rows
    pods = [_there(*row) for row in rows]
    return Drain(
        known,
        pods,
        Cluster(
            others=[each for each in known.everywhere if each.node not in nodes],
            drained=[_drained(each, pods) for each in known.everywhere if each.node in nodes],
            scheduler_minor=known.scheduler_minor,
            storage=known.storage,
            namespaces=known.namespaces,
            devices=known.devices,
            budgets=known.budgets,
        ),
        budgets_are_listed=BUDGETS in known.storage.listed,
    )


def _there(
    waiting: Sequence[Any], node: str, priority: int, phase: str, kind: str, owner: str, terminating: int
) -> DrainedPod:
    namespace, pod, uid, requests, cpus, tolerations, labels, constraints = waiting
    each = Waiting(namespace, pod, uid, requests, cpus, tuple(tolerations), labels, constraints)
    return DrainedPod(node, each, priority, phase, kind, owner, bool(terminating))


def _drained(node: NodeState, pods: Collection[DrainedPod]) -> NodeState:
    staying = (each.pod for each in pods if each.node == node.node and each.stays)
    neighbours = tuple(Neighbour(pod.namespace, pod.labels, restored(pod.constraints)) for pod in staying)
    return node._replace(unschedulable=True, neighbours=neighbours)
