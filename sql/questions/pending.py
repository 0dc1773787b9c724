"""Computes table `pending_kinds`: on which nodes the pending pods fit now, by the rules of `leadsman fit`.

A kind is a group of pending pods that the scheduler treats alike. The process that lands rows computes the table from
other tables afterwards, so the result does not depend on the order in which rows arrive.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import Any, Final

from common.clock import SYSTEM
from sql.database.lean_arrow import pa
from sql.database.open import Database
from sql.questions.fit import ClusterFacts, read_clusters
from sql.schema.statements import query_unless_empty
from sql.schema.views import CHANGE_SORT_KEY
from streams.questions.pending import Kind, Outcome, Waiting, judged, needs_all_pods, waiting_pod

TABLE: Final = "pending_kinds"
_CLUSTERS: Final = f"""
SELECT cluster FROM
(
    SELECT cluster FROM pod_bindings
    WHERE (cluster, uid) IN (SELECT cluster, uid FROM pod_bindings WHERE change = 'pending')
    GROUP BY cluster, namespace, pod, uid
    HAVING argMax(change, {CHANGE_SORT_KEY}) = 'pending'
    UNION ALL
    SELECT cluster FROM {TABLE} GROUP BY cluster HAVING argMax(length(nodes), calculated_at) > 0
)
WHERE cluster NOT IN
    (SELECT cluster FROM {TABLE} GROUP BY cluster HAVING max(calculated_at) > {{before:DateTime64(6, 'UTC')}})
GROUP BY cluster ORDER BY cluster
"""
_WAITING: Final = f"""
SELECT w.cluster, w.namespace, w.pod, w.uid, w.requests, w.exclusive_cpus, w.tolerations, w.labels, w.constraints,
    h.words, nullIf(h.heard_at, toDateTime64(0, 6, 'UTC'))
FROM
(
    SELECT * FROM pod_bindings
    WHERE cluster IN {{clusters:Array(String)}}
        AND (cluster, uid) IN (SELECT cluster, uid FROM pod_bindings WHERE change = 'pending')
    ORDER BY {CHANGE_SORT_KEY} DESC
    LIMIT 1 BY cluster, namespace, pod, uid
) AS w
LEFT JOIN
(
    SELECT cluster, namespace, pod, uid, max(ts) AS heard_at, argMax(reasons, (ts, text_source)) AS words
    FROM scheduling_failures
    WHERE cluster IN {{clusters:Array(String)}}
    GROUP BY cluster, namespace, pod, uid
) AS h ON h.cluster = w.cluster AND h.namespace = w.namespace AND h.pod = w.pod AND h.uid = w.uid
WHERE w.change = 'pending' AND (w.cluster, w.uid) NOT IN
    (SELECT cluster, uid FROM bound_by_event WHERE cluster IN {{clusters:Array(String)}})
"""
AGAIN: Final = timedelta(seconds=5)
"""Time for which a cluster is not computed again."""
_AT_ONCE: Final = 100
"""Number of clusters that are read together, because a query costs about the same for all of them as for one."""
_TIME: Final = pa.timestamp("us", "UTC")
_TEXTS: Final = pa.list_(pa.string())
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ALWAYS: Final = datetime(2299, 1, 1, tzinfo=UTC)


def recalculate(database: Database) -> None:
    """Compute the clusters that no process has computed within AGAIN. Raises DatabaseError."""
    calculate(database, SYSTEM.now() - AGAIN)


def calculate(database: Database, before: datetime = _ALWAYS) -> None:
    """Store on which nodes pending pods fit, for each cluster whose last result is older than a given time.

    A cluster without pending pods gets one row without pods, which replaces the old result. Raises DatabaseError.
    """
    known = database.noting_empty_tables()
    clusters = [row[0] for row in query_unless_empty(known, _CLUSTERS, {"before": before}).rows]
    for first in range(0, len(clusters), _AT_ONCE):
        _calculate(known, clusters[first : first + _AT_ONCE])


def _calculate(database: Database, clusters: Sequence[str]) -> None:
    pods: dict[str, list[Waiting]] = {cluster: [] for cluster in clusters}
    for cluster, *row in query_unless_empty(database, _WAITING, {"clusters": list(clusters)}).rows:
        pods[cluster].append(waiting_pod(*row))
    needs_all = needs_all_pods(chain.from_iterable(pods.values()))
    known = read_clusters(database, clusters, "all" if needs_all else "constrained")
    tables = [_columns(known[cluster], _kinds(known[cluster], of_cluster)) for cluster, of_cluster in pods.items()]
    database.insert(TABLE, pa.concat_tables(tables))


def _kinds(known: ClusterFacts, waiting: Iterable[Waiting]) -> Iterator[Kind]:
    return judged(
        waiting,
        known.everywhere,
        known.scheduler_minor,
        storage=known.storage,
        namespaces=known.namespaces,
        devices=known.devices,
    )


def _columns(known: ClusterFacts, kinds: Iterable[Kind]) -> pa.Table:
    """Return a row for each kind and outcome; only the first row of a kind lists the pods.

    Without pods, return one empty row.
    """
    candidates = known.candidates
    rows = list(_rows(kinds)) or [(0, 0, Kind((), {}), Outcome(None), ())]
    numbers, outcomes, of_kinds, results, nodes = zip(*rows, strict=True)
    pods = [each.pods if outcome == 0 else () for each, outcome in zip(of_kinds, outcomes, strict=True)]

    def of_pods(field: str, type_: pa.DataType) -> "pa.Array[Any]":
        return pa.array([[getattr(pod, field) for pod in each] for each in pods], pa.list_(type_))

    def of_nodes(values: Iterable[Any], type_: pa.DataType) -> "pa.Array[Any]":
        of_all = list(values)
        return pa.ListArray.from_arrays(offsets, pa.array([of_all[place] for place in places], type_))

    places = list(chain.from_iterable(nodes))  # `take` would import numpy
    offsets = pa.array([0, *accumulate(map(len, nodes))], pa.int32())
    words = [[sorted(pod.scheduler_reasons.items()) for pod in each] for each in pods]
    columns = {
        "cluster": pa.array([known.cluster] * len(rows)),
        "kind": pa.array(numbers, pa.uint32()),
        "outcome": pa.array(outcomes, pa.uint32()),
        "as_of": pa.array([known.as_of or _NEVER] * len(rows), _TIME),
        "calculated_at": pa.array([SYSTEM.now()] * len(rows), _TIME),
        "namespaces": of_pods("namespace", pa.string()),
        "pods": of_pods("pod", pa.string()),
        "uids": of_pods("uid", pa.string()),
        "scheduler_reasons": pa.array(words, pa.list_(pa.map_(pa.string(), pa.int64()))),
        "scheduled_at": of_pods("scheduler_reasons_at", _TIME),
        "exclusive_cpus": pa.array(
            [each.pods[0].exclusive_cpus if each.pods else 0 for each in of_kinds], pa.int64()
        ),
        "nodes": of_nodes((each.state.node for each in candidates), pa.string()),
        "fits": pa.array([each.fits for each in results], pa.bool_()),
        "reasons": pa.array([each.reasons for each in results], _TEXTS),
        "unknowns": pa.array([each.unknowns for each in results], _TEXTS),
        "taints": pa.array([each.taints for each in results], _TEXTS),
        "numa_verdict": pa.array([each.numa_verdict for each in results]),
        "free_cpus": of_nodes((each.state.free_cpus for each in candidates), pa.int64()),
        "largest_fit_cpus": of_nodes((each.largest_fit_cpus for each in candidates), pa.int64()),
        "topology_manager_policies": of_nodes((each.topology_manager_policy for each in candidates), pa.string()),
        "numa_sources": of_nodes((each.source for each in candidates), pa.string()),
        "numa_fidelities": of_nodes((each.fidelity for each in candidates), pa.string()),
    }
    return pa.table(columns)


def _rows(kinds: Iterable[Kind]) -> Iterator[tuple[int, int, Kind, Outcome, Sequence[int]]]:
    for number, kind in enumerate(kinds):
        for outcome, (result, places) in enumerate(kind.outcomes.items()):
            yield number, outcome, kind, result, places
