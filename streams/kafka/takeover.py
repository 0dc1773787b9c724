"""Where a partition is taken up: what was committed, what the states cover and what the topic has still. Pure."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.model.records import Problem

Kind: TypeAlias = Literal["lost", "unknown", "unfolded", "compacted"]
_WHAT: Final[Mapping[Kind, str]] = {
    "lost": "was deleted by retention before it was read",
    "unknown": "was deleted by retention, and Kafka does not know, or no longer, whether it was read",
    "unfolded": "was committed, but no state has it; what the topic has of it is folded again",
    "compacted": "was removed by compaction, which a topic of records must not have, before it was read",
}


class Gap(NamedTuple):
    """Messages from offset `first` up to but not including `end`.

    They are `lost`, since the topic has deleted them before they were read; `unknown`, since it has deleted them and
    nothing shows whether they were read; `unfolded`, since they were committed and no state has seen them; or
    `compacted`, since compaction removed them.
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
    """Where a partition is read from, and what that leaves out or repeats."""

    offset: int
    gaps: tuple[Gap, ...]


def start(topic: str, partition: int, committed: int, covered: int | None, earliest: int) -> Start:
    """`covered` is the offset before which all is in states, None where that is not known, 0 where there is no state;
    `earliest` is the topic's first; `committed` is 0 where nothing is, or not any more: Kafka forgets it in time.
    What a log's state knows is not folded again: an early start costs time alone.
    """
    offset = committed if covered is None else min(committed, covered)
    seen = covered or committed or earliest
    gaps = (
        Gap("unfolded", topic, partition, max(offset, earliest), committed),
        Gap("lost", topic, partition, seen, earliest),
    )
    return Start(max(offset, earliest), tuple(each for each in gaps if each.messages > 0))
