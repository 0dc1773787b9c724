"""Questions in SQL that a reader of the page can begin with."""

from typing import Final

EXAMPLES: Final = {
    "Nodes with the least room above a threshold": """\
SELECT node, signal, available, hard_threshold, seconds_to_hard
FROM eviction_signals
ORDER BY ts DESC, (available - hard_threshold) / capacity
LIMIT 1 BY cluster, node
LIMIT 20""",
    "What evicted or killed pods, by owner": """\
SELECT cause, namespace, owner_kind, owner_name, count() AS pods, max(ts) AS last
FROM pod_ends
GROUP BY ALL
ORDER BY pods DESC
LIMIT 20""",
    "Memory of the pods of each workload": """\
SELECT b.namespace, b.owner_name, uniq(p.uid) AS pods, formatReadableSize(max(p.memory_working_set_bytes)) AS largest
FROM pod_samples AS p INNER JOIN pod_bindings AS b ON b.uid = p.uid
GROUP BY ALL
ORDER BY max(p.memory_working_set_bytes) DESC
LIMIT 20""",
    "What happened in the last hour that was seen": """\
SELECT ts, node, kind, what
FROM story
WHERE ts > (SELECT max(ts) FROM story) - INTERVAL 1 HOUR
ORDER BY ts DESC
LIMIT 50""",
}
"""SQL by what it answers."""


def columns_of(table: str) -> str:
    """The SQL that lists the columns of a table with their units; its name is one of this database."""
    name = table.replace("\\", "\\\\").replace("'", "\\'")
    return f"SELECT name, type, comment FROM system.columns WHERE database = currentDatabase() AND table = '{name}'"
