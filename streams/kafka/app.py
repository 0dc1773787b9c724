"""Builds and runs the Faust application of one worker: its topics, tables, agents and shutdown."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, cast

import faust
import structlog
from aiokafka import TopicPartition
from faust.types import TP, StreamT

from common.errors import FilesUnusable, KafkaUnusable
from common.tasks import Tasks
from common.telemetry import Figure, Values, registered
from common.tls import check_files
from ingest.kafka.aiokafka_fixes import Options
from ingest.kafka.publish import DEAD_LETTERS, MAX_UNACKNOWLEDGED, Publisher
from ingest.model.topics import MAX_MESSAGE_BYTES, Topic, Topics
from streams.fold.figures import FIGURES, Figures
from streams.fold.reducer import AnyReducer
from streams.kafka import faust_fixes, metrics
from streams.kafka.agent import FaustAgent, Stream
from streams.kafka.changelog import Changelog
from streams.kafka.gaps import HoleChecker, Takeovers
from streams.kafka.membership import Membership
from streams.kafka.retention import RetentionWatch
from streams.kafka.states import LogStates
from streams.kafka.worker import LogFolder

SESSION_SECONDS: Final = 20.0
"""A worker that returns under its own name within this time gets its partitions back at once."""
NODE_BATCH_SECONDS: Final = 1.0
"""One second hardly delays rows, because landing waits longer, and it saves acknowledgements."""
CLUSTER_BATCH_SECONDS: Final = 0.5
STATE_SECONDS: Final = 30.0
NEVER_SECONDS: Final = 2.0**31 / 1000 - 1
"""Longest time between polls.

A worker without partitions, or whose Kafka accepts nothing, polls no messages; heartbeats show that it lives.
"""
FILES_SECONDS: Final = 5.0
"""Interval between checks of the certificate and password files."""
GRACE_SECONDS: Final = 20.0
"""Time for the running batch at a stop; unacknowledged messages are folded again."""
OF_NODES: Final = "Each node's log: evictions and their trend, pressure, image GC, NUMA skew, stalls, ends of pods"
OF_CLUSTERS: Final = "Each cluster's log: scheduling, NUMA over all nodes, late joiners, what exists"
log = structlog.get_logger(__name__)


class Worker:
    """Runs one worker until a signal, or until something fails."""

    def __init__(
        self,
        reducers: Sequence[AnyReducer],
        topics: Topics,
        bootstrap_servers: str,
        *,
        group: str = "leadsman-work",
        instance: str | None = None,
        replication_factor: int = 1,
        client_options: Options | None = None,
        unacknowledged: int = MAX_UNACKNOWLEDGED,
        skipped: Collection[str] = (),
        state_seconds: float = STATE_SECONDS,
        flat: Collection[str] = (),
    ) -> None:
        """`instance` is the worker's name in the group, under which it gets its partitions back at once after a
        restart; running workers need different names. At most `unacknowledged` messages wait for Kafka. Records at
        the positions `skipped` become dead letters. States are written, and their messages acknowledged,
        `state_seconds` after the first change. Rows of the tables `flat` are also published flat.
        """
        self._client_options = client_options or {}
        self._app = _app(bootstrap_servers, group, instance, replication_factor, self._client_options)
        self._membership = Membership(SESSION_SECONDS)
        self._publisher = Publisher(
            bootstrap_servers, client_options, unacknowledged, allowed=self._membership.assured
        )
        self._topics = topics
        self._takeovers = Takeovers()
        transport = cast("faust_fixes.Transport", self._app.transport)
        transport.start_of, transport.membership = self._takeovers.start_of, self._membership
        servers = {"bootstrap_servers": bootstrap_servers, **self._client_options}
        holes = HoleChecker(servers, self._takeovers)
        transport.is_hole = self._is_hole = holes.has
        transport.is_same, transport.report_replaced = holes.is_same, self._takeovers.report_replaced
        transport.replaced_partitions = partial(self._takeovers.replaced_partitions, newer=holes.newer)
        self._retention = RetentionWatch(
            group, servers, self._own_partitions, self._takeovers.gaps, self._takeovers.clusters
        )
        self._skipped = skipped
        self._flat = frozenset(flat)
        self._state_seconds = state_seconds
        self._states: dict[str, LogStates] = {}
        self._folders: dict[str, LogFolder] = {}
        self._findings = Figures()
        self._found: Mapping[Figure, Values] = {}
        self._agents = {
            source.name: self._agent(name, what, reducers, topics, source, table, within_seconds)
            for name, what, source, table, within_seconds in (
                ("analyse-nodes", OF_NODES, topics.nodes, "node-logs", NODE_BATCH_SECONDS),
                ("analyse-clusters", OF_CLUSTERS, topics.cluster, "cluster-logs", CLUSTER_BATCH_SECONDS),
            )
        }
        self._app.on_partitions_revoked.connect(self._rest)

    async def run(self, stop: asyncio.Event) -> None:
        """Fold until `stop`, and return when everything folded is stored and acknowledged.

        Raises a reducer's error, WorkerCrashed, MembershipLost, or KafkaUnusable if something did not end in time;
        nothing of the failed batch is acknowledged.
        """
        async with self._publisher:
            try:
                with registered(self._figures(), self._why_not, self._refresh):
                    await self._run(stop)
            except TimeoutError as error:
                what = f"accept the last states within {GRACE_SECONDS:g} s" if stop.is_set() else "answer in time"
                raise KafkaUnusable(f"Kafka did not {what}: unacknowledged messages are folded again") from error
            finally:
                await self._stop()

    def application(self, prepare: Callable[[], Awaitable[object]]) -> faust.App:
        """Return the application for Faust's own command, which runs it; `prepare` makes the topics first."""

        @asynccontextmanager
        async def side_tasks() -> AsyncIterator[None]:
            await prepare()
            async with self._publisher, Tasks() as spawn:
                watching = spawn(self._watched())
                yield
                watching.cancel()
                await self._rest()

        self._app.side_tasks = side_tasks()
        return self._app

    async def _watched(self) -> None:
        """End Faust when something fails."""
        try:
            await self._app.flow_control.acquire()  # the consumer has started
            await self._until(asyncio.Event())
        except Exception as error:  # noqa: BLE001  # Faust logs it, and ends
            await self._app.crash(error)

    async def _run(self, stop: asyncio.Event) -> None:
        self._app.finalize()
        await self._app.start()
        self._app.sensors.remove(self._app.monitor)  # it counts every message, and nobody uses the counts
        await self._until(stop)
        await asyncio.wait_for(self._close(), GRACE_SECONDS)

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        agents = self._agents
        return {
            metrics.FOLDED: lambda: {(topic,): each.folded for topic, each in agents.items()},
            metrics.FOLDED_AT: lambda: {
                (topic,): each.newest_ms / 1000 for topic, each in agents.items() if each.newest_ms
            },
            metrics.LAG: self._lag,
            DEAD_LETTERS: self._dead_letters,
            metrics.FLOODED: lambda: {(topic,): each.flood_suppressed for topic, each in self._folders.items()},
            metrics.STATE_BYTES: lambda: {(topic,): each.written_bytes for topic, each in self._states.items()},
            metrics.STATE_LEFT_OUT: lambda: {(topic,): each.left_out for topic, each in self._states.items()},
            metrics.SOURCE_ERRORS: self._source_errors,
            metrics.GAPS: lambda: self._takeovers.gaps.counts,
            metrics.RETENTION_NEAR: self._retention.figure,
            **{figure: partial(self._finding_values, figure) for figure in FIGURES},
        }

    def _finding_values(self, figure: Figure) -> Values:
        return self._found.get(figure, {})

    async def _refresh(self) -> None:
        self._findings.drop(time.monotonic())
        self._found = self._findings.values()

    def _own_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(*each) for each in self._app.consumer.assignment() if each.topic in self._agents]

    def _dead_letters(self) -> Values:
        return sum((each.dead_letters for each in self._folders.values()), Counter())

    def _source_errors(self) -> Values:
        return sum((each.source_errors for each in self._folders.values()), Counter())

    def _lag(self) -> Values:
        """Return the lag of partitions that were folded; an agent learns of a rebalance with its next batch."""
        lag: dict[tuple[str, ...], float] = {}
        assigned = self._app.consumer.assignment()
        for topic, agent in self._agents.items():
            for partition, offset in agent.next_offsets.items():
                if (tp := TP(topic, partition)) in assigned:
                    end = self._app.consumer.highwater(tp) or offset
                    lag[(topic,)] = lag.get((topic,), 0.0) + max(end - offset, 0)
        return lag

    def _why_not(self) -> Iterator[str]:
        if not self._app.flow_control.is_active():
            yield "partitions are being assigned, or states are being read"
        if self._membership.in_doubt:
            yield "the group has not confirmed this worker's membership, and nothing is sent until then"
        yield from self._takeovers.gaps.why_not()
        yield from self._retention.why_not()
        for topic, agent in self._agents.items():
            if agent.failure is not None:
                yield f"{topic} is no longer folded: see the error in the log"

    async def _until(self, stop: asyncio.Event) -> None:
        async with Tasks() as spawn:
            spawn(self._crash())
            spawn(self._unusable())
            spawn(self._membership.ending())
            spawn(self._takeovers.gaps.publish(self._publisher, self._topics))
            spawn(self._retention.run())
            for agent in self._agents.values():
                spawn(agent.failing())
            await stop.wait()

    async def _crash(self) -> None:
        try:
            await faust_fixes.raise_on_crash(self._app)
        except faust_fixes.WorkerCrashed:
            check_files(self._client_options.values())  # Faust hides why a connection failed
            raise

    async def _unusable(self) -> None:
        """Raise FilesUnusable if a file stays unusable for longer than a replacement takes.

        If the consumer's background tasks failed because of it during a rebalance, the consumer would wait forever.
        """
        patient = True
        while True:
            await asyncio.sleep(FILES_SECONDS)
            try:
                check_files(self._client_options.values())
                patient = True
            except FilesUnusable:
                if not patient:
                    raise
                patient = False

    async def _close(self) -> None:
        for agent in self._agents.values():
            await agent.close()
        await self._app.consumer.commit()

    async def _stop(self) -> None:
        try:
            await asyncio.wait_for(self._app.stop(), GRACE_SECONDS)
        except TimeoutError:
            log.warning("Faust did not stop in time")

    async def _rest(self, *_: object, **__: object) -> None:
        """Write states before the partitions go to another worker."""
        await asyncio.gather(*[agent.write_before_rebalance() for agent in self._agents.values()])
        for changelog in self._takeovers.changelogs.values():
            changelog.release()

    def _agent(
        self,
        name: str,
        what: str,
        reducers: Sequence[AnyReducer],
        topics: Topics,
        source: Topic,
        table: str,
        within_seconds: float,
    ) -> FaustAgent:
        app = self._app
        changelog = self._takeovers.changelogs[source.name] = Changelog()
        values = faust_fixes.table(app, table, source, changelog)
        written = faust_fixes.changelog_of(values)
        states = self._states[source.name] = LogStates(
            reducers,
            changelog,
            written,
            self._publisher,
            connection=lambda each: self._publisher.leader_connection(written, each),
        )
        folder = self._folders[source.name] = LogFolder(
            reducers, states, self._publisher, topics, self._skipped, self._findings, self._flat
        )
        agent = FaustAgent(
            folder, lambda: app.consumer_generation_id, within_seconds, self._state_seconds, self._is_hole
        )

        async def fold(stream: StreamT[bytes]) -> None:
            await agent.run(cast("Stream", stream))

        raw: faust.Schema[bytes, bytes] = faust.Schema(
            key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
        )
        fold.__doc__ = what  # Faust's command shows it
        app.agent(app.topic(source.name, schema=raw, partitions=source.partitions), name=name)(fold)
        return agent


def _app(
    bootstrap_servers: str, group: str, instance: str | None, replication_factor: int, client_options: Options
) -> faust_fixes.App:
    app = faust_fixes.App(
        group,
        broker=[f"kafka://{server}" for server in bootstrap_servers.split(",")],
        broker_credentials=credentials(client_options),
        store="memory://",
        key_serializer="raw",
        value_serializer="raw",
        processing_guarantee="at_least_once",
        consumer_group_instance_id=instance,
        PartitionAssignor=faust_fixes.Assignor,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        broker_session_timeout=SESSION_SECONDS,
        broker_heartbeat_interval=SESSION_SECONDS / 5,
        broker_max_poll_interval=NEVER_SECONDS,
        broker_commit_interval=1.0,
        producer_linger_ms=5,
        producer_max_batch_size=256 * 1024,
        producer_compression_type="zstd",
        producer_max_request_size=MAX_MESSAGE_BYTES,
        topic_disable_leader=True,
        topic_allow_declare=False,  # Faust would ask one broker, and end if it is down; `ensure_topics` makes them
        topic_replication_factor=replication_factor,
        table_standby_replicas=0,
        web_enabled=False,
        web_tables_enabled=False,
        web_router_enabled=False,
        stream_wait_empty=False,  # FaustAgent.rest waits, and for the batch alone
    )
    app.transport = faust_fixes.Transport(app.conf.broker_consumer, app)
    return app


def credentials(client_options: Options) -> faust.SASLCredentials | faust.SSLCredentials | None:
    """Return the credentials for Faust's own clients: the same as aiokafka's with these options."""
    protocol, context = client_options.get("security_protocol", "PLAINTEXT"), client_options.get("ssl_context")
    if protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=client_options["sasl_plain_username"],
            password=client_options["sasl_plain_password"],
            ssl_context=context,
            mechanism=client_options["sasl_mechanism"],
        )
    return faust.SSLCredentials(context) if context is not None else None
