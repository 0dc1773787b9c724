"""Turns the stored row of a pending pod into the question of `leadsman fit`."""

from typing import Final

from sql.database.open import Database
from sql.questions.fit import WAITING, ClusterFacts
from sql.questions.queries import BadParameter
from sql.schema.statements import query_unless_empty
from sql.schema.views import CHANGE_SORT_KEY
from streams.questions.fit_request import FitRequest, fit_request_of
from streams.questions.pending import request_of, waiting_pod
from streams.rules.pods.qos import UNKNOWN
from streams.rules.scheduling.constraints import preferred, restored
from streams.rules.scheduling.filters import PodRequest

_LAST_ROW: Final = f"""
SELECT {WAITING}, preferences, change, node, priority, critical, qos_class FROM pod_bindings
WHERE cluster = {{cluster:String}} AND namespace = {{namespace:String}} AND pod = {{pod:String}}
ORDER BY {CHANGE_SORT_KEY} DESC LIMIT 1
"""


def pending_pod(database: Database, known: ClusterFacts, name: str) -> tuple[FitRequest, PodRequest]:
    """Return the question about a pod, given as `namespace/name`, or by its name if the namespace is `default`.

    `known` has all nodes with their pods. Raises BadParameter for a pod that is not pending, and DatabaseError.
    """
    namespace, _, pod = name.rpartition("/")
    given = {"cluster": known.cluster, "namespace": namespace or "default", "pod": pod}
    rows = query_unless_empty(database, _LAST_ROW, given).rows
    if not rows:
        raise BadParameter(f"no pod {name!r} is known in cluster {known.cluster!r}: write NAMESPACE/NAME")
    facts, preferences, change, node, priority, critical, qos_class = rows[0]
    if change != "pending":
        where = f"on node {node}" if change in {"bound", "updated"} else change
        raise BadParameter(f"pod {name!r} is not pending, it is {where}: ask with -f and its manifest")
    row = waiting_pod(*facts)
    constraints = restored(row.constraints)
    resources = set().union(*(each.allocatable for each in known.everywhere))
    used = [(each.namespace, each.constraints) for state in known.everywhere for each in state.neighbours]
    request = request_of(row, constraints, resources, known.scheduler_minor, used, known.storage, known.devices)
    request = request._replace(
        itself=request.itself._replace(preferences=preferred(preferences)),
        insists=False,
        is_critical=bool(critical),
        priority=None if qos_class == UNKNOWN else priority,
    )
    return fit_request_of(request.requests, request), request
