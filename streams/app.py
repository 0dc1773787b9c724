"""The Faust application: topics, tables and agents, and how they are set."""

from collections.abc import Sequence
from typing import Any, Final

import faust
from faust.types import StreamT
from mode import Service

from ingest.publish import Publisher
from ingest.topics import CLUSTER, MAX_MESSAGE_BYTES, NODES, Topic
from streams.agents import LogFolder
from streams.reducer import Reducer

SESSION_SECONDS: Final = 20.0
"""A worker that comes back under its own name within this time takes up its partitions at once."""


def create_app(
    reducers: Sequence[Reducer[Any]],
    bootstrap_servers: str,
    *,
    group: str = "leadsman-work",
    instance: str | None = None,
    datadir: str | None = None,
) -> faust.App:
    """The application of one worker.

    `instance` names it among the group's workers, so that it takes up its partitions at once after a restart.
    """
    app = faust.App(
        group,
        broker=[f"kafka://{server}" for server in bootstrap_servers.split(",")],
        datadir=datadir,
        store="memory://",
        key_serializer="raw",
        value_serializer="raw",
        processing_guarantee="at_least_once",
        consumer_group_instance_id=instance,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        broker_session_timeout=SESSION_SECONDS,
        broker_heartbeat_interval=SESSION_SECONDS / 4,
        broker_commit_interval=1.0,
        producer_linger_ms=20,
        producer_compression_type="lz4",
        producer_max_request_size=MAX_MESSAGE_BYTES,
        topic_disable_leader=True,
        topic_allow_declare=True,
        topic_replication_factor=1,
        table_standby_replicas=0,
        web_enabled=False,
        web_tables_enabled=False,
        web_router_enabled=False,
        stream_wait_empty=False,
    )
    publisher = Publisher(bootstrap_servers)

    @app.service
    class Publishing(Service):
        """Keeps the publisher's producer alive while the worker is."""

        async def on_start(self) -> None:
            await publisher.__aenter__()

        async def on_stop(self) -> None:
            await publisher.__aexit__()

    for source, table in ((NODES, "node-logs"), (CLUSTER, "cluster-logs")):
        _add_agent(app, source, table, reducers, publisher)
    return app


def _add_agent(
    app: faust.App, source: Topic, table: str, reducers: Sequence[Reducer[Any]], publisher: Publisher
) -> None:
    raw: Any = faust.Schema(key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    states: Any = app.Table(table, partitions=source.partitions, schema=raw, use_partitioner=True)
    folder = LogFolder(reducers, states, publisher)

    async def fold(stream: StreamT[Any]) -> None:
        await folder.run(stream)

    app.agent(app.topic(source.name, schema=raw, partitions=source.partitions), name=f"fold-{table}")(fold)
