"""Folds batches of messages into states: fold, publish the conclusions, keep the states, in that order.

States are written periodically. A message is acknowledged once a written state contains it. Records up to the state's
offset are skipped. After a crash, records folded after the last written state are folded again, and their output is
published again with the same natural keys.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Final, NamedTuple

import structlog

from common.amounts import counted
from common.errors import BadRecord
from common.telemetry import STAGE_SECONDS
from ingest.kafka.publish import Publisher, publish_dead_letter
from ingest.model.records import AnyRecord, DeadLetterRecord, ForgetRecord, Record, SourceErrorRecord
from ingest.model.reports import AGENT
from ingest.model.topics import Topics, cluster_of, encode_record, headers_of, key_of, kind_of
from ingest.normalize.dead_letters import Letter
from ingest.resources.table import BY_NAME
from streams.fold.figures import Figures
from streams.fold.findings import Alert, Row, SourceError
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import AnyReducer, ReducerFailed, Withdrawal
from streams.kafka.accept import ORIGIN, NotARecord, Skip, accept
from streams.kafka.codec import Emission, Folded
from streams.kafka.message import Message
from streams.kafka.messages.alerts import alert_headers, encode_alert
from streams.kafka.messages.findings import encode_findings, finding_headers
from streams.kafka.messages.flat import flat_headers, flat_rows, flat_samples
from streams.kafka.states import LeftOut, LogStates, Ownership, StateKey

MAX_ROWS: Final = 500
"""Maximum number of rows of one part of findings; a merged message has fewer than twice as many."""
MAX_DEAD_LETTERS_IN_A_ROW: Final = 1000
"""Number of consecutive bad messages of a log after which it counts as flooded."""
FLOOD_SAMPLE_EVERY: Final = 1000
"""In a flood, one message in this many becomes a dead letter, until a good record arrives."""
MAX_ORIGINS: Final = 20_000
"""Number of logs whose last emission a log remembers. A worker that died repeats emissions of its last batch only."""
MAX_FLOODS: Final = 10_000
"""Maximum number of logs whose consecutive bad messages are counted. At the limit, all counts are reset."""
logger = structlog.get_logger(__name__)


class MessageRows(NamedTuple):
    cluster: str
    node: str
    ts: datetime
    position: str
    rows: list[Row]


class Outbox:
    """Publishes the conclusions of a batch, whose states are stored only after `acknowledged`."""

    def __init__(self, publisher: Publisher, topics: Topics) -> None:
        self._publisher = publisher
        self._topics = topics
        self._handed_over: list[asyncio.Future[None]] = []

    async def acknowledged(self) -> None:
        for each in self._handed_over:  # most are done when the first one is, and gathering would wake up for each
            await each

    async def findings(self, key: bytes, concluded: Iterable[MessageRows]) -> None:
        for each in _merge_same_time(concluded):
            value = encode_findings(each.cluster, each.node, each.ts, each.rows)
            headers = finding_headers(each.cluster, each.node, each.ts, each.position)
            self._handed_over.append(await self._publisher.send(self._topics.findings.name, key, value, headers))

    async def flat(self, tables: Collection[str], record: AnyRecord, message: Message, rows: Sequence[Row]) -> None:
        """Publish the rows of a record that belong to these tables, and its samples, one per message."""
        if not tables:
            return
        flat = chain(flat_samples(tables, record, message.value), flat_rows(tables, rows))
        for number, (table, value) in enumerate(flat):
            headers = flat_headers(table, record, f"{message.position}#{number}")
            topic = self._topics.flat(table).name
            self._handed_over.append(await self._publisher.send(topic, message.key, value, headers))

    async def alert(self, alert: Alert) -> None:
        sent = await self._publisher.send(
            self._topics.alerts.name, alert.fingerprint.encode(), encode_alert(alert), alert_headers(alert)
        )
        self._handed_over.append(sent)

    async def withdraw(self, alert: Withdrawal) -> None:
        """Publish a tombstone, so that Kafka drops the alert and its earlier messages later."""
        self._handed_over.append(
            await self._publisher.send(self._topics.alerts.name, alert.fingerprint.encode(), None)
        )

    async def record(self, record: Record, emission: Emission) -> None:
        """Publish a record to the log that it belongs to."""
        identity = f"{emission.origin}@{emission.offset}#{emission.number}"
        sent = await self._publisher.send(
            self._topics.of(record).name,
            key_of(record.cluster, record.node),
            encode_record(record),
            [*headers_of(record, identity), (ORIGIN, emission.header())],
        )
        self._handed_over.append(sent)

    async def dead_letter(self, letter: Letter, emission: Emission, *, counted: bool = True) -> None:
        """Publish a dead letter and, if it is `counted`, a record of it for the analytics."""
        self._handed_over.append(await publish_dead_letter(self._publisher, self._topics, letter))
        if counted and (record := letter.record()) is not None:
            await self.record(record, emission)


def _merge_same_time(concluded: Iterable[MessageRows]) -> Iterator[MessageRows]:
    """Merge consecutive findings with equal cluster, node and time; keep the first one's position."""
    gathered: MessageRows | None = None
    for each in chain.from_iterable(map(_parts, concluded)):
        if gathered is None or gathered[:3] != each[:3] or len(gathered.rows) >= MAX_ROWS:
            if gathered is not None:
                yield gathered
            gathered = each
        else:
            gathered.rows.extend(each.rows)
    if gathered is not None:
        yield gathered


def _parts(each: MessageRows) -> Iterator[MessageRows]:
    """Split findings into parts of at most MAX_ROWS: an empty inventory alone can give tens of thousands."""
    for first in range(0, len(each.rows), MAX_ROWS):
        position = f"{each.position}#{first}" if first else each.position
        yield each._replace(position=position, rows=each.rows[first : first + MAX_ROWS])


class LogFolder:
    """Folds the messages of one topic's logs."""

    def __init__(
        self,
        reducers: Sequence[AnyReducer],
        states: LogStates,
        publisher: Publisher,
        topics: Topics,
        skipped: Collection[str] = (),
        figures: Figures | None = None,
        flat: Collection[str] = (),
    ) -> None:
        """Records at the positions `skipped` become dead letters. `figures` gets every row. Rows of the tables in
        `flat` are also published one per message.
        """
        self._fold = Fold(reducers)
        self._states = states
        self._publisher = publisher
        self._topics = topics
        self._skipped = frozenset(skipped)
        self._flat = frozenset(flat)
        self._in_a_row: Counter[bytes] = Counter()
        """Number of consecutive bad messages by log."""
        self.flood_suppressed = 0
        """Number of messages of floods that are in no dead letter."""
        self.dead_letters: Counter[tuple[str, ...]] = Counter()
        """Number of dead letters by error type."""
        self.source_errors: Counter[tuple[str, ...]] = Counter()
        """Number of rows by kind and resource; resources outside the capture format count together."""
        self._figures = figures or Figures()

    async def fold(self, messages: Sequence[Message], ownership: Ownership) -> bool:
        """Fold a batch, and return when Kafka has all conclusions. The states are kept for `write`.

        Return False if the partitions were reassigned; the new owner folds the messages again. Raises MemoryError and
        OSError from a reducer, after a log line that names the message.
        """
        began = time.perf_counter()
        outbox = Outbox(self._publisher, self._topics)
        folded: dict[StateKey, tuple[Folded, Folded]] = {}
        for each, of_log in _by_log(messages).items():
            if not ownership.is_ours():
                return False
            before = self._states.read(each)
            folded[each] = before, await self._fold_log(each.key, before, of_log, outbox)
        await outbox.acknowledged()
        if not ownership.is_ours():
            return False
        for each, (before, after) in folded.items():
            self._states.keep(each, before, after, ownership.generation)
        STAGE_SECONDS.labels("fold").observe(time.perf_counter() - began)
        return True

    async def write(self, ownership: Ownership) -> bool:
        """Return when Kafka has the kept states: their messages can be acknowledged.

        Return False if the partitions were reassigned: nothing may be acknowledged.
        """
        began = time.perf_counter()
        if not await self._states.write(ownership, self._report):
            return False
        STAGE_SECONDS.labels("states").observe(time.perf_counter() - began)
        return True

    def abandon(self) -> None:
        """Drop states that are not written; the next owner of the partition folds their messages again."""
        self._states.abandon()

    async def _report(self, left_out: LeftOut) -> None:
        cluster, key = cluster_of(left_out.log.key), left_out.log.key.decode(errors="backslashreplace")
        error = (
            f"partial: {counted(left_out.entries, 'entry', 'entries')} of {left_out.mapping} left out, the largest "
            f"and then the oldest first, because log {key} has more than Leadsman stores of one log. Conclusions "
            "without them are partial"
        )
        logger.error("a state is too large", key=key, mapping=left_out.mapping, entries=left_out.entries)
        now = datetime.now(UTC)
        record = SourceErrorRecord(
            ts=now,
            cluster=cluster,
            resource=f"state {left_out.mapping}",
            error=error,
            problem="partial",
            entries=left_out.entries,
        )
        headers = headers_of(record, f"{record.resource} {key} {now.isoformat()}")
        await (
            await self._publisher.send(self._topics.cluster.name, key_of(cluster, ""), encode_record(record), headers)
        )

    async def _fold_log(self, key: bytes, before: Folded, messages: Iterable[Message], outbox: Outbox) -> Folded:
        state, emitted = LogState(before.log.minute, dict(before.log.states), before.log.exists), dict(before.emitted)
        folded = before._replace(log=state, emitted=emitted)
        origin = key.decode(errors="backslashreplace")  # the sender chose it, so it is hostile input
        concluded: list[MessageRows] = []
        for message in messages:
            decision = accept(folded, message)
            if decision.folded.shift != folded.shift:
                logger.warning("the topic was recreated since this log's state was stored", at=str(message.position))
            folded = decision.folded
            if isinstance(decision, Skip):
                continue
            if decision.emission is not None:
                emitted.pop(decision.emission.origin, None)
                emitted[decision.emission.origin] = (decision.emission.offset, decision.emission.number)
            if isinstance(decision, NotARecord):
                await self._dead_letter(key, decision.letter, Emission(origin, folded.offset, 0), outbox)
                continue
            if decision.emission is None:  # our own message does not show that a flood is over
                self._in_a_row.pop(key, None)
            record, position = decision.record, str(message.position)
            if position in self._skipped:
                logger.warning("a record is skipped as requested", at=position)
                skipped = BadRecord("skipped", "skipped by leadsman work --skip")
                letter = Letter.of(record.cluster, record.ts, message.position, skipped, message.value)
                await outbox.dead_letter(letter, Emission(origin, folded.offset, 0))
                self.dead_letters[letter.error_type,] += 1
                continue
            rows = await self._fold_record(origin, folded, record, message, outbox)
            if rows:
                concluded.append(MessageRows(record.cluster, record.node, record.ts, position, rows))
        while len(emitted) > MAX_ORIGINS:
            del emitted[next(iter(emitted))]
        await outbox.findings(key, concluded)
        return folded

    async def _fold_record(
        self, origin: str, folded: Folded, record: AnyRecord, message: Message, outbox: Outbox
    ) -> list[Row]:
        rows: list[Row] = []
        try:
            outputs = self._fold.step(folded.log, record)
        except Exception:
            logger.error("a reducer failed", skip=f"leadsman work --skip {message.position}")  # noqa: TRY400  # raised below
            raise
        for number, output in enumerate(outputs):
            emission = Emission(origin, folded.offset, number)
            if isinstance(output, Record):
                await outbox.record(output, emission)
                if isinstance(output, ForgetRecord):
                    folded.emitted.pop(key_of(output.cluster, output.node).decode(), None)
            elif isinstance(output, Withdrawal):
                await outbox.withdraw(output)
            elif isinstance(output, Rejected):
                self._log_rejected(output, record, message)
                letter = Letter.of(record.cluster, record.ts, message.position, output.error, message.value)
                await outbox.dead_letter(letter, emission, counted=not isinstance(record, DeadLetterRecord))
                self.dead_letters[letter.error_type,] += 1
            else:
                rows.append(output)
                self._figures.take(output, time.monotonic())
                if isinstance(output, Alert):
                    await outbox.alert(output)
                elif isinstance(output, SourceError):
                    known = output.resource in BY_NAME or output.resource == AGENT
                    self.source_errors[output.kind, output.resource if known else "other"] += 1
        await outbox.flat(self._flat, record, message, rows)
        return rows

    def _log_rejected(self, rejected: Rejected, record: AnyRecord, message: Message) -> None:
        kind, at, reason = kind_of(record), str(message.position), str(rejected.error)
        if isinstance(rejected.error, ReducerFailed):
            logger.error("a reducer failed", kind=kind, at=at, reason=reason, exc_info=rejected.error.__cause__)
        else:
            logger.warning("a reducer rejected a record", kind=kind, at=at, reason=reason)

    async def _dead_letter(self, key: bytes, letter: Letter, emission: Emission, outbox: Outbox) -> None:
        """Publish a dead letter, unless it belongs to a flood, which must not fill the topic."""
        if len(self._in_a_row) >= MAX_FLOODS:
            self._in_a_row.clear()
        self._in_a_row[key] += 1
        more = self._in_a_row[key] - MAX_DEAD_LETTERS_IN_A_ROW
        if more > 1 and more % FLOOD_SAMPLE_EVERY:
            self.flood_suppressed += 1
            return
        logger.warning("a message is not a record", at=str(letter.position), reason=letter.reason)
        await outbox.dead_letter(letter, emission)
        self.dead_letters[letter.error_type,] += 1
        if more == 1:
            error = (
                f"flood: {counted(self._in_a_row[key], 'message')} in a row are not records, the last at "
                f"{letter.position}: {letter.reason}. Check who writes to this topic, or whether they "
                "are from a newer version"
            )
            logger.error("a log is flooded", key=emission.origin, reason=error)
            resource = f"kafka {letter.position.source}/{letter.position.place.partition('@')[0]}"
            record = SourceErrorRecord(ts=letter.ts, cluster=cluster_of(key), resource=resource, error=error)
            await outbox.record(record, emission._replace(number=1))


def _by_log(messages: Iterable[Message]) -> Mapping[StateKey, Sequence[Message]]:
    by_log: dict[StateKey, list[Message]] = {}
    for message in messages:
        by_log.setdefault(StateKey(message.partition, message.key), []).append(message)
    return by_log
