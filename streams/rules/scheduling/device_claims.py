"""Finds the nodes that a pod's device claims allow, like the scheduler's DynamicResources
(rules: scheduler-devices).

If the evidence does not decide, the result is unknown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

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
from streams.rules.scheduling.constraints import ClaimedDevices, Constraints, unknown_claim_text
from streams.rules.scheduling.selectors import NODE_NAME, Terms, meets_any, node_terms

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
    """Drivers that a device must all match."""
    count: int
    """Number of devices that must be free; 0 if fewer may do."""
    certain: bool
    """True if any device of the driver and the class satisfies the request."""


class DeviceClaim(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    allocated: bool = False
    nodes: Terms | None = None
    doubtful: bool = False
    """True if the allocated claim may be unusable: it has the most pods, or its devices are not ready at once."""
    deleting: bool = False
    owner: str = ""
    """The uid of its controller."""
    held: list[tuple[str, str, str]] = []
    """Devices that no other claim can get: driver, pool and name."""
    requests: list[Request] = []


class Selection(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    drivers: list[str] = []
    certain: bool = False
    """True if it selects all devices of that driver."""


class Slice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    driver: str = ""
    pool: str = ""
    generation: int = 0
    slices: int = 0
    """Number of slices in its pool."""
    node: str = ""
    everywhere: bool = False
    """True also if some of its devices are on some nodes only."""
    nodes: Terms | None = None
    devices: list[str] = []
    plain: bool = False
    """True if a claim that may have one device of the driver may have each of these, if it is free."""


def claim_facts(claim: ResourceClaim) -> DeviceClaim:
    allocation, spec = claim.status.allocation, claim.spec.devices
    results = (allocation and allocation.devices.results) or []
    where = allocation.node_selector if allocation else None
    count = sum(each.exactly.count for each in spec.requests or () if each.exactly)
    plain = not spec.constraints and count <= _MOST_DEVICES
    return DeviceClaim(
        allocated=allocation is not None,
        nodes=node_terms(None, where.node_selector_terms or []) if where else None,
        doubtful=len(claim.status.reserved_for or ()) >= _MOST_PODS
        or any(each.binding_conditions for each in results),
        deleting=claim.metadata.deletion_timestamp is not None,
        owner=claim.metadata.controller,
        held=[
            (each.driver, each.pool, each.device)
            for each in results
            if not each.admin_access and each.share_id is None
        ],
        requests=[] if allocation else [one for each in spec.requests or () for one in _requests(each, plain=plain)],
    )


def class_facts(device_class: DeviceClass) -> Selection:
    return Selection(*_selection(device_class.spec.selectors or ()))


def slice_facts(resource_slice: ResourceSlice) -> Slice:
    spec = resource_slice.spec
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


def _requests(request: DeviceRequest, *, plain: bool) -> Iterator[Request]:
    for each in request.first_available or ():
        yield Request(f"{request.name}/{each.name}", each.device_class_name, [], 0, certain=False)
    if request.exactly is not None:
        yield _exactly(request.name, request.exactly, plain=plain)
    elif not request.first_available:
        yield Request(request.name, "", [], 0, certain=False)


def _exactly(name: str, request: ExactRequest, *, plain: bool) -> Request:
    drivers, decided = _selection(request.selectors or ())
    exact = request.allocation_mode == "ExactCount"
    return Request(
        name,
        request.device_class_name,
        drivers,
        0 if request.admin_access else request.count if exact else 1,
        certain=plain and decided and exact and not request.admin_access and request.capacity is None,
    )


def _selection(selectors: Sequence[Selector]) -> tuple[list[str], bool]:
    """Return the drivers that a device must match, and whether the selectors require nothing else."""
    found = [_OF_DRIVER.fullmatch(each.cel.expression if each.cel else "") for each in selectors]
    drivers = {each[1] or each[2] for each in found if each}
    return sorted(drivers), all(each is not None and each["more"] is None for each in found)


def _is_plain(device: Device) -> bool:
    return device == Device(name=device.name)


TOO_FEW: Final = "cannot allocate all claims"
ELSEWHERE: Final = "resourceclaim not available on the node"
_OF_A_CLASS: Final = "request "
"""Start of the reason that the scheduler finds last from the pod alone."""


class Devices(NamedTuple):
    listed: Collection[str] = ()
    """Resources whose objects are all known."""
    claims: Mapping[tuple[str, str], DeviceClaim] = {}
    """Claims by namespace and name."""
    classes: Mapping[str, Selection] = {}
    slices: Sequence[Slice] = ()


NO_DEVICES: Final = Devices()


class Wanted(NamedTuple):
    drivers: frozenset[str] = frozenset()
    """Drivers that a device must all match."""
    at_least: int = 0
    """Number of free devices that the request needs."""
    certain: bool = False
    """True if any device of the driver satisfies the request."""


class DeviceNeed(NamedTuple):
    """Requirements of one claim of a pod on a node."""

    claim: str
    """The claim's name in the pod."""
    reasons: Sequence[str] = ()
    """Reasons why no node fits."""
    unknown: bool = False
    """True if the nodes that fit are unknown."""
    nodes: Terms | None = None
    doubtful: bool = False
    """True if the claim may be unusable even on these nodes."""
    wanted: Sequence[Wanted] = ()
    """Requests that are not allocated yet."""
    alone: bool = False
    """True if later pods must go to the node of the first one."""


class NodeDevices(NamedTuple):
    free: Mapping[str, int] = {}
    """Most free devices by driver."""
    plain: Mapping[str, int] = {}
    """Number of plain devices, which every allowed claim may have."""
    known: bool = False
    """True if all slices are known."""
    complete: bool = False
    """True if all slices and claims are known."""


def device_needs(
    constraints: Constraints,
    namespace: str,
    devices: Devices,
    scheduler_minor: int,
    *,
    pod: tuple[str, str] | None = None,
) -> tuple[DeviceNeed, ...]:
    """Return the needs of each device claim. `pod` is the pod's name and uid, if it exists."""
    return tuple(_need(each, namespace, devices, scheduler_minor, pod) for each in constraints.devices)


def _need(
    each: ClaimedDevices, namespace: str, devices: Devices, scheduler_minor: int, pod: tuple[str, str] | None
) -> DeviceNeed:
    name, uid = pod or ("", "")
    if not each.claim:
        reason = f'pod "{namespace}/{name}": ResourceClaim not created yet'
        return DeviceNeed(each.name, [reason]) if pod else DeviceNeed(each.name, unknown=True)
    claim = devices.claims.get((namespace, each.claim))
    if claim is None:
        known = "resourceclaims" in devices.listed
        reason = f'could not find ResourceClaim "{namespace}/{each.claim}"'
        return DeviceNeed(each.name, [reason]) if known else DeviceNeed(each.name, unknown=True)
    if claim.deleting:
        return DeviceNeed(each.name, [f'resourceclaim "{each.claim}" is being deleted'])
    if each.from_template and claim.owner != uid:
        one = "Pod" if scheduler_minor >= 36 else "pod"  # noqa: PLR2004  a version of its words
        reason = f"was not created for {one} {namespace}/{name} ({one} is not owner)"
        return DeviceNeed(each.name, [f"ResourceClaim {namespace}/{each.claim} {reason}"])
    if claim.allocated:
        return DeviceNeed(each.name, nodes=claim.nodes, doubtful=claim.doubtful)
    missing = [] if "deviceclasses" not in devices.listed else _missing(claim.requests, devices.classes)
    reasons = [f"{_OF_A_CLASS}{one.name}: device class {one.device_class} does not exist" for one in missing]
    wanted = [_wanted(one, devices.classes.get(one.device_class)) for one in claim.requests if one not in missing]
    return DeviceNeed(each.name, reasons, wanted=wanted, alone=True)


def _missing(requests: Iterable[Request], classes: Mapping[str, Selection]) -> list[Request]:
    return [one for one in requests if one.device_class and one.device_class not in classes]


def _wanted(one: Request, device_class: Selection | None) -> Wanted:
    if device_class is None:
        return Wanted()
    drivers = frozenset({*one.drivers, *device_class.drivers})
    return Wanted(drivers, one.count, certain=one.certain and device_class.certain and len(drivers) == 1)


def node_devices(devices: Devices, nodes: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[NodeDevices]:
    """Yield the devices of each node, given its labels."""
    held = {each for claim in devices.claims.values() for each in claim.held}
    pools, local = defaultdict[tuple[str, str], list[Slice]](list), defaultdict[str, list[Slice]](list)
    for each in devices.slices:
        pools[each.driver, each.pool].append(each)
        local[each.node].append(each)
    whole = {pool for pool, slices in pools.items() if _is_whole(slices)}
    anywhere = [each for each in local.pop("", ()) if each.everywhere or each.nodes is not None]
    known = "resourceslices" in devices.listed
    complete = known and "resourceclaims" in devices.listed
    for name, labels in nodes:
        free, plain, named = Counter[str](), Counter[str](), {**labels, NODE_NAME: name}
        there = [each for each in anywhere if each.everywhere or meets_any(each.nodes, named)]
        for each in (*local.get(name, ()), *there):
            count = sum((each.driver, each.pool, device) not in held for device in each.devices)
            free[each.driver] += count
            plain[each.driver] += count if (each.driver, each.pool) in whole else 0
        yield NodeDevices(free, plain, known, complete)


def _is_whole(pool: Sequence[Slice]) -> bool:
    """True if all slices are present and plain, of one generation, and name each device once."""
    names = [device for each in pool for device in each.devices]
    return all(
        each.plain and each.slices == len(pool) and each.generation == pool[0].generation for each in pool
    ) and len({*names}) == len(names)


def device_reasons(
    needs: Sequence[DeviceNeed], node: str, labels: Mapping[str, str], there: NodeDevices
) -> tuple[list[str], list[str]]:
    """Return the scheduler's words for why it does not place the pod there, and what else must be known."""
    reasons = [reason for each in needs for reason in each.reasons]
    unknown = [unknown_claim_text(each.claim) for each in needs if each.unknown]
    allocated = _allocated([one for each in needs for one in each.wanted], there)
    if allocated is False:
        reasons.append(TOO_FEW)
    elif allocated is None:
        unknown += [unknown_claim_text(each.claim) for each in needs if each.wanted]
    for each in needs:
        if not meets_any(each.nodes, {**labels, NODE_NAME: node}):
            reasons.append(ELSEWHERE)
        elif each.doubtful:
            unknown.append(unknown_claim_text(each.claim))
    return sorted(dict.fromkeys(reasons), key=_asked_first), list(dict.fromkeys(unknown))


def _asked_first(reason: str) -> tuple[bool, bool, bool]:
    """Return a sort key, because the scheduler stops at the first refusal."""
    return reason == ELSEWHERE, reason == TOO_FEW, reason.startswith(_OF_A_CLASS)


def _allocated(wanted: Sequence[Wanted], there: NodeDevices) -> bool | None:
    if not wanted:
        return True
    totals = Counter[str]()
    for each in wanted:
        if len(each.drivers) == 1:
            totals.update(dict.fromkeys(each.drivers, each.at_least))
    plain = {driver: there.plain.get(driver, 0) for driver in totals}
    if any(
        each.at_least > sum((count for driver, count in there.free.items() if each.drivers <= {driver}))
        for each in wanted
    ) or any(plain[driver] == there.free.get(driver, 0) < total for driver, total in totals.items()):
        return False if there.known else None
    certain = all(each.certain for each in wanted) and all(plain[driver] >= totals[driver] for driver in totals)
    return True if certain and there.complete else None
