"""Why a saved question has no rows: what was never seen, what contradicts that, else what was looked at."""

from collections.abc import Mapping
from typing import Final

from common.amounts import some
from common.text import plain
from sql.database.open import Database
from sql.questions.queries import SavedQuery

INPUTS: Final[Mapping[str, str]] = {
    "samples": "statistics of kubelets (/stats/summary)",
    "psi": "pressure stall information (PSI, Kubernetes 1.34 and later)",
    "configz": "settings of kubelets (/configz)",
    "nodes": "Node objects",
    "numa": "sources that report NUMA nodes (kubelet metrics, or leadsman agent)",
    "requests": "requests of pods",
    "pods": "pods",
    "events": "Events",
    "pods or events": "pods and Events",
    "events or samples": "Events and statistics",
}
"""What a question can need, in words; those of `alert_coverage` among them."""
_SEEN: Final[Mapping[str, str]] = {
    "samples": "node_samples_5m",
    "psi": """(
        SELECT cluster FROM node_samples_5m WHERE cpu_psi_some_total_nanoseconds_max IS NOT NULL
        UNION ALL
        SELECT cluster FROM pod_samples WHERE cpu_psi_some_total_nanoseconds IS NOT NULL
    )""",
    "configz": "kubelet_settings",
    "nodes": "nodes",
    "numa": "(SELECT cluster FROM numa_skew WHERE scope = 'node' AND fidelity != 'none')",
    "requests": "node_fit_5m",
    "pods": "pod_bindings",
    "events": "node_events",
}
"""Where each simple one is found."""
_DENIED: Final = """
SELECT reason, sum(occurrences), max(ts)
FROM node_events
WHERE reason IN {reasons:Array(String)}
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR namespace = {namespace:String})
GROUP BY reason
ORDER BY max(ts) DESC, reason
"""
_LOOKED: Final = """
SELECT
    (SELECT uniqExact(cluster, node) FROM nodes WHERE {cluster:String} IN ('', cluster)),
    (SELECT uniqExact(cluster, uid) FROM pod_bindings WHERE {cluster:String} IN ('', cluster)),
    (SELECT uniqExact(cluster, namespace, name) FROM node_events WHERE {cluster:String} IN ('', cluster)),
    (
        SELECT nullIf(max(last), toDateTime64(0, 6, 'UTC'))
        FROM
        (
            SELECT max(ts) AS last FROM nodes WHERE {cluster:String} IN ('', cluster)
            UNION ALL SELECT max(last_at) AS last FROM node_samples_5m WHERE {cluster:String} IN ('', cluster)
            UNION ALL SELECT max(observed_at) AS last FROM node_events WHERE {cluster:String} IN ('', cluster)
            UNION ALL SELECT max(ts) AS last FROM pod_bindings WHERE {cluster:String} IN ('', cluster)
        )
    )
SETTINGS final = 0
"""


def why_empty(database: Database, query: SavedQuery, given: Mapping[str, str]) -> str:
    """A sentence, for an answer of no rows."""
    seen = {name: _clusters(database, source) for name, source in _SEEN.items() if name in _parts(query)}
    if query.needs and not any(seen.values()) and _is_empty(database):
        return "The database is empty: replay a capture, or watch a cluster with leadsman up"
    told = _denied(database, query, given)
    known = set().union(*(_clusters(database, source) for source in _SEEN.values()))
    for need in query.needs:
        having = set().union(*(seen[part] for part in need.split(" or ")))
        lacking = ({given["cluster"]} if given.get("cluster") else known) - having
        if lacking:
            where = "" if lacking >= known else f" of {', '.join(plain(each) for each in sorted(lacking)[:3])}"
            return f"No {INPUTS[need]}{where} were seen{f', but {told}' if told else ''}"
    return f"No row, but {told}" if told else _nothing(database, query, given)


def _parts(query: SavedQuery) -> set[str]:
    return {part for need in query.needs for part in need.split(" or ")}


def _clusters(database: Database, source: str) -> set[str]:
    return {str(name) for (name,) in database.query(f"SELECT DISTINCT cluster FROM {source} SETTINGS final = 0").rows}


def _is_empty(database: Database) -> bool:
    return not any(_clusters(database, source) for source in _SEEN.values())


def _asked(given: Mapping[str, str]) -> dict[str, str]:
    return {name: given.get(name, "") for name in ("cluster", "node", "namespace")}


def _denied(database: Database, query: SavedQuery, given: Mapping[str, str]) -> str:
    """Events that tell of what the answer lacks; empty where there are none."""
    if not query.events:
        return ""
    rows = database.query(_DENIED, {**_asked(given), "reasons": list(query.events)}).rows
    if not rows:
        return ""
    times = ", ".join(f"{plain(reason)} ({some(count, 'time')})" for reason, count, _ in rows)
    last = max(at for _, _, at in rows)
    return f"Events tell of it: {times}, the last at {last:%Y-%m-%d %H:%M:%S} UTC: leadsman query events"


def _nothing(database: Database, query: SavedQuery, given: Mapping[str, str]) -> str:
    """What was looked at, and until when."""
    nodes, pods, events, last = database.query(_LOOKED, {"cluster": given.get("cluster", "")}).rows[0]
    until = "" if last is None else f" until {last:%Y-%m-%d %H:%M:%S} UTC"
    looked = f"{some(nodes, 'node')}, {some(pods, 'pod')} and {some(events, 'Event')} that were seen{until}"
    chosen = ", ".join(f"{name}={value}" for name, value in given.items())
    if chosen:
        return f"Nothing is so with {chosen}, of {looked}"
    return f"Nothing of this kind in {looked}" if query.needs else "There is none"
