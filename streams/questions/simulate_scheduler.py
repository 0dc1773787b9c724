"""Simulates which nodes a scheduler of a given version would have seen, arrival by arrival (rules: node-tree)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from common.amounts import counted
from common.errors import WrongUsage
from common.text import plain_json
from ingest.model.records import NodeRecord
from streams.rules.scheduling import node_tree
from streams.rules.scheduling.node_tree import NodeTree
from streams.rules.values.labels import REGION, ZONE, zone_key
from streams.rules.values.version import minor_version

TOGETHER: Final = timedelta(seconds=1)
"""Changes within this time reach the scheduler before it takes its next snapshot."""
OLDEST_MINOR: Final = 17
"""Before 1.17 there was no list from which a node could be lost."""


class BadOperations(WrongUsage):
    """Operations that cannot be replayed. The message names the first one by its index, and lists what is allowed."""


class Arrival(NamedTuple):
    """A node arrives, or moves to another zone."""

    node: str
    zone_key: str


class Removal(NamedTuple):
    node: str


class Snapshot(NamedTuple):
    """The scheduler rebuilds its list; `ts` is None if the operations have no times."""

    ts: datetime | None = None


Operation: TypeAlias = Arrival | Removal | Snapshot


class Simulated(NamedTuple):
    """A snapshot: the names as that version lists them, and as the repaired algorithm would have."""

    ts: datetime | None
    names: list[str]
    lost: list[str]
    repaired: list[str]
    repaired_lost: list[str]
    zone_index: int | None
    """The zone whose turn is next, counted from 0; the number of zones means the first. None without cursors."""
    last_index: dict[str, int]
    """The number of nodes taken in this round, by zone; empty without cursors."""


class _Op(msgspec.Struct, frozen=True, gc=False):
    op: Literal["add", "remove", "snapshot"]
    node: str = ""
    region: str | None = None
    zone: str | None = None


def parse_operations(text: bytes) -> list[Operation]:
    """Read `[{"op": "add"|"remove", "node": ..., "region": ..., "zone": ...}, {"op": "snapshot"}, ...]`.

    Region and zone may be left out. Raises BadOperations.
    """
    try:
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadOperations(f"no JSON list of operations: {error}") from None
    return [_operation(index, item) for index, item in enumerate(items)]


def _operation(index: int, item: msgspec.Raw) -> Operation:
    try:
        op = msgspec.json.decode(item, type=_Op)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadOperations(
            f'operation {index}: {error}; allowed are {{"op": "add" or "remove", "node": text, "region": text, '
            f'"zone": text}} and {{"op": "snapshot"}}'
        ) from None
    if op.op == "snapshot":
        return Snapshot()
    if not op.node:
        raise BadOperations(f'operation {index}: "{op.op}" needs a "node", the name of a node')
    if op.op == "remove":
        return Removal(op.node)
    return Arrival(op.node, zone_key({REGION: op.region or "", ZONE: op.zone or ""}))


def operations_of(records: Iterable[NodeRecord]) -> dict[str, list[Operation]]:
    """Collect each cluster's arrivals, removals and zone changes in the order of time, a snapshot after each burst.

    A node that is seen for the first time arrived when it was created, as if the scheduler ran all that time.
    Heartbeats change nothing. A scheduler takes a snapshot after every burst as long as it has pods to place.
    """
    zones: dict[tuple[str, str], str] = {}
    seen: set[tuple[str, str]] = set()
    changes: list[tuple[datetime, str, Operation]] = []
    for record in sorted(records, key=lambda record: record.ts):
        change = _change(record, zones)
        if change is None:
            continue
        ts, created_at = record.ts, record.object.metadata.creation_timestamp
        if (record.cluster, change.node) not in seen and created_at is not None:
            ts = min(ts, created_at)
        seen.add((record.cluster, change.node))
        changes.append((ts, record.cluster, change))
    by_cluster: dict[str, list[Operation]] = {}
    last: dict[str, datetime] = {}
    for ts, cluster, operation in sorted(changes, key=lambda each: each[0]):
        operations = by_cluster.setdefault(cluster, [])
        before = last.get(cluster)
        if before is not None and ts - before > TOGETHER:
            operations.append(Snapshot(before))
        last[cluster] = ts
        operations.append(operation)
    for cluster, operations in by_cluster.items():
        operations.append(Snapshot(last[cluster]))
    return by_cluster


def _change(record: NodeRecord, zones: dict[tuple[str, str], str]) -> Arrival | Removal | None:
    """Return the change of the tree that a record causes, if any; `zones` is updated."""
    name = record.object.metadata.name
    key = (record.cluster, name)
    if record.change == "DELETED":
        return Removal(name) if zones.pop(key, None) is not None else None
    zone = zone_key(record.object.metadata.labels)
    if zones.get(key) == zone:
        return None
    zones[key] = zone
    return Arrival(name, zone)


def simulate(operations: Sequence[Operation], version: str = "1.18.4") -> list[Simulated]:
    """Replay operations on a scheduler of that version; one result for each snapshot.

    A snapshot is one rebuild of the list: 1.17 does it every cycle, 1.18 in the first cycle after a change.
    Raises BadOperations, for a node that leaves without having come, and UnknownVersion (also before 1.17).
    """
    release = minor_version(version)
    if release is not None and release < (1, OLDEST_MINOR):
        raise node_tree.UnknownVersion(f"{version[:80]!r}: the scheduler has a list of nodes since 1.{OLDEST_MINOR}")
    keeps_cursors = node_tree.affected(version) != "none"
    tree = NodeTree()
    results: list[Simulated] = []
    for index, operation in enumerate(operations):
        if isinstance(operation, Snapshot):
            tree, result = _take(tree, operation.ts, keeps_cursors=keeps_cursors)
            results.append(result)
        else:
            tree = _apply(tree, index, operation)
    return results


def _apply(tree: NodeTree, index: int, change: Arrival | Removal) -> NodeTree:
    old_zone = node_tree.zone_of(tree, change.node)
    if isinstance(change, Removal):
        if old_zone is None:
            raise BadOperations(
                f"operation {index}: node {change.node!r} does not exist; only an added node can be removed"
            )
        return node_tree.remove(tree, change.node, old_zone)
    if old_zone is None:
        return node_tree.add(tree, change.node, change.zone_key)
    return node_tree.update(tree, change.node, old_zone, change.zone_key)


def _take(tree: NodeTree, ts: datetime | None, *, keeps_cursors: bool) -> tuple[NodeTree, Simulated]:
    repaired = node_tree.listed(tree)
    names = repaired
    if keeps_cursors:
        tree, names = node_tree.snapshot(tree)
    there = sorted(name for zone in tree.zones for name in zone.nodes)
    given = {zone.key.replace("\0", ""): zone.given for zone in tree.zones} if keeps_cursors else {}
    zone_index = tree.turn if keeps_cursors else None
    return tree, Simulated(ts, names, _missing(there, names), repaired, _missing(there, repaired), zone_index, given)


def _missing(there: Sequence[str], names: Sequence[str]) -> list[str]:
    seen = set(names)
    return [name for name in there if name not in seen]


def names_line(result: Simulated) -> str:
    """Return the names of a snapshot as one JSON list, which `--ops` prints."""
    return plain_json(msgspec.json.encode(result.names))


def report(results: Sequence[Simulated]) -> Iterator[str]:
    """Yield a readable line for each snapshot. Names are in JSON, because they may hold anything."""
    for number, result in enumerate(results, 1):
        when = f" at {result.ts.isoformat()}" if result.ts is not None else ""
        yield f"snapshot {number}{when}: {counted(len(result.names), 'node')}, {_losses(result)}"


def _losses(result: Simulated) -> str:
    repaired = f"repaired: loses {_json(result.repaired_lost) if result.repaired_lost else 'none'}"
    if not result.lost:
        return f"loses none ({repaired})"
    twice = sorted(name for name, count in Counter(result.names).items() if count > 1)
    return f"loses {_json(result.lost)}, has {_json(twice)} more than once ({repaired})"


def _json(names: Sequence[str]) -> str:
    return plain_json(msgspec.json.encode(names))
