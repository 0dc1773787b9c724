"""Explains why a saved question has no rows: missing data, a contradiction, or nothing found in the searched
range.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from common.amounts import counted
from common.text import match, plain
from sql.database.open import Database
from sql.questions.queries import SavedQuery
from streams.rules.numa.sources import CHECKPOINT, GAUGE, KOORDINATOR, METRICS, PODRESOURCES, VOLCANO

INPUTS: Final[Mapping[str, str]] = {
    "samples": "statistics of kubelets (/stats/summary)",
    "psi": "pressure stall information (PSI, Kubernetes 1.34 and later)",
    "configz": "settings of kubelets (/configz)",
    "nodes": "Node objects",
    "numa": "sources that report NUMA nodes (kubelet metrics, or leadsman agent)",
    "held": "sources of the CPUs that each container holds (leadsman agent, Koordinator or Volcano)",
    "rooms": "sources of the free CPUs of each NUMA node (leadsman agent, or NodeResourceTopology objects)",
    "numa resources": "sources of memory and devices by NUMA node (leadsman agent, or NodeResourceTopology objects)",
    "numa use": "samples of NUMA nodes (leadsman agent)",
    "machine use": "samples of machines (leadsman agent)",
    "file systems": "other file systems of nodes (leadsman agent, with their folders mounted)",
    "cgroup values": "cgroups of pods (leadsman agent)",
    "metrics": "kubelet metrics of exclusive CPUs (Kubernetes 1.32 and later)",
    "compared": "two sources of the same exclusive CPUs",
    "requests": "requests of pods",
    "pods": "pods",
    "events": "Events",
    "pods or events": "pods and Events",
    "events or samples": "Events and statistics",
    "compared or metrics": "two sources of the same exclusive CPUs",
    "queues": "queues of the scheduler (watch.scheduler.urls, or a dump in its log)",
    "attempts": "attempts to place pods in a log of the scheduler (-v=2; scores at -v=10)",
    "pods or held": "pods",
}
"""Inputs that a question can need, in words. `alert_coverage` also has `thresholds`."""
_SEEN: Final[Mapping[str, str]] = {
    "samples": "(SELECT cluster, last_at AS ts FROM node_samples_5m)",
    "psi": """(
        SELECT cluster, last_at AS ts FROM node_samples_5m WHERE cpu_psi_some_total_nanoseconds_max IS NOT NULL
        UNION ALL
        SELECT cluster, ts FROM pod_samples WHERE cpu_psi_some_total_nanoseconds IS NOT NULL
    )""",
    "configz": "kubelet_settings",
    "nodes": "nodes",
    "numa": "(SELECT cluster, ts FROM numa_skew WHERE scope = 'node' AND fidelity != 'none')",
    "held": f"""(
        SELECT cluster, ts FROM numa_pods
        UNION ALL
        SELECT cluster, ts FROM numa_skew WHERE source IN {(CHECKPOINT, PODRESOURCES, KOORDINATOR, VOLCANO)}
    )""",
    "rooms": "(SELECT cluster, ts FROM numa_skew WHERE scope = 'node' AND largest_fit_cpus IS NOT NULL)",
    "numa resources": "numa_resources",
    "numa use": "numa_usage",
    "machine use": "machine_memory",
    "file systems": "file_systems",
    "cgroup values": "cgroup_values",
    "metrics": f"""(
        SELECT cluster, ts FROM numa_allocations WHERE source = '{METRICS}' OR has(witnesses, '{METRICS}')
        UNION ALL
        SELECT cluster, ts FROM numa_disagreements WHERE source_b IN {(METRICS, GAUGE)}
    )""",
    "compared": "(SELECT cluster, ts FROM numa_allocations WHERE notEmpty(witnesses))",
    "requests": "node_fit_5m",
    "queues": "scheduling_queues",
    "attempts": "scheduling_attempts",
    "pods": "pod_bindings",
    "events": """(
        SELECT cluster, ts FROM node_events UNION ALL SELECT cluster, ts FROM watches WHERE resource = 'events'
    )""",
}
"""The table or subquery that shows each simple input, with the time of each row."""
_BY_CHANGE: Final = frozenset({"cgroup values", "numa", "held", "rooms", "numa resources", "metrics", "compared"})
"""Inputs that get a row only when they change. While pods are watched, an old row is still current."""
_DATED: Final = _BY_CHANGE | {"samples", "psi", "numa use", "machine use", "file systems", "queues", "attempts"}
"""Inputs whose rows have the time of the observation. Rows of `configz` have the time from which a setting holds."""
_DENIED: Final = """
SELECT cluster, reason, sum(occurrences), max(ts)
FROM node_events
WHERE reason IN {reasons:Array(String)}
    AND ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR namespace = {namespace:String})
GROUP BY cluster, reason
ORDER BY max(ts) DESC, reason
"""
_LOOKED: Final = """
SELECT cluster, max(last), maxIf(last, kind = 'pods watched'),
    sumIf(seen, kind = 'nodes'), maxIf(last, kind = 'nodes'), sumIf(seen, kind = 'pods'), maxIf(last, kind = 'pods'),
    sumIf(seen, kind = 'events'), maxIf(last, kind = 'events')
FROM
(
    SELECT cluster, 'nodes' AS kind, uniqExact(node) AS seen, max(ts) AS last FROM nodes GROUP BY cluster
    UNION ALL SELECT cluster, 'pods', uniqExact(uid), max(ts) FROM pod_bindings GROUP BY cluster
    UNION ALL SELECT cluster, 'events', uniqExact(namespace, name), max(observed_at) FROM node_events GROUP BY cluster
    UNION ALL SELECT cluster, '', 0, max(last_at) FROM node_samples_5m GROUP BY cluster
    UNION ALL SELECT cluster, '', 0, max(ts) FROM kubelet_settings GROUP BY cluster
    UNION ALL SELECT cluster, '', 0, max(ts) FROM kubelet_log GROUP BY cluster
    UNION ALL SELECT cluster, toString(resource), 0, max(ts) FROM watches
        WHERE resource IN ('nodes', 'pods', 'events') GROUP BY cluster, resource
    UNION ALL SELECT cluster, 'pods watched', 0, max(ts) FROM watches WHERE resource = 'pods' GROUP BY cluster
)
GROUP BY cluster
ORDER BY cluster
SETTINGS final = 0
"""
"""Counts what was seen of each cluster, and until when: for a watched kind until its watch was last alive."""
KEPT: Final = timedelta(hours=1)
"""Time for which an API server keeps Events. If the newest is older, Events were not read with the latest data."""
READ_APART: Final = timedelta(minutes=10)
"""Everything else in a dump has the time of reading, so data older than this is from another dump."""
WATCHED: Final = timedelta(minutes=5)
"""A watch of Events gives a sign of life every 100 s, which is reported once a minute."""
_STREAMS: Final[Mapping[str, str]] = {
    "samples": "stats/summary",
    "psi": "stats/summary",
    "configz": "configz",
    "nodes": "nodes",
    "numa": "metrics",
    "held": "podresources",
    "rooms": "metrics",
    "numa resources": "podresources",
    "numa use": "numa_usage",
    "machine use": "machine_usage",
    "file systems": "machine_usage",
    "cgroup values": "cgroup_values",
    "metrics": "metrics",
    "compared": "metrics",
    "requests": "pods",
    "pods": "pods",
    "queues": "scheduler_cache",
    "attempts": "scheduler_log",
    "events": "events",
}
"""The stream of each simple input."""
_DOUBTED: Final = """
SELECT cluster, '' AS resource, count() AS times FROM dead_letters GROUP BY cluster
UNION ALL
SELECT cluster, resource, count() FROM source_errors
WHERE kind IN ('silent', 'gap', 'unreadable') AND resource IN {resources:Array(String)}
    AND ({node:String} = '' OR node IN ('', {node:String}))
GROUP BY cluster, resource
ORDER BY cluster, resource
"""
"""Finds records that could not be understood, and streams that were not read all the time."""
_NAMED: Final[Mapping[str, str]] = {
    "node": """
        SELECT cluster, node FROM nodes UNION DISTINCT SELECT cluster, node FROM node_samples_5m
        UNION DISTINCT SELECT cluster, node FROM node_events UNION DISTINCT SELECT cluster, node FROM pod_bindings
        UNION DISTINCT SELECT cluster, node FROM kubelet_log
    """,
    "namespace": """
        SELECT cluster, namespace FROM pod_bindings UNION DISTINCT SELECT cluster, namespace FROM node_events
    """,
}
"""Queries for every known node and namespace."""
_MOST_NAMED: Final = 3
"""Maximum number of names or reasons in a sentence; the rest are counted."""


def why_empty(database: Database, query: SavedQuery, given: Mapping[str, str]) -> str:
    """Return sentences for an answer without rows: the reason for each cluster."""
    usual = {each.name: each.default for each in query.parameters}
    given = {name: value for name, value in given.items() if value not in ("", usual.get(name))}
    looked = {
        str(cluster): _SeenCounts(*counts) for cluster, *counts in database.query(_LOOKED, described=False).rows
    }
    if not looked:
        return "The database is empty: replay a capture, or watch a cluster with leadsman up"
    if mistyped := _suggest_names(database, given, set(looked)):
        return mistyped
    seen = {name: _last_seen(database, source) for name, source in _SEEN.items() if name in _parts(query)}
    denied, doubts = _contradictions(database, query, given), _doubts(database, query, given)
    reasons: dict[str, list[str]] = {}
    for cluster in [given["cluster"]] if given.get("cluster") else looked:
        nothing = _nothing(given, looked[cluster], {name: last.get(cluster) for name, last in seen.items()})
        reason = _reason(cluster, query, seen, denied.get(cluster, ""), nothing)
        reason = ". ".join([reason, *doubts.get(cluster, ()), *doubts.get("", ())])
        reasons.setdefault(reason, []).append(plain(cluster))
    shown = [f"{_clusters_named(clusters)}: {reason}" for reason, clusters in list(reasons.items())[:_MOST_NAMED]]
    more = len(reasons) - len(shown)
    return "; ".join([*shown, *([f"and {counted(more, 'more cluster')}"] if more else [])])


class _SeenCounts(NamedTuple):
    """Counts of what was seen of a cluster, and when it was last seen."""

    last_at: datetime
    watched_at: datetime
    """When the watch of pods last reported."""
    nodes: int
    nodes_at: datetime
    pods: int
    pods_at: datetime
    events: int
    events_at: datetime


def _reason(
    cluster: str, query: SavedQuery, seen: Mapping[str, Mapping[str, datetime]], denied: str, nothing: str
) -> str:
    """Return why a cluster has no rows.

    For an input `a or b` it names the missing half too, because the other proves less.
    """
    for need in query.needs:
        if not any(cluster in seen[part] for part in need.split(" or ")):
            return f"no {INPUTS[need]} were seen{f', but {denied}' if denied else ''}"
    if denied:
        return f"no row, but {denied}"
    unseen = [INPUTS[part] for need in query.needs for part in need.split(" or ") if cluster not in seen[part]]
    return f"no {' and no '.join(unseen)} were seen, and {nothing}" if unseen else nothing


def _clusters_named(clusters: Sequence[str]) -> str:
    if len(clusters) == 1:
        return f"Cluster {clusters[0]}"
    more = f" and {len(clusters) - _MOST_NAMED} more" if len(clusters) > _MOST_NAMED else ""
    return f"Clusters {', '.join(clusters[:_MOST_NAMED])}{more}"


def _suggest_names(database: Database, given: Mapping[str, str], clusters: set[str]) -> str:
    """Name a cluster, node or namespace that was never seen, and the most similar that was; empty if all were
    seen.
    """
    cluster = given.get("cluster", "")
    if cluster and clusters and cluster not in clusters:
        return f"There is no cluster {plain(cluster)}. {_suggestion(cluster, clusters)}"
    for kind, source in _NAMED.items():
        name = given.get(kind, "")
        known = {
            str(each)
            for of, each in (database.query(f"{source} SETTINGS final = 0", described=False).rows if name else ())
            if each and cluster in {"", of}
        }
        if name and name not in known:
            where = f" in cluster {plain(cluster)}" if cluster else ""
            return f"No {kind} {plain(name)} was seen{where}. {_suggestion(name, known)}".rstrip(". ")
    return ""


def _suggestion(name: str, known: set[str]) -> str:
    whole = min((each for each in known if each.startswith(f"{name}.")), default="")  # a name as tables shorten it
    if hint := whole or match(name, known):
        return f"Did you mean {plain(hint)}?"
    return f"Known: {', '.join(plain(each) for each in sorted(known)[:_MOST_NAMED])}" if known else ""


def _parts(query: SavedQuery) -> set[str]:
    return {part for need in query.needs for part in need.split(" or ")}


def _last_seen(database: Database, source: str) -> dict[str, datetime]:
    """Return the clusters with an input, and its last time."""
    sql = f"SELECT cluster, max(ts) FROM {source} GROUP BY cluster SETTINGS final = 0"
    return {str(name): last for name, last in database.query(sql, described=False).rows}


def _contradictions(database: Database, query: SavedQuery, given: Mapping[str, str]) -> dict[str, str]:
    if not query.events:
        return {}
    filters = {name: given.get(name, "") for name in ("node", "namespace")}
    rows = database.query(_DENIED, {**filters, "reasons": list(query.events)}, described=False).rows
    return {cluster: _reasons_of([row[1:] for row in rows if row[0] == cluster]) for cluster, *_ in rows}


def _doubts(database: Database, query: SavedQuery, given: Mapping[str, str]) -> dict[str, list[str]]:
    """Return sentences about what may be missing, by cluster. Sentences about no cluster are under the empty key."""
    resources = sorted({_STREAMS[part] for part in _parts(query)})
    filters = {"resources": resources, "node": given.get("node", "")}
    doubts: dict[str, list[str]] = {}
    for cluster, resource, times in database.query(_DOUBTED, filters, described=False).rows:
        bad = f"{counted(times, 'record')} could not be understood: leadsman query dead_letters"
        unread = f"Not read all the time: {plain(resource)}, see leadsman query source_errors"
        doubts.setdefault(cluster, []).append(unread if resource else bad)
    return doubts


def _reasons_of(rows: Sequence[Sequence[Any]]) -> str:
    times = ", ".join(f"{plain(reason)} ({counted(count, 'time')})" for reason, count, _ in rows)
    last = max(at for _, _, at in rows)
    return f"Events mention it: {times}, the last at {last:%Y-%m-%d %H:%M:%S} UTC: leadsman query events"


def _in_words(looked: _SeenCounts, seen: Mapping[str, datetime | None]) -> str:
    """Describe how much data was searched, and until when. A kind whose data ends earlier has its own time."""
    last = looked.last_at
    nodes, pods, events = (
        counted(number, name)
        for name, number in (("node", looked.nodes), ("pod", looked.pods), ("Event", looked.events))
    )
    is_watched = last - looked.watched_at <= WATCHED
    until = {
        "nodes": looked.nodes_at if looked.nodes and last - looked.nodes_at > READ_APART else None,
        "pods": looked.pods_at if looked.pods and last - looked.pods_at > READ_APART else None,
        "Events": looked.events_at if looked.events and last - looked.events_at > KEPT else None,
    } | {
        INPUTS[name]: at
        for name, at in seen.items()
        if at and name in _DATED and last - at > READ_APART and not (is_watched and name in _BY_CHANGE)
    }
    older = "".join(f", {name} only until {at:%Y-%m-%d %H:%M:%S}" for name, at in until.items() if at)
    return f"{nodes}, {pods} and {events} that were seen until {last:%Y-%m-%d %H:%M:%S} UTC{older}"


def _nothing(given: Mapping[str, str], looked: _SeenCounts, seen: Mapping[str, datetime | None]) -> str:
    chosen = ", ".join(f"{name}={plain(value)}" for name, value in given.items() if name != "cluster")
    return f"nothing {f'with {chosen}' if chosen else 'of this kind'} in {_in_words(looked, seen)}"
