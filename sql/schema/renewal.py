"""Stores rows that still hold again before their retention ends: a running pod, a firing alert, the last change.

A row that was stored again replaces itself, so this can be repeated, and by several processes at once.
"""

from typing import Final, NamedTuple

from sql.database.open import Database
from sql.schema.retention import retention_of

MEMORY_BYTES: Final = 1 << 30
"""Memory of one query, before it continues on disk."""

_OLD: Final = "landed_at < now() - toIntervalSecond({seconds:UInt32})"


class _Current(NamedTuple):
    """A table in which the last row of each subject is its current state, if `holds`."""

    subject: str
    holds: str = "1"
    of_nodes: bool = True
    """It does not hold of a node that was deleted."""


_LAST_CHANGE: Final = "argMax(change, (ts, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], change)))"
CURRENT: Final = {
    "alerts": _Current("cluster, fingerprint, starts_at", "NOT has(groupArray(status), 'resolved')"),
    "image_gc": _Current("cluster, node, reason"),
    "late_joiners": _Current("cluster", of_nodes=False),
    "numa_allocations": _Current("cluster, node, numa_node"),
    "numa_alignment": _Current("cluster, node, namespace, pod, container", "argMax(explanation, ts) != 'gone'"),
    "numa_disagreements": _Current("cluster, node, numa_node, source_a, source_b"),
    "numa_pods": _Current("cluster, node, namespace, pod, uid, container", "argMax(cpus, ts) > 0"),
    "numa_resources": _Current("cluster, node, numa_node, resource, source"),
    "numa_skew": _Current("cluster, scope, node"),
    "pod_bindings": _Current("cluster, namespace, pod, uid", f"{_LAST_CHANGE} NOT IN ('finished', 'deleted')"),
    "pressure_changes": _Current("cluster, node, condition"),
    "scheduled_lists": _Current("cluster, resource, after", of_nodes=False),
    "scheduled_objects": _Current(
        "cluster, resource, namespace, name, uid", "NOT argMax(deleted, ts)", of_nodes=False
    ),
    "settings_warnings": _Current("cluster, node, rule, subject", "argMax(holds, ts)"),
}


def renew(db: Database) -> None:
    """Store again what holds and was stored longer ago than half of its table's retention."""
    for table, standing in CURRENT.items():
        days = retention_of(db, table)
        if days is not None:
            since = {"seconds": days * 86_400 // 2}
            if db.query(f"SELECT 1 FROM {table} WHERE {_OLD} LIMIT 1", since).rows:
                db.command(_renewal(table, standing), since)


def _renewal(table: str, standing: _Current) -> str:
    gone = "SELECT cluster, node FROM nodes GROUP BY cluster, node HAVING argMax(deleted, ts)"
    return f"""
        INSERT INTO {table}
        SELECT * FROM {table} FINAL
        WHERE {_OLD}
            AND ({standing.subject}, ts) IN
                (SELECT {standing.subject}, max(ts) FROM {table} GROUP BY {standing.subject} HAVING {standing.holds})
            {f"AND (cluster, node) NOT IN ({gone})" if standing.of_nodes else ""}
        SETTINGS insert_deduplicate = 0, max_bytes_before_external_group_by = {MEMORY_BYTES}
    """
