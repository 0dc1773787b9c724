"""The history that the facts of a dump imply, independent of files and of their order.

A dump has one time of reading and many times of its own. An Event has the time at which it last occurred, and a
sample its own. A superseded version of an object has the newest time in it, and the last version that of the
reading. Settings and topologies hold for all of it and come first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from ingest.files.newest import newest_time
from ingest.files.recognize import Thing
from ingest.model.objects.event import EventTimes, event_time
from ingest.model.observation import UNDECODABLE, Observation, Observed, Position
from ingest.resources.events import EVENTS
from ingest.resources.table import TABLE, TIMELESS

_EARLIEST: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_DIGITS: Final = 20
"""Digits of a resource version."""
_RANKS: Final = {resource.name: rank for rank, resource in enumerate(TABLE)}
_EVENT_TIMES: Final = msgspec.json.Decoder(EventTimes)


class Fact(NamedTuple):
    """An object as it was found."""

    thing: Thing
    node: str
    """Node of a kubelet's answer."""
    newest: datetime | None
    """The newest time of its document, and of what stands above it in the file."""
    position: Position


class _Placed(NamedTuple):
    """A fact with what decides its place: its time, then causes before effects."""

    ts: datetime
    """The earliest there is for what has none."""
    rank: int
    written: int
    """Number of the write; Events are written in their order."""
    identity: tuple[str, ...]
    version: int
    raw: bytes
    fact: Fact

    @property
    def is_timeless(self) -> bool:
        return self.fact.thing.resource in TIMELESS

    @property
    def order(self) -> tuple[object, ...]:
        return self[:-1]


def history(facts: Iterable[Fact], read_at: datetime, cluster: str) -> Iterator[Observed]:
    """Yield every fact once, at its own time and none after `read_at`."""
    versions: defaultdict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        thing = fact.thing
        versions[thing.identity or (thing.resource, fact.node, thing.raw.decode(errors="replace"))].append(fact)
    placed = [each for of_one in versions.values() for each in _versions(of_one, read_at)]
    placed.sort(key=lambda each: each.order)
    begin = min((each.ts for each in placed if not each.is_timeless), default=read_at)
    seen: set[tuple[str, ...]] = set()
    for each in placed:
        thing = each.fact.thing
        change = "MODIFIED" if each.identity in seen and thing.type == "ADDED" else thing.type
        if thing.identity:
            seen.add(each.identity)
        observation = Observation(
            ts=begin if each.is_timeless else each.ts,
            cluster=cluster,
            source=thing.source,
            resource=thing.resource,
            type=change,
            node=each.fact.node,
            object=msgspec.Raw(each.raw),
        )
        yield Observed(observation, each.fact.position, each.raw, is_fact=True)


def _versions(facts: list[Fact], read_at: datetime) -> Iterator[_Placed]:
    """Place what was found of one object, each version once."""
    if len(facts) > 1:
        unique = {fact.thing.version or fact.thing.raw: fact for fact in sorted(facts, key=_content, reverse=True)}
        facts = sorted(unique.values(), key=_age)
    for fact in facts[:-1]:
        yield _placed(fact, _own_time(fact) or newest_time(fact.thing.raw) or read_at, read_at)
    yield _placed(facts[-1], _own_time(facts[-1]) or read_at, read_at)


def _placed(fact: Fact, ts: datetime, read_at: datetime) -> _Placed:
    thing = fact.thing
    if thing.resource in TIMELESS:
        return _Placed(_EARLIEST, _RANKS[thing.resource], 0, (fact.node,), 0, thing.raw, fact)
    version = _number(thing.version)
    written = version if thing.resource == EVENTS.name else 0
    ts = min(ts, read_at) if ts >= _EARLIEST else read_at
    return _Placed(ts, _RANKS[thing.resource], written, thing.identity or (fact.node,), version, thing.raw, fact)


def _own_time(fact: Fact) -> datetime | None:
    """When it was so, where the object itself has that."""
    thing = fact.thing
    if thing.resource == EVENTS.name:
        try:
            return event_time(_EVENT_TIMES.decode(thing.raw))
        except UNDECODABLE:
            return None  # what is wrong with it is reported when it becomes a record
    return fact.newest if thing.has_own_time or thing.source == "watch" else None


def _content(fact: Fact) -> tuple[bytes, str]:
    return fact.thing.raw, str(fact.position)


def _age(fact: Fact) -> tuple[int, bool, str, bytes]:
    newest = fact.newest if fact.thing.source == "watch" else newest_time(fact.thing.raw)
    return (
        _number(fact.thing.version),
        fact.thing.type == "DELETED",
        newest.isoformat() if newest else "",
        fact.thing.raw,
    )


def _number(version: str) -> int:
    """Return the number of a resource version: those of one cluster count its writes (rules: list-and-watch)."""
    return int(version) if version.isascii() and version.isdigit() and len(version) <= _DIGITS else 0
