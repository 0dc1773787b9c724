"""Why a saved question has no rows: which input was never seen."""

from collections.abc import Mapping
from typing import Final

from sql.database.open import Database
from sql.questions.queries import SavedQuery

INPUTS: Final[Mapping[str, str]] = {
    "samples": "statistics of kubelets (/stats/summary)",
    "configz": "settings of kubelets (/configz)",
    "nodes": "Node objects",
    "numa": "sources that report NUMA nodes (kubelet metrics, or leadsman agent)",
    "requests": "requests of pods",
    "pods": "pods",
    "events": "Events",
    "pods or events": "pods and Events",
    "events or samples": "Events and statistics",
}
"""Of `alert_coverage`, in words."""
_LACKING: Final = """
SELECT input, groupUniqArray(cluster) AS clusters, (SELECT uniqExact(cluster) FROM alert_coverage) AS known
FROM (SELECT cluster, input, max(nodes_without = nodes) AS lacks FROM alert_coverage GROUP BY cluster, input)
WHERE lacks
GROUP BY input
"""
_KNOWN: Final = "SELECT count() FROM alert_coverage"


def why_empty(database: Database, query: SavedQuery, given: Mapping[str, str]) -> str:
    """A sentence, for an answer of no rows."""
    lacking = {name: (clusters, known) for name, clusters, known in database.query(_LACKING).rows}
    for each in query.needs:
        if each in lacking:
            clusters, known = lacking[each]
            where = "" if len(clusters) == known else f" of {', '.join(sorted(clusters)[:3])}"
            return f"No {INPUTS[each]}{where} were seen"
    if query.needs and not database.query(_KNOWN).rows[0][0]:
        return "The database is empty: replay a capture, or watch a cluster with leadsman up"
    chosen = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"Nothing is so with {chosen}" if chosen else "Its inputs were seen: nothing of this kind happened"
