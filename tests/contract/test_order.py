"""A cluster's log concludes the same for any order in which the records of nodes' logs reach it.

The source's own records of it have one order, in which they are published. What the log of a node emits comes behind
what was published before it: a little later, or, where its worker is slow, behind everything else.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

import pytest

from components.captures import Json, at, node, observation, observed, pod
from contract.given import dead_letter, records_of
from ingest.files.sources import read_sources
from ingest.model.records import Record
from paths import CAPTURES
from sql.schema.migrate import MIGRATIONS
from streams.analytics.registry import REDUCERS
from streams.fold.findings import TABLES, Alert, Row
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.reducer import Withdrawal

SOURCE: Final = ""
NODES: Final = tuple(f"n-{number}" for number in range(6))
DRAWN: Final = 3
"""Orders of each kind."""
CLUSTERS: Final = [reducer for reducer in REDUCERS if reducer.log == "cluster"]


class Sent(NamedTuple):
    """A record of a cluster's log."""

    origin: str
    """The node whose log emitted it, or SOURCE."""
    record: Record


def test_every_capture_gives_the_same_rows_in_any_order_of_nodes() -> None:
    chance = random.Random(1)  # noqa: S311  # only orders
    with_several = 0
    for capture in CAPTURES:
        records = list(records_of(read_sources([capture])))
        if len({record.node for record in records}) < 3:
            continue
        for log in cluster_logs(records):
            with_several += len({each.origin for each in log}) > 2
            assert_one_outcome(log, chance, f"{capture.parent.name}/{capture.name}")
    assert with_several > 10


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_raises_the_same_alerts_in_any_order_of_nodes(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    (log,) = cluster_logs(records_of(observed(storm(chance))))
    assert {each.origin for each in log} == {SOURCE, *NODES}
    rows = assert_one_outcome(log, chance, f"seed {seed}")
    fired = {row.alertname for row in rows if isinstance(row, Alert)}
    assert fired == {"PodsRejected", "TopologyAdmissionRunaway"}


def storm(chance: random.Random) -> list[Json]:
    """Pods of three workloads are rejected on every node for half an hour, and exclusive CPUs come and go."""
    found: list[tuple[float, Json]] = [(0.0, node("12:00:00", name, type_="ADDED")) for name in NODES]
    for workload, pods in (("few", 4), ("web", 25), ("batch", 40)):
        metadata = {
            "ownerReferences": [{"kind": "ReplicaSet", "name": workload, "uid": workload, "controller": True}]
        }
        for number in range(pods):
            seconds, on = chance.uniform(0, 1800), chance.choice(NODES)
            status = {
                "reason": "TopologyAffinityError",
                "message": "Pod was rejected",
                "startTime": at(clock(seconds)),
            }
            rejected = pod(
                clock(seconds), f"{workload}-{number}", on, phase="Failed", status=status, metadata=metadata
            )
            found.append((seconds, rejected))
    for name in NODES:
        for _ in range(3):
            seconds = chance.uniform(0, 1800)
            found.append((seconds, numa_node(clock(seconds), name, chance.randrange(8))))
    return [each for _, each in sorted(found, key=lambda each: each[0])]


def numa_node(when: str, name: str, taken: int) -> Json:
    """A NodeResourceTopology of two NUMA nodes with 16 CPUs each; its first has as many taken."""
    zones = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [{"name": "cpu", "capacity": "16", "allocatable": "16", "available": str(16 - less)}],
        }
        for number, less in enumerate((taken, 0))
    ]
    topology = {"apiVersion": "topology.node.k8s.io/v1alpha2", "metadata": {"name": name}, "zones": zones}
    return observation(when, "noderesourcetopologies", topology)


def clock(seconds: float) -> str:
    return f"12:{int(seconds) // 60:02}:{seconds % 60:09.6f}"


def cluster_logs(records: Iterable[Record]) -> list[list[Sent]]:
    """The log of each cluster when every record is folded at once, as without a broker."""
    found: defaultdict[str, list[Sent]] = defaultdict(list)
    logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
    fold = Fold(REDUCERS)

    def take(record: Record, origin: str) -> None:
        if not record.node:
            found[record.cluster].append(Sent(origin, record))
        for output in fold.step(logs[LogKey(record.cluster, record.node)], record):
            emitted = dead_letter(record, output.error) if isinstance(output, Rejected) else output
            # what a cluster's log emits onto itself is folded with the record that it comes of
            if isinstance(emitted, Record):
                take(emitted, record.node)

    for record in records:
        take(record, SOURCE)
    return list(found.values())


def assert_one_outcome(log: Sequence[Sent], chance: random.Random, what: str) -> list[Row]:
    expected = outcome(log)
    for draw in (delayed, behind, one_by_one):
        for _ in range(DRAWN):
            assert outcome(draw(log, chance)) == expected, f"{what}, {draw.__name__}"
    return list(expected.values())


def delayed(log: Sequence[Sent], chance: random.Random) -> list[Sent]:
    """Each node some records later, now more, now less."""
    due: defaultdict[str, float] = defaultdict(float)
    placed = []
    for place, sent in enumerate(log):
        if sent.origin != SOURCE:
            due[sent.origin] = max(due[sent.origin], place + chance.expovariate(10 / len(log)))
        placed.append((due[sent.origin] if sent.origin != SOURCE else place, place, sent))
    return [sent for _, _, sent in sorted(placed, key=lambda each: each[:2])]


def behind(log: Sequence[Sent], chance: random.Random) -> list[Sent]:
    """The nodes of one worker behind everything."""
    nodes = sorted({sent.origin for sent in log} - {SOURCE})
    slow = set(chance.sample(nodes, len(nodes) // 2))
    return sorted(log, key=lambda sent: sent.origin in slow)


def one_by_one(log: Sequence[Sent], chance: random.Random) -> list[Sent]:
    """Everything of the source, then of one node after the other."""
    nodes = sorted({sent.origin for sent in log} - {SOURCE})
    order = [SOURCE, *chance.sample(nodes, len(nodes))]
    return sorted(log, key=lambda sent: order.index(sent.origin))


def outcome(log: Sequence[Sent]) -> dict[tuple[Any, ...], Row]:
    """The last version of each row, as the tables have it, by type and natural key."""
    found: dict[tuple[Any, ...], Row] = {}
    fold, state = Fold(CLUSTERS), LogState()
    for _, record in log:
        for output in fold.step(state, record):
            if not isinstance(output, Record | Rejected | Withdrawal):
                columns, version = identity(type(output))
                key = (type(output), *(str(getattr(output, column)) for column in columns))
                if key not in found or not version or getattr(output, version) >= getattr(found[key], version):
                    found[key] = output
    return found


@cache
def identity(row_type: type[Row]) -> tuple[list[str], str]:
    """The columns of a table's natural key, and of its version."""
    (text,) = (
        text
        for text in (file.read_text() for file in MIGRATIONS.rglob("*.sql"))
        if text.startswith(f"CREATE TABLE IF NOT EXISTS {TABLES[row_type]}\n")
    )
    key = re.search(r"^ORDER BY \((.*)\)$", text, re.MULTILINE)
    engine = re.search(r"ReplacingMergeTree(?:\((\w+)\))?", text)
    assert key
    assert engine
    fields = cast("Any", row_type)._fields
    return [column for column in fields if column in re.findall(r"\w+", key[1])], engine[1] or ""
