"""Models the node list of each scheduler version, and how some versions lose nodes (rules: node-tree).

The tree files nodes by zone. To 1.18.6 a snapshot asks it for as many nodes as it has, and the tree continues where
the last snapshot ended. With zones of uneven size a snapshot then has nodes twice and others not at all.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from common.errors import WrongUsage

Affected: TypeAlias = Literal["transient", "persistent", "none"]

_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?([-+].{0,64})?")
_RC: Final = re.compile(r"-rc\.([0-9]{1,4})")
_TKE: Final = re.compile(r"-tke\.([0-9]{1,4})")
_FIXED_PATCH_OF_1_18: Final = 7
_FIXED_RC_OF_1_19: Final = 3
_FIXED_TKE_OF_1_18_4: Final = 5


class UnknownVersion(WrongUsage):
    """A text that is not a Kubernetes version."""


class Zone(NamedTuple):
    """The nodes of a zone in the order of their arrival, and how many of them this round has listed."""

    key: str
    nodes: tuple[str, ...]
    given: int = 0


class NodeTree(NamedTuple):
    """Zones in the order in which their first node came, and the zone whose turn it is. Zone keys are opaque."""

    zones: tuple[Zone, ...] = ()
    turn: int = 0

    @property
    def size(self) -> int:
        return sum(len(zone.nodes) for zone in self.zones)


def affected(version: str) -> Affected:
    """Return how long a scheduler of that version loses nodes: for a cycle (1.17), until the next change (to 1.18.6),
    or never.

    `v1.18.4-tke.5` and 1.19.0-rc.3 have the fix. Raises UnknownVersion.
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise UnknownVersion(f"{version[:80]!r} is not a Kubernetes version; expected one like 1.18.4")
    release = (int(found[1]), int(found[2]))
    patch, build = int(found[3] or 0), found[4] or ""
    if release == (1, 17):
        return "transient"
    if release == (1, 18):
        tke = _TKE.match(build)
        vendor_fix = patch == 4 and tke is not None and int(tke[1]) >= _FIXED_TKE_OF_1_18_4  # noqa: PLR2004
        return "none" if patch >= _FIXED_PATCH_OF_1_18 or vendor_fix else "persistent"
    if release == (1, 19) and patch == 0 and build.startswith("-"):
        candidate = _RC.match(build)
        return "none" if candidate is not None and int(candidate[1]) >= _FIXED_RC_OF_1_19 else "persistent"
    return "none"


def zone_of(tree: NodeTree, node: str) -> str | None:
    """Return the zone that holds a node; None if the tree has no such node."""
    return next((zone.key for zone in tree.zones if node in zone.nodes), None)


def add(tree: NodeTree, node: str, zone_key: str) -> NodeTree:
    """Add a node as the last of its zone, and a new zone as the last of all. An existing node keeps its place."""
    for i, zone in enumerate(tree.zones):
        if zone.key == zone_key:
            if node in zone.nodes:
                return tree
            return _with_zone(tree, i, zone._replace(nodes=(*zone.nodes, node)))
    return tree._replace(zones=(*tree.zones, Zone(zone_key, (node,))))


def remove(tree: NodeTree, node: str, zone_key: str) -> NodeTree:
    """Remove a node, and its zone with the last node. The cursors stay unchanged."""
    for i, zone in enumerate(tree.zones):
        if zone.key == zone_key and node in zone.nodes:
            left = tuple(name for name in zone.nodes if name != node)
            if left:
                return _with_zone(tree, i, zone._replace(nodes=left))
            return tree._replace(zones=tree.zones[:i] + tree.zones[i + 1 :])
    return tree


def update(tree: NodeTree, node: str, old_zone_key: str, zone_key: str) -> NodeTree:
    """Move a node whose zone labels changed: it becomes the last of its new zone."""
    return tree if old_zone_key == zone_key else add(remove(tree, node, old_zone_key), node, zone_key)


def _with_zone(tree: NodeTree, i: int, zone: Zone) -> NodeTree:
    return tree._replace(zones=(*tree.zones[:i], zone, *tree.zones[i + 1 :]))


def snapshot(tree: NodeTree) -> tuple[NodeTree, list[str]]:
    """Rebuild the list as 1.17.0 to 1.18.6 do: return the tree with moved cursors, and the names."""
    nodes = [zone.nodes for zone in tree.zones]
    given = [zone.given for zone in tree.zones]
    turn = tree.turn
    names: list[str] = []
    exhausted = 0
    size = tree.size
    while len(names) < size:
        zone = turn if turn < len(nodes) else 0
        turn = zone + 1
        if given[zone] < len(nodes[zone]):
            names.append(nodes[zone][given[zone]])
            given[zone] += 1
            exhausted = 0
            continue
        # The count restarts for every name, so a round that began in the middle ends before all were given.
        exhausted += 1
        if exhausted >= len(nodes):
            given = [0] * len(nodes)
            turn = 0
    zones = tuple(zone._replace(given=count) for zone, count in zip(tree.zones, given, strict=True))
    return NodeTree(zones, turn), names


def listed(tree: NodeTree) -> list[str]:
    """Return the list of 1.20 and later: the first node of every zone, then the second, and so on."""
    longest = max((len(zone.nodes) for zone in tree.zones), default=0)
    return [zone.nodes[i] for i in range(longest) for zone in tree.zones if i < len(zone.nodes)]
