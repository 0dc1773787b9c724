"""Reads the pods that the scheduler could end for a pod that no node takes."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Final

from sql.database.open import Database
from sql.questions.fit import ClusterFacts, read_rows
from sql.questions.fit_rows import neighbour
from sql.questions.fit_storage import BUDGETS
from sql.schema.views import CHANGE_SORT_KEY
from streams.questions.fit import prepared
from streams.questions.fit_preemption import PreemptionAnswer, preemption
from streams.rules.pods.qos import UNKNOWN
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.preemption import BoundPod

_BOUND: Final = f"""
SELECT cluster, node, namespace, pod, priority, qos_class, requests, started_at, labels, constraints, preferences,
    deletion_asked_at IS NOT NULL AS terminating
FROM
(
    SELECT * FROM pod_bindings WHERE cluster IN {{clusters:Array(String)}}
    ORDER BY {CHANGE_SORT_KEY} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node != '' AND change IN ('bound', 'updated')
"""


def read_preemption(database: Database, known: ClusterFacts, pod: PodRequest) -> PreemptionAnswer | None:
    """Return the result of preemption for a pod; None if the scheduler would not try it.

    `known` has all nodes with their pods. Raises DatabaseError.
    """
    nodes, minor = known.everywhere, known.scheduler_minor
    resources = set().union(*(each.allocatable for each in nodes))
    pod, _ = prepared(pod, nodes, resources, minor, known.storage, known.namespaces, known.devices)
    bound, alike = defaultdict[str, list[BoundPod]](list), dict[Hashable, Neighbour]()
    for row in read_rows(database, _BOUND, [known.cluster])[known.cluster]:
        looks = (*(row[name] for name in ("namespace", "constraints", "terminating")), *sorted(row["labels"].items()))
        itself = alike.setdefault(looks, neighbour(row))  # equal ones are one object
        priority = None if row["qos_class"] == UNKNOWN else row["priority"]
        bound[row["node"]].append(BoundPod(row["pod"], itself, priority, row["requests"], row["started_at"]))
    listed = BUDGETS in known.storage.listed
    return preemption(pod, nodes, bound, known.namespaces, known.budgets, minor, all_budgets=listed)
