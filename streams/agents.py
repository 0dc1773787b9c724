"""Faust agents over the logs: fold, publish what was concluded, keep the state, acknowledge, in that order.

Faust's own acknowledgements lose records when an agent fails (`delivery.md`), so this is the only loop that takes
from a stream, and it acknowledges by hand and strictly in order. A record whose offset the state has seen is skipped;
what was published for it before a crash is published again with the same natural keys.
"""

import asyncio
from collections.abc import Awaitable, MutableMapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from ingest.observation import BadRecord
from ingest.publish import Publisher
from ingest.records import AnyRecord, Record
from ingest.topics import DEAD_LETTERS, FINDINGS, decode_record, encode_record, headers_of, key_of, topic_of
from streams.codec import Folded, TableCodec, encode_findings, findings_of
from streams.findings import Row
from streams.fold import Fold, LogState, Rejected
from streams.reducer import Reducer

BATCH_EVENTS: Final = 500
BATCH_SECONDS: Final = 0.05
MAX_CACHED_LOGS: Final = 2_000
log = structlog.get_logger(__name__)


class LogFolder:
    """Folds the records of one topic's logs, whose states are in one table."""

    def __init__(
        self, reducers: Sequence[Reducer[Any]], table: MutableMapping[bytes, bytes], publisher: Publisher
    ) -> None:
        self._fold = Fold(reducers)
        self._codec = TableCodec(reducers)
        self._table = table
        self._publisher = publisher
        self._decoded: dict[bytes, tuple[bytes, Folded]] = {}
        """States as they were last read or written, to save decoding them while no one else writes them."""

    async def run(self, stream: Any) -> None:
        """Fold until the stream ends. Any failure but of a record's own crashes the worker; nothing of it is lost."""
        print("RUN", flush=True)
        async for events in stream.noack_take(BATCH_EVENTS, within=BATCH_SECONDS):
            print("BATCH", len(events), flush=True)
            try:
                await self.fold(events)
                print("FOLDED", flush=True)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                log.exception("folding failed; the worker stops and nothing of this batch is acknowledged")
                await stream.crash(error)
                raise
            for event in events:
                await stream.ack(event)

    async def fold(self, events: Sequence[Any]) -> None:
        """Fold a batch and publish its outcome; each log's state is written once, after that."""
        by_key: dict[bytes, list[Any]] = {}
        for event in events:
            by_key.setdefault(event.key, []).append(event)
        published: list[Awaitable[None]] = []
        states: dict[bytes, Folded] = {}
        for key, of_key in by_key.items():
            states[key] = await self._fold_log(key, of_key, published)
        await asyncio.gather(*published)
        for key, folded in states.items():
            self._keep(key, folded)

    async def _fold_log(self, key: bytes, events: Sequence[Any], published: list[Awaitable[None]]) -> Folded:
        offset, state = self._read(key)
        for event in events:
            if event.message.offset <= offset:
                continue
            offset = event.message.offset
            try:
                record = decode_record(event.value)
            except (msgspec.MsgspecError, RecursionError) as error:
                published.append(await self._bury(event, "not_a_record", str(error)))
                continue
            published += await self._fold_record(state, record, event)
        return Folded(offset, state)

    async def _fold_record(self, state: LogState, record: AnyRecord, event: Any) -> list[Awaitable[None]]:
        rows: list[Row] = []
        published: list[Awaitable[None]] = []
        for output in self._fold.step(state, record):
            if isinstance(output, Record):
                published.append(await self._publish_record(output))
            elif isinstance(output, Rejected):
                published.append(await self._bury(event, output.error.error_type, str(output.error), record))
            else:
                rows.append(output)
        if rows:
            value = encode_findings(findings_of(record.cluster, record.node, record.ts, rows))
            published.append(await self._publisher.send(FINDINGS.name, event.key, value, [("kind", b"findings")]))
        return published

    async def _publish_record(self, record: Record) -> Awaitable[None]:
        identity = f"{record.cluster}/{record.ts.isoformat()}/{type(record).__name__}"
        return await self._publisher.send(
            topic_of(record).name,
            key_of(record.cluster, record.node),
            encode_record(record),
            headers_of(record, identity),
        )

    async def _bury(
        self, event: Any, error_type: str, reason: str, record: AnyRecord | None = None
    ) -> Awaitable[None]:
        message = event.message
        headers = dead_letter_headers(
            record.cluster if record else "",
            record.ts if record else None,
            message.topic,
            f"{message.partition}@{message.offset}",
            BadRecord(error_type, reason),
        )
        return await self._publisher.send(DEAD_LETTERS.name, event.key or b"", event.value or b"", headers)

    def _read(self, key: bytes) -> Folded:
        stored = self._table.get(key)
        cached = self._decoded.get(key)
        if cached is not None and cached[0] is stored:
            return cached[1]
        return self._codec.decode(stored)

    def _keep(self, key: bytes, folded: Folded) -> None:
        value = self._codec.encode(folded)
        self._table[key] = value
        if len(self._decoded) >= MAX_CACHED_LOGS and key not in self._decoded:
            self._decoded.pop(next(iter(self._decoded)))
        self._decoded[key] = (value, folded)


def dead_letter_headers(
    cluster: str, ts: datetime | None, source: str, place: str, error: BadRecord
) -> list[tuple[str, bytes]]:
    """Headers of a dead letter; its value is what was received, unchanged."""
    fields = {
        "cluster": cluster,
        "ts": ts.isoformat() if ts else "",
        "source": source,
        "place": place,
        "error_type": error.error_type,
        "reason": str(error),
    }
    return [(name, value.encode(errors="replace")) for name, value in fields.items()]
