"""Objects other than nodes and pods that the scheduler and the eviction API use: namespaces, storage, claims of
devices, disruption budgets (rules: scheduler-fit, scheduler-volumes, scheduler-devices, drain). They are kept as
JSON, because only the rule that reads one understands it. All of them are on the cluster's log. They are useless for
a single namespace, where nodes are not watched.
"""

from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from ingest.model.objects.base import KeptObject
from ingest.model.objects.disruption import PodDisruptionBudget
from ingest.model.objects.node import Namespace
from ingest.model.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from ingest.model.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageAnnotations,
    StorageClass,
    VolumeAttachment,
)
from ingest.model.observation import Observation
from ingest.model.records import Record, ScheduledObjectRecord
from ingest.resources.decoding import identify, kept, names_of, only_read, without_version
from ingest.resources.resource import ApiResource, Object, change_of, on_cluster, seen

Kept = TypeVar("Kept", bound=Object)
_encode: Final = msgspec.json.Encoder().encode


def scheduled(
    type_: type[Kept], api: str, *paths: str, without: str, annotations: type[msgspec.Struct] = KeptObject
) -> ApiResource[Kept]:
    """Build a resource whose kind has the name of its type; `api` is a pattern of its apiVersion."""
    name = paths[0].rpartition("/")[2]

    def records(observation: Observation, thing: Kept) -> list[Record]:
        which = identify(thing)
        return [
            ScheduledObjectRecord(
                **seen(observation),
                resource=name,
                change=change_of(observation),
                namespace=which.namespace,
                name=which.name,
                uid=which.uid,
                object=_encode(thing).decode(),
            )
        ]

    return ApiResource(
        name=name,
        decode=kept(type_),
        records=records,
        reads=only_read(type_),
        annotations=names_of(annotations),
        kinds={type_.__name__: api},
        paths=paths,
        compared=without_version,
        log=on_cluster,
        optional=True,
        without=without,
    )


_of_storage: Final = partial(scheduled, annotations=StorageAnnotations)
_STORAGE: Final = r"storage\.k8s\.io/v1(?:beta1)?"
_VOLUMES: Final = "it is unknown where pods with volume claims fit"
_CAPACITY: Final = "it is unknown whether drivers have room for new volumes"
STORAGE: Final[tuple[ApiResource[Any], ...]] = (
    _of_storage(PersistentVolumeClaim, "v1", "/api/v1/persistentvolumeclaims", without=_VOLUMES),
    _of_storage(PersistentVolume, "v1", "/api/v1/persistentvolumes", without=_VOLUMES),
    _of_storage(StorageClass, _STORAGE, "/apis/storage.k8s.io/v1/storageclasses", without=_VOLUMES),
    _of_storage(
        CSINode,
        _STORAGE,
        "/apis/storage.k8s.io/v1/csinodes",
        without="it is unknown how many volumes nodes can attach",
    ),
    _of_storage(CSIDriver, _STORAGE, "/apis/storage.k8s.io/v1/csidrivers", without=_CAPACITY),
    _of_storage(
        VolumeAttachment,
        _STORAGE,
        "/apis/storage.k8s.io/v1/volumeattachments",
        without="it is unknown which volumes nodes have attached",
    ),
)
NAMESPACES: Final = scheduled(
    Namespace, "v1", "/api/v1/namespaces", without="it is unknown which namespaces an affinity selector selects"
)


def _of_devices(type_: type[Any], plural: str, without: str) -> ApiResource[Any]:
    paths = (f"/apis/resource.k8s.io/{version}/{plural}" for version in ("v1", "v1beta2", "v1beta1"))
    return scheduled(type_, r"resource\.k8s\.io/v1(?:beta[12])?", *paths, without=without)


RESOURCE_CLAIMS: Final = (
    _of_devices(ResourceClaim, "resourceclaims", "it is unknown where pods with resource claims fit"),
    _of_devices(DeviceClass, "deviceclasses", "it is unknown which devices resource claims select"),
    _of_devices(ResourceSlice, "resourceslices", "it is unknown which devices nodes have"),
)
BUDGETS: Final = scheduled(
    PodDisruptionBudget,
    r"policy/v1",
    "/apis/policy/v1/poddisruptionbudgets",
    without="it is unknown which pods a drain has to leave",
)
