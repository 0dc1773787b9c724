"""A batch into states: what is published, in which order it is stored, and by what it ends. No Kafka, no Faust."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import structlog
from aiokafka import TopicPartition

from common.errors import BadRecord
from ingest.kafka.publish import Publisher
from ingest.model.records import DeadLetterRecord, HeartbeatRecord, Problem, SourceErrorRecord
from ingest.model.topics import MAX_MESSAGE_BYTES, decode_record, encode_record, topics
from ingest.normalize.dead_letters import Letter
from streams.analytics import source_errors
from streams.fold.checkpoints import StateCodec
from streams.fold.figures import Figures
from streams.fold.findings import Row, SourceError
from streams.fold.fold import LogState
from streams.fold.reducer import AnyReducer, Output, Reducer
from streams.kafka.agent import BATCH_EVENTS, FaustAgent
from streams.kafka.changelog import Changelog, Epoch, RecordKey
from streams.kafka.message import Message, MessagesLost
from streams.kafka.messages.findings import columns_of, decode_findings
from streams.kafka.parts import PartsCodec
from streams.kafka.states import LogStates, Ownership
from streams.kafka.worker import FLOOD_SAMPLE_EVERY, MAX_DEAD_LETTERS_IN_A_ROW, LogFolder, MessageRows, Outbox
from waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.asyncio

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TOPICS = topics("x", partitions=1)
GENERATION = 2
"""Generation of the consumer."""
OVER = -1
"""A count that is forgotten in the next minute."""
OURS = Ownership(GENERATION, lambda: True, {0: 100_000})


class Count(msgspec.Struct, frozen=True):
    seen: int = 0


def step(state: Count, record: SourceErrorRecord) -> tuple[Count, Sequence[Output | BadRecord]]:
    """Counts; what has the error "bad" makes no sense, "defect" is one, and for "large" there is no memory."""
    if record.error == "defect":
        raise ZeroDivisionError("of a count")
    if record.error == "large":
        raise MemoryError
    if record.error == "over":
        return Count(OVER), ()
    if record.error == "bad":
        raise BadRecord("wrong_value", "it makes no sense")
    return Count(state.seen + 1), ()


def expire(state: Count, _: datetime) -> tuple[Count | None, Sequence[Output]]:
    return (None if state.seen == OVER else state), ()


REDUCERS: list[AnyReducer] = [Reducer("count", 1, "cluster", (SourceErrorRecord,), Count, step, expire)]


class Kafka:
    """A publisher and a table, and in which order they were written to."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes, Any, list[tuple[str, bytes]]]] = []
        self.changelog: list[tuple[bytes, bytes | None, Sequence[tuple[str, bytes]]]] = []

    async def send(
        self, topic: str, key: bytes, value: Any, headers: Sequence[tuple[str, bytes]] = (), partition: int = 0
    ) -> asyncio.Future[None]:
        assert partition == 0
        if topic == "changelog":
            self.changelog.append((key, value, headers))
        self.sent.append((topic, key, value, list(headers)))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def folder(self, *skipped: str) -> LogFolder:
        publisher = cast("Publisher", self)
        states = LogStates(REDUCERS, self.recovered(), "changelog", publisher)
        return LogFolder(REDUCERS, states, publisher, TOPICS, skipped)

    def recovered(self) -> Changelog:
        """Return the changelog that the next worker reads."""
        changelog = Changelog()
        for record in self.changelog:
            changelog.apply(0, *record)
        changelog.own({0})
        return changelog

    def seen(self) -> int:
        state = PartsCodec(REDUCERS).decode(self.recovered().get(b"c")).log.states["count"]
        assert isinstance(state, Count)
        return state.seen


async def fold(folder: LogFolder, *messages: Message, ownership: Ownership = OURS) -> bool:
    """Folded and written."""
    return await folder.fold(messages, ownership) and await folder.write(ownership)


def message(offset: int, error: str = "e", value: bytes | None = None, key: bytes = b"c") -> Message:
    record = SourceErrorRecord(ts=T0, cluster="c", resource="nodes", error=error)
    return Message("x.cluster", 0, offset, 1000 + offset, key, encode_record(record) if value is None else value, ())


def a_minute_later(offset: int) -> Message:
    """A record that no reducer takes."""
    record = HeartbeatRecord(ts=T0 + timedelta(minutes=1), cluster="c", resource="nodes")
    return message(offset, value=encode_record(record))


async def test_a_repeated_message_is_folded_once_even_by_the_next_worker() -> None:
    kafka = Kafka()
    await fold(kafka.folder(), message(0), message(1))
    await fold(kafka.folder(), message(0), message(1), message(2))
    assert kafka.seen() == 3


async def test_a_batch_whose_partitions_were_revoked_stores_no_state() -> None:
    kafka = Kafka()
    assert not await fold(kafka.folder(), message(0), ownership=OURS._replace(is_ours=lambda: False))
    assert kafka.recovered().get(b"c") is None
    assert await fold(kafka.folder(), message(0))
    assert kafka.seen() == 1


async def test_a_log_without_any_reducer_state_is_forgotten_and_starts_fresh() -> None:
    kafka = Kafka()
    folder = kafka.folder()
    await fold(folder, message(0), message(1, "over"))
    await fold(folder, a_minute_later(2))
    await fold(folder, message(3, key=b"another"))
    assert kafka.recovered().get(b"c") is None
    assert kafka.recovered().logs(0) == [b"another"]
    await fold(folder, message(4))
    assert kafka.seen() == 1


async def test_an_empty_log_that_goes_on_is_not_forgotten() -> None:
    kafka = Kafka()
    folder = kafka.folder()
    await fold(folder, message(0, "over"))
    await fold(folder, a_minute_later(1))
    await fold(folder, message(2))
    assert kafka.seen() == 1


async def test_a_batch_of_known_messages_writes_no_state() -> None:
    kafka = Kafka()
    folder = kafka.folder()
    await fold(folder, message(0))
    kafka.sent.clear()
    await fold(folder, message(0))
    assert [RecordKey.decode(key).log for _, key, _, _ in kafka.sent] == [None]  # the partition's progress


async def test_a_state_of_another_writer_is_written_anew_before_what_it_covers_is_acknowledged() -> None:
    """A predecessor may delete its own record at any time."""
    kafka = Kafka()
    await fold(kafka.folder(), message(0))
    (before, *_), *_ = kafka.changelog
    await fold(kafka.folder(), message(0), ownership=OURS._replace(generation=GENERATION + 1))
    kafka.changelog.append((before, None, ()))
    assert kafka.seen() == 1


@pytest.mark.parametrize("key", [b"c", RecordKey(Epoch(1, 5), b"c").encode()], ids=["before epochs", "of an epoch"])
async def test_a_changelog_of_versions_that_wrote_a_log_as_one_record_is_taken_over(key: bytes) -> None:
    kafka = Kafka()
    log = StateCodec(REDUCERS).encode(LogState(0, {"count": Count(2)}))
    kafka.changelog.append((key, msgspec.msgpack.encode([1, log, {}, 0, 1.001, {}]), ()))
    await fold(kafka.folder(), message(1), message(2))
    assert kafka.seen() == 3
    assert (key, None, ()) in kafka.changelog


async def test_a_state_that_is_not_written_yet_is_folded_on_and_can_be_abandoned() -> None:
    kafka = Kafka()
    folder = kafka.folder()
    await fold(folder, message(0))
    await folder.fold([message(1)], OURS)
    await folder.fold([message(2)], OURS)
    assert kafka.seen() == 1
    folder.abandon()
    await fold(folder, message(1), message(2), message(3))
    assert kafka.seen() == 4


@pytest.mark.parametrize(
    # of the last, a reducer does not see everything, as of a summary; all of it is dead-lettered
    ("bad", "cluster", "error_type"),
    [
        (message(4, value=b"{"), "", "not_a_record"),
        (message(4, error="bad"), "c", "wrong_value"),
        (message(4, value=message(4, error="bad").value[:-1] + b',"later":1}'), "c", "wrong_value"),
    ],
)
async def test_dead_letters_are_published_before_the_state_that_covers_them(
    bad: Message, cluster: str, error_type: str
) -> None:
    kafka = Kafka()
    await fold(kafka.folder(), bad, message(5))
    (topic, key, value, headers), (told_to, _, reported, _), (last, _, _, _), *_ = kafka.sent
    letter = Letter.read(headers, value)
    assert (topic, key, value) == ("x.dead-letters", cluster.encode(), bad.value)
    assert (letter.cluster, letter.error_type, str(letter.position)) == (cluster, error_type, "x.cluster:0@4")
    assert told_to == "x.cluster"
    assert decode_record(reported) == DeadLetterRecord(ts=letter.ts, cluster=cluster, error_type=error_type)
    assert last == "changelog"
    assert kafka.seen() == 1


async def test_a_flood_of_non_records_is_sampled_and_reported_and_the_log_continues() -> None:
    more = 2 * FLOOD_SAMPLE_EVERY
    flood = [message(offset, value=b"") for offset in range(MAX_DEAD_LETTERS_IN_A_ROW + more)]
    kafka = Kafka()
    folder = kafka.folder()
    await fold(folder, *flood, message(len(flood)), message(len(flood) + 1, value=b""))
    letters = [value for topic, _, value, _ in kafka.sent if topic == "x.dead-letters"]
    the_first, sampled, after_a_record = 1, 2, 1
    assert len(letters) == MAX_DEAD_LETTERS_IN_A_ROW + the_first + sampled + after_a_record
    assert folder.flood_suppressed == more - the_first - sampled
    records = [decode_record(value) for topic, _, value, _ in kafka.sent if topic == "x.cluster"]
    (reported,) = [each for each in records if isinstance(each, SourceErrorRecord)]
    assert (reported.cluster, reported.resource) == ("c", "kafka x.cluster/0")
    assert reported.error.startswith("flood: 1,001 messages in a row are not records")
    assert kafka.seen() == 1


async def test_a_record_that_a_reducer_fails_on_is_dead_lettered_and_acknowledged() -> None:
    stream, kafka = Stream(message(0), message(1, "defect"), message(2)), Kafka()
    folder = kafka.folder()
    with structlog.testing.capture_logs() as logs:
        await _run(FaustAgent(folder, lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=never), stream)
    assert stream.acked == [0, 1, 2]
    assert kafka.seen() == 2
    (letter,) = [Letter.read(headers, value) for topic, _, value, headers in kafka.sent if topic == "x.dead-letters"]
    assert (letter.cluster, letter.error_type, str(letter.position)) == ("c", "reducer_failed", "x.cluster:0@1")
    assert letter.reason.endswith("ZeroDivisionError: of a count")
    assert folder.dead_letters == {("reducer_failed",): 1}
    assert [(each["at"], each["exc_info"].args) for each in logs if each["log_level"] == "error"] == [
        ("x.cluster:0@1", ("of a count",))
    ]


async def test_a_failure_on_a_dead_letters_record_creates_no_other_record() -> None:
    failing: list[AnyReducer] = [Reducer("frail", 1, "cluster", (DeadLetterRecord,), Count, step)]
    kafka = Kafka()
    publisher: Any = kafka
    folder = LogFolder(failing, LogStates(failing, kafka.recovered(), "changelog", publisher), publisher, TOPICS)
    reported = encode_record(DeadLetterRecord(ts=T0, cluster="c", error_type="x"))
    await fold(folder, message(0, value=reported))
    assert [topic for topic, *_ in kafka.sent if topic != "changelog"] == ["x.dead-letters"]


async def test_a_record_that_an_operator_skips_is_a_dead_letter() -> None:
    kafka = Kafka()
    folder = kafka.folder("x.cluster:0@1")
    await fold(folder, message(0), message(1, "large"), message(2))
    (letter,) = [Letter.read(headers, value) for topic, _, value, headers in kafka.sent if topic == "x.dead-letters"]
    assert (letter.cluster, letter.error_type, str(letter.position)) == ("c", "skipped", "x.cluster:0@1")
    assert folder.dead_letters == {("skipped",): 1}
    assert kafka.seen() == 2


async def test_the_log_names_the_argument_that_skips_a_failing_record() -> None:
    with structlog.testing.capture_logs() as logs, pytest.raises(MemoryError):
        await fold(Kafka().folder(), message(0), message(1, "large"))
    assert [each["skip"] for each in logs] == ["leadsman work --skip x.cluster:0@1"]


class Stream:
    """A stream like Faust's for an agent; `acked` are the offsets."""

    def __init__(self, *messages: Message, before_a_rebalance: Sequence[Message] = ()) -> None:
        self.enable_acks = True
        self.acked: list[int] = []
        self.drained = asyncio.Event()
        self._events = [_event(each, GENERATION - 1) for each in before_a_rebalance]
        self._events += [_event(each, GENERATION) for each in messages]

    async def events(self) -> Any:
        for event in self._events:
            yield event
        self.drained.set()
        await asyncio.Event().wait()

    async def ack(self, event: Any) -> bool:
        self.acked.append(event.message.offset)
        return True


def _event(message: Message, generation: int) -> Any:
    inner = SimpleNamespace(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp=message.timestamp_ms / 1000,
        value=message.value,
        headers=message.headers,
        generation_id=generation,
    )
    return SimpleNamespace(key=message.key, value=message.value, message=inner)


async def never(*_: object) -> bool:
    """No topic has a hole."""
    return False


async def _run(agent: FaustAgent, stream: Stream) -> None:
    """Until all was taken and folded, or something failed."""
    running = asyncio.ensure_future(agent.run(stream))
    try:
        await until(lambda: (stream.drained.is_set() and agent.folded) or agent.failure is not None)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await agent.write_before_rebalance()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_folded_messages_are_acknowledged_in_order_and_not_by_faust() -> None:
    stream, kafka = Stream(message(0), message(1), message(2)), Kafka()
    agent = FaustAgent(kafka.folder(), lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=never)
    await _run(agent, stream)
    assert not stream.enable_acks
    assert stream.acked == [0, 1, 2]
    assert (agent.folded, agent.newest_ms, agent.next_offsets) == (3, 1002, {0: 3})


async def test_messages_are_acknowledged_only_once_their_states_are_written() -> None:
    stream, kafka = Stream(message(0), message(1)), Kafka()
    agent = FaustAgent(kafka.folder(), lambda: GENERATION, 0.01, state_seconds=600, is_hole=never)
    running = asyncio.ensure_future(agent.run(stream))
    await until(lambda: agent.folded == 2)
    assert (stream.acked, kafka.changelog) == ([], [])
    await agent.close()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert stream.acked == [0, 1]
    assert kafka.seen() == 2


async def test_a_full_batch_is_folded_at_once() -> None:
    stream, kafka = Stream(*map(message, range(BATCH_EVENTS + 1))), Kafka()
    agent = FaustAgent(kafka.folder(), lambda: GENERATION, within_seconds=600, state_seconds=600, is_hole=never)
    running = asyncio.ensure_future(agent.run(stream))
    await until(lambda: agent.folded or agent.failure)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (agent.folded, agent.failure) == (BATCH_EVENTS, None)


async def test_messages_unwritten_at_a_rebalance_are_folded_again() -> None:
    """The states of the generation before are gone with it, and nothing of it is acknowledged."""
    kafka, generation = Kafka(), [GENERATION]
    agent = FaustAgent(kafka.folder(), lambda: generation[0], 0.01, state_seconds=600, is_hole=never)
    first, second = Stream(message(0)), Stream()
    running = asyncio.ensure_future(agent.run(first))
    await until(lambda: agent.folded == 1)
    running.cancel()
    generation[0] += 1
    await agent.write_before_rebalance()
    assert (first.acked, kafka.changelog) == ([], [])
    second._events = [_event(each, generation[0]) for each in (message(0), message(1))]
    running = asyncio.ensure_future(agent.run(second))
    await until(lambda: agent.folded == 3)
    await agent.write_before_rebalance()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert second.acked == [0, 1]
    assert kafka.seen() == 2


async def test_a_failed_batch_acknowledges_nothing_and_raises_the_error() -> None:
    stream, kafka = Stream(message(0), message(1, "large")), Kafka()
    agent = FaustAgent(kafka.folder(), lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=never)
    await _run(agent, stream)
    assert stream.acked == []
    assert kafka.recovered().get(b"c") is None
    with pytest.raises(MemoryError):
        await agent.failing()


async def test_a_missing_message_ends_the_agent() -> None:
    stream = Stream(message(0), message(2))
    agent = FaustAgent(Kafka().folder(), lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=never)
    await _run(agent, stream)
    assert stream.acked == []
    with pytest.raises(MessagesLost, match=r"x\.cluster:0@2 arrived, but 1 was next"):
        await agent.failing()


async def test_offsets_without_a_message_do_not_end_the_agent() -> None:
    """Also right behind the first offset."""
    asked: list[object] = []

    async def is_hole(*what: object) -> bool:
        asked.append(what)
        return True

    stream = Stream(message(0), message(2), message(3), message(7))
    await _run(FaustAgent(Kafka().folder(), lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=is_hole), stream)
    assert stream.acked == [0, 2, 3, 7]
    partition = TopicPartition("x.cluster", 0)
    assert asked == [(partition, 1, 2), (partition, 4, 7)]


async def test_messages_received_before_a_rebalance_are_not_folded() -> None:
    stream, kafka = Stream(message(7), before_a_rebalance=[message(0)]), Kafka()
    await _run(FaustAgent(kafka.folder(), lambda: GENERATION, 0.01, state_seconds=0.01, is_hole=never), stream)
    assert stream.acked == [7]
    assert kafka.seen() == 1


async def test_rows_about_sources_are_counted_by_kind_and_by_resources_that_exist() -> None:
    kafka = Kafka()
    publisher, only = cast("Publisher", kafka), [source_errors.CLUSTER_REDUCER]
    folder = LogFolder(only, LogStates(only, kafka.recovered(), "changelog", publisher), publisher, TOPICS)
    given: list[tuple[str, Problem]] = [("pods", "silent"), ("agent", "silent"), ("forged", "gap")]
    records = [SourceErrorRecord(ts=T0, cluster="c", resource=name, error="e", problem=each) for name, each in given]
    await folder.fold([message(number, value=encode_record(each)) for number, each in enumerate(records)], OURS)
    assert folder.source_errors == {("silent", "pods"): 1, ("silent", "agent"): 1, ("gap", "other"): 1}


async def test_findings_of_one_record_never_exceed_kafkas_message_size() -> None:
    """An inventory can say that 50,000 pods are gone: a worker that ended on it would end on it again for ever."""
    kafka, many = Kafka(), 50_000
    rows: list[Row] = [SourceError("c", T0, "", f"r{n}", "silent", None, "e" * 200) for n in range(many)]
    concluded = [MessageRows("c", "", T0, position, rows[:]) for position in ("x.cluster:0@1", "x.cluster:0@2")]
    await Outbox(cast("Publisher", kafka), TOPICS).findings(b"c", concluded)
    assert max(len(value) for _, _, value, _ in kafka.sent) < MAX_MESSAGE_BYTES / 8
    assert len({dict(headers)["ce_id"] for *_, headers in kafka.sent}) == len(kafka.sent)
    found = [columns_of(decode_findings(value))["source_errors"]["resource"] for _, _, value, _ in kafka.sent]
    assert [name for names in found for name in names] == [f"r{n}" for n in range(many)] * 2


async def test_concluded_rows_reach_the_figures() -> None:
    kafka, taken, only = Kafka(), list[object](), [source_errors.CLUSTER_REDUCER]
    publisher = cast("Publisher", kafka)
    figures = cast("Figures", SimpleNamespace(take=lambda row, _: taken.append(row)))
    states = LogStates(only, kafka.recovered(), "changelog", publisher)
    record = SourceErrorRecord(ts=T0, cluster="c", resource="pods", error="e", problem="silent")
    await fold(LogFolder(only, states, publisher, TOPICS, figures=figures), message(0, value=encode_record(record)))
    assert [type(each) for each in taken] == [SourceError]
