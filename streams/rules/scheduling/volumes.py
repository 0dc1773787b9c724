"""Finds the nodes that a pod's volume claims allow (rules: scheduler-volumes).

It follows the scheduler's VolumeBinding, VolumeZone, NodeVolumeLimits and, from VolumeRestrictions,
ReadWriteOncePod. If the evidence does not decide, the result is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from streams.rules.scheduling.constraints import Constraints, unattached
from streams.rules.scheduling.selectors import Requirement, matches, meets_any
from streams.rules.scheduling.storage import ZONES, Attachment
from streams.rules.scheduling.volume_needs import IN_TREE, STATIC, Need, Storage, unmade

NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
NO_ZONE: Final = "node(s) had no available volume zone"
TOO_MANY: Final = "node(s) exceed max volume count"
IN_USE: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_LABELS_OF_TODAY: Final = dict(zip(ZONES[:2], ZONES[2:], strict=True))


class NodeVolumes(NamedTuple):
    """Volumes of a node, as pairs of a driver and the identity of a volume."""

    limits: Mapping[str, int] | None = {}
    """None if they are not known."""
    used: frozenset[tuple[str, str]] = frozenset()
    """Volumes that its pods use."""
    attached: frozenset[tuple[str, str]] = frozenset()
    """Beside those."""
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
    """`pods` are those on the node with their namespaces, `attached` its attachments."""
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
    """Driver and volume of a claim in use, both empty if nothing is attached; None if that is not known."""
    claim = storage.claims.get((namespace, name))
    if claim is None:
        return ("", "") if "persistentvolumeclaims" in storage.listed else None
    volume = storage.volumes.get(claim.volume)
    if volume is not None:
        return None if volume.in_tree else (volume.driver, volume.known_as(claim.volume) if volume.driver else "")
    if claim.volume and "persistentvolumes" not in storage.listed:
        return None
    of = storage.classes.get(claim.storage_class)
    if of is None:
        return ("", "") if not claim.storage_class or "storageclasses" in storage.listed else None
    if of.provisioner.startswith(IN_TREE):
        return ("", "") if of.provisioner == STATIC else None
    return of.provisioner, unmade(namespace, name)


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
            unknown.append(unattached(each.volume))
        if each.delayed:
            # Of those that are reserved for it, the scheduler looks at whichever comes first.
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
        if not _in_zones(each.zones, labels):
            reasons.append(NO_ZONE)
    for driver in sorted({each.driver for each in needs} - {""}):
        against, missing = _limited(driver, needs, volumes, scheduler_minor)
        reasons += against
        unknown += missing
    return sorted(dict.fromkeys(reasons), key=_asked_first), list(dict.fromkeys(unknown))


def _asked_first(reason: str) -> tuple[bool, bool, bool]:
    """The scheduler goes no further than the first that refuses: by the pod alone, then these two."""
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
        return [], [unattached(need.volume)]
    return [NO_VOLUME], []


def _limited(
    driver: str, needs: Sequence[Need], volumes: NodeVolumes, scheduler_minor: int
) -> tuple[list[str], list[str]]:
    unknown = [f"how many volumes of {driver} the node has attached"]
    if volumes.limits is None:
        return [], unknown
    if driver not in volumes.limits:
        return [], []
    there = {identity for of, identity in volumes.used if of == driver}
    more = {each.identity for each in needs if each.driver == driver and (each.of_each or each.identity not in there)}
    if not more:
        return [], []
    counts_attached = scheduler_minor >= 32  # noqa: PLR2004  before, only what pods use
    beside = {identity for of, identity in volumes.attached if of == driver and counts_attached}
    if len(there) + len(beside) + len(more) > volumes.limits[driver]:
        return [TOO_MANY], []
    return [], [] if volumes.complete else unknown


def _in_zones(zones: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    """A node without any such label is in all."""
    if all(key not in labels for key in ZONES):
        return True
    return all(matches([_labelled_as(each, labels)], labels) for each in zones)


def _labelled_as(zone: Requirement, labels: Mapping[str, str]) -> Requirement:
    key = zone.key if zone.key in labels else _LABELS_OF_TODAY.get(zone.key, zone.key)
    return Requirement(key, "In", zone.values)
