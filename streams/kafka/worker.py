"""Faust agents over the logs: fold, publish what was concluded, keep the state, acknowledge, in that order.

Faust's own acknowledgements lose records when an agent fails (delivery.md#folding), so this is the only loop that
takes from a stream, and it acknowledges by hand and strictly in order. A record whose offset the state has seen is
skipped; what was published for it before a crash is published again with the same natural keys.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import structlog

from common.errors import BadRecord
from common.telemetry import STAGE_SECONDS
from ingest.kafka.metrics import DEAD_LETTERS
from ingest.kafka.publish import SENT, Publisher, Sent
from ingest.model.observation import Position
from ingest.model.records import AnyRecord, DeadLetterRecord, Record
from ingest.model.topics import Topics, decode_record, encode_record, headers_of, key_of, kind_of
from ingest.normalize.dead_letters import PAYLOAD_BYTES, Buried
from streams.fold.findings import Alert, Row
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Reducer
from streams.kafka.codec import Emission, Folded, TableCodec
from streams.kafka.messages.alerts import alert_headers, encode_alert
from streams.kafka.messages.findings import encode_findings, finding_headers

BATCH_EVENTS: Final = 4000
"""Of a backlog: a state is written once a batch."""
MAX_CACHED_LOGS: Final = 10_000
MAX_ROWS: Final = 500
"""Of a message of findings."""
MAX_DEAD_LETTERS_IN_A_ROW: Final = 1000
NOT_A_RECORD: Final = "not_a_record"
ORIGIN: Final = "origin"
"""The header of a record that a reducer emitted: see `streams.kafka.codec.Emission`."""
log = structlog.get_logger(__name__)

Published = list[Awaitable[None]]
Parsed = TypeVar("Parsed")


class _Concluded(NamedTuple):
    """The rows that a record gave."""

    cluster: str
    node: str
    ts: datetime
    place: str
    rows: list[Row]


class _Key(NamedTuple):
    partition: int
    """Of the source, and therefore of the changelog."""
    key: bytes


class TooManyDeadLetters(Exception):
    """Nothing that arrives can be used: more likely we are wrong than all of it."""


class MessagesMissing(Exception):
    """Faust skipped messages: nothing behind them may be folded, since a log's state knows one offset only."""


class LogFolder:
    """Folds the records of one topic's logs, whose states are in one table (of faust) as `TableCodec` writes them.

    `generation` tells the consumer's generation: what was taken before a rebalance belongs to no one any more.
    """

    def __init__(
        self,
        reducers: Sequence[Reducer[Any]],
        table: Any,
        publisher: Publisher,
        topics: Topics,
        generation: Callable[[], int],
    ) -> None:
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails with the first error; nothing of its batch, nor of any later one, is acknowledged."""
        self._fold = Fold(reducers)
        self._codec = TableCodec(reducers)
        self._table = table
        self._publisher = publisher
        self._topics = topics
        self._generation = generation
        self._busy = asyncio.Lock()
        self._closed = False
        self._in_a_row = 0
        self.folded = 0
        """Messages."""
        self.newest: float | None = None
        """Kafka's time, in seconds, of the newest message that was folded."""
        self.next_offsets: dict[int, int] = {}
        """Of each partition that something was folded from in this generation."""
        self._of_generation: int | None = None
        self._decoded: dict[bytes, tuple[bytes, Folded]] = {}
        """States as they were last read or written, to save decoding them while no one else writes them."""

    async def run(self, stream: Any, within_seconds: float) -> None:
        """Fold until the process ends; a batch is what arrives within `within_seconds`.

        Faust's `noack_take` is not used: it was seen to drop events between two batches.
        """
        stream.enable_acks = False
        waiting: asyncio.Queue[Any] = asyncio.Queue(BATCH_EVENTS)
        reading = asyncio.ensure_future(self._receive(stream, waiting))
        try:
            while True:
                await self._fold_next(stream, await _batch(waiting, within_seconds))
        finally:
            reading.cancel()

    async def _receive(self, stream: Any, waiting: "asyncio.Queue[Any]") -> None:
        try:
            async for event in stream.events():
                await waiting.put(event)
        except Exception as error:  # noqa: BLE001  # as below
            self._fail(error)

    async def _fold_next(self, stream: Any, events: Sequence[Any]) -> None:
        async with self._busy:
            if self._closed or self.failed.done():
                return
            try:
                await self._fold_batch(stream, events)
            except Exception as error:  # noqa: BLE001  # every failure ends the worker, and this one says why
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)

    async def rest(self) -> None:
        """Return when the batch that is folded now is stored and acknowledged."""
        async with self._busy:
            pass

    async def close(self) -> None:
        """As `rest`; no other batch is begun."""
        self._closed = True
        await self.rest()

    async def _fold_batch(self, stream: Any, events: Sequence[Any]) -> None:
        began = time.perf_counter()
        generation = self._generation()
        ours = [event for event in events if event.message.generation_id == generation]
        following = self._following(ours, generation)
        states, published = await self._fold_logs(ours)
        await asyncio.gather(*published)
        if self._generation() != generation:
            log.warning("a batch took longer than a rebalance waits; its partitions' next worker folds it again")
            return
        await asyncio.gather(*[await self._keep(each, folded) for each, folded in states.items()])
        for event in ours:
            await stream.ack(event)
            self.newest = max(self.newest or 0.0, event.message.timestamp)
        self.next_offsets = following
        self.folded += len(ours)
        STAGE_SECONDS.labels("fold").observe(time.perf_counter() - began)

    def _following(self, events: Sequence[Any], generation: int) -> dict[int, int]:
        """The next offset of each partition behind these. Raises MessagesMissing where one is newer than the next:
        these topics have no gaps. After a rebalance older ones may come again, and a partition begins anywhere.
        """
        if generation != self._of_generation:
            self._of_generation = generation
            self.next_offsets.clear()
        following = dict(self.next_offsets)
        for event in events:
            message = event.message
            if message.offset > following.get(message.partition, message.offset):
                raise MessagesMissing(f"{_place(message)} came where {following[message.partition]} was next")
            following[message.partition] = message.offset + 1
        return following

    async def _fold_logs(self, events: Sequence[Any]) -> tuple[dict[_Key, Folded], Published]:
        by_key: dict[_Key, list[Any]] = {}
        for event in events:
            by_key.setdefault(_Key(event.message.partition, event.key or b""), []).append(event)
        published: Published = []
        states: dict[_Key, Folded] = {}
        for each, of_key in by_key.items():
            before = self._read(each.key)
            after = await self._fold_log(each.key, before, of_key, published)
            if after.offset != before.offset:
                states[each] = after
        return states, published

    async def _fold_log(self, key: bytes, before: Folded, events: Sequence[Any], published: Published) -> Folded:
        state = LogState(before.log.minute, dict(before.log.states))
        emitted = dict(before.emitted)
        folded = before._replace(log=state, emitted=emitted)
        concluded: list[_Concluded] = []
        for event in events:
            message = event.message
            offset, shift = folded.placed(message.offset, message.timestamp)
            if offset <= folded.offset:
                continue
            if shift != folded.shift:
                log.warning("the topic was made anew since this log's state was stored", at=_place(message))
            newest = max(message.timestamp, folded.newest or 0.0)
            folded = folded._replace(offset=offset, shift=shift, newest=newest)
            headers = dict(message.headers or ())
            sent = _header(headers, SENT, Sent.parse)
            if sent is not None:
                if folded.was_sent(sent):
                    continue
                folded = folded.after(sent)
            emission = _header(headers, ORIGIN, Emission.parse)
            if emission is not None:
                if folded.has(emission):
                    continue
                emitted[emission.origin] = (emission.offset, emission.number)
            try:
                record = decode_record(event.value or b"")
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
                published.append(await self._bury_undecodable(event, error))
                told = DeadLetterRecord(ts=_at(message), cluster="", error_type=NOT_A_RECORD)
                published.append(await self._emit(told, Emission(_origin(key), offset, 0)))
                continue
            self._in_a_row = 0
            rows = await self._fold_record(key, folded, record, message, published)
            if rows:
                concluded.append(_Concluded(record.cluster, record.node, record.ts, _place(message), rows))
        published += [await self._conclude(key, each) for each in _of_one_sample(concluded)]
        return folded

    async def _fold_record(
        self, key: bytes, folded: Folded, record: AnyRecord, message: Any, published: Published
    ) -> list[Row]:
        rows, origin = list[Row](), _origin(key)
        for number, output in enumerate(self._fold.step(folded.log, record)):
            if isinstance(output, Record):
                published.append(await self._emit(output, Emission(origin, folded.offset, number)))
            elif isinstance(output, Rejected):
                published.append(await self._bury_record(record, message, output.error))
                told = DeadLetterRecord(ts=record.ts, cluster=record.cluster, error_type=output.error.error_type)
                published.append(await self._emit(told, Emission(origin, folded.offset, number)))
            else:
                rows.append(output)
                if isinstance(output, Alert):
                    published.append(await self._tell(output))
        return rows

    async def _conclude(self, key: bytes, each: _Concluded) -> Awaitable[None]:
        value = encode_findings(each.cluster, each.node, each.ts, each.rows)
        headers = finding_headers(each.cluster, each.node, each.ts, each.place)
        return await self._publisher.send(self._topics.findings.name, key, value, headers)

    async def _tell(self, alert: Alert) -> Awaitable[None]:
        return await self._publisher.send(
            self._topics.alerts.name, alert.fingerprint.encode(), encode_alert(alert), alert_headers(alert)
        )

    async def _emit(self, record: Record, emission: Emission) -> Awaitable[None]:
        identity = f"{emission.origin}@{emission.offset}#{emission.number}"
        return await self._publisher.send(
            self._topics.of(record).name,
            key_of(record.cluster, record.node),
            encode_record(record),
            [*headers_of(record, identity), (ORIGIN, emission.header())],
        )

    async def _bury_record(self, record: AnyRecord, message: Any, error: BadRecord) -> Awaitable[None]:
        log.warning("a record makes no sense", kind=kind_of(record), at=_place(message), reason=str(error))
        buried = Buried.of(record.cluster, record.ts, _position(message), error)
        return await self._bury(buried, message.value or b"")

    async def _bury_undecodable(self, event: Any, error: Exception) -> Awaitable[None]:
        self._in_a_row += 1
        message = event.message
        log.warning("a message is no record", at=_place(message), reason=str(error))
        if self._in_a_row > MAX_DEAD_LETTERS_IN_A_ROW:
            raise TooManyDeadLetters(
                f"{self._in_a_row} messages in a row are no records, the last at {_place(message)}: {error}. "
                "See who writes to this topic, or whether they are of a newer version"
            )
        buried = Buried.of("", _at(message), _position(message), BadRecord(NOT_A_RECORD, str(error)))
        return await self._bury(buried, event.value or b"")

    async def _bury(self, buried: Buried, payload: bytes) -> Awaitable[None]:
        DEAD_LETTERS.labels(buried.error_type).inc()
        return await self._publisher.send(
            self._topics.dead_letters.name, key_of(buried.cluster, ""), payload[:PAYLOAD_BYTES], buried.headers()
        )

    def _read(self, key: bytes) -> Folded:
        stored = self._table.get(key)
        cached = self._decoded.get(key)
        if cached is not None and cached[0] is stored:
            return cached[1]
        return self._codec.decode(stored)

    async def _keep(self, each: "_Key", folded: Folded) -> Awaitable[None]:
        """Store a state; done when the changelog has it.

        `table[key] = value` would not tell whether Kafka took it: Faust logs a failed write, commits all the same,
        and its producer was seen to hang.
        """
        key, value = each.key, self._codec.encode(folded)
        self._table.data[key] = value
        if len(self._decoded) >= MAX_CACHED_LOGS and key not in self._decoded:
            self._decoded.pop(next(iter(self._decoded)))
        self._decoded[key] = (value, folded)
        return await self._publisher.send(
            self._table.changelog_topic.get_topic_name(), key, value, partition=each.partition
        )


def _of_one_sample(concluded: Iterable[_Concluded]) -> Iterator[_Concluded]:
    """What was concluded from records of the same time together, as of the first of them; MAX_ROWS or few more."""
    gathered: _Concluded | None = None
    for each in concluded:
        if gathered is None or gathered[:3] != each[:3] or len(gathered.rows) >= MAX_ROWS:
            if gathered is not None:
                yield gathered
            gathered = each
        else:
            gathered.rows.extend(each.rows)
    if gathered is not None:
        yield gathered


async def _batch(waiting: "asyncio.Queue[Any]", within_seconds: float) -> list[Any]:
    """At least one event; what arrives after it in the time, but no more than BATCH_EVENTS."""
    events = [await waiting.get()]
    if waiting.qsize() < BATCH_EVENTS - 1:
        await asyncio.sleep(within_seconds)
    while len(events) < BATCH_EVENTS and not waiting.empty():
        events.append(waiting.get_nowait())
    return events


def _header(headers: Mapping[str, bytes], wanted: str, parse: Callable[[bytes], Parsed]) -> Parsed | None:
    """None where it is missing, or whoever wrote it was not we."""
    value = headers.get(wanted)
    with suppress(ValueError):
        return None if value is None else parse(value)
    return None


def _origin(key: bytes) -> str:
    """A log's key as Emission keeps it; whoever wrote to the topic chose it."""
    return key.decode(errors="backslashreplace")


def _at(message: Any) -> datetime:
    return datetime.fromtimestamp(message.timestamp, UTC)


def _place(message: Any) -> str:
    return f"{message.topic}:{message.partition}@{message.offset}"


def _position(message: Any) -> Position:
    return Position(message.topic, f"{message.partition}@{message.offset}")
