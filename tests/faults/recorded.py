"""Reads a history from the tables: rows by object, and the gaps that are reported."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from components.rows import dicts
from faults.generator import SEQUENCE
from faults.history import Kind, Row, Span, Thing
from sql.database.open import Database

_SECONDS = "toUnixTimestamp64Micro({}) / 1e6"


def rows_of(db: Database, name: str) -> list[Row]:
    """Return the rows of objects whose name and namespace begin so."""
    nodes = f"SELECT *, {_SECONDS.format('ts')} AS at FROM nodes WHERE startsWith(node, {{name:String}})"
    pods = f"SELECT *, {_SECONDS.format('ts')} AS at FROM pod_bindings WHERE namespace = {{name:String}}"
    events = (
        f"SELECT *, {_SECONDS.format('observed_at')} AS at FROM node_events "
        "WHERE namespace = {name:String} AND reason = 'Numbered'"
    )
    return [
        *map(_node, dicts(db, nodes, name=name)),
        *map(_pod, dicts(db, pods, name=name)),
        *map(_event, dicts(db, events, name=name)),
    ]


def gaps_of(db: Database, cluster: str) -> defaultdict[Kind, list[Span]]:
    """Rows by resource."""
    sql = (
        f"SELECT resource, silent_seconds, {_SECONDS.format('ts')} AS at FROM source_errors "
        "WHERE kind = 'gap' AND cluster = {cluster:String}"
    )
    found: defaultdict[Kind, list[Span]] = defaultdict(list)
    for row in dicts(db, sql, cluster=cluster):
        found[row["resource"]].append(Span(row["at"] - row["silent_seconds"], row["at"]))
    return found


def _node(row: dict[str, Any]) -> Row:
    value = f"{[each for name, each in row.items() if name not in {'ts', 'at'}]}"
    return Row(Thing("nodes", row["node"]), row["at"], _sequence(row["taints"]), bool(row["deleted"]), value)


def _pod(row: dict[str, Any]) -> Row:
    """Its deletion is seen before it has ended, as another state."""
    value = f"{row['node']}{' terminating' if row['deletion_asked_at'] else ''}"
    return Row(Thing("pods", row["pod"]), row["at"], int(row["reason"] or 0), row["change"] == "deleted", value)


def _event(row: dict[str, Any]) -> Row:
    at, sequence = row["at"], row["count"] - 1
    return Row(Thing("events", row["name"]), at, sequence, deleted=False, occurrences=row["occurrences"])


def _sequence(taints: Iterable[str]) -> int:
    start = f"{SEQUENCE}="
    return next(int(each[len(start) :].split(":")[0]) for each in taints if each.startswith(start))
