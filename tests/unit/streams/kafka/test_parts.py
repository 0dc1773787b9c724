"""A state as a head and its parts: what is read is what was written, and only what changed is written again."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from ingest.kafka.publish import Publisher
from ingest.model.records import NodeRecord, SourceErrorRecord
from ingest.model.topics import decode_record, topics
from profiles import EXAMPLES
from streams.analytics.source_errors import CLUSTER_REDUCER
from streams.fold.findings import SourceError
from streams.fold.fold import Fold, LogState
from streams.fold.reducer import AnyReducer, Reducer
from streams.kafka import parts
from streams.kafka.changelog import Changelog, RecordKey
from streams.kafka.codec import Folded
from streams.kafka.parts import Layout, PartsCodec, Stored, Written
from streams.kafka.states import IDLE_SECONDS, LeftOut, LogStates, Ownership, StateKey
from streams.kafka.worker import LogFolder

LOG: Final = StateKey(0, b"c")
PIECE: Final = 1000


class Value(msgspec.Struct, frozen=True):
    at: datetime | None = None
    texts: tuple[str, ...] = ()


class Inner(msgspec.Struct, frozen=True):
    values: dict[str, Value] = {}


class State(msgspec.Struct, frozen=True):
    inner: Inner = Inner()
    times: dict[str, datetime] = {}
    rest: tuple[str, ...] = ()


class Renamed(msgspec.Struct, frozen=True):
    inner: Inner
    now: dict[str, int] = msgspec.field(name="before", default_factory=dict)


def reducer(name: str, version: int = 1) -> AnyReducer:
    return Reducer(name, version, "cluster", (NodeRecord,), State, lambda s, _: (s, ()))


REDUCERS: Final = [reducer("a"), reducer("b")]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(parts, "SPLIT_FROM", 16)
    monkeypatch.setattr(parts, "BUCKET_ENTRIES", 4)


def folded(offset: int = 0, **of_reducers: State) -> Folded:
    return Folded(offset, LogState(3, dict(of_reducers)), {"c/n": (5, 1)})


class Store:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.codec = PartsCodec(REDUCERS)
        self.layout = Layout()
        self.pieces: dict[int, bytes] = {}

    def write(self, state: Folded) -> Written:
        written = self.codec.encode(state, self.layout)
        assert not written.pieces.keys() & self.pieces.keys()
        assert all(len(each) <= PIECE for each in written.pieces.values())
        self.pieces |= written.pieces
        self.head = written.head
        return written

    def read(self, reducers: Sequence[AnyReducer] = REDUCERS) -> Folded:
        return PartsCodec(reducers).decode(Stored(self.head, self.pieces))


keys = st.integers(0, 200).map(str)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, st.integers(0, 9)),
        st.tuples(st.just("many"), keys, st.integers(1, 150)),
        st.tuples(st.just("to the end"), keys, st.just(0)),
        st.tuples(st.just("without"), keys, st.integers(1, 100)),
    ),
    max_size=12,
)


@settings(max_examples=EXAMPLES * 3 // 2)
@given(st.lists(changes, max_size=6))
def test_whatever_changes_is_read_as_it_was_written_and_in_its_order(
    batches: list[list[tuple[str, str, int]]],
) -> None:
    store, values = Store(), dict[str, Value]()
    for offset, batch in enumerate(batches):
        for what, key, number in batch:
            if what == "put":
                values = {**values, key: Value(None, (str(number),))}
            elif what == "many":
                values = {**values, **{f"{key}-{each}": Value(None, (key,)) for each in range(number)}}
            elif what == "to the end" and key in values:
                values = {**{k: v for k, v in values.items() if k != key}, key: values[key]}
            elif what == "without":
                values = dict(list(values.items())[number:])
        state = folded(offset, a=State(Inner(values)), b=State())
        store.write(state)
        found = store.read()
        assert found == state
        assert list(cast("State", found.log.states["a"]).inner.values) == list(values)


def test_of_a_large_mapping_only_the_buckets_that_changed_are_written_again() -> None:
    store = Store()
    values = {str(number): Value(None, (str(number),)) for number in range(200)}
    times = {str(number): datetime(2026, 7, 1, tzinfo=UTC) for number in range(100)}
    store.write(folded(a=State(Inner(values), times)))
    one = {**values, "7": Value(None, ("another",))}
    assert len(store.write(folded(1, a=State(Inner(one), times))).pieces) == 1
    assert store.write(folded(2, a=State(Inner(dict(one)), dict(times)))).pieces == {}
    moved = {**{key: value for key, value in one.items() if key != "0"}, "0": one["0"]}
    assert len(store.write(folded(3, a=State(Inner(moved), times))).pieces) == 1
    assert store.read() == folded(3, a=State(Inner(moved), times))


def test_what_is_large_and_no_mapping_is_written_in_pieces() -> None:
    store = Store()
    state = folded(a=State(rest=tuple(blake2b(str(number).encode()).hexdigest() for number in range(500))))
    written = store.write(state)
    assert len(written.pieces) > 1
    assert len(written.head) < PIECE
    assert store.read() == state


def test_parts_of_a_reducer_of_another_version_are_dropped_and_the_others_stay() -> None:
    store = Store()
    values = {str(number): Value() for number in range(200)}
    store.write(folded(a=State(Inner(values)), b=State(Inner(values))))
    assert store.read([reducer("a", 2), reducer("b")]).log.states == {"b": State(Inner(values))}
    assert store.read([reducer("b")]).log.states == {"b": State(Inner(values))}


def test_a_reducer_whose_state_is_gone_leaves_no_parts() -> None:
    store = Store()
    values = {str(number): Value() for number in range(200)}
    store.write(folded(a=State(Inner(values)), b=State(rest=("b",))))
    store.write(folded(1, b=State(rest=("b",))))
    assert store.read() == folded(1, b=State(rest=("b",)))
    assert store.layout.parts == {}


class Kafka:
    """A publisher: all that was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes, bytes | None]] = []

    async def send(self, topic: str, key: bytes, value: bytes | None, *_: Any, **__: Any) -> asyncio.Future[None]:
        self.sent.append((topic, key, value))
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


@pytest.mark.asyncio
async def test_an_unchanged_log_is_kept_encoded_and_decoded_when_needed() -> None:
    """A worker grew with every cluster that had ever been: a decoded state takes ten times the memory."""
    time, changelog = FakeClock(), Changelog()
    logs = LogStates(REDUCERS, changelog, "changelog", cast("Publisher", Kafka()), clock=time.clock)
    busy = StateKey(0, b"busy")
    state = folded(0, a=State(Inner({str(number): Value(texts=("t",)) for number in range(100)})))

    async def report(each: LeftOut) -> None:
        raise AssertionError(each)

    async def write(log: StateKey, offset: int) -> None:
        logs.keep(log, logs.read(log), state._replace(offset=offset), 1)
        assert await logs.write(Ownership(1, lambda: True, {0: offset + 1}), report)

    await write(LOG, 0)
    decoded = logs.read(LOG)
    for offset in (1, 2):
        time.seconds += IDLE_SECONDS / 2
        assert logs.read(LOG) is decoded
        await write(busy, offset)
    assert logs.read(busy) is logs.read(busy)
    again = logs.read(LOG)
    assert again is not decoded
    assert again == decoded
    await write(LOG, 3)
    assert PartsCodec(REDUCERS).decode(changelog.get(LOG.key)) == state._replace(offset=3)


@pytest.mark.asyncio
async def test_objects_that_somebody_filled_are_left_out_before_those_of_others() -> None:
    """However few they are: a few hundred of the largest that Kubernetes takes would be half a gigabyte of state."""
    most = 300_000
    kafka, changelog = Kafka(), Changelog()
    logs = LogStates(REDUCERS, changelog, "changelog", cast("Publisher", kafka), most)
    others = {f"other-{number}": Value(None, (str(number),)) for number in range(20)}
    chance = random.Random(7)  # noqa: S311  # what does not pack well
    filled = {f"filled-{number}": Value(None, (chance.randbytes(60_000).hex(),)) for number in range(9)}
    logs.keep(LOG, logs.read(LOG), folded(1, a=State(Inner({**others, **filled}))), 1)
    left_out: list[LeftOut] = []

    async def report(each: LeftOut) -> None:
        left_out.append(each)

    assert await logs.write(Ownership(1, lambda: True, {0: 2}), report)
    kept = cast("State", logs.read(LOG).log.states["a"]).inner.values
    assert others.keys() <= kept.keys()
    assert len(kept) == len(others) + len(filled) - sum(each.entries for each in left_out) > len(others)
    assert sum(_sizes(kafka, changelog)) <= most


@pytest.mark.asyncio
async def test_a_log_over_its_budget_loses_the_oldest_entries_of_its_largest_mapping_and_reports_it() -> None:
    most = 100_000
    kafka, changelog = Kafka(), Changelog()
    logs = LogStates(REDUCERS, changelog, "changelog", cast("Publisher", kafka), most)
    folder = LogFolder(REDUCERS, logs, cast("Publisher", kafka), topics("x", partitions=1))
    values = {str(number): Value(None, (blake2b(str(number).encode()).hexdigest(),)) for number in range(3000)}
    state = folded(1, a=State(Inner(values), rest=("kept",)), b=State(Inner({"kept": Value()})))
    ownership = Ownership(1, lambda: True, {0: 2})
    logs.keep(LOG, logs.read(LOG), state, 1)
    assert await folder.write(ownership)
    for found in (logs.read(LOG), PartsCodec(REDUCERS).decode(changelog.get(LOG.key))):
        a = cast("State", found.log.states["a"])
        assert 500 < len(a.inner.values) < len(values)
        assert list(a.inner.values) == list(values)[-len(a.inner.values) :]
        assert a.rest == ("kept",)
        assert found.log.states["b"] == state.log.states["b"]
    assert logs.left_out == len(values) - len(a.inner.values)
    (reported,) = [decode_record(value or b"") for topic, _, value in kafka.sent if topic == "x.cluster"]
    assert isinstance(reported, SourceErrorRecord)
    assert (reported.cluster, reported.resource) == ("c", "state a/inner.values")
    assert reported.error.startswith(f"partial: {logs.left_out:,} entries of a/inner.values left out, ")
    (row,) = Fold([CLUSTER_REDUCER]).step(LogState(), reported)
    assert isinstance(row, SourceError)
    assert row.kind == "partial"
    keys = [RecordKey.decode(key) for topic, key, _ in kafka.sent if topic == "changelog"]
    head = RecordKey(keys[0].epoch, LOG.key).encode()
    sent = [key for _, key, _ in kafka.sent]
    assert sent.index(b"c") < sent.index(head), "a worker that dies in between has told it"
    assert sum(_sizes(kafka, changelog)) <= most


def _sizes(kafka: Kafka, changelog: Changelog) -> Iterator[int]:
    needed = {*changelog.records(LOG.key)}
    return (len(value or b"") for topic, key, value in kafka.sent if topic == "changelog" and key in needed)


def test_numbers_of_pieces_never_come_again() -> None:
    store = Store()
    seen: list[int] = []
    for offset in range(4):
        values = {str(number): Value(None, (str(offset),)) for number in range(100)}
        seen += sorted(store.write(folded(offset, a=State(Inner(values)))).pieces)
    assert all(before < after for before, after in pairwise(seen))


def test_a_field_that_was_renamed_keeps_its_parts() -> None:
    fields = [(each.path, each.name) for each in parts.mappings_of(Renamed)]
    assert fields == [(("inner", "values"), "inner.values"), (("now",), "before")]
