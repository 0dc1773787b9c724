"""Nodes and their kubelets' Leases, on the node's and on the cluster's log (rules: nodes-that-do-not-report)."""

from datetime import datetime
from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from common.errors import BadRecord
from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.objects.base import KeptObject
from ingest.model.objects.node import Node, NodeAnnotations
from ingest.model.observation import Observation, if_decodable
from ingest.model.records import KnownNodeRecord, NodeLeaseRecord, NodeRecord, Record
from ingest.resources.decoding import kept, names_of, only_read, without_version
from ingest.resources.resource import ApiResource, Resource, change_of, on_cluster, seen


def _passing(node: Node, mode: Mode) -> Node:
    conditions = mode.conditions(node.status.conditions)
    if conditions is node.status.conditions:
        return node
    return replace(node, status=replace(node.status, conditions=conditions))


def _check_name(name: str) -> None:
    """Return the node's name. Raises BadRecord for an empty one, whose log would be the cluster's."""
    if not name:
        raise BadRecord("wrong_value", "the node has no name")


def _records(observation: Observation, node: Node) -> list[Record]:
    _check_name(node.metadata.name)
    logs, about = (node.metadata.name, ""), seen(observation)
    if observation.type == "SNAPSHOT":
        return [KnownNodeRecord(**about, node=log, object=node) for log in logs]
    return [NodeRecord(**about, node=log, change=change_of(observation), object=node) for log in logs]


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
)


NAMESPACE: Final = "kube-node-lease"
"""Leases in other namespaces are for leader election."""


class _Metadata(KeptObject, frozen=True):
    name: str
    namespace: str = ""


class _Spec(KeptObject, frozen=True):
    renew_time: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    lease_duration_seconds: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | None = None


class _Lease(KeptObject, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


_metadata: Final = msgspec.json.Decoder(_Metadata).decode


def is_of_a_node(metadata: msgspec.Raw) -> bool:
    found = if_decodable(_metadata, metadata)
    return found is not None and found.namespace == NAMESPACE


def _of_lease(observation: Observation, lease: _Lease) -> list[Record]:
    _check_name(lease.metadata.name)
    return [
        NodeLeaseRecord(
            **seen(observation),
            node=lease.metadata.name,
            renewed_at=lease.spec.renew_time,
            duration_seconds=lease.spec.lease_duration_seconds,
        )
    ]


NODE_LEASES: Final = Resource(name="node_leases", decode=kept(_Lease), records=_of_lease, reads=only_read(_Lease))
