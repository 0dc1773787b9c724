"""The scheduler's inputs from device claims, their classes and slices, in the form in which they are stored (rules:
scheduler-devices).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from ingest.model.objects.resource_claims import (
    Device,
    DeviceClass,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
    ResourceSlice,
    Selector,
)
from streams.rules.scheduling.selectors import Terms, node_terms

_OF_DRIVER: Final = re.compile(
    r"""\s*device\.driver\s*==\s*(?:"([^"\\]+)"|'([^'\\]+)')\s*(?P<more>&&[^?|]*)?""", re.DOTALL
)
"""An expression that is false for the devices of all other drivers."""
_MOST_DEVICES: Final = 32
_MOST_PODS: Final = 256
"""Most pods, and most devices, of one claim."""


class Request(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Requests for devices of a class."""

    name: str
    device_class: str
    drivers: list[str]
    """A device has to be of all of them."""
    count: int
    """At least so many that nobody else has; 0 if fewer may do."""
    certain: bool
    """Any devices of the driver and the class will do."""


class DeviceClaim(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    allocated: bool = False
    nodes: Terms | None = None
    doubtful: bool = False
    """An allocated one may be of no use: it has as many pods as it can have, or its devices are not ready at once."""
    deleting: bool = False
    owner: str = ""
    """The uid of its controller."""
    held: list[tuple[str, str, str]] = []
    """Devices that nobody else can get: driver, pool and name."""
    requests: list[Request] = []


class Selection(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    drivers: list[str] = []
    certain: bool = False
    """All devices of that driver."""


class Slice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    driver: str = ""
    pool: str = ""
    generation: int = 0
    slices: int = 0
    """Slices of its pool."""
    node: str = ""
    everywhere: bool = False
    """Also where some of its devices are on some nodes only."""
    nodes: Terms | None = None
    devices: list[str] = []
    plain: bool = False
    """True if a claim that may have one device of the driver may have each of these, if it is free."""


def claim_facts(of: ResourceClaim) -> DeviceClaim:
    allocation, spec = of.status.allocation, of.spec.devices
    results = (allocation and allocation.devices.results) or []
    where = allocation.node_selector if allocation else None
    count = sum(each.exactly.count for each in spec.requests or () if each.exactly)
    plain = not spec.constraints and count <= _MOST_DEVICES
    return DeviceClaim(
        allocated=allocation is not None,
        nodes=node_terms(None, where.node_selector_terms or []) if where else None,
        doubtful=len(of.status.reserved_for or ()) >= _MOST_PODS or any(each.binding_conditions for each in results),
        deleting=of.metadata.deletion_timestamp is not None,
        owner=of.metadata.controller,
        held=[
            (each.driver, each.pool, each.device)
            for each in results
            if not each.admin_access and each.share_id is None
        ],
        requests=[] if allocation else [one for each in spec.requests or () for one in _requests(each, plain=plain)],
    )


def class_facts(of: DeviceClass) -> Selection:
    return Selection(*_selection(of.spec.selectors or ()))


def slice_facts(of: ResourceSlice) -> Slice:
    spec = of.spec
    devices, where = spec.devices or [], spec.node_selector
    return Slice(
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        slices=spec.pool.resource_slice_count,
        node=spec.node_name,
        everywhere=spec.all_nodes or spec.per_device_node_selection,
        nodes=node_terms(None, where.node_selector_terms or []) if where else None,
        devices=[each.name for each in devices],
        plain=not spec.per_device_node_selection and not spec.shared_counters and all(map(_is_plain, devices)),
    )


def _requests(of: DeviceRequest, *, plain: bool) -> Iterator[Request]:
    for each in of.first_available or ():
        yield Request(f"{of.name}/{each.name}", each.device_class_name, [], 0, certain=False)
    if of.exactly is not None:
        yield _exactly(of.name, of.exactly, plain=plain)
    elif not of.first_available:
        yield Request(of.name, "", [], 0, certain=False)


def _exactly(name: str, of: ExactRequest, *, plain: bool) -> Request:
    drivers, decided = _selection(of.selectors or ())
    exact = of.allocation_mode == "ExactCount"
    return Request(
        name,
        of.device_class_name,
        drivers,
        0 if of.admin_access else of.count if exact else 1,
        certain=plain and decided and exact and not of.admin_access and of.capacity is None,
    )


def _selection(selectors: Sequence[Selector]) -> tuple[list[str], bool]:
    """Drivers of which a device has to be, and whether that is all."""
    found = [_OF_DRIVER.fullmatch(each.cel.expression if each.cel else "") for each in selectors]
    drivers = {each[1] or each[2] for each in found if each}
    return sorted(drivers), all(each is not None and each["more"] is None for each in found)


def _is_plain(device: Device) -> bool:
    return device == Device(name=device.name)
