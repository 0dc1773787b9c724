"""Objects besides nodes and pods that the scheduler and the eviction API use: tables `scheduled_objects` and
`scheduled_lists`.

It has no state: an object that a complete list lacks is gone by the list itself (rules: scheduler-fit,
scheduler-volumes, scheduler-devices, drain).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from common.errors import BadRecord
from ingest.model.objects.disruption import PodDisruptionBudget
from ingest.model.objects.node import Namespace
from ingest.model.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from ingest.model.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from ingest.model.observation import UNDECODABLE
from ingest.model.records import InventoryRecord, ScheduledObjectRecord
from ingest.resources.table import SCHEDULED
from streams.fold.findings import Row, ScheduledList, ScheduledObject
from streams.fold.reducer import stateless
from streams.rules.scheduling import budgets, constraints, device_claims, storage
from streams.rules.values.quantity import InvalidQuantity

_FACTS: Final[Mapping[str, tuple[type[Any], Callable[[Any], Any]]]] = {
    "namespaces": (Namespace, constraints.namespace_facts),
    "persistentvolumeclaims": (PersistentVolumeClaim, storage.claim_facts),
    "persistentvolumes": (PersistentVolume, storage.volume_facts),
    "storageclasses": (StorageClass, storage.class_facts),
    "csinodes": (CSINode, storage.csi_node_facts),
    "csidrivers": (CSIDriver, storage.csi_driver_facts),
    "volumeattachments": (VolumeAttachment, storage.attachment_facts),
    "resourceclaims": (ResourceClaim, device_claims.claim_facts),
    "deviceclasses": (DeviceClass, device_claims.class_facts),
    "resourceslices": (ResourceSlice, device_claims.slice_facts),
    "poddisruptionbudgets": (PodDisruptionBudget, budgets.budget_facts),
}
_encode: Final = msgspec.json.Encoder().encode


def _rows(record: ScheduledObjectRecord | InventoryRecord) -> Sequence[Row]:
    if isinstance(record, ScheduledObjectRecord):
        return (_row(record),)
    if record.resource not in SCHEDULED:
        return ()
    listed = ScheduledList(record.cluster, record.ts, record.resource, record.after, record.until, list(record.keys))
    return (listed,)


def _row(record: ScheduledObjectRecord) -> ScheduledObject:
    deleted = record.change == "DELETED"
    return ScheduledObject(
        record.cluster,
        record.ts,
        record.resource,
        record.namespace,
        record.name,
        record.uid,
        deleted,
        "" if deleted else _facts(record),
    )


def _facts(record: ScheduledObjectRecord) -> str:
    known = _FACTS.get(record.resource)
    if known is None:
        raise BadRecord("unknown_resource", f"unknown resource {record.resource!r}")
    kind, facts = known
    try:
        return _encode(facts(msgspec.json.decode(record.object, type=kind))).decode()
    except InvalidQuantity as error:
        raise BadRecord("bad_quantity", f"{record.resource}: {error}") from None
    except UNDECODABLE as error:
        raise BadRecord("wrong_type", f"{record.resource}: {error}") from None


REDUCER: Final = stateless("scheduled_objects", "cluster", (ScheduledObjectRecord, InventoryRecord), _rows)
