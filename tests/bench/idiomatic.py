"""The same analytics as Faust's documentation would have them: `async for`, a table write and a send an event."""

import asyncio
import signal
import sys
from typing import Any, cast

import faust
from faust.types import StreamT

from ingest.model.records import AnyRecord, Record
from ingest.model.topics import Topic, decode_record, encode_record, key_of
from leadsman.run.settings import Settings, load
from streams.analytics.registry import REDUCERS
from streams.fold.checkpoints import StateCodec
from streams.fold.findings import Row
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Withdrawal
from streams.kafka.faust_fixes import App
from streams.kafka.messages.findings import encode_findings


def idiomatic_app(settings: Settings) -> faust.App:
    """An application over the topics of the settings, with Faust's own defaults where they do not lose the input."""
    kafka = settings.kafka
    app = App(
        f"{kafka.topic_prefix}-work",
        broker=f"kafka://{kafka.bootstrap_servers}",
        store="memory://",
        key_serializer="raw",
        value_serializer="raw",
        consumer_auto_offset_reset="earliest",
        topic_disable_leader=True,
        web_enabled=False,
    )
    topics = kafka.topics()
    for source, name in ((topics.nodes, "node-logs"), (topics.cluster, "cluster-logs")):
        _add_agent(app, settings, source, name)
    return app


def _add_agent(app: faust.App, settings: Settings, source: Topic, name: str) -> None:
    topics = settings.kafka.topics()
    codec, fold = StateCodec(REDUCERS), Fold(REDUCERS)
    states: Any = app.Table(name, key_type=bytes, value_type=bytes, partitions=source.partitions)
    findings, cluster = _topic(app, topics.findings), _topic(app, topics.cluster)

    async def agent(stream: StreamT[bytes]) -> None:
        async for event in stream.events():
            key = cast("bytes", event.key)
            stored = states.get(key)
            state = LogState() if stored is None else codec.decode(stored)
            record = decode_record(event.value)
            rows = await _fold(fold, state, record, cluster)
            if rows:
                await findings.send(key=key, value=encode_findings(record.cluster, record.node, record.ts, rows))
            states[key] = codec.encode(state)

    app.agent(_topic(app, source), name=name)(agent)


async def _fold(fold: Fold, state: LogState, record: AnyRecord, cluster: Any) -> list[Row]:
    rows: list[Row] = []
    for output in fold.step(state, record):
        if isinstance(output, Record):
            await cluster.send(key=key_of(output.cluster, output.node), value=encode_record(output))
        elif not isinstance(output, Rejected | Withdrawal):
            rows.append(output)
    return rows


def _topic(app: faust.App, topic: Topic) -> Any:
    schema: Any = faust.Schema(key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    return app.topic(topic.name, schema=schema, partitions=topic.partitions)


async def main() -> None:
    """Run until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    app = idiomatic_app(load())
    app.finalize()
    await app.start()
    await stop.wait()
    await app.stop()


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit()
