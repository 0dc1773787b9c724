"""Computes the requirements of a pod's volumes on a node, as far as the evidence shows (rules: scheduler-volumes).

The nodes that a pod's volume claims allow follow the scheduler's VolumeBinding, VolumeZone, NodeVolumeLimits and,
from VolumeRestrictions, ReadWriteOncePod. If the evidence does not decide, the result is unknown.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from streams.rules.scheduling.constraints import ClaimedVolume, Constraints, unknown_volume_text
from streams.rules.scheduling.selectors import Requirement, Terms, matches, meets_any
from streams.rules.scheduling.storage import TOPOLOGY_LABELS, Attachment, Claim, Class, Driver, NodeDrivers, Volume

UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
LOST_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IN_TREE: Final = "kubernetes.io/"
"""Begins the names of provisioners that are not CSI drivers."""
STATIC: Final = "kubernetes.io/no-provisioner"


class Storage(NamedTuple):
    listed: Collection[str] = ()
    """Resources whose objects are all known."""
    claims: Mapping[tuple[str, str], Claim] = {}
    """Claims by namespace and name."""
    volumes: Mapping[str, Volume] = {}
    classes: Mapping[str, Class] = {}
    nodes: Mapping[str, NodeDrivers] = {}
    drivers: Mapping[str, Driver] = {}
    attachments: Sequence[Attachment] = ()


NO_EVIDENCE: Final = Storage()


class Need(NamedTuple):
    """Requirements of one volume of a pod on a node."""

    volume: str
    reason: str = ""
    """Reason why no node fits."""
    unknown: bool = False
    """True if the nodes that fit are unknown."""
    in_use: bool | None = False
    """True if another pod uses it, although only one may; None if unknown."""
    nodes: Terms | None = None
    topology: Sequence[Requirement] = ()
    delayed: bool = False
    """True if it is bound once a node is chosen: to one of the candidates, or to a new volume."""
    storage_class: str = ""
    selected_node: str | None = None
    candidates: Sequence[Terms | None] = ()
    """Nodes of each volume to which it could be bound."""
    reserved: bool = False
    """True if the candidates are reserved for this claim."""
    all_candidates: bool = True
    maker: str = ""
    """The driver that can create a volume; empty if there is none."""
    topologies: Terms | None = None
    room: bool = True
    """True if the driver is known to have room."""
    driver: str = ""
    """The driver that attaches it; empty if there is none."""
    identity: str = ""
    of_each: bool = False
    """True if each pod of the kind gets its own volume."""
    alone: bool = False
    """True if only one pod may use it, or if later pods must go to the node of the first one."""


def needs_of(
    constraints: Constraints,
    namespace: str,
    storage: Storage,
    *,
    pods: Iterable[tuple[str, Constraints]] = (),
    uid: str = "",
    created_claims: Mapping[str, Claim] = {},
) -> tuple[Need, ...]:
    """Return the needs of each volume. `pods` are on nodes, with namespaces; `uid` is the pod's, if any.
    `created_claims` are those that are created with each such pod, by volume.
    """
    there = [each for own_namespace, each in pods if own_namespace == namespace]
    used = {each.claim for other in there for each in other.claimed if not each.ephemeral}
    doubtful = any(each.volumes for each in there)
    needs = []
    for each in constraints.claimed:
        claim = created_claims.get(each.volume)
        if claim is not None:
            need = _created(each, claim, storage, namespace)
        else:
            need = _need(each, namespace, storage, uid)
            claim = storage.claims.get((namespace, each.claim))
        if claim is not None and not each.ephemeral and "ReadWriteOncePod" in claim.access:
            need = need._replace(alone=True, in_use=each.claim in used or (None if doubtful else False))
        needs.append(need)
    return tuple(needs)


def _created(each: ClaimedVolume, claim: Claim, storage: Storage, namespace: str) -> Need:
    if claim.uses_default_class:
        defaults = [name for name, storage_class in storage.classes.items() if storage_class.default]
        if len(defaults) != 1 or "storageclasses" not in storage.listed:
            return Need(each.volume, unknown=True)
        claim = msgspec.structs.replace(claim, storage_class=defaults[0])
    return _unbound(each, claim, storage, (namespace, each.claim))._replace(of_each=True, alone=False)


def _need(each: ClaimedVolume, namespace: str, storage: Storage, uid: str) -> Need:
    claim = storage.claims.get((namespace, each.claim))
    quoted = f'persistentvolumeclaim "{each.claim}"'
    if claim is None:
        waiting = "waiting for ephemeral volume controller to create the " if each.ephemeral else ""
        reason = f"{waiting}{quoted}" if each.ephemeral else f"{quoted} not found"
        known = "persistentvolumeclaims" in storage.listed
        return Need(each.volume, reason) if known else Need(each.volume, unknown=True)
    if claim.phase == "Lost":
        return Need(each.volume, f'{quoted} bound to non-existent persistentvolume "{claim.volume}"')
    if claim.deleting:
        return Need(each.volume, f"{quoted} is being deleted")
    if each.ephemeral and uid and claim.controller_uid != uid:
        pod = each.claim.removesuffix(f"-{each.volume}")
        reason = f"PVC {namespace}/{each.claim} was not created for pod {namespace}/{pod} (pod is not owner)"
        return Need(each.volume, reason)
    return _bound(each, claim, storage) if claim.bound else _unbound(each, claim, storage, (namespace, each.claim))


def _bound(each: ClaimedVolume, claim: Claim, storage: Storage) -> Need:
    volume = storage.volumes.get(claim.volume)
    if volume is None:
        if "persistentvolumes" not in storage.listed:
            return Need(each.volume, unknown=True)
        # VolumeZone is asked first, and not of ephemeral volumes.
        return Need(each.volume, LOST_VOLUME if each.ephemeral else f'persistentvolume "{claim.volume}" not found')
    if volume.in_tree:
        return Need(each.volume, unknown=True)
    topology = () if each.ephemeral else volume.topology
    known_as = volume.known_as(claim.volume)
    return Need(each.volume, nodes=volume.nodes, topology=topology, driver=volume.driver, identity=known_as)


def _unbound(each: ClaimedVolume, claim: Claim, storage: Storage, named: tuple[str, str]) -> Need:
    storage_class = storage.classes.get(claim.storage_class)
    if not claim.volume and claim.storage_class and storage_class is None and "storageclasses" not in storage.listed:
        return Need(each.volume, unknown=True)
    if claim.volume or storage_class is None or storage_class.binding != "WaitForFirstConsumer":
        return Need(each.volume, UNBOUND)
    if storage_class.provisioner.startswith(IN_TREE) and storage_class.provisioner != STATIC:
        return Need(each.volume, unknown=True)
    able = [volume for volume in storage.volumes.values() if _can_bind(claim, volume, named)]
    reserved = [volume for volume in able if volume.claim is not None]
    driver = storage.drivers.get(storage_class.provisioner)
    return Need(
        each.volume,
        delayed=True,
        storage_class=claim.storage_class,
        selected_node=claim.selected_node,
        candidates=[volume.nodes for volume in reserved or able],
        reserved=bool(reserved),
        all_candidates="persistentvolumes" in storage.listed,
        maker="" if storage_class.provisioner == STATIC else storage_class.provisioner,
        topologies=storage_class.topologies,
        room="csidrivers" in storage.listed if driver is None else not driver.tracks_capacity,
        driver="" if storage_class.provisioner == STATIC else storage_class.provisioner,
        identity=unbound_volume(*named),
        alone=True,
    )


def unbound_volume(namespace: str, claim: str) -> str:
    """Return a stand-in for the volume of a claim that has none yet, different from all handles and names."""
    return f":{namespace}/{claim}"


def _can_bind(claim: Claim, volume: Volume, named: tuple[str, str]) -> bool:
    fits = (
        volume.storage_class == claim.storage_class
        and volume.bytes >= claim.bytes
        and volume.mode == claim.mode
        and volume.attributes_class == claim.attributes_class
        and not volume.deleting
    )
    if not fits:
        return False
    if volume.claim is not None:
        return volume.claim[:2] == named and volume.claim[2] in {"", claim.uid}
    if volume.phase != "Available" or not {*claim.access} <= {*volume.access}:
        return False
    return matches(claim.selector, volume.labels)


NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
NO_ZONE: Final = "node(s) had no available volume zone"
TOO_MANY: Final = "node(s) exceed max volume count"
IN_USE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_LABELS_OF_TODAY: Final = dict(zip(TOPOLOGY_LABELS[:2], TOPOLOGY_LABELS[2:], strict=True))


class NodeVolumes(NamedTuple):
    """Volumes of a node, as pairs of a driver and the identity of a volume."""

    limits: Mapping[str, int] | None = {}
    """Limits by driver; None if unknown."""
    used: frozenset[tuple[str, str]] = frozenset()
    """Volumes that its pods use."""
    attached: frozenset[tuple[str, str]] = frozenset()
    """Attached volumes besides the used ones."""
    complete: bool = True

    def with_pod(self, needs: Iterable[Need]) -> "NodeVolumes":
        index = len(self.used)
        more = {
            (each.driver, f"{each.identity}{f'#{index}' if each.of_each else ''}") for each in needs if each.driver
        }
        return self._replace(used=self.used | more, attached=self.attached - more)


def node_volumes(
    storage: Storage, node: str, pods: Iterable[tuple[str, Constraints]], attached: Iterable[Attachment]
) -> NodeVolumes:
    """Return a node's volumes, from its pods with their namespaces and from its attachments."""
    drivers, complete, used = storage.nodes.get(node), "volumeattachments" in storage.listed, set()
    for namespace, constraints in pods:
        complete = complete and not constraints.volumes
        for each in constraints.claimed:
            found = _attached_as(storage, namespace, each.claim)
            complete = complete and found is not None
            used.add(found or ("", ""))
    beside = {one for each in attached if (one := _attached(storage, each)) is not None}
    known = drivers is not None or "csinodes" in storage.listed
    limits = (drivers.limits if drivers else {}) if known else None
    return NodeVolumes(limits, frozenset(used), frozenset(beside - used), complete)


def _attached(storage: Storage, each: Attachment) -> tuple[str, str] | None:
    volume = storage.volumes.get(each.volume)
    if volume is None:
        return None if "persistentvolumes" in storage.listed else (each.driver, each.volume)
    return (each.driver, volume.known_as(each.volume)) if volume.driver else None


def _attached_as(storage: Storage, namespace: str, name: str) -> tuple[str, str] | None:
    """Return driver and volume of a claim in use, both empty if nothing is attached; None if unknown."""
    claim = storage.claims.get((namespace, name))
    if claim is None:
        return ("", "") if "persistentvolumeclaims" in storage.listed else None
    volume = storage.volumes.get(claim.volume)
    if volume is not None:
        return None if volume.in_tree else (volume.driver, volume.known_as(claim.volume) if volume.driver else "")
    if claim.volume and "persistentvolumes" not in storage.listed:
        return None
    storage_class = storage.classes.get(claim.storage_class)
    if storage_class is None:
        return ("", "") if not claim.storage_class or "storageclasses" in storage.listed else None
    if storage_class.provisioner.startswith(IN_TREE):
        return ("", "") if storage_class.provisioner == STATIC else None
    return storage_class.provisioner, unbound_volume(namespace, name)


def volume_reasons(
    needs: Sequence[Need], node: str, labels: Mapping[str, str], volumes: NodeVolumes, scheduler_minor: int
) -> tuple[list[str], list[str]]:
    """Return the scheduler's words for why it does not place the pod there, and what else must be known."""
    reasons, unknown = list[str](), list[str]()
    crowd = Counter(each.storage_class for each in needs if each.delayed)
    for each in needs:
        reasons += [each.reason] if each.reason else []
        reasons += [IN_USE] if each.in_use else []
        if each.unknown or each.in_use is None:
            unknown.append(unknown_volume_text(each.volume))
        if each.delayed:
            # The scheduler looks at the first one that is reserved for it.
            wanted = len(each.candidates) if each.reserved else crowd[each.storage_class]
            against, missing = _choosing(each, node, labels, wanted)
            reasons += against
            unknown += missing
        if not meets_any(each.nodes, labels):
            reasons.append(
                "node(s) had volume node affinity conflict"
                if scheduler_minor < 33  # noqa: PLR2004  a version of its words
                else "node(s) didn't match PersistentVolume's node affinity"
            )
        if not _in_topology(each.topology, labels):
            reasons.append(NO_ZONE)
    for driver in sorted({each.driver for each in needs} - {""}):
        against, missing = _limited(driver, needs, volumes, scheduler_minor)
        reasons += against
        unknown += missing
    return sorted(dict.fromkeys(reasons), key=_asked_first), list(dict.fromkeys(unknown))


def _asked_first(reason: str) -> tuple[bool, bool, bool]:
    """Return a sort key, because the scheduler stops at the first refusal: by the pod alone, then by these two."""
    return reason.startswith("node(s)"), reason != IN_USE, reason != TOO_MANY


def _choosing(need: Need, node: str, labels: Mapping[str, str], wanted: int) -> tuple[list[str], list[str]]:
    """Judge a claim that is bound with the choice of the node: `wanted` volumes are enough for all like it."""
    found = 0
    if need.selected_node is not None:
        if need.selected_node != node:
            return [NO_VOLUME], []
    else:
        found = sum(meets_any(each, labels) for each in need.candidates)
        if found >= wanted:
            return [], []
    if need.maker and meets_any(need.topologies, labels):
        return [], [] if need.room else [f"whether {need.maker} has room for volume {need.volume}"]
    if found or not (need.all_candidates or need.selected_node is not None):
        return [], [unknown_volume_text(need.volume)]
    return [NO_VOLUME], []


def _limited(
    driver: str, needs: Sequence[Need], volumes: NodeVolumes, scheduler_minor: int
) -> tuple[list[str], list[str]]:
    unknown = [f"how many volumes of {driver} the node has attached"]
    if volumes.limits is None:
        return [], unknown
    if driver not in volumes.limits:
        return [], []
    there = {identity for by, identity in volumes.used if by == driver}
    more = {each.identity for each in needs if each.driver == driver and (each.of_each or each.identity not in there)}
    if not more:
        return [], []
    counts_attached = scheduler_minor >= 32  # noqa: PLR2004  before, only what pods use
    beside = {identity for by, identity in volumes.attached if by == driver and counts_attached}
    if len(there) + len(beside) + len(more) > volumes.limits[driver]:
        return [TOO_MANY], []
    return [], [] if volumes.complete else unknown


def _in_topology(topology: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    """Tell whether a node is in these zones and regions; a node without any such label is in all."""
    if all(key not in labels for key in TOPOLOGY_LABELS):
        return True
    return all(matches([_labelled_as(each, labels)], labels) for each in topology)


def _labelled_as(required: Requirement, labels: Mapping[str, str]) -> Requirement:
    key = required.key if required.key in labels else _LABELS_OF_TODAY.get(required.key, required.key)
    return Requirement(key, "In", required.values)
