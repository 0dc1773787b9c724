"""Decides from which offset a partition is read after a takeover. Pure.

1. If the topic ends before the commit, it was truncated or recreated: read the whole topic, because these are other
messages.

2. Otherwise read from the commit or, if that is earlier, from the end of what the states cover: the commit may be
ahead if states were lost. A log's state skips messages that it has already folded, so an early start only costs time.

3. If the topic begins later than that, the messages before it are gone. Report those that no state covers as a
gap, and read what is there.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from common.amounts import counted
from ingest.model.records import Problem

GapKind: TypeAlias = Literal["lost", "unknown", "unfolded", "compacted", "unstored", "replaced"]
_WHAT: Final[Mapping[GapKind, str]] = {
    "lost": "was deleted by retention before it was read",
    "unknown": "was deleted by retention, and Kafka has no record of whether it was read",
    "unfolded": "was committed, but no state contains it; it is folded again if the topic still has it",
    "compacted": "was compacted away before it was read; a topic of records must not be compacted",
    "unstored": "was committed, but the database lacks it or may have lost it; it is stored again if still there",
    "replaced": "was received, but the topic was truncated or recreated since; the whole topic is read again",
}


class Gap(NamedTuple):
    """Messages that are missing or are read again, from offset `first` up to but not including `end`.

    `lost`: the topic deleted them before they were read. `unknown`: the topic deleted them, and nothing shows
    whether they were read. `unfolded`: they were committed and no state has seen them. `compacted`: compaction
    removed them. `unstored`: they were committed and the store lacks them. `replaced`: the topic has other messages
    there.
    """

    kind: GapKind
    topic: str
    partition: int
    first: int
    end: int

    @property
    def problem(self) -> Problem:
        return "gap"

    @property
    def message_count(self) -> int:
        return self.end - self.first

    @property
    def resource(self) -> str:
        return f"kafka {self.topic}/{self.partition}"

    @property
    def error(self) -> str:
        messages = counted(self.message_count, "message")
        return f"gap: {messages}, offsets {self.first} to {self.end - 1}: each {_WHAT[self.kind]}"


class Start(NamedTuple):
    """The offset from which a partition is read, and the gaps that this leaves."""

    offset: int
    gaps: tuple[Gap, ...]


def start(topic: str, partition: int, committed: int, covered: int, earliest: int, end: int) -> Start:
    """Decide where to read a partition from.

    All messages before `covered` are in states. It is 0 if no progress shows any: deleted messages are then reported
    only from the commit on. `earliest` is the topic's first offset, and
    `end` is one after its last. `committed` is 0 without a commit, also if Kafka has forgotten it.
    """
    if end < committed:
        return Start(earliest, (Gap("replaced", topic, partition, end, committed),))
    offset = min(committed, covered)
    seen = covered or committed or earliest
    gaps = (
        Gap("unfolded", topic, partition, max(offset, earliest), committed),
        Gap("lost", topic, partition, seen, earliest),
    )
    return Start(max(offset, earliest), tuple(each for each in gaps if each.message_count > 0))
