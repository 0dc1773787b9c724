"""Batches of messages into states: fold, publish what was concluded, keep the states, in that order.

A record whose offset the state has seen is skipped; what was published for it before a crash is published again with
the same natural keys.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import structlog

from common.telemetry import STAGE_SECONDS
from ingest.kafka.publish import Publisher
from ingest.model.records import AnyRecord, Record
from ingest.model.topics import Topics, kind_of
from ingest.normalize.dead_letters import Buried
from streams.fold.findings import Alert, Row
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import AnyReducer
from streams.kafka.accept import Bury, Skip, accept
from streams.kafka.codec import Emission, Folded
from streams.kafka.message import Message
from streams.kafka.outbox import Concluded, Outbox
from streams.kafka.states import Log, LogStates

MAX_DEAD_LETTERS_IN_A_ROW: Final = 1000
log = structlog.get_logger(__name__)


class TooManyDeadLetters(Exception):
    """Nothing that arrives can be used: a bug or a wrong topic is more likely than that many bad messages."""


class LogFolder:
    """Folds the messages of one topic's logs."""

    def __init__(
        self, reducers: Sequence[AnyReducer], states: LogStates, publisher: Publisher, topics: Topics
    ) -> None:
        self._fold = Fold(reducers)
        self._states = states
        self._publisher = publisher
        self._topics = topics
        self._in_a_row = 0

    async def fold(self, messages: Sequence[Message], is_ours: Callable[[], bool]) -> bool:
        """Fold a batch; returns when Kafka has all that was concluded, and then the states.

        False where the partitions went to another worker meanwhile: no state is stored, and it folds them again.
        Raises what a reducer raises, and TooManyDeadLetters.
        """
        began = time.perf_counter()
        outbox = Outbox(self._publisher, self._topics)
        changed: dict[Log, Folded] = {}
        for each, of_log in _by_log(messages).items():
            before = self._states.read(each.key)
            after = await self._fold_log(each.key, before, of_log, outbox)
            if after.offset != before.offset:
                changed[each] = after
        await outbox.acknowledged()
        if not is_ours():
            return False
        await asyncio.gather(*[await self._states.keep(each, folded) for each, folded in changed.items()])
        STAGE_SECONDS.labels("fold").observe(time.perf_counter() - began)
        return True

    async def _fold_log(self, key: bytes, before: Folded, messages: Iterable[Message], outbox: Outbox) -> Folded:
        state, emitted = LogState(before.log.minute, dict(before.log.states)), dict(before.emitted)
        folded = before._replace(log=state, emitted=emitted)
        origin = key.decode(errors="backslashreplace")  # whoever wrote to the topic chose it
        concluded: list[Concluded] = []
        for message in messages:
            decision = accept(folded, message)
            if decision.folded.shift != folded.shift:
                log.warning("the topic was recreated since this log's state was stored", at=str(message.position))
            folded = decision.folded
            if isinstance(decision, Skip):
                continue
            if decision.emission is not None:
                emitted[decision.emission.origin] = (decision.emission.offset, decision.emission.number)
            if isinstance(decision, Bury):
                self._count(decision.letter)
                await outbox.dead_letter(decision.letter, Emission(origin, folded.offset, 0))
                continue
            self._in_a_row = 0
            record, place = decision.record, str(message.position)
            rows = await self._fold_record(origin, folded, record, message, outbox)
            if rows:
                concluded.append(Concluded(record.cluster, record.node, record.ts, place, rows))
        await outbox.findings(key, concluded)
        return folded

    async def _fold_record(
        self, origin: str, folded: Folded, record: AnyRecord, message: Message, outbox: Outbox
    ) -> list[Row]:
        rows: list[Row] = []
        for number, output in enumerate(self._fold.step(folded.log, record)):
            emission = Emission(origin, folded.offset, number)
            if isinstance(output, Record):
                await outbox.record(output, emission)
            elif isinstance(output, Rejected):
                reason, at = str(output.error), str(message.position)
                log.warning("a record makes no sense", kind=kind_of(record), at=at, reason=reason)
                letter = Buried.of(record.cluster, record.ts, message.position, output.error, message.value)
                await outbox.dead_letter(letter, emission)
            else:
                rows.append(output)
                if isinstance(output, Alert):
                    await outbox.alert(output)
        return rows

    def _count(self, letter: Buried) -> None:
        self._in_a_row += 1
        log.warning("a message is not a record", at=str(letter.position), reason=letter.reason)
        if self._in_a_row > MAX_DEAD_LETTERS_IN_A_ROW:
            raise TooManyDeadLetters(
                f"{self._in_a_row} messages in a row are no records, the last at {letter.position}: {letter.reason}. "
                "See who writes to this topic, or whether they are of a newer version"
            )


def _by_log(messages: Iterable[Message]) -> Mapping[Log, Sequence[Message]]:
    by_log: dict[Log, list[Message]] = {}
    for message in messages:
        by_log.setdefault(Log(message.partition, message.key), []).append(message)
    return by_log
