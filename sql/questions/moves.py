"""Reads which pods hold which CPUs, from which `streams.questions.moves` plans restarts."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from common.amounts import counted
from ingest.model.cpuset import parse_cpuset
from sql.database.open import Database
from sql.questions.drain import pods_on
from sql.questions.fit import Known, read_rows
from sql.questions.fit_storage import BUDGETS
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.fit import prepared
from streams.questions.moves import Home, MovesAnswer, plan
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.neighbours import Neighbourhood
from streams.rules.scheduling.preemption import NO_BUDGETS

_HELD: Final = """
SELECT cluster, node, uid, cpuset
FROM
(
    SELECT * FROM numa_pods WHERE cluster IN {clusters:Array(String)}
    ORDER BY ts DESC LIMIT 1 BY cluster, node, namespace, pod, uid, container
)
WHERE cpus > 0 AND fidelity = 'exact' AND cpuset != ''
"""
_BETWEEN: Final = "how restarts bear on its affinity or topology spread, or that of pods that are there"


def read_moves(database: Database, known: Known, pod: PodRequest) -> MovesAnswer:
    """Return which pods to restart for a pod. `known` has all nodes with their pods. Raises DatabaseError."""
    nodes, minor = known.everywhere, known.scheduler_minor
    resources = set().union(*(each.allocatable for each in nodes))
    pod, places = prepared(pod, nodes, resources, minor, known.storage, known.namespaces, known.devices)
    wants, around = pod.itself.constraints, Neighbourhood(pod.itself, places)
    repelled = any(around.reasons(each) or around.unknowns(each) for each in places)
    if wants.affinity or wants.anti_affinity or wants.spread or repelled:
        return MovesAnswer(unknown=[_BETWEEN])
    held = defaultdict[str, defaultdict[str, list[frozenset[int]]]](lambda: defaultdict(list))
    for row in read_rows(database, _HELD, [known.cluster])[known.cluster]:
        held[row["node"]][row["uid"]].append(parse_cpuset(row["cpuset"]))
    exact = [each.state.node for each in known.candidates if each.state.machine and each.fidelity == "exact"]
    there = defaultdict[str, list[DrainedPod]](list)
    for each in pods_on(database, known.cluster, exact):
        there[each.node].append(each)
    cluster = Cluster(nodes, (), minor, known.storage, known.namespaces, known.devices, known.budgets)
    found = plan(pod, [Home(each, there[each], held[each]) for each in exact], cluster)
    return msgspec.structs.replace(found, unknown=[*found.unknown, *_unknown(known, exact, found)])


def _unknown(known: Known, exact: Collection[str], found: MovesAnswer) -> Iterator[str]:
    if found.restarts and BUDGETS not in known.storage.listed:
        yield NO_BUDGETS
    pinning = (
        each.state for each in known.candidates if any(by.cpu_policy == "static" for by in each.state.settings)
    )
    vague = sum(each.node not in exact for each in pinning)
    if vague and not found.node:
        yield f"which CPUs pods hold on {counted(vague, 'node')}"
