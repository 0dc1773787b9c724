"""Decides from which offset a partition is read after a takeover. Pure.

1. If the topic ends before the commit, it was cut back or recreated: read all of it, since its messages are others.

2. Otherwise read from the commit or, if that is earlier, from where the states end: a commit may survive states that
were lost. A log's state recognises what it has folded, so reading too much only costs time.

3. Where the topic begins later than that, the messages before are gone. Report them as a gap and read what is there.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.model.records import Problem

Kind: TypeAlias = Literal["lost", "unknown", "unfolded", "compacted", "unstored", "replaced"]
_WHAT: Final[Mapping[Kind, str]] = {
    "lost": "was deleted by retention before it was read",
    "unknown": "was deleted by retention, and Kafka does not know, or no longer, whether it was read",
    "unfolded": "was committed, but no state has it; what the topic has of it is folded again",
    "compacted": "was removed by compaction, which a topic of records must not have, before it was read",
    "unstored": "was committed, but the database lacks it or may have lost it; what the topic has is stored again",
    "replaced": "was received, and the topic was cut back or recreated since; everything that it has is read again",
}


class Gap(NamedTuple):
    """Missing messages from offset `first` up to but not including `end`.

    `lost`: the topic deleted them before they were read. `unknown`: the topic deleted them, and nothing shows
    whether they were read. `unfolded`: they were committed and no state has seen them. `compacted`: compaction
    removed them. `unstored`: they were committed and the store lacks them. `replaced`: the topic has other messages
    there.
    """

    kind: Kind
    topic: str
    partition: int
    first: int
    end: int

    @property
    def problem(self) -> Problem:
        return "gap"

    @property
    def messages(self) -> int:
        return self.end - self.first

    @property
    def resource(self) -> str:
        return f"kafka {self.topic}/{self.partition}"

    @property
    def error(self) -> str:
        """For a row of `source_errors`."""
        return f"gap: {self.messages} messages, offsets {self.first} to {self.end - 1}: each {_WHAT[self.kind]}"


class Start(NamedTuple):
    """The offset from which a partition is read, and what that leaves out or repeats."""

    offset: int
    gaps: tuple[Gap, ...]


def start(topic: str, partition: int, committed: int, covered: int | None, earliest: int, end: int) -> Start:
    """Decide where to read a partition from.

    `covered` is the offset before which everything is in states: None if that is unknown, 0 without a state.
    `earliest` is the topic's first offset, and `end` is one after its last. `committed` is 0 without a commit, also
    if Kafka has forgotten it.

    A log's state recognises what it knows, so an early start only costs time.
    """
    if end < committed:
        return Start(earliest, (Gap("replaced", topic, partition, end, committed),))
    offset = committed if covered is None else min(committed, covered)
    seen = covered or committed or earliest
    gaps = (
        Gap("unfolded", topic, partition, max(offset, earliest), committed),
        Gap("lost", topic, partition, seen, earliest),
    )
    return Start(max(offset, earliest), tuple(each for each in gaps if each.messages > 0))
