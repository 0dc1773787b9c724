"""Leases of nodes, which their kubelets renew (rules: nodes-that-do-not-report)."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from ingest.model.objects.base import KeptObject
from ingest.model.observation import UNDECODABLE, Observation
from ingest.model.records import NodeLeaseRecord, Record
from ingest.resources.decoding import kept
from ingest.resources.reading import only_read
from ingest.resources.resource import Resource

NAMESPACE: Final = "kube-node-lease"
"""Leases of any other are elections of leaders."""


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
    """Tell whether a Lease with this metadata belongs to a node."""
    try:
        return _metadata(metadata).namespace == NAMESPACE
    except UNDECODABLE:
        return False


def _records(observation: Observation, lease: _Lease) -> list[Record]:
    return [
        NodeLeaseRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=lease.metadata.name,
            renewed_at=lease.spec.renew_time,
            duration_seconds=lease.spec.lease_duration_seconds,
        )
    ]


NODE_LEASES: Final = Resource(name="node_leases", decode=kept(_Lease), records=_records, reads=only_read(_Lease))
