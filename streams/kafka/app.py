"""The Faust application of one worker: topics, tables and agents, how they are set, and how it ends."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import faust
import structlog
from faust.assignor import PartitionAssignor
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, StreamT

from common.telemetry import Figure, Values, telling
from ingest.kafka.publish import MAX_UNACKNOWLEDGED, Publisher
from ingest.model.topics import MAX_MESSAGE_BYTES, Topic, Topics
from streams.fold.reducer import Reducer
from streams.kafka import metrics
from streams.kafka.worker import LogFolder

SESSION_SECONDS: Final = 20.0
"""A worker that comes back under its own name within this time takes up its partitions at once."""
NODE_BATCH_SECONDS: Final = 0.2
CLUSTER_BATCH_SECONDS: Final = 0.5
"""A cluster's state is large, and it is written once a batch."""
GRACE_SECONDS: Final = 20.0
"""For the batch that is folded when the worker is told to end; what is not acknowledged then is folded again."""
log = structlog.get_logger(__name__)


class WorkerCrashed(Exception):
    """Faust gave up; its own log says why."""


class _Consumer(driver.Consumer):
    """Faust's consumer, which loses no message while a worker takes up its states.

    Faust resumes the streams' partitions, seeks them to what was committed and then empties the streams' queues:
    what was fetched in between was gone. Here partitions are resumed last of all, with the flow.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._to_resume: set[TP] = set()

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        self._to_resume.difference_update(tps)
        super().pause_partitions(tps)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        self._to_resume.update(tps)

    def resume_flow(self) -> None:
        super().resume_flow()
        super().resume_partitions(self._to_resume & self.assignment())
        self._to_resume.clear()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Also to the beginning, where nothing was committed: what was fetched in a suspended flow is dropped."""
        committed = await super().seek_to_committed()
        new = [tp for tp, offset in committed.items() if not offset and not self._is_changelog_tp(tp)]
        if new:
            await self._thread.seek_to_beginning(*new)
        return committed

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # noqa: ASYNC109  # Faust's
        """Of these partitions: Faust's set changes meanwhile, and aiokafka takes one that is empty then for all."""
        return await super()._getmany(active_partitions and set(active_partitions), timeout)

    async def wait_first(self, *waited: Any, **more: Any) -> Any:
        """Hand a message over without the four tasks that Faust makes for it, a third of what a message costs.

        Faust waits for two only where it delivers: for that, or for the flow to be suspended. What is delivered into
        a suspended flow is skipped, and a full queue empties when the running batch ends.
        """
        if len(waited) != 2:  # noqa: PLR2004  # see above
            return await super().wait_first(*waited, **more)
        delivery, suspension = waited
        suspension.close()
        return await delivery


class _Transport(driver.Transport):
    Consumer = _Consumer


class _Metadata(NamedTuple):
    """What an assignor asks of a cluster."""

    cluster: Any
    changelogs: Mapping[str, int]
    """Their numbers of partitions."""

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self.cluster.partitions_for_topic(topic) or set(range(self.changelogs.get(topic, 0)))


class _Assignor(PartitionAssignor):
    """Faust's, which never leaves out a changelog that is so new that this worker's metadata does not have it.

    Kafka gives a worker that comes back under its own name the assignment that it had. A changelog that is not in it
    is not read: the worker would begin with empty states.
    """

    def _perform_assignment(self, cluster: Any, member_metadata: Any) -> Any:
        tables = self._table_manager.data.values()
        changelogs = {table.changelog_topic.get_topic_name(): table.partitions or 0 for table in tables}
        return super()._perform_assignment(_Metadata(cluster, changelogs), member_metadata)


class Worker:
    """One worker: `run` until a signal, or until something fails."""

    def __init__(
        self,
        reducers: Sequence[Reducer[Any]],
        topics: Topics,
        bootstrap_servers: str,
        *,
        group: str = "leadsman-work",
        instance: str | None = None,
        replication_factor: int = 1,
        client_options: Mapping[str, Any] | None = None,
        unacknowledged: int = MAX_UNACKNOWLEDGED,
    ) -> None:
        """Needs a running loop. `instance` names it among the group's workers, so that it takes up its partitions
        at once after a restart; two that run have different ones. `unacknowledged` messages at most wait for Kafka.
        """
        self._app = _app(bootstrap_servers, group, instance, replication_factor, client_options or {})
        self._publisher = Publisher(bootstrap_servers, client_options, unacknowledged)
        self._folders = {
            source.name: self._agent(reducers, topics, source, table, within_seconds)
            for source, table, within_seconds in (
                (topics.nodes, "node-logs", NODE_BATCH_SECONDS),
                (topics.cluster, "cluster-logs", CLUSTER_BATCH_SECONDS),
            )
        }
        self._app.on_partitions_revoked.connect(self._rest)

    async def run(self, stop: asyncio.Event) -> None:
        """Fold until `stop`, and return when the running batch is stored and acknowledged.

        Raises what a reducer raised, or WorkerCrashed; nothing of the failed batch is acknowledged.
        """
        async with self._publisher:
            try:
                with telling(self._figures(), self._why_not):
                    await self._run(stop)
            except TimeoutError:
                log.warning("the running batch did not end in time; it is folded again")
            finally:
                await self._stop()

    async def _run(self, stop: asyncio.Event) -> None:
        self._app.finalize()
        await self._app.start()
        self._app.sensors.remove(self._app.monitor)  # nobody reads what it counts of each message
        await self._first(stop)
        await asyncio.wait_for(self._close(), GRACE_SECONDS)

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        folders = self._folders
        return {
            metrics.FOLDED: lambda: {(topic,): each.folded for topic, each in folders.items()},
            metrics.FOLDED_AT: lambda: {(topic,): each.newest for topic, each in folders.items() if each.newest},
            metrics.LAG: self._lag,
        }

    def _lag(self) -> Values:
        """In partitions that something was folded from since the last rebalance."""
        lag: dict[tuple[str, ...], float] = {}
        for topic, folder in self._folders.items():
            for partition, offset in folder.next_offsets.items():
                end = self._app.consumer.highwater(TP(topic, partition)) or offset
                lag[(topic,)] = lag.get((topic,), 0.0) + max(end - offset, 0)
        return lag

    def _why_not(self) -> Iterator[str]:
        if not self._app.flow_control.is_active():
            yield "partitions are being assigned, or states read"
        for topic, folder in self._folders.items():
            if folder.failed.done():
                yield f"{topic} is folded no more: {folder.failed.exception()!r}"

    async def _first(self, stop: asyncio.Event) -> None:
        """Return when `stop` is set; raise what failed before."""
        crashed: Awaitable[Any] = self._app._crashed.wait()  # noqa: SLF001  # mode has no public way to await it
        stopping, crash = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(crashed)
        failures = [folder.failed for folder in self._folders.values()]
        try:
            await asyncio.wait([stopping, crash, *failures], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            crash.cancel()
        for failure in failures:
            if failure.done():
                failure.result()
        if self._app.crashed:
            raise WorkerCrashed(f"Faust stopped: {self._app.crash_reason!r}")

    async def _close(self) -> None:
        for folder in self._folders.values():
            await folder.close()
        await self._app.consumer.commit()

    async def _stop(self) -> None:
        try:
            await asyncio.wait_for(self._app.stop(), GRACE_SECONDS)
        except TimeoutError:
            log.warning("Faust did not stop in time")

    async def _rest(self, *_: Any, **__: Any) -> None:
        """Before the partitions go to another worker."""
        for folder in self._folders.values():
            await folder.rest()
            folder.next_offsets.clear()

    def _agent(
        self, reducers: Sequence[Reducer[Any]], topics: Topics, source: Topic, table: str, within_seconds: float
    ) -> LogFolder:
        app = self._app
        states = app.Table(table, key_type=bytes, value_type=bytes, partitions=source.partitions)
        folder = LogFolder(reducers, states, self._publisher, topics, lambda: app.consumer_generation_id)

        async def fold(stream: StreamT[Any]) -> None:
            await folder.run(stream, within_seconds)

        raw: Any = faust.Schema(key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
        app.agent(app.topic(source.name, schema=raw, partitions=source.partitions), name=f"fold-{table}")(fold)
        return folder


def _app(
    bootstrap_servers: str,
    group: str,
    instance: str | None,
    replication_factor: int,
    client_options: Mapping[str, Any],
) -> faust.App:
    app = faust.App(
        group,
        broker=[f"kafka://{server}" for server in bootstrap_servers.split(",")],
        broker_credentials=credentials(client_options),
        store="memory://",
        key_serializer="raw",
        value_serializer="raw",
        processing_guarantee="at_least_once",
        consumer_group_instance_id=instance,
        PartitionAssignor=_Assignor,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        broker_session_timeout=SESSION_SECONDS,
        broker_heartbeat_interval=SESSION_SECONDS / 5,
        broker_commit_interval=1.0,
        producer_linger_ms=5,
        producer_max_batch_size=256 * 1024,
        producer_compression_type="zstd",
        producer_max_request_size=MAX_MESSAGE_BYTES,
        topic_disable_leader=True,
        topic_allow_declare=True,
        topic_replication_factor=replication_factor,
        table_standby_replicas=0,
        web_enabled=False,
        web_tables_enabled=False,
        web_router_enabled=False,
        stream_wait_empty=False,  # LogFolder.rest waits, and for the batch alone
    )
    app.transport = _Transport(app.conf.broker_consumer, app)
    return app


def credentials(client_options: Mapping[str, Any]) -> faust.SASLCredentials | faust.SSLCredentials | None:
    """What Faust's own clients prove themselves with: the same as aiokafka's with these options."""
    protocol, context = client_options.get("security_protocol", "PLAINTEXT"), client_options.get("ssl_context")
    if protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=client_options["sasl_plain_username"],
            password=client_options["sasl_plain_password"],
            ssl_context=context,
            mechanism=client_options["sasl_mechanism"],
        )
    return faust.SSLCredentials(context) if context is not None else None
