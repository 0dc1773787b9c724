"""Claims of devices, and the classes and slices of those there are (rules: scheduler-devices)."""

from typing import Any, Final

from ingest.model.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from ingest.resources.resource import ApiResource
from ingest.resources.scheduled import scheduled

_WHERE: Final = "where pods with resource claims fit is not known"


def _of_devices(
    plural: str, kind: str, of: type[Any], without: str, folder: str = "cluster-scoped-resources"
) -> ApiResource[Any]:
    return scheduled(
        plural,
        of,
        kinds={kind: r"resource\.k8s\.io/v1(?:beta[12])?"},
        paths=tuple(f"/apis/resource.k8s.io/{version}/{plural}" for version in ("v1", "v1beta2", "v1beta1")),
        without=without,
        must_gather=rf"{folder}/resource\.k8s\.io/{plural}(?:/[^/]+)?",
    )


RESOURCE_CLAIMS: Final = (
    _of_devices("resourceclaims", "ResourceClaim", ResourceClaim, _WHERE, r"namespaces/[^/]+"),
    _of_devices("deviceclasses", "DeviceClass", DeviceClass, "which devices resource claims mean is not known"),
    _of_devices("resourceslices", "ResourceSlice", ResourceSlice, "which devices nodes have is not known"),
)
