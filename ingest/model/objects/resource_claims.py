"""Claims, classes and slices of devices, with the fields that the scheduler reads (rules: scheduler-devices)."""

import msgspec

from ingest.model.numbers import Int64
from ingest.model.objects.base import KeptObject
from ingest.model.objects.pod import Present, RequiredNodeAffinity
from ingest.model.objects.storage import ScheduledMetadata


class _Cel(KeptObject, frozen=True):
    expression: str = ""


class Selector(KeptObject, frozen=True):
    cel: _Cel | None = None


class ExactRequest(KeptObject, frozen=True):
    device_class_name: str = ""
    selectors: list[Selector] | None = None
    allocation_mode: str = "ExactCount"
    count: Int64 = 1
    admin_access: bool = False
    capacity: Present | None = None


class _Alternative(KeptObject, frozen=True):
    name: str = ""
    device_class_name: str = ""


class DeviceRequest(KeptObject, frozen=True):
    """A request; of v1beta1 only its name."""

    name: str
    exactly: ExactRequest | None = None
    first_available: list[_Alternative] | None = None


class _Wanted(KeptObject, frozen=True):
    requests: list[DeviceRequest] | None = None
    constraints: list[Present] | None = None


class _ClaimSpec(KeptObject, frozen=True):
    devices: _Wanted = _Wanted()


class _Result(KeptObject, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    binding_conditions: list[str] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")


class _Results(KeptObject, frozen=True):
    results: list[_Result] | None = None


class _Allocation(KeptObject, frozen=True):
    devices: _Results = _Results()
    node_selector: RequiredNodeAffinity | None = None


class _ClaimStatus(KeptObject, frozen=True):
    allocation: _Allocation | None = None
    reserved_for: list[Present] | None = None


class ResourceClaim(KeptObject, frozen=True):
    metadata: ScheduledMetadata
    spec: _ClaimSpec = _ClaimSpec()
    status: _ClaimStatus = _ClaimStatus()


class _ClassSpec(KeptObject, frozen=True):
    selectors: list[Selector] | None = None


class DeviceClass(KeptObject, frozen=True):
    metadata: ScheduledMetadata
    spec: _ClassSpec = _ClassSpec()


class _Pool(KeptObject, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class Device(KeptObject, frozen=True):
    """Its name, and properties because of which not every request for its driver's devices may get it."""

    name: str
    basic: Present | None = None
    """In v1beta1, this contains all other fields."""
    consumes_counters: list[Present] | None = None
    taints: list[Present] | None = None
    binds_to_node: bool = False
    binding_conditions: list[str] | None = None
    allow_multiple_allocations: bool = False
    node_allocatable_resource_mappings: dict[str, Present] | None = None


class _SliceSpec(KeptObject, frozen=True):
    driver: str = ""
    pool: _Pool = _Pool()
    node_name: str = ""
    node_selector: RequiredNodeAffinity | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    shared_counters: list[Present] | None = None
    devices: list[Device] | None = None


class ResourceSlice(KeptObject, frozen=True):
    metadata: ScheduledMetadata
    spec: _SliceSpec = _SliceSpec()
