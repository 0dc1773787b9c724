"""A NodeResourceTopology that was deleted while nobody watched (delivery.md#reconciling)."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from ingest.apiserver.changes import inventories
from ingest.files.sources import read_sources
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.observation import Observation, Observed
from ingest.model.records import InventoryRecord, NodeRecord, NodeResourceTopologyRecord, Record
from ingest.normalize.normalize import normalize
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from paths import TESTS
from streams.analytics.registry import REDUCERS
from streams.fold.fold import Fold, LogState

SCENARIO = TESTS / "scenarios" / "numa_noderesourcetopology" / "capture.jsonl"
FOLD = Fold(REDUCERS)


def topology() -> NodeResourceTopologyRecord:
    """Return the topology of the node `old`."""
    first = next(iter(read_sources([SCENARIO])))
    assert isinstance(first, Observed)
    (record,) = normalize(first.observation)
    assert isinstance(record, NodeResourceTopologyRecord)
    return record


def passed_on(at: datetime, of_list: dict[str | None, list[str]]) -> list[Record]:
    """Records that the log of `old` learns from a list, through its cluster's."""
    cluster, found = LogState(), list[Record]()
    for name in ("old", "new"):
        node = Node(NodeMetadata(name, uid=name))
        FOLD.step(cluster, NodeRecord(ts=at, cluster="lab", change="ADDED", object=node))
    for part in inventories(NODE_RESOURCE_TOPOLOGIES, of_list):
        (inventory,) = normalize(
            Observation(
                ts=at,
                cluster="lab",
                source="list",
                resource=NODE_RESOURCE_TOPOLOGIES.name,
                type="INVENTORY",
                node=part.node,
                object=part.object,
            )
        )
        given = [inventory] if inventory.node else FOLD.step(cluster, inventory)
        found += [each for each in given if isinstance(each, InventoryRecord) and each.node == "old"]
    return found


def rows(*records: Record) -> list[Any]:
    log = LogState()
    return [row for record in records for row in FOLD.step(log, record)]


def test_objects_missing_from_a_list_are_deleted_as_by_the_watch() -> None:
    known = topology()
    at = known.ts + timedelta(minutes=5)
    missing = passed_on(at, {"new": ["u"]})
    assert missing
    deleted = msgspec.structs.replace(known, ts=at, change="DELETED")
    assert rows(known, *missing) == rows(known, deleted) != rows(known)


def test_what_a_list_has_stays() -> None:
    known = topology()
    listed = passed_on(known.ts + timedelta(minutes=5), {"old": ["u"], "new": ["v"]})
    assert rows(known, *listed) == rows(known)


def test_what_came_since_the_list_stays() -> None:
    known = topology()
    missing = passed_on(known.ts - timedelta(seconds=1), {"new": ["u"]})
    again = passed_on(known.ts + timedelta(seconds=1), {"new": ["u"]})
    same = msgspec.structs.replace(known, ts=known.ts + timedelta(seconds=2))
    assert rows(known, *missing) == rows(known, same, *again) == rows(known)
