"""Derives the history that the facts of a dump imply, independent of files and their order.

A dump has one time of reading, and its content has many other times. An Event has the time at which it last occurred,
and a sample its own. The last version of an object has the time of reading, and an earlier one the newest time in it.
Facts that hold without a time come first (`ingest.files.timeless`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
import xxhash

from ingest.files.newest import newest_time
from ingest.files.recognize import Thing
from ingest.files.timeless import NeededPods, Starts, Version, changed_at, pods_of_events, timeless_facts
from ingest.model.objects.event import EventTimes, event_time
from ingest.model.observation import EARLIEST, FROM_TEXT, Observed, Position, if_decodable, observation_of
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.stats_summary import STATS_SUMMARY
from ingest.resources.table import TABLE, TIMELESS

_DIGITS: Final = 20
"""Maximum number of digits of a resource version."""
_RANKS: Final = {resource.name: rank for rank, resource in enumerate(TABLE)}
_WITH_FACTS: Final = frozenset({NODES.name, PODS.name})
_EVENT_TIMES: Final = msgspec.json.Decoder(EventTimes)


class Fact(NamedTuple):
    thing: Thing
    node: str
    """Node of a kubelet's answer."""
    newest: datetime | None
    """The newest time in its document and earlier in the file."""
    position: Position
    beside: datetime | None = None
    """The newest time in neighbouring files, for a fact without its own time."""
    is_from_text: bool = False
    """True if it comes from pasted text, so that its content depends on the rest of the dump."""


class _TimedFact(NamedTuple):
    """A fact with its sort key: its time, then causes before effects."""

    ts: datetime
    rank: int
    """Negative for a fact without a time."""
    written: int
    """Number of the write; Events are written in their order."""
    identity: tuple[str, ...]
    version: int
    raw: bytes
    fact: Fact

    @property
    def order(self) -> tuple[object, ...]:
        return self[:-1]


def history(
    facts: Iterable[Fact], read_at: datetime, cluster: str, texts: Collection[int] = ()
) -> Iterator[Observed]:
    """Yield every fact once, at its own time and never after `read_at`. `texts` identify the dump's pasted texts."""
    own = (FROM_TEXT, *sorted(texts)) if texts else ()
    versions: defaultdict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        thing = fact.thing
        versions[thing.identity or _unnamed(fact)].append(fact)
    starts = Starts(fact.thing for of_one in versions.values() for fact in of_one)
    timed = {key: [*_versions(of_one, read_at)] for key, of_one in versions.items() if key[0] not in TIMELESS}
    earliest = min((each.ts for of_one in timed.values() for each in of_one), default=read_at)
    placed = [each for of_one in timed.values() for each in of_one]
    needed = _needed(fact for of_one in versions.values() for fact in of_one)
    for key, of_one in versions.items():
        if key[0] in TIMELESS:
            placed += _settings(of_one, earliest, starts)
        elif key[0] in _WITH_FACTS:
            placed += _known(timed[key], earliest, starts, needed)
    placed.sort(key=lambda each: each.order)
    seen: set[tuple[str, ...]] = set()
    for each in placed:
        thing = each.fact.thing
        change = "MODIFIED" if each.identity in seen and thing.type == "ADDED" else thing.type
        if thing.identity and change != "SNAPSHOT":
            seen.add(each.identity)
        observation = observation_of(each.ts, cluster, thing.source, thing.resource, each.raw, each.fact.node, change)
        implied = change == "SNAPSHOT" and thing.resource in _WITH_FACTS
        digest = FROM_TEXT if each.fact.is_from_text else _digest(each.fact)
        yield Observed(observation, each.fact.position, each.raw, fact=digest, is_implied=implied, texts=own)
        own = ()


def _unnamed(fact: Fact) -> tuple[str, ...]:
    resource, raw = fact.thing.resource, fact.thing.raw
    return resource, fact.node, "" if resource in TIMELESS else raw.decode(errors="replace")


def _settings(facts: Sequence[Fact], earliest: datetime, starts: Starts) -> Iterator[_TimedFact]:
    """Place a kubelet's answer without a time: it holds since it was received, which neighbouring files date."""
    since, before = earliest, None
    for fact in sorted(facts, key=lambda each: (each.beside or earliest, *_content(each))):
        thing = fact.thing
        if before and before.beside and fact.beside and fact.beside > before.beside and thing.raw != before.thing.raw:
            since = max(since, changed_at(before.beside, fact.beside, starts.of(fact.node)))
        if before is None or thing.raw != before.thing.raw:
            yield _TimedFact(since, _RANKS[thing.resource] - len(_RANKS), 0, (fact.node,), 0, thing.raw, fact)
        before = fact


def _needed(facts: Iterable[Fact]) -> NeededPods:
    facts = list(facts)
    if not any(fact.thing.resource == PODS.name for fact in facts):
        return NeededPods(frozenset(), frozenset())
    nodes = frozenset(fact.node for fact in facts if fact.thing.resource == STATS_SUMMARY.name)
    return NeededPods(nodes, pods_of_events(fact.thing for fact in facts if fact.thing.resource == EVENTS.name))


def _known(
    versions: Sequence[_TimedFact], earliest: datetime, starts: Starts, needed: NeededPods
) -> Iterator[_TimedFact]:
    """Place implied facts of a Node or a Pod before everything else at their time."""
    read = [Version(each.fact.thing, each.ts) for each in versions]
    for each in timeless_facts(read, earliest, starts, needed):
        fact_of = versions[each.number]
        rank = _RANKS[each.thing.resource] - len(_RANKS)
        position = fact_of.fact.position._replace(place=f"{fact_of.fact.position.place}, before")
        fact = fact_of.fact._replace(thing=each.thing, position=position)
        yield _TimedFact(each.since, rank, 0, fact_of.identity, fact_of.version, each.thing.raw, fact)


def _versions(facts: list[Fact], read_at: datetime) -> Iterator[_TimedFact]:
    """Place the versions of one object, each once."""
    if len(facts) > 1:
        unique = {fact.thing.version or fact.thing.raw: fact for fact in sorted(facts, key=_content, reverse=True)}
        facts = sorted(unique.values(), key=_age)
    for fact in facts[:-1]:
        yield _placed(fact, _own_time(fact) or newest_time(fact.thing.raw) or read_at, read_at)
    yield _placed(facts[-1], _own_time(facts[-1]) or read_at, read_at)


def _placed(fact: Fact, ts: datetime, read_at: datetime) -> _TimedFact:
    thing = fact.thing
    version = _number(thing.version)
    written = version if thing.resource == EVENTS.name else 0
    ts = min(ts, read_at) if ts >= EARLIEST else read_at
    return _TimedFact(ts, _RANKS[thing.resource], written, thing.identity or (fact.node,), version, thing.raw, fact)


def _own_time(fact: Fact) -> datetime | None:
    """Return the time of the fact, if the object itself has it."""
    thing = fact.thing
    if thing.resource == EVENTS.name:
        times = if_decodable(_EVENT_TIMES.decode, thing.raw)
        return event_time(times) if times else None  # errors in it are reported when it becomes a record
    return fact.newest if thing.has_own_time or thing.source == "watch" else None


def _digest(fact: Fact) -> int:
    """Return 64 bits that identify a version of an object, or a kubelet's answer without its time."""
    thing = fact.thing
    if thing.identity and thing.version:
        return xxhash.xxh3_64_intdigest("\0".join((*thing.identity, thing.version)).encode(errors="replace")) or 1
    answer = f"{thing.resource}\0{'' if thing.is_of_all_nodes else fact.node}".encode(errors="replace")
    return xxhash.xxh3_64_intdigest(thing.raw, seed=xxhash.xxh3_64_intdigest(answer)) or 1


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
    """Return a resource version as a number: in one cluster it counts writes (rules: list-and-watch)."""
    return int(version) if version.isascii() and version.isdigit() and len(version) <= _DIGITS else 0
