"""Since when nodes are as they are at the end: below thresholds, overcommitted, uneven, cordoned."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

from leadsman.web.reading.asked import RowDict, ask
from leadsman.web.reading.margins import SOON_SECONDS
from leadsman.web.reading.nodes import UNEVEN, NodeLine
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from streams.rules.pod_ends.when import DRAINERS, drainer


class Since(NamedTuple):
    at: datetime
    or_earlier: bool = False
    """It was so when it was first seen in the range, and may have been before."""


Begun: TypeAlias = Mapping[tuple[str, str], Mapping[str, Since]]
"""Start times by kind and signal or resource, of each node; those of the cluster are under an empty name.

A kind is hard or soft for a threshold that is met, near, over for more requested than allocatable, uneven, cordoned,
or late for late joiners.
"""


def read_begun(
    db: Database, scope: Scope, nodes: Iterable[NodeLine], not_ready: Iterable[RowDict], *, late: bool
) -> Begun:
    """Read the start times for nodes with such a condition, including rows of `not_ready`, and for late joiners.
    Raises DatabaseError.
    """
    nodes = list(nodes)
    near = [(node.name, margin.signal) for node in nodes for margin in node.margins if margin.met or margin.near]
    over = [(node.name, resource) for node in nodes for resource in node.overcommitted]
    about = {
        "near": sorted({name for name, _ in near}),
        "signals": sorted({signal for _, signal in near}),
        "over": sorted({name for name, _ in over}),
        "resources": sorted({resource for _, resource in over}),
        "uneven_nodes": [node.name for node in nodes if node.uneven],
        "cordoned": [row["node"] for row in not_ready if row["cordoned"] or drainer(row["taints"])],
    }
    found: dict[tuple[str, str], dict[str, Since]] = {}
    if late or any(about.values()):
        for row in ask(db, "begun", scope, soon=SOON_SECONDS, uneven=UNEVEN, drains=list(DRAINERS), **about):
            since = Since(max(row["since"], scope.since) if row["before"] else row["since"], bool(row["before"]))
            found.setdefault((row["kind"], row["what"]), {})[row["node"]] = since
    return found


def first(begun: Begun, kind: str, whats: Iterable[str], nodes: Iterable[str]) -> Since | None:
    """The earliest of some nodes and signals; None if none is known."""
    names = list(nodes)
    found = [begun.get((kind, what), {}) for what in whats]
    return earliest(each[name] for each in found for name in names if name in each)


def earliest(found: Iterable[Since | None]) -> Since | None:
    known = (since for since in found if since is not None)
    return min(known, key=lambda since: (since.at, not since.or_earlier), default=None)
