"""The tables' facts besides nodes and pods: volumes for `streams.rules.scheduling.volume_needs`, devices for
`streams.rules.scheduling.device_claims`, labels of namespaces, and disruption budgets.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

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


class _Facts(Protocol):
    def __call__(self, resource: str, type_: type[T]) -> dict[tuple[str, str], T]: ...


class Scheduled(NamedTuple):
    """Existing objects of a cluster besides nodes and pods."""

    objects: Sequence[Sequence[str]] = ()
    """Resource, namespace, name and facts of each."""
    listed: Sequence[str] = ()
    """Resources of which that is all there is."""


NOTHING_SCHEDULED: Final = Scheduled()


def read_scheduled(database: Database, clusters: Sequence[str]) -> Mapping[str, Scheduled]:
    """Read the objects of each cluster. Raises DatabaseError."""
    given = {"clusters": list(clusters)}
    found = defaultdict[str, tuple[list[Sequence[str]], list[str]]](lambda: ([], []))
    for cluster, *columns in query_unless_empty(database, _OBJECTS, given).rows:
        found[cluster][0].append(columns)
    for cluster, resource in query_unless_empty(database, _LISTED, given).rows:
        found[cluster][1].append(resource)
    return {cluster: Scheduled(*columns) for cluster, columns in found.items()}


def by_resource(objects: Iterable[Sequence[str]]) -> _Facts:
    """Return a function that gives the facts of a resource's objects by namespace and name."""
    found: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for resource, namespace, name, facts in objects:
        found[resource][namespace, name] = facts

    def facts_of(resource: str, type_: type[T]) -> dict[tuple[str, str], T]:
        return {key: msgspec.json.decode(facts, type=type_) for key, facts in found[resource].items()}

    return facts_of


def storage_of(objects: Iterable[Sequence[str]], listed: Iterable[str]) -> Storage:
    """Read storage from the resource, namespace, name and facts of each object."""
    found = by_resource(objects)

    def named(resource: str, type_: type[T]) -> dict[str, T]:
        return {name: facts for (_, name), facts in found(resource, type_).items()}

    return Storage(
        listed=frozenset(listed),
        claims=found("persistentvolumeclaims", Claim),
        volumes=named("persistentvolumes", Volume),
        classes=named("storageclasses", Class),
        nodes=named("csinodes", NodeDrivers),
        drivers=named("csidrivers", Driver),
        attachments=tuple(named("volumeattachments", Attachment).values()),
    )


def namespaces_of(objects: Iterable[Sequence[str]]) -> Namespaces:
    """Read namespaces from the resource, namespace, name and facts of each object."""
    return {name: facts.labels for (_, name), facts in by_resource(objects)("namespaces", NamespaceFacts).items()}


def budgets_of(objects: Iterable[Sequence[str]]) -> Mapping[tuple[str, str], Budget]:
    """Read disruption budgets, by namespace and name, from the resource, namespace, name and facts of each object."""
    return by_resource(objects)(BUDGETS, Budget)


def with_volumes(candidates: Sequence[Candidate], storage: Storage) -> list[Candidate]:
    """And what each node has attached; its pods are those that were read with it."""
    attached = defaultdict(list)
    for each in storage.attachments:
        attached[each.node].append(each)
    made = []
    for candidate in candidates:
        state = candidate.state
        pods = [(each.namespace, each.constraints) for each in state.neighbours]
        volumes = node_volumes(storage, state.node, pods, attached[state.node])
        made.append(candidate._replace(state=state._replace(volumes=volumes)))
    return made


def devices_of(objects: Iterable[Sequence[str]], listed: Iterable[str]) -> Devices:
    """Read devices from the resource, namespace, name and facts of each object."""
    found = by_resource(objects)
    classes, slices = found("deviceclasses", Selection), found("resourceslices", Slice)
    return Devices(
        listed=frozenset(listed),
        claims=found("resourceclaims", DeviceClaim),
        classes={name: of for (_, name), of in classes.items()},
        slices=tuple(slices.values()),
    )


def with_devices(candidates: Sequence[Candidate], devices: Devices) -> list[Candidate]:
    found = node_devices(devices, [(each.state.node, each.state.labels) for each in candidates])
    return [
        candidate._replace(state=candidate.state._replace(devices=each))
        for candidate, each in zip(candidates, found, strict=True)
    ]
