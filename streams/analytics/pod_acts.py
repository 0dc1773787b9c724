"""Passes Events that announce ends of pods on to the logs of the pods' nodes, where `pod_ends` uses them.

Controllers' Events do not name the node of a pod, so they are on the cluster's log.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, PodActRecord, PodPlacement
from streams.fold.forgetting import FORGOTTEN_AFTER
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import Shelves, on_shelf, put
from streams.rules.pod_ends.actors import PodEndClaim, claim_of

MOST: Final = 1_000
"""Number of announcements and ends of pods that are kept until the matching one arrives."""


class Announcement(msgspec.Struct, frozen=True, array_like=True):
    claim: PodEndClaim
    at: datetime
    reason: str
    message: str
    noted_at: datetime


class Place(msgspec.Struct, frozen=True, array_like=True):
    node: str
    uid: str
    noted_at: datetime


Noted = TypeVar("Noted", Announcement, Place)


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    announced: Shelves[Announcement] = {}
    """The last announcement about each pod, by its namespace and name."""
    ending: Shelves[Place] = {}
    """Pods that are being deleted or have ended, by their namespace and name."""


def step(state: State, record: EventRecord | PodPlacement) -> tuple[State, Sequence[Output]]:
    if isinstance(record, PodPlacement):
        return _placed(state, record)
    claim = claim_of(record.object) if record.change != "DELETED" else None
    if claim is None:
        return state, ()
    event = record.object
    announced = Announcement(claim, event_time(event) or record.ts, event.reason, event.text, record.ts)
    key = f"{claim.namespace}/{claim.pod}"
    state = msgspec.structs.replace(state, announced=put(state.announced, key, announced, MOST))
    place = on_shelf(state.ending, key)
    return state, (_passed_on(announced, place, record) if place else ())


def _placed(state: State, record: PodPlacement) -> tuple[State, Sequence[Output]]:
    if not record.ends:
        return state, ()
    key, place = f"{record.namespace}/{record.pod}", Place(record.target, record.uid, record.ts)
    known = on_shelf(state.ending, key)
    if known is not None and (known.node, known.uid) == (place.node, place.uid):
        return state, ()
    state = msgspec.structs.replace(state, ending=put(state.ending, key, place, MOST))
    announced = on_shelf(state.announced, key)
    return state, (_passed_on(announced, place, record) if announced else ())


def _passed_on(announced: Announcement, place: Place, record: EventRecord | PodPlacement) -> Sequence[Output]:
    """Return the announcement for the pod's node; nothing if it is about another pod with the same name."""
    claim = announced.claim
    if claim.uid not in {"", place.uid}:
        return ()
    record_of_act = PodActRecord(
        ts=record.ts,
        cluster=record.cluster,
        node=place.node,
        **(claim._asdict() | {"uid": place.uid}),
        reason=announced.reason,
        message=announced.message,
        at=announced.at,
    )
    return (record_of_act,)


def expire(state: State, now: datetime) -> tuple[State | None, Sequence[Output]]:
    """Forget announcements and ends that were not matched for hours."""
    announced = _since(state.announced, now - FORGOTTEN_AFTER)
    ending = _since(state.ending, now - FORGOTTEN_AFTER)
    if announced is state.announced and ending is state.ending:
        return state, ()
    return (State(announced, ending) if announced or ending else None), ()


def _since(shelves: Shelves[Noted], oldest: datetime) -> Shelves[Noted]:
    if all(each.noted_at >= oldest for shelf in shelves.values() for each in shelf.values()):
        return shelves
    kept = {
        name: {key: each for key, each in shelf.items() if each.noted_at >= oldest} for name, shelf in shelves.items()
    }
    return {name: shelf for name, shelf in kept.items() if shelf}


REDUCER: Final = Reducer(
    name="pod_acts",
    version=1,
    log="cluster",
    takes=(EventRecord, PodPlacement),
    state=State,
    step=step,
    expire=expire,
)
