"""Stopping a consumer whose background task died, and being stopped oneself; sending as long as one is a member."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import ConnectionGroup
from aiokafka.errors import KafkaError, NodeNotReadyError, for_code
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from aiokafka.protocol.metadata import MetadataRequest, MetadataRequest_v5
from aiokafka.protocol.produce import ProduceRequest
from structlog.testing import capture_logs

from common.clock import SYSTEM, Instant
from common.errors import FilesUnusable
from fakes.broker import broker
from ingest.kafka import aiokafka_fixes
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio


class Held:
    """A connection that a broker does not end."""

    def __init__(self) -> None:
        self._closed_fut: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._protocol = SimpleNamespace(_transport=SimpleNamespace(abort=lambda: self._closed_fut.set_result(None)))

    def close(self, **_: object) -> asyncio.Future[None]:
        return self._closed_fut

    @property
    def is_cut(self) -> bool:
        return self._closed_fut.done()


class Client:
    def __init__(self) -> None:
        self._sync_task: asyncio.Task[None] | None = None
        self.connection = Held()
        self._conns = {"only": self.connection}

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._conns.values()))


class Consumer:
    """A consumer whose `stop` raises what ended its background task, or waits."""

    _fetcher = _coordinator = None

    def __init__(self, error: BaseException | None = None, *, hangs: bool = False) -> None:
        self._client = Client()
        self._error = error
        self._hangs = hangs
        self.stopping = asyncio.Event()

    async def stop(self) -> None:
        self.stopping.set()
        if self._error is not None:
            raise self._error
        if self._hangs:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await self._client.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiokafka_fixes, "CLOSING_SECONDS", 0.01)


@pytest.mark.parametrize("error", [ValueError("an empty CA file"), asyncio.CancelledError()])
async def test_a_background_tasks_error_does_not_replace_the_reason_to_stop(error: BaseException) -> None:
    consumer: Any = Consumer(error)
    with pytest.raises(RuntimeError, match="the reason"):  # noqa: PT012  # as a `finally` of ours does
        try:
            raise RuntimeError("the reason")
        finally:
            await aiokafka_fixes.stop(consumer)
    assert consumer._client.connection.is_cut


async def test_our_own_cancellation_propagates() -> None:
    consumer: Any = Consumer(hangs=True)
    stopping = asyncio.create_task(aiokafka_fixes.stop(consumer))
    await consumer.stopping.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert consumer._client.connection.is_cut


async def test_a_consumer_that_never_stops_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if it hides that it is cancelled."""
    monkeypatch.setattr(aiokafka_fixes, "STOP_SECONDS", 0.01)
    consumer: Any = Consumer(hangs=True)
    await aiokafka_fixes.stop(consumer)
    assert consumer._client.connection.is_cut


async def test_a_connection_that_a_broker_does_not_end_is_cut() -> None:
    """Regression: over TLS, a broker held back an answer to a fetch, and a lander never ended."""
    consumer: Any = Consumer()
    with capture_logs() as logs:
        await aiokafka_fixes.stop(consumer)
    assert consumer._client.connection.is_cut
    assert logs == []


async def test_an_unusable_file_is_reported_as_the_reason_why_a_client_did_not_start() -> None:
    """The task for metadata ended with it, and the start of a lander waited for metadata for ever."""
    consumer = AIOKafkaConsumer("t", bootstrap_servers="127.0.0.1:1")
    inner: Any = consumer._client
    why = FilesUnusable("ca_file: it is empty")

    async def bootstrap() -> None:
        inner._sync_task = asyncio.create_task(inner._md_synchronizer())

    async def update(*_: object) -> None:
        raise why

    inner.bootstrap, inner._metadata_update = bootstrap, update
    with pytest.raises(FilesUnusable) as raised:
        async with asyncio.timeout(PATIENCE_SECONDS), aiokafka_fixes.started(consumer):
            pass
    assert raised.value is why


class Coordinator:
    """The coordinator of a group, with scripted answers."""

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.answer = 0
        self._closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._performed_join_prepare = False

    async def _send_req(self, _: Any) -> Any:
        return SimpleNamespace(error_code=self.answer)

    def reset_generation(self) -> None:
        self.member_id = ""


class Watched:
    """A member of a group, with its events."""

    def __init__(self, member_id: str = "first") -> None:
        self.coordinator = Coordinator(member_id)
        self.confirmed: list[Instant] = []
        self.expelled = 0
        consumer: Any = SimpleNamespace(_coordinator=self.coordinator)
        aiokafka_fixes.observe(consumer, self.confirmed.append, self._expel)

    def _expel(self) -> None:
        self.expelled += 1


HEARTBEAT: Any = HeartbeatRequest("g", 1, "first")
SYNC: Any = SyncGroupRequest("g", 1, "first", "i", [])
JOIN: Any = JoinGroupRequest("g", 20_000, 60_000, "first", "i", "consumer", [])


@pytest.mark.parametrize("request_", [HEARTBEAT, SYNC])
@pytest.mark.parametrize(("answer", "times"), [(0, 1), (27, 1), (25, 0), (22, 0), (15, 0)])
async def test_an_answer_to_a_member_confirms_it(request_: Any, answer: int, times: int) -> None:
    """Also that the group is forming anew (27); unknown member (25), illegal generation (22) and no coordinator (15)
    are none.
    """
    watched, before = Watched(), SYSTEM.instant()
    watched.coordinator.answer = answer
    assert (await watched.coordinator._send_req(request_)).error_code == answer
    assert len(watched.confirmed) == times
    assert all(before <= each <= SYSTEM.instant() for each in watched.confirmed)
    assert watched.expelled == 0


async def test_only_heartbeats_confirm_membership() -> None:
    watched = Watched()
    await watched.coordinator._send_req(JOIN)
    assert watched.confirmed == []


async def test_a_group_that_has_made_it_a_new_member_has_expelled_the_old_one() -> None:
    """A worker was paused while it joined."""
    watched = Watched()
    await watched.coordinator._send_req(SYNC)
    watched.coordinator._performed_join_prepare = True
    watched.coordinator.reset_generation()
    assert watched.expelled == 0
    watched.coordinator.member_id = "second"
    await watched.coordinator._send_req(SYNC)
    assert (len(watched.confirmed), watched.expelled) == (1, 1)


async def test_a_member_that_its_group_does_not_know_is_expelled_but_not_one_that_leaves() -> None:
    known, leaving = Watched(), Watched()
    known.coordinator.reset_generation()
    assert (known.expelled, known.coordinator.member_id) == (1, "")
    leaving.coordinator._closing.set_result(None)
    leaving.coordinator.reset_generation()
    assert (leaving.expelled, leaving.coordinator.member_id) == (0, "")


class Connection:
    def __init__(self) -> None:
        self.is_open = True

    def connected(self) -> bool:
        return self.is_open


class Sending:
    """A producer's client, and what it wrote to which node."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self.client = self
        self.written: list[int] = []
        self._conns = {(node, ConnectionGroup.DEFAULT): Connection() for node in nodes}
        self._sender = SimpleNamespace(sender_task=asyncio.get_running_loop().create_future())

    async def ready(self, node: int, *, group: ConnectionGroup) -> bool:
        return self._conns[node, group].connected()

    async def send(self, node: int, _: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT) -> None:
        assert group is ConnectionGroup.DEFAULT
        self.written.append(node)


PRODUCE: Any = ProduceRequest(transactional_id=None, required_acks=-1, timeout=1000, topics=[])


async def test_a_request_is_written_when_it_is_allowed_and_any_other_at_once() -> None:
    producer, allowed = Sending([1]), asyncio.Event()
    aiokafka_fixes.send_when(cast("Any", producer), cast("Any", allowed.wait))
    sending = asyncio.create_task(producer.send(1, PRODUCE))
    await producer.send(7, HEARTBEAT)
    assert producer.written == [7]
    allowed.set()
    await sending
    assert producer.written == [7, 1]


async def test_a_producer_that_was_discarded_while_it_waited_writes_to_no_node() -> None:
    producer, allowed = Sending([1, 2]), asyncio.Event()
    aiokafka_fixes.send_when(cast("Any", producer), cast("Any", allowed.wait))
    sending = [asyncio.create_task(producer.send(node, PRODUCE)) for node in (1, 2)]
    await asyncio.sleep(0)
    producer._sender.sender_task.cancel()
    allowed.set()
    found = await asyncio.gather(*sending, return_exceptions=True)
    assert [type(each) for each in found] == [NodeNotReadyError] * 2
    assert producer.written == []


async def test_a_request_that_must_reconnect_needs_permission_again() -> None:
    producer, allowed = Sending([1]), asyncio.Event()
    aiokafka_fixes.send_when(cast("Any", producer), cast("Any", allowed.wait))
    sending = asyncio.create_task(producer.send(1, PRODUCE))
    await asyncio.sleep(0)
    producer._conns[1, ConnectionGroup.DEFAULT].is_open = False
    allowed.set()
    with pytest.raises(NodeNotReadyError):
        await sending
    assert producer.written == []


async def test_offsets_still_loading_do_not_count_as_uncommitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that loads a group answers with no partition at all."""
    monkeypatch.setattr(aiokafka_fixes, "LOADING_SECONDS", 0.0)
    there = {TopicPartition("t", 0): OffsetAndMetadata(5, "")}
    answers: list[dict[TopicPartition, OffsetAndMetadata]] = [{}, {}, there]

    async def asked(group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        assert (group, partitions) == ("g", [*there])
        return answers.pop(0) if answers else {}

    admin: Any = SimpleNamespace(list_consumer_group_offsets=asked)
    assert await aiokafka_fixes.committed(admin, "g", there.keys()) == there
    with pytest.raises(KafkaError, match="has not loaded"):
        await aiokafka_fixes.committed(admin, "g", there.keys())


async def test_metadata_requests_create_no_topic() -> None:
    """Requests of clients: with topics, and with all of them."""
    for request in (MetadataRequest(["t"]), MetadataRequest(None), MetadataRequest()):
        built: Any = request.build(MetadataRequest_v5)
        assert not built.allow_auto_topic_creation


@pytest.mark.parametrize("code", [74, 75, 78], ids=["fenced epoch", "unknown epoch", "offset not available"])
async def test_an_answer_during_a_leader_election_is_retried(code: int) -> None:
    """A worker or lander that asked for offsets at that moment ended."""
    error = for_code(code)
    assert error.retriable
    assert error.invalid_metadata


QUESTIONS, UNPACED = 8, 2
"""A client asks once on its way to its brokers, and begins the next at once."""
LEAST_SECONDS = (QUESTIONS - UNPACED - 1) * aiokafka_fixes.METADATA_SECONDS


async def _seconds_until(asked: "asyncio.Queue[None]") -> float:
    start = asyncio.get_running_loop().time()
    for _ in range(QUESTIONS):
        await asked.get()
    return asyncio.get_running_loop().time() - start


async def test_a_consumer_pauses_between_requests_while_its_partition_has_no_leader() -> None:
    """Regression: it asked 2,000 times in a second."""
    async with broker(leads=False, closes=False) as there:
        consumer = AIOKafkaConsumer(bootstrap_servers=there.servers)
        consumer.assign([TopicPartition("t", 0)])
        taken = asyncio.ensure_future(_seconds_until(there.asked))
        async with aiokafka_fixes.started(consumer):
            assert await taken > LEAST_SECONDS


async def test_a_consumer_pauses_between_its_fetches_while_the_broker_does_not_lead() -> None:
    """Regression: it asked as fast as it was answered, through the broker that others are told leads."""
    async with broker(leads=True, closes=False) as there:
        consumer = AIOKafkaConsumer(bootstrap_servers=there.servers)
        async with aiokafka_fixes.started(consumer):
            consumer.assign([TopicPartition("t", 0)])
            consumer.seek(TopicPartition("t", 0), 0)
            assert await _seconds_until(there.fetched) > LEAST_SECONDS


async def test_a_client_pauses_between_metadata_requests_while_connections_fail() -> None:
    """Regression: an admin client asked 500 times in a second, since the end of a connection is a reason to ask."""
    async with broker(leads=True, closes=True) as there:
        admin = AIOKafkaAdminClient(bootstrap_servers=there.servers)
        taken = asyncio.ensure_future(_seconds_until(there.asked))
        async with aiokafka_fixes.started(admin):
            cast("Any", admin)._client.force_metadata_update()
            assert await taken > LEAST_SECONDS


async def test_a_client_asks_at_once_about_a_topic_that_it_has_not_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aiokafka_fixes, "METADATA_SECONDS", 10 * PATIENCE_SECONDS)
    async with broker(leads=True, closes=False) as there, asyncio.timeout(PATIENCE_SECONDS):
        admin = AIOKafkaAdminClient(bootstrap_servers=there.servers)
        async with aiokafka_fixes.started(admin):
            for topic in ("t", "u"):
                await cast("Any", admin)._client.add_topic(topic)
            again = cast("Any", admin)._client.force_metadata_update()
            assert not again.done()


async def test_an_administrator_asks_a_broker_that_is_there() -> None:
    """aiokafka asks any one, and one of these is away: a start would fail every other time."""
    async with (
        broker(leads=True, closes=False, is_alone=False) as there,
        aiokafka_fixes.started(AIOKafkaAdminClient(bootstrap_servers=there.servers)) as admin,
    ):
        for _ in range(10):
            assert await admin.list_topics() == ["t"]
