"""A history of what an API server was asked, held against what the tables have of it, in Jepsen's way. Pure.

Each object has states that are numbered from 0, and at last perhaps a deletion. A state that was acknowledged must be
in the tables once, in its order, and at a time at which it was the object's; one that was not acknowledged may be. A
state that is missing must have begun and ended inside a gap that is reported, or ON_ITS_WAY_SECONDS before it. What a
watcher had not acknowledged when another took over may be seen twice, until the next list: only then may states be
repeated, and the last row is the last state.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

SEEN_WITHIN_SECONDS: Final = 120.0
"""Time within which a change is in the tables, or a silence is reported (delivery.md#watching)."""
ON_ITS_WAY_SECONDS: Final = 1.0
"""So old a watch may be when it is read: a gap begins when a list was asked for, or when a watch was read."""
ROUNDING_SECONDS: Final = 0.001

Kind: TypeAlias = Literal["nodes", "pods", "events"]
Wrong: TypeAlias = Literal[
    "never happened",
    "too early",
    "too late",
    "doubled",
    "reordered",
    "resurrected",
    "lost",
    "silent gap",
    "miscounted",
]


class Thing(NamedTuple):
    """An object; its name is never used again."""

    kind: Kind
    name: str


class Asked(NamedTuple):
    """One request; all times are seconds since the epoch, by one clock."""

    sequence: int
    """Sequence of the state that it makes; a deletion has the next."""
    deleted: bool
    began: float
    ended: float
    acknowledged: bool


class Row(NamedTuple):
    """A state of an object, as a table has it."""

    thing: Thing
    ts: float
    sequence: int
    """Sequence of the last state, for a deletion."""
    deleted: bool
    value: str = ""
    """All else that tells two rows apart, but the time."""
    occurrences: int | None = None
    """Number of occurrences that the row of an Event adds; the sequence is its count less one."""


class Span(NamedTuple):
    begin: float
    end: float

    def holds(self, at: float) -> bool:
        return self.begin <= at <= self.end


class Fault(NamedTuple):
    wrong: Wrong
    thing: Thing
    what: str


def faults(
    history: Mapping[Thing, Sequence[Asked]],
    rows: Sequence[Row],
    gaps: Mapping[Kind, Sequence[Span]],
    takeovers: Sequence[Span] = (),
) -> list[Fault]:
    """Whatever is wrong with the rows; `takeovers` are the times in which states may be repeated."""
    found: dict[Thing, list[Row]] = {thing: [] for thing in history}
    wrong = []
    for row in sorted(rows, key=lambda row: row.ts):
        if row.thing in found:
            found[row.thing].append(row)
        else:
            wrong.append(Fault("never happened", row.thing, f"{row}"))
    for thing, asked in history.items():
        check = _Check(thing, asked, found[thing], gaps.get(thing.kind, ()), takeovers)
        wrong += check.faults()
    return wrong


class _Check:
    """Checks the rows of one object."""

    def __init__(
        self,
        thing: Thing,
        asked: Sequence[Asked],
        rows: Sequence[Row],
        gaps: Sequence[Span],
        takeovers: Sequence[Span],
    ) -> None:
        self._thing = thing
        self._asked = asked
        self._rows = rows
        self._gaps = gaps
        self._takeovers = takeovers
        self._by_state = {(each.deleted, each.sequence): each for each in asked}
        deletion = next((each for each in asked if each.deleted), None)
        if deletion is not None:
            self._by_state |= {(True, each.sequence): deletion for each in asked}

    def faults(self) -> Iterator[Fault]:
        yield from self._times()
        yield from self._order()
        yield from self._presence()
        yield from self._end()
        yield from self._count()

    def _fault(self, wrong: Wrong, what: object) -> Fault:
        return Fault(wrong, self._thing, f"{what}")

    def _times(self) -> Iterator[Fault]:
        seen: set[Asked] = set()
        for row in self._rows:
            asked = self._of(row)
            if asked is None:
                yield self._fault("never happened", row)
                continue
            if row.ts < asked.began - ROUNDING_SECONDS:
                yield self._fault("too early", f"{row} of {asked}")
            elif self._is_late(row, asked, first=asked not in seen):
                yield self._fault("too late", f"{row} of {asked}")
            seen.add(asked)

    def _order(self) -> Iterator[Fault]:
        """In the order of their times; what is repeated at a takeover is passed over. A deletion that nobody saw
        has the state known then, although a message that a paused watcher had begun to send brings a later one.
        """
        seen: list[Row] = []
        for row in self._rows:
            taken_over = any(span.holds(row.ts) for span in self._takeovers)
            alike = [e for e in seen if e.deleted == row.deleted and (row.deleted or e.sequence == row.sequence)]
            if alike and taken_over:
                continue
            last = seen[-1] if seen else None
            if last is not None and last.deleted:
                yield self._fault("doubled" if row.deleted else "resurrected", f"{row} after {last}")
            elif last is not None and row.sequence < last.sequence and not (row.deleted and taken_over):
                yield self._fault("reordered", f"{row} after {last}")
                continue
            elif last is not None and row._replace(ts=last.ts) == last:
                yield self._fault("doubled", f"{row} and {last}")
            seen.append(row)

    def _presence(self) -> Iterator[Fault]:
        """Each acknowledged state, but the last one and the deletion, or the gap that it was in."""
        present = {row.sequence for row in self._rows if not row.deleted}
        for each, following in pairwise(self._asked):
            if not each.acknowledged or each.deleted or each.sequence in present:
                continue
            if not self._in_a_gap(each.ended, following.began):
                yield self._fault("silent gap", each)

    def _end(self) -> Iterator[Fault]:
        """The last row is the last state; what was never seen need not be seen to go."""
        certain = [number for number, each in enumerate(self._asked) if each.acknowledged]
        if not certain:
            return
        last = self._asked[certain[-1]]
        if not self._rows:
            if not last.deleted:
                yield self._fault("lost", last)
            return
        row = self._rows[-1]
        possible = self._asked[certain[-1] :]
        if self._of(row) not in possible:
            yield self._fault("lost", f"{last}, at the end there is {row}")

    def _count(self) -> Iterator[Fault]:
        """The rows of an Event add up to its count; the first one has at least one occurrence."""
        if not self._rows or self._rows[0].occurrences is None:
            return
        first, *others = self._rows
        last = max(row.sequence for row in self._rows)
        known = sum(row.occurrences or 0 for row in others) == last - first.sequence
        if not known or not 1 <= (first.occurrences or 0) <= first.sequence + 1:
            yield self._fault("miscounted", self._rows)

    def _of(self, row: Row) -> Asked | None:
        """The request that made the state of a row."""
        return self._by_state.get((row.deleted, row.sequence))

    def _is_late(self, row: Row, asked: Asked, *, first: bool) -> bool:
        """True if the first row of a state came too late, or another state had been there for too long."""
        later = (each.ended for each in self._asked if each.acknowledged and each.sequence > asked.sequence)
        since = asked.ended if first else next(later, row.ts)
        return row.ts > since + SEEN_WITHIN_SECONDS and not self._in_a_gap(since, row.ts)

    def _in_a_gap(self, begin: float, end: float) -> bool:
        return any(
            gap.begin - ON_ITS_WAY_SECONDS <= begin and end <= gap.end + ROUNDING_SECONDS for gap in self._gaps
        )
