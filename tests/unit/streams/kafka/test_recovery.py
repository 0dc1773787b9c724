"""Faust's side of recovery: what of a changelog reaches our states, and where streams are read from afterwards."""

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from common.errors import KafkaUnusable
from ingest.model.topics import topics
from streams.fold.fold import LogState
from streams.kafka.app import Worker
from streams.kafka.changelog import Epoch, RecordKey, encode_progress
from streams.kafka.codec import Folded
from streams.kafka.faust_fixes import Consumer
from streams.kafka.message import MessagesLost
from streams.kafka.parts import Layout, PartsCodec, Stored

pytestmark = pytest.mark.asyncio

NODES = TP("x.nodes", 0)
CHANGELOG = TP("g-node-logs-changelog", 0)
LOG = b"c/n"


def worker() -> Any:
    """A consumer with the internals that Faust's services use."""
    return Worker([], topics("x", partitions=1), "127.0.0.1:1", group="g")


def event(key: bytes, value: bytes | None) -> Any:
    return SimpleNamespace(message=SimpleNamespace(partition=0, key=key, value=value, headers=()))


def state(offset: int) -> bytes:
    return PartsCodec([]).encode(Folded(offset, LogState(), {}), Layout()).head


async def test_faust_recovers_the_furthest_state_and_forgets_what_went_to_another() -> None:
    found = worker()
    table = found._app.tables["node-logs"]
    changelog = found._takeovers.changelogs["x.nodes"]
    newer, older = (RecordKey(Epoch(generation, 1), LOG).encode() for generation in (2, 1))
    table.apply_changelog_batch([event(newer, state(99)), event(older, state(49))])
    assert changelog.get(LOG) == Stored(state(99))
    await table.on_recovery_completed({CHANGELOG}, set())
    assert changelog.get(LOG) == Stored(state(99))
    await table.on_recovery_completed({TP(CHANGELOG.topic, 1)}, set())
    assert changelog.get(LOG) is None


@pytest.mark.parametrize(
    ("covered", "earliest", "read_from", "outcome"),
    [(100, 0, 100, {}), (40, 0, 40, {("x.nodes", "unfolded"): 60}), (100, 130, 130, {("x.nodes", "lost"): 30})],
)
async def test_a_stream_is_read_from_where_the_states_and_the_topic_allow(
    covered: int, earliest: int, read_from: int, outcome: dict[tuple[str, str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is changed of a changelog's own offsets, nor before all of it was read; and a gap is told once."""
    found = worker()
    progress = RecordKey(Epoch(1, 1), None).encode()
    table = found._app.tables["node-logs"]
    table.apply_changelog_batch([event(progress, encode_progress(covered))])
    sought: dict[TP, int] = {}

    async def committed(_: object) -> dict[TP, int]:
        return {NODES: 100, CHANGELOG: 7}

    async def earliest_offsets(_: object, *partitions: TP) -> dict[TP, int]:
        return dict.fromkeys(partitions, earliest)

    async def highwaters(_: object, *partitions: TP) -> dict[TP, int]:
        return dict.fromkeys(partitions, 200)

    async def seek_wait(_: object, partitions: dict[TP, int]) -> None:
        sought.update(partitions)

    upstream = driver.Consumer
    for name, function in (
        ("seek_to_committed", committed),
        ("earliest_offsets", earliest_offsets),
        ("highwaters", highwaters),
        ("seek_wait", seek_wait),
    ):
        monkeypatch.setattr(upstream, name, function)
    consumer: Any = found._app.consumer
    consumer._is_changelog_tp = CHANGELOG.__eq__
    assert await consumer.seek_to_committed() == {NODES: 100, CHANGELOG: 7}
    assert (sought, found._takeovers.gaps.counts) == ({}, {})
    await table.on_recovery_completed({CHANGELOG}, set())
    for _ in range(2):
        assert await consumer.seek_to_committed() == {NODES: read_from, CHANGELOG: 7}
    assert sought == ({} if read_from == 100 else {NODES: read_from})
    assert found._takeovers.gaps.counts == outcome
    await found._rest()
    assert await consumer.seek_to_committed() == {NODES: 100, CHANGELOG: 7}


async def test_draining_a_full_queue_does_not_resume_a_paused_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A rebalance pauses it, and it has to be still until the states are there."""
    consumer: Any = worker()._app.consumer
    monkeypatch.setattr(driver.Consumer, "assignment", lambda _: {NODES})
    consumer._set_active_tps({NODES})
    consumer.on_buffer_full(NODES)
    assert consumer._get_active_partitions() == set()
    consumer.pause_partitions({NODES})
    consumer.on_buffer_drop(NODES)
    assert consumer._get_active_partitions() == set()
    consumer.resume_partitions({NODES})
    consumer.resume_flow()
    assert consumer._get_active_partitions() == {NODES}


async def test_messages_that_faust_skipped_are_not_committed() -> None:
    consumer: Any = worker()._app.consumer
    with pytest.raises(MessagesLost, match=r"x\.nodes:0@9 arrived, but 5 was next"):
        await consumer._add_gap(NODES, 5, 9)


@pytest.mark.parametrize(
    ("is_stopped", "what"), [(False, "answer in time"), (True, "accept the last states within 20 s")]
)
async def test_an_agent_that_does_not_end_in_time_ends_the_worker_with_a_message(
    is_stopped: bool, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with status 0, as if nobody had to start it again."""
    found, stop = worker(), asyncio.Event()

    async def late(_: asyncio.Event) -> None:
        raise TimeoutError

    monkeypatch.setattr(found, "_run", late)
    if is_stopped:
        stop.set()
    with pytest.raises(KafkaUnusable, match=f"Kafka did not {what}: unacknowledged messages are folded again"):
        await found.run(stop)


async def test_a_partition_that_seeks_again_ends_no_worker() -> None:
    """Regression: aiokafka knows no position for a moment after a broker's restart or an election, and asserts."""

    def verify_event_path(now: float, tp: TP) -> None:
        raise AssertionError(f"the position of {tp} at {now}")

    async def sleep(_: float) -> None:
        return

    seeking: Any = SimpleNamespace(
        assignment=lambda: {TP("x.nodes", 0)}, sleep=sleep, should_stop=False, verify_event_path=verify_event_path
    )
    await Consumer.verify_all_partitions_active(cast("Consumer", seeking))


class Fetching:
    """The consumer's client: the connection to a partition's leader, and the messages that the topic still has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connection: object = "leader 1"
        self.has: set[tuple[int, int]] = set()
        self.asked: list[tuple[int, int]] = []
        self.reported: list[tuple[int, int]] = []
        self.committed: list[dict[TP, int]] = []
        self.others: set[TP] = set()
        monkeypatch.setattr("ingest.kafka.aiokafka_fixes.leader_connection", lambda *_: self.connection)
        self._consumer: Any = SimpleNamespace(
            transport=SimpleNamespace(is_same=self._is_same, report_replaced=self._report),
            _thread=SimpleNamespace(_ensure_consumer=lambda: None),
            _connections={},
            _received={},
            _committed_offset={},
            _commit=self._commit,
            _is_changelog_tp=lambda tp: tp == CHANGELOG,
            assignment=lambda: {NODES, CHANGELOG, *self.others},
        )
        for each in ("_reset_replaced", "_reset_commit", "_is_same"):
            setattr(self._consumer, each, partial(getattr(Consumer, each), self._consumer))

    async def __call__(self, *offsets: int, of: TP = NODES) -> None:
        """Messages come, whose times are ten times their offsets."""
        messages: Any = [SimpleNamespace(offset=offset, timestamp=10 * offset) for offset in offsets]
        await Consumer._compare(self._consumer, of, messages)

    async def _is_same(self, _: object, offset: int, timestamp_ms: int) -> bool:
        self.asked.append((offset, timestamp_ms))
        return (offset, timestamp_ms) in self.has

    async def _report(self, _: object, first: int, end: int) -> None:
        self.reported.append((first, end))

    async def _commit(self, offsets: dict[TP, int]) -> bool:
        self.committed.append(offsets)
        return True


async def test_a_new_leaders_log_is_compared_with_the_previous_leaders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetching = Fetching(monkeypatch)
    await fetching(3, 4)
    await fetching(5, 6)
    assert fetching.asked == [], "nothing changed"
    fetching.connection, fetching.has = "leader 2", {(6, 60), (8, 80)}
    await fetching(7, 8)
    assert fetching.asked == [(6, 60), (8, 80)]
    fetching.connection = "leader 2"
    await fetching(9)
    assert fetching.asked == [(6, 60), (8, 80)], "it was compared already"
    fetching.connection, fetching.has = None, {(9, 90), (10, 100)}
    await fetching(10)
    assert fetching.asked[2:] == [(9, 90), (10, 100)], "the leader of a closed connection is unknown"


@pytest.mark.parametrize(
    ("connection", "offsets", "has", "first", "end"),
    [
        pytest.param("leader 2", (5, 6), {(6, 60)}, 4, 5, id="the new log was cut back and has grown"),
        pytest.param("leader 2", (5, 6), {(4, 40)}, 5, 7, id="what had come from the old leader waited here"),
        pytest.param("leader 1", (0, 1), {(1, 10)}, 0, 5, id="the new log is shorter and is read from its beginning"),
    ],
)
async def test_a_replaced_log_is_read_from_its_beginning_by_the_next_worker(
    monkeypatch: pytest.MonkeyPatch,
    connection: str,
    offsets: tuple[int, ...],
    has: set[tuple[int, int]],
    first: int,
    end: int,
) -> None:
    """Else what the new log has before the old offset is folded by nobody, and nobody knows."""
    fetching = Fetching(monkeypatch)
    await fetching(3, 4)
    fetching.connection, fetching.has = connection, has
    with pytest.raises(MessagesLost, match="was replaced by another message"):
        await fetching(*offsets)
    assert fetching.reported == [(first, end)]
    assert fetching.committed == [{NODES: 0}]
    assert fetching._consumer._committed_offset[NODES] > 2**62, "Faust commits nothing more when it ends"


async def test_only_logs_that_are_replaced_or_cannot_be_compared_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker ends at the first that it sees, and the next one has nothing to compare."""
    fetching = Fetching(monkeypatch)
    replaced, same, unread = (TP("x.nodes", number) for number in (1, 2, 3))
    fetching.others = {replaced, same, unread}
    await fetching(3, 4)
    await fetching(5, 6, of=replaced)
    await fetching(7, 8, of=same)
    fetching.connection, fetching.has = "leader 2", {(8, 80), (9, 90)}
    with pytest.raises(MessagesLost):
        await fetching(9)
    assert fetching.committed[0] == {NODES: 0}, "first, for the worker can be killed meanwhile"
    assert {tp for each in fetching.committed for tp in each} == {NODES, replaced, unread}
    assert fetching.reported == [(4, 5), (6, 7)]
