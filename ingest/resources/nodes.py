"""Nodes: on their own log, and on their cluster's."""

from functools import partial
from typing import Final

from msgspec.structs import replace

from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.objects.node import Node, NodeAnnotations
from ingest.model.observation import Observation
from ingest.model.records import NodeRecord, Record
from ingest.resources.decoding import kept, names_of, without_version
from ingest.resources.reading import only_read
from ingest.resources.resource import ApiResource, change_of, on_cluster


def _passing(node: Node, mode: Mode) -> Node:
    conditions = mode.conditions(node.status.conditions)
    if conditions is node.status.conditions:
        return node
    return replace(node, status=replace(node.status, conditions=conditions))


def _records(observation: Observation, node: Node) -> list[Record]:
    change = change_of(observation)
    return [
        NodeRecord(ts=observation.ts, cluster=observation.cluster, node=name, change=change, object=node)
        for name in (node.metadata.name, "")
    ]


NODES: Final = ApiResource(
    name="nodes",
    decode=kept(Node, partial(_passing, mode=CREDENTIALS)),
    strict=partial(_passing, mode=STRICT),
    records=_records,
    reads=only_read(Node),
    annotations=names_of(NodeAnnotations),
    kinds={"Node": r"v1"},
    paths=("/api/v1/nodes",),
    compared=without_version,
    log=on_cluster,
    must_gather=r"cluster-scoped-resources/core/nodes(?:/[^/]+)?",
)
