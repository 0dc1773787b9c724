"""Workarounds for faults of aiokafka. No other module uses its internals.

aiokafka is pinned to one version, and a test compares the functions that this module relies on with their source at
that version.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial, wraps
from random import sample
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.cluster import ClusterMetadata
from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import (
    BrokerResponseError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    NodeNotReadyError,
    NoError,
    NotCoordinatorForGroupError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    kafka_errors,
)
from aiokafka.partitioner import murmur2
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.produce import ProduceRequest

from common.clock import SYSTEM, Instant
from common.tasks import detached

KEYS: Final = 100_000
"""Number of keys whose hash is cached."""
STOP_SECONDS: Final = 10.0
"""Time for stopping a consumer; it takes 0.1 s if Kafka answers."""
CLOSING_SECONDS: Final = 0.5
"""Time for closing connections.

One that was never established does not end, nor does a TLS connection whose broker holds back an answer.
"""
METADATA_SECONDS: Final = 0.1
"""Interval between requests of a client for the current leader, as between its other attempts."""
LOADING_SECONDS: Final = 0.2
LOADING_ATTEMPTS: Final = 150
"""Attempts to query a coordinator that has not loaded a group."""
log = structlog.get_logger(__name__)

Options: TypeAlias = Mapping[str, Any]
"""Options of an aiokafka client other than the servers."""

Client = TypeVar("Client", AIOKafkaConsumer, AIOKafkaAdminClient)

_hash = lru_cache(KEYS)(murmur2)
_MEMBERS: Final = frozenset({NoError.errno, RebalanceInProgressError.errno})
"""Error codes in answers to group members."""


MetadataRequest.__init__.__defaults__ = (None, False)
"""No client of this process, Faust's included, asks a broker to create a topic: it would be made as the broker's
defaults are, with one partition. aiokafka's always ask for that and have no option.

https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/protocol/metadata.py
"""


def _paced(update: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
    """Return an update of metadata that starts at least METADATA_SECONDS after the same client's last one for its
    topics. aiokafka's clients ask again at once while a partition has no leader, and when a connection ends, even the
    one that they used to ask. Java's client waits, also after an answer, but not to ask about other topics.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/consumer/fetcher.py

    https://github.com/apache/kafka/blob/4.1/clients/src/main/java/org/apache/kafka/clients/Metadata.java
    """
    asked: WeakKeyDictionary[AIOKafkaClient, tuple[float, frozenset[str]]] = WeakKeyDictionary()

    @wraps(update)
    async def paced(client: AIOKafkaClient, cluster: ClusterMetadata, topics: Iterable[str] | None) -> bool:
        now = asyncio.get_running_loop().time()
        last, known = asked.get(client, (now - METADATA_SECONDS, frozenset()))
        names = frozenset(topics or ())
        due = max(now, last + METADATA_SECONDS) if names <= known else now
        asked[client] = due, known | names
        if due > now:
            await asyncio.sleep(due - now)
        return await update(client, cluster, topics)

    return paced


AIOKafkaClient._metadata_update = _paced(AIOKafkaClient._metadata_update)  # type: ignore[method-assign, assignment]


def _pausing(send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a `send` that delays a broker's refusal to return messages by METADATA_SECONDS. aiokafka's consumers
    fetch again at once if a broker does not lead a partition yet, or cannot read it. Java's client waits.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/consumer/fetcher.py
    """

    @wraps(send)
    async def pausing(client: AIOKafkaClient, node: int, request: Any, **more: Any) -> Any:
        answer = await send(client, node, request, **more)
        if isinstance(request, FetchRequest) and any(
            code not in _GIVEN for _, partitions in answer.topics for _, code, *_ in partitions
        ):
            await asyncio.sleep(METADATA_SECONDS)
        return answer

    return pausing


_GIVEN: Final = frozenset({NoError.errno, OffsetOutOfRangeError.errno})
AIOKafkaClient.send = _pausing(AIOKafkaClient.send)  # type: ignore[method-assign, assignment]


@wraps(AIOKafkaAdminClient._send_request, assigned=())
async def _to_any(admin: Any, request: Any, node_id: int | None = None) -> Any:
    """Send to a node, or to the first that accepts a connection. aiokafka picks one at random, which may be down.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/admin/client.py
    """
    known = [each.nodeId for each in admin._client.cluster.brokers()] if node_id is None else [node_id]
    nodes = sample(known, len(known))
    while len(nodes) > 1 and not await admin._client.ready(nodes[0]):
        del nodes[0]
    return await admin._client.send(*nodes[:1] or [None], request)


AIOKafkaAdminClient._send_request = _to_any  # type: ignore[method-assign, assignment]


def _retried(code: int, name: str) -> type[BrokerResponseError]:
    """Return the error of an answer that aiokafka would treat as permanent.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/errors.py
    """
    return type(
        name, (BrokerResponseError,), {"errno": code, "message": name, "retriable": True, "invalid_metadata": True}
    )


_PASSING: Final = {74: "FENCED_LEADER_EPOCH", 75: "UNKNOWN_LEADER_EPOCH", 78: "OFFSET_NOT_AVAILABLE"}
"""Errors of brokers while the leader changes. A client retries after it has learned the new leader.

https://kafka.apache.org/41/design/protocol/#error-codes
"""
kafka_errors.update({code: _retried(code, name) for code, name in _PASSING.items() if code not in kafka_errors})


def partition(key: bytes, partitions: Sequence[int], _: Sequence[int]) -> int:
    """Return the partition of a key, as every Kafka client chooses it. aiokafka computes the hash in Python, for each
    message.

    https://github.com/aio-libs/aiokafka/pull/554
    """
    positive: int = _hash(key) & 0x7FFFFFFF
    return partitions[positive % len(partitions)]


async def failure(client: AIOKafkaProducer | AIOKafkaConsumer) -> None:
    """Raise the error that ended a background task of a started client. Cancel this when the client stops.

    Such a client looks idle forever, and raises nothing.

    https://github.com/aio-libs/aiokafka/issues/983
    """
    ended, _ = await asyncio.wait(_background(client), return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    raise KafkaError("a background task of the client ended")


async def discard(producer: AIOKafkaProducer, within_seconds: float) -> None:
    """End a producer that cannot be used; messages that wait in it are not sent. aiokafka's `stop` first sends all
    waiting messages, and hangs while Kafka is down.

    https://github.com/aio-libs/aiokafka/issues/1101
    """
    try:
        async with asyncio.timeout(within_seconds):
            await producer._sender.close()
            producer._message_accumulator.fail_all(KafkaError("stopped"))
            await producer.stop()
    except Exception as error:  # noqa: BLE001  # it may also raise again what broke it
        log.warning("the broken producer did not stop cleanly", error=repr(error))
        await _close(producer.client)
        producer._closed = True  # otherwise it complains when it is collected


def hand_on(client: AIOKafkaProducer | AIOKafkaConsumer | AIOKafkaAdminClient) -> None:
    """Pass the error that ends a client's metadata task to everything that waits for metadata.

    Call it before the client starts. aiokafka lets these wait forever, including a client that starts.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/client.py
    """
    inner: Any = client.client if isinstance(client, AIOKafkaProducer) else client._client
    synchronize = inner._md_synchronizer

    async def synchronized() -> None:
        try:
            await synchronize()
        except Exception as error:
            update = inner._md_update_fut = inner._md_update_fut or asyncio.get_running_loop().create_future()
            update.set_exception(error)
            update.exception()  # otherwise asyncio logs it if nobody waits
            raise

    inner._md_synchronizer = synchronized


@asynccontextmanager
async def started(client: Client) -> AsyncIterator[Client]:
    """Start a client for the block. It is stopped afterwards, even if it failed to start."""
    hand_on(client)
    try:
        await client.start()
        yield client
    finally:
        await stop(client)


async def stop(client: AIOKafkaConsumer | AIOKafkaAdminClient) -> None:
    """Stop a client, even a broken one, within STOP_SECONDS.

    aiokafka's `stop` raises the error of a background task again, in place of a pending cancellation. Or it waits
    forever: for a dead background task, or for a broker to end a TLS connection that it does not read from.

    https://github.com/aio-libs/aiokafka/issues/983
    """
    inner: Any = client._client
    inner.close = partial(_close, inner)
    stopping = detached(client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())
    try:
        await asyncio.wait({stopping}, timeout=STOP_SECONDS)
    finally:
        if (failed := _failure(stopping)) or not stopping.done():
            log.warning("the broken client did not stop cleanly", error=repr(failed or TimeoutError()))
            for task in (stopping, *_background(client)):
                task.cancel()
                task.add_done_callback(_failure)
            await _close(inner)


def observe(consumer: AIOKafkaConsumer, confirmed: Callable[[Instant], None], expelled: Callable[[], None]) -> None:
    """Call `confirmed` or `expelled` for each answer of the group. Call this before the consumer joins.

    `confirmed` gets the time of the request to which the group answered that this consumer is a member. `expelled` is
    called if the group answered that it no longer is, or has made it a new member. aiokafka silently joins again,
    while earlier messages are still being processed.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/consumer/group_coordinator.py
    """
    coordinator: Any = consumer._coordinator
    send, reset = coordinator._send_req, coordinator.reset_generation
    member = ""

    async def asked(request: Any) -> Any:
        nonlocal member
        asked_at, asks = SYSTEM.instant(), coordinator.member_id
        response = await send(request)
        if isinstance(request, HeartbeatRequest | SyncGroupRequest) and response.error_code in _MEMBERS:
            if member in {"", asks}:
                member = asks
                confirmed(asked_at)
            else:
                expelled()
        return response

    def reset_generation() -> None:
        """Call `expelled`, unless the consumer closes or joins: aiokafka resets then too, and nobody was expelled."""
        if not coordinator._closing.done() and not coordinator._performed_join_prepare:
            expelled()
        reset()

    coordinator._send_req, coordinator.reset_generation = asked, reset_generation


def send_when(producer: AIOKafkaProducer, allowed: Callable[[], Awaitable[None]]) -> None:
    """Make a producer await `allowed` before it writes each of its requests.

    Messages may have waited for a long time, or may be sent again. A producer that was discarded meanwhile writes
    nothing.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/producer/sender.py
    """
    client: Any = producer.client
    send = client.send

    async def allowed_send(node: int, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT) -> Any:
        if isinstance(request, ProduceRequest):
            await client.ready(node, group=group)
            await allowed()
            connection = client._conns.get((node, group))
            if connection is None or not connection.connected() or producer._sender.sender_task.done():
                raise NodeNotReadyError(f"the connection to node {node} is gone")
        return await send(node, request, group=group)  # written at once: it suspends nowhere before

    client.send = allowed_send


async def committed(
    admin: AIOKafkaAdminClient, group: str, partitions: AbstractSet[TopicPartition]
) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """Return a group's committed offset of each partition, negative without a commit. Raises KafkaError.

    aiokafka's `list_consumer_group_offsets` returns nothing if the coordinator has not loaded the group yet.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/admin/client.py
    """
    for _ in range(LOADING_ATTEMPTS):
        with suppress(GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError):
            found = await admin.list_consumer_group_offsets(group, partitions=list(partitions))
            if not partitions - found.keys():
                return found
        await asyncio.sleep(LOADING_SECONDS)
    raise KafkaError(f"the coordinator has not loaded the commits of {group} yet")


async def leaderless(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> set[TopicPartition]:
    """Return the topics' partitions without a leader. Raises KafkaError.

    aiokafka asks for offsets of all partitions at once, and raises after its timeout if one of them has no leader.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/consumer/fetcher.py
    """
    return {
        TopicPartition(topic["topic"], each["partition"])
        for topic in await admin.describe_topics(list(topics))
        for each in topic["partitions"]
        if each["leader"] < 0
    }


def leader_connection(client: AIOKafkaConsumer | AIOKafkaProducer, partition: TopicPartition) -> object | None:
    """Return an object that identifies the connection to a partition's leader; None while there is none.

    It changes if the partition gets another leader, or the leader was reconnected. The partition may then have
    another log.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/consumer/fetcher.py
    """
    inner: Any = client.client if isinstance(client, AIOKafkaProducer) else client._client
    found = inner._conns.get((inner.cluster.leader_for_partition(partition), ConnectionGroup.DEFAULT))
    return found if found is not None and found.connected() else None


async def probe(server: str, timeout_ms: int, options: Options) -> None:
    """Connect to one broker, `host:port`, and raise the reason if that fails: a client only reports that none was
    usable.

    https://github.com/aio-libs/aiokafka/blob/v0.14.0/aiokafka/client.py
    """
    host, _, port = server.rpartition(":")
    connection = AIOKafkaConnection(host, int(port), request_timeout_ms=timeout_ms, **options)
    try:
        await connection.connect()
    finally:  # TLS is closed by a running event loop, and this may be the process's last action
        await asyncio.wait([connection.close()], timeout=CLOSING_SECONDS)


def _background(client: AIOKafkaProducer | AIOKafkaConsumer | AIOKafkaAdminClient) -> "list[asyncio.Future[None]]":
    tasks: tuple[Any, ...]
    if isinstance(client, AIOKafkaProducer):
        tasks = (client.client._sync_task, client._sender.sender_task)
    elif isinstance(client, AIOKafkaAdminClient):
        tasks = (client._client._sync_task,)
    else:
        fetcher, coordinator = client._fetcher, client._coordinator
        joining = getattr(coordinator, "_coordination_task", None)  # a consumer without a group has none
        tasks = (client._client._sync_task, fetcher and fetcher.error_future, joining)
    return [task for task in tasks if task is not None]


def _failure(task: asyncio.Future[None]) -> BaseException | None:
    """Return why a task failed; asyncio does not log a failure that was read."""
    if not task.done():
        return None
    return asyncio.CancelledError() if task.cancelled() else task.exception()


async def _close(client: AIOKafkaClient) -> None:
    """Close its connections within CLOSING_SECONDS; those that a broker does not end by then are aborted."""
    task, client._sync_task = client._sync_task, None
    if task is not None:
        task.cancel()
        task.add_done_callback(_failure)
    connections: list[Any] = list(client._conns.values())
    if closing := [each.close(reason=CloseReason.SHUTDOWN) for each in connections]:
        await asyncio.wait(closing, timeout=CLOSING_SECONDS)
    for each in connections:
        if not each._closed_fut.done():
            each._protocol._transport.abort()
