"""Claims of volumes, volumes, and what attaches them to nodes (rules: scheduler-volumes)."""

from typing import Any, Final

from ingest.model.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageAnnotations,
    StorageClass,
    VolumeAttachment,
)
from ingest.resources.resource import ApiResource
from ingest.resources.scheduled import scheduled

_STORAGE: Final = r"storage\.k8s\.io/v1(?:beta1)?"
_WHERE: Final = "where pods with volume claims fit is not known"


def _of_storage(plural: str, kind: str, of: type[Any], without: str) -> ApiResource[Any]:
    return scheduled(
        plural,
        of,
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
        without=_WHERE,
        must_gather=r"namespaces/[^/]+/core/persistentvolumeclaims",
        annotations=StorageAnnotations,
    ),
    scheduled(
        "persistentvolumes",
        PersistentVolume,
        kinds={"PersistentVolume": r"v1"},
        paths=("/api/v1/persistentvolumes",),
        without=_WHERE,
        must_gather=r"cluster-scoped-resources/core/persistentvolumes(?:/[^/]+)?",
        annotations=StorageAnnotations,
    ),
    _of_storage("storageclasses", "StorageClass", StorageClass, _WHERE),
    _of_storage("csinodes", "CSINode", CSINode, "how many volumes nodes can attach is not known"),
    _of_storage("csidrivers", "CSIDriver", CSIDriver, "whether drivers have room for new volumes is not known"),
    _of_storage("volumeattachments", "VolumeAttachment", VolumeAttachment, "what nodes have attached is not known"),
)
