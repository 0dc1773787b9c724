"""Decides whether a message is skipped, dead-lettered or folded, by the state of its log. Pure."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias, TypeVar

from ingest.kafka.publish import SENT, PublisherNumber
from ingest.model.observation import UNDECODABLE
from ingest.model.records import AnyRecord
from ingest.model.topics import decode_record
from ingest.normalize.dead_letters import Letter
from streams.kafka.codec import Emission, Folded
from streams.kafka.message import Message

ORIGIN: Final = "origin"
"""The header of a record that a reducer emitted: see `Emission`."""
Parsed = TypeVar("Parsed")


class Skip(NamedTuple):
    """Skip a message that was folded before."""

    folded: Folded
    """The state afterwards; only its bookkeeping has advanced."""


class NotARecord(NamedTuple):
    """The message is not a record."""

    folded: Folded
    letter: Letter
    emission: Emission | None


class Accepted(NamedTuple):
    folded: Folded
    record: AnyRecord
    emission: Emission | None
    """The emission to remember if the state lacks it; the large `emitted` of a state is replaced only once for each
    batch.
    """


Decision: TypeAlias = Skip | NotARecord | Accepted


def accept(folded: Folded, message: Message) -> Decision:
    """Decide by the message's offset, its publisher's number, and the record that it was emitted from."""
    offset, shift = folded.placed(message.offset, message.timestamp_ms)
    if offset <= folded.offset:
        return Skip(folded)
    newest_ms = max(message.timestamp_ms, folded.newest_ms or 0)
    folded = folded._replace(offset=offset, shift=shift, newest_ms=newest_ms)
    headers = dict(message.headers)
    sent = _parsed(headers, SENT, PublisherNumber.parse)
    if sent is not None:
        if folded.was_sent(sent):
            return Skip(folded)
        folded = folded.after(sent)
    emission = _parsed(headers, ORIGIN, Emission.parse)
    if emission is not None and folded.has(emission):
        return Skip(folded)
    try:
        record = decode_record(message.value)
    except UNDECODABLE as error:
        return NotARecord(folded, Letter.undecodable(message.position, message.ts, message.value, error), emission)
    return Accepted(folded, record, emission)


def _parsed(headers: Mapping[str, bytes], name: str, parse: Callable[[bytes], Parsed]) -> Parsed | None:
    """Parse a header; None if it is missing or was not written by Leadsman."""
    value = headers.get(name)
    with suppress(ValueError):
        return None if value is None else parse(value)
    return None
