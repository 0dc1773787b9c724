"""What the tables know of the volumes of a cluster, for `streams.rules.scheduling.volumes`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from sql.database.open import Database
from streams.questions.fit import Candidate
from streams.rules.scheduling.storage import Attachment, Claim, Class, Driver, NodeDrivers, Volume
from streams.rules.scheduling.volume_needs import Storage
from streams.rules.scheduling.volumes import node_volumes

_OBJECTS: Final = """
SELECT resource, namespace, name, facts FROM scheduled_now
WHERE cluster = {cluster:String} AND resource IN
    ('persistentvolumeclaims', 'persistentvolumes', 'storageclasses', 'csinodes', 'csidrivers', 'volumeattachments')
"""
_LISTED: Final = "SELECT DISTINCT resource FROM scheduled_lists WHERE cluster = {cluster:String}"
T = TypeVar("T")


def read_storage(database: Database, cluster: str) -> Storage:
    """All that is there now, and of what that is all there is. Raises DatabaseError."""
    rows = database.query(_OBJECTS, {"cluster": cluster}).rows
    return storage_of(rows, [row[0] for row in database.query(_LISTED, {"cluster": cluster}).rows])


def storage_of(objects: Iterable[Sequence[str]], listed: Iterable[str]) -> Storage:
    """From resource, namespace, name and facts of each object."""
    found: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for resource, namespace, name, facts in objects:
        found[resource][namespace, name] = facts

    def named(resource: str, of: type[T]) -> dict[str, T]:
        return {name: msgspec.json.decode(facts, type=of) for (_, name), facts in found[resource].items()}

    claims = {key: msgspec.json.decode(facts, type=Claim) for key, facts in found["persistentvolumeclaims"].items()}
    return Storage(
        listed=frozenset(listed),
        claims=claims,
        volumes=named("persistentvolumes", Volume),
        classes=named("storageclasses", Class),
        nodes=named("csinodes", NodeDrivers),
        drivers=named("csidrivers", Driver),
        attachments=tuple(named("volumeattachments", Attachment).values()),
    )


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
