"""Objects besides nodes and pods that the scheduler and the eviction API use: namespaces, storage, claims of devices,
disruption budgets (rules: scheduler-fit, scheduler-volumes, scheduler-devices, drain).

They are kept as JSON, because only the rule that reads one understands it. All of them are on the cluster's log.
They are of no use in a single namespace, where nodes are not watched.
"""

from collections.abc import Mapping
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
from ingest.resources.resource import ApiResource, Object, change_of, on_cluster

Kept = TypeVar("Kept", bound=Object)
_encode: Final = msgspec.json.Encoder().encode


def scheduled(
    name: str,
    type_: type[Kept],
    *,
    kinds: Mapping[str, str],
    paths: tuple[str, ...],
    without: str,
    must_gather: str,
    annotations: type[msgspec.Struct] = KeptObject,
) -> ApiResource[Kept]:
    def records(observation: Observation, thing: Kept) -> list[Record]:
        which = identify(thing)
        return [
            ScheduledObjectRecord(
                ts=observation.ts,
                cluster=observation.cluster,
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
        kinds=kinds,
        paths=paths,
        compared=without_version,
        log=on_cluster,
        optional=True,
        without=without,
        must_gather=must_gather,
    )


_STORAGE: Final = r"storage\.k8s\.io/v1(?:beta1)?"
_VOLUMES: Final = "it is unknown where pods with volume claims fit"


def _of_storage(plural: str, kind: str, type_: type[Any], without: str) -> ApiResource[Any]:
    return scheduled(
        plural,
        type_,
        kinds={kind: _STORAGE},
        paths=(f"/apis/storage.k8s.io/v1/{plural}",),
        without=without,
        must_gather=rf"cluster-scoped-resources/storage\.k8s\.io/{plural}(?:/[^/]+)?",
        annotations=StorageAnnotations,
    )


STORAGE: Final = (
    scheduled(
        "persistentvolumeclaims",
        PersistentVolumeClaim,
        kinds={"PersistentVolumeClaim": r"v1"},
        paths=("/api/v1/persistentvolumeclaims",),
        without=_VOLUMES,
        must_gather=r"namespaces/[^/]+/core/persistentvolumeclaims",
        annotations=StorageAnnotations,
    ),
    scheduled(
        "persistentvolumes",
        PersistentVolume,
        kinds={"PersistentVolume": r"v1"},
        paths=("/api/v1/persistentvolumes",),
        without=_VOLUMES,
        must_gather=r"cluster-scoped-resources/core/persistentvolumes(?:/[^/]+)?",
        annotations=StorageAnnotations,
    ),
    _of_storage("storageclasses", "StorageClass", StorageClass, _VOLUMES),
    _of_storage("csinodes", "CSINode", CSINode, "it is unknown how many volumes nodes can attach"),
    _of_storage("csidrivers", "CSIDriver", CSIDriver, "it is unknown whether drivers have room for new volumes"),
    _of_storage(
        "volumeattachments", "VolumeAttachment", VolumeAttachment, "it is unknown which volumes nodes have attached"
    ),
)


NAMESPACES: Final = scheduled(
    "namespaces",
    Namespace,
    kinds={"Namespace": r"v1"},
    paths=("/api/v1/namespaces",),
    without="it is unknown which namespaces an affinity selector selects",
    must_gather=r"cluster-scoped-resources/core/namespaces(?:/[^/]+)?",
)


_DEVICES: Final = "it is unknown where pods with resource claims fit"


def _of_devices(
    plural: str, kind: str, type_: type[Any], without: str, folder: str = "cluster-scoped-resources"
) -> ApiResource[Any]:
    return scheduled(
        plural,
        type_,
        kinds={kind: r"resource\.k8s\.io/v1(?:beta[12])?"},
        paths=tuple(f"/apis/resource.k8s.io/{version}/{plural}" for version in ("v1", "v1beta2", "v1beta1")),
        without=without,
        must_gather=rf"{folder}/resource\.k8s\.io/{plural}(?:/[^/]+)?",
    )


RESOURCE_CLAIMS: Final = (
    _of_devices("resourceclaims", "ResourceClaim", ResourceClaim, _DEVICES, r"namespaces/[^/]+"),
    _of_devices("deviceclasses", "DeviceClass", DeviceClass, "it is unknown which devices resource claims select"),
    _of_devices("resourceslices", "ResourceSlice", ResourceSlice, "it is unknown which devices nodes have"),
)


BUDGETS: Final = scheduled(
    "poddisruptionbudgets",
    PodDisruptionBudget,
    kinds={"PodDisruptionBudget": r"policy/v1"},
    paths=("/apis/policy/v1/poddisruptionbudgets",),
    without="it is unknown which pods a drain has to leave",
    must_gather=r"namespaces/[^/]+/policy/poddisruptionbudgets(?:/[^/]+)?",
)
