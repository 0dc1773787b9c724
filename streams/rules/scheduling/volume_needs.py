"""Requirements of a pod's volumes on a node, as far as the evidence shows (rules: scheduler-volumes)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from streams.rules.scheduling.constraints import ClaimedVolume, Constraints
from streams.rules.scheduling.selectors import Requirement, Terms, matches
from streams.rules.scheduling.storage import Attachment, Claim, Class, Driver, NodeDrivers, Volume

UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
LOST_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IN_TREE: Final = "kubernetes.io/"
"""Begins the names of provisioners that are not CSI drivers."""
STATIC: Final = "kubernetes.io/no-provisioner"


class Storage(NamedTuple):
    listed: Collection[str] = ()
    """Resources of which all that there is is known."""
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
    """Reason why no node will do."""
    unknown: bool = False
    """Nobody knows which."""
    in_use: bool | None = False
    """True if another pod uses it, although only one may; None if unknown."""
    nodes: Terms | None = None
    zones: Sequence[Requirement] = ()
    delayed: bool = False
    """It is bound once a node is chosen: to one of the candidates, or to a volume that is made."""
    storage_class: str = ""
    selected_node: str | None = None
    candidates: Sequence[Terms | None] = ()
    """Nodes of each volume that it could be bound to."""
    reserved: bool = False
    """They are for this claim alone."""
    all_candidates: bool = True
    maker: str = ""
    """The driver that can make a volume; empty for none."""
    topologies: Terms | None = None
    room: bool = True
    """It is known to have room."""
    driver: str = ""
    """Driver that attaches it; empty if none does."""
    identity: str = ""
    of_each: bool = False
    """Each pod of the kind gets one of its own."""
    alone: bool = False
    """One pod alone may use it, or those that follow go where the first one is."""


def needs_of(
    constraints: Constraints,
    namespace: str,
    storage: Storage,
    *,
    pods: Iterable[tuple[str, Constraints]] = (),
    uid: str = "",
    made: Mapping[str, Claim] = {},
) -> tuple[Need, ...]:
    """`pods` are those that are on nodes, with their namespaces; `uid` is the pod's, where it exists; `made` the
    claims that are made with each such pod, by volume.
    """
    there = [each for of, each in pods if of == namespace]
    used = {each.claim for other in there for each in other.claimed if not each.ephemeral}
    doubtful = any(each.volumes for each in there)
    needs = []
    for each in constraints.claimed:
        claim = made.get(each.volume)
        if claim is not None:
            need = _made(each, claim, storage, namespace)
        else:
            need = _need(each, namespace, storage, uid)
            claim = storage.claims.get((namespace, each.claim))
        if claim is not None and not each.ephemeral and "ReadWriteOncePod" in claim.access:
            need = need._replace(alone=True, in_use=each.claim in used or (None if doubtful else False))
        needs.append(need)
    return tuple(needs)


def _made(each: ClaimedVolume, claim: Claim, storage: Storage, namespace: str) -> Need:
    if claim.by_default:
        defaults = [name for name, of in storage.classes.items() if of.default]
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
    if each.ephemeral and uid and claim.owner != uid:
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
    zones = () if each.ephemeral else volume.zones
    known_as = volume.known_as(claim.volume)
    return Need(each.volume, nodes=volume.nodes, zones=zones, driver=volume.driver, identity=known_as)


def _unbound(each: ClaimedVolume, claim: Claim, storage: Storage, named: tuple[str, str]) -> Need:
    of = storage.classes.get(claim.storage_class)
    if not claim.volume and claim.storage_class and of is None and "storageclasses" not in storage.listed:
        return Need(each.volume, unknown=True)
    if claim.volume or of is None or of.binding != "WaitForFirstConsumer":
        return Need(each.volume, UNBOUND)
    if of.provisioner.startswith(IN_TREE) and of.provisioner != STATIC:
        return Need(each.volume, unknown=True)
    able = [volume for volume in storage.volumes.values() if _can_bind(claim, volume, named)]
    reserved = [volume for volume in able if volume.claim is not None]
    driver = storage.drivers.get(of.provisioner)
    return Need(
        each.volume,
        delayed=True,
        storage_class=claim.storage_class,
        selected_node=claim.selected_node,
        candidates=[volume.nodes for volume in reserved or able],
        reserved=bool(reserved),
        all_candidates="persistentvolumes" in storage.listed,
        maker="" if of.provisioner == STATIC else of.provisioner,
        topologies=of.topologies,
        room="csidrivers" in storage.listed if driver is None else not driver.tracks_capacity,
        driver="" if of.provisioner == STATIC else of.provisioner,
        identity=unmade(*named),
        alone=True,
    )


def unmade(namespace: str, claim: str) -> str:
    """Return a stand-in for the volume of a claim that has none yet, different from all handles and names."""
    return f":{namespace}/{claim}"


def _can_bind(claim: Claim, volume: Volume, named: tuple[str, str]) -> bool:
    fits = (
        volume.storage_class == claim.storage_class
        and volume.bytes >= claim.bytes
        and volume.mode == claim.mode
        and volume.attributes == claim.attributes
        and not volume.deleting
    )
    if not fits:
        return False
    if volume.claim is not None:
        return volume.claim[:2] == named and volume.claim[2] in {"", claim.uid}
    if volume.phase != "Available" or not {*claim.access} <= {*volume.access}:
        return False
    return matches(claim.labels, volume.labels)
