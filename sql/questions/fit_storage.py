"""Reads facts from tables about objects other than nodes and pods: volumes for
`streams.rules.scheduling.volume_needs`, devices for `streams.rules.scheduling.device_claims`, labels of namespaces,
and disruption budgets.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from sql.database.open import Database
from sql.schema.statements import query_unless_empty
from streams.questions.fit import Candidate
from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.constraints import NamespaceFacts, Namespaces
from streams.rules.scheduling.device_claims import DeviceClaim, Devices, Selection, Slice, node_devices
from streams.rules.scheduling.storage import Attachment, Claim, Class, Driver, NodeDrivers, Volume
from streams.rules.scheduling.volume_needs import Storage, node_volumes

_OBJECTS: Final = """
SELECT cluster, resource, namespace, name, facts FROM scheduled_now WHERE cluster IN {clusters:Array(String)}
"""
_LISTED: Final = """
SELECT DISTINCT cluster, resource FROM scheduled_lists WHERE cluster IN {clusters:Array(String)}
"""
BUDGETS: Final = "poddisruptionbudgets"
T = TypeVar("T")


class Scheduled(NamedTuple):
    """Existing objects of a cluster other than nodes and pods."""

    objects: Sequence[Sequence[str]] = ()
    """Resource, namespace, name and facts of each."""
    listed: Sequence[str] = ()
    """Resources whose objects are all known."""

    def by_key(self, resource: str, type_: type[T]) -> dict[tuple[str, str], T]:
        """Return the facts of a resource's objects by namespace and name."""
        return {
            (namespace, name): msgspec.json.decode(facts, type=type_)
            for kind, namespace, name, facts in self.objects
            if kind == resource
        }

    def by_name(self, resource: str, type_: type[T]) -> dict[str, T]:
        return {name: facts for (_, name), facts in self.by_key(resource, type_).items()}

    def storage(self) -> Storage:
        return Storage(
            listed=frozenset(self.listed),
            claims=self.by_key("persistentvolumeclaims", Claim),
            volumes=self.by_name("persistentvolumes", Volume),
            classes=self.by_name("storageclasses", Class),
            nodes=self.by_name("csinodes", NodeDrivers),
            drivers=self.by_name("csidrivers", Driver),
            attachments=tuple(self.by_name("volumeattachments", Attachment).values()),
        )

    def devices(self) -> Devices:
        return Devices(
            listed=frozenset(self.listed),
            claims=self.by_key("resourceclaims", DeviceClaim),
            classes=self.by_name("deviceclasses", Selection),
            slices=tuple(self.by_key("resourceslices", Slice).values()),
        )

    def namespaces(self) -> Namespaces:
        return {name: facts.labels for name, facts in self.by_name("namespaces", NamespaceFacts).items()}

    def budgets(self) -> Mapping[tuple[str, str], Budget]:
        return self.by_key(BUDGETS, Budget)


def read_scheduled(database: Database, clusters: Sequence[str]) -> Mapping[str, Scheduled]:
    """Read the objects of each cluster. Raises DatabaseError."""
    given = {"clusters": list(clusters)}
    found = defaultdict[str, tuple[list[Sequence[str]], list[str]]](lambda: ([], []))
    for cluster, *columns in query_unless_empty(database, _OBJECTS, given).rows:
        found[cluster][0].append(columns)
    for cluster, resource in query_unless_empty(database, _LISTED, given).rows:
        found[cluster][1].append(resource)
    return {cluster: Scheduled(*columns) for cluster, columns in found.items()}


def with_volumes(candidates: Sequence[Candidate], storage: Storage) -> Iterator[Candidate]:
    """Yield the candidates with the volumes that are attached to each node; its pods were read before."""
    attached = defaultdict(list)
    for each in storage.attachments:
        attached[each.node].append(each)
    for candidate in candidates:
        state = candidate.state
        pods = [(each.namespace, each.constraints) for each in state.neighbours]
        volumes = node_volumes(storage, state.node, pods, attached[state.node])
        yield candidate._replace(state=state._replace(volumes=volumes))


def with_devices(candidates: Sequence[Candidate], devices: Devices) -> list[Candidate]:
    found = node_devices(devices, [(each.state.node, each.state.labels) for each in candidates])
    return [
        candidate._replace(state=candidate.state._replace(devices=each))
        for candidate, each in zip(candidates, found, strict=True)
    ]
