"""A log's state never goes back, wherever a writer is stopped, killed or resumed, and whatever was compacted."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.kafka.publish import Publisher
from ingest.model.records import NodeRecord
from profiles import EXAMPLES
from streams.fold.fold import LogState
from streams.fold.reducer import AnyReducer, Reducer
from streams.kafka import parts
from streams.kafka.changelog import Changelog, RecordKey
from streams.kafka.codec import NOTHING_FOLDED, Folded
from streams.kafka.parts import PartsCodec
from streams.kafka.states import LeftOut, LogStates, Ownership, StateKey

LOG: Final = StateKey(0, b"c")
KEYS: Final = 7
T0: Final = datetime(2026, 7, 1, tzinfo=UTC)
TURNS: Final = 20
"""Run the loop until everything is done that need not wait."""


class Inner(msgspec.Struct, frozen=True):
    last: dict[str, int] = {}


class State(msgspec.Struct, frozen=True):
    inner: Inner = Inner()
    seen: int = 0


REDUCERS: Final[list[AnyReducer]] = [Reducer("r", 1, "cluster", (NodeRecord,), State, lambda s, _: (s, ()))]


def folded(before: Folded, offset: int) -> Folded:
    """Fold one message more: its key becomes the newest."""
    state = cast("State", before.log.states.get("r", State()))
    key = str(offset % KEYS)
    last = {k: v for k, v in state.inner.last.items() if k != key} | {key: offset}
    return before._replace(offset=offset, log=LogState(offset, {"r": State(Inner(last), state.seen + 1)}))


def wanted(offset: int) -> Folded:
    found = Folded(NOTHING_FOLDED, LogState(), {})
    for each in range(offset + 1):
        found = folded(found, each)
    return found


class Entry(NamedTuple):
    key: bytes
    value: bytes | None


def recovered(log: Sequence[Entry]) -> Changelog:
    changelog = Changelog()
    for key, value in log:
        changelog.apply(0, key, value)
    changelog.own({0})
    return changelog


async def nothing_left_out(left_out: LeftOut) -> None:
    raise AssertionError(left_out)


class Owner:
    """A worker of one generation. What it writes goes to Kafka record by record, as it is let."""

    def __init__(self, generation: int, log: list[Entry], committed: int) -> None:
        self.generation = generation
        self.next = committed
        self._log = log
        self._let = asyncio.Semaphore(0)
        self.connection: object = "leader 1"
        self.states = LogStates(
            REDUCERS, recovered(log), "changelog", cast("Publisher", self), connection=lambda _: self.connection
        )
        self.writing: asyncio.Task[int] | None = None

    async def send(self, _topic: str, key: bytes, value: bytes | None, partition: int) -> asyncio.Future[None]:
        assert partition == 0
        await self._let.acquire()
        self._log.append(Entry(key, value))
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def fold(self, messages: int) -> None:
        before = after = self.states.read(LOG)
        for offset in range(self.next, self.next + messages):
            after = folded(after, offset) if offset > after.offset else after
        self.states.keep(LOG, before, after, self.generation)
        self.next += messages

    def write_states(self) -> None:
        """Write; a worker that is stopped does not learn that its partitions are another's."""

        async def write(following: int) -> int:
            ownership = Ownership(self.generation, lambda: True, {0: following})
            assert await self.states.write(ownership, nothing_left_out)
            return following

        self.writing = asyncio.create_task(write(self.next))

    async def go(self, records: int) -> int | None:
        """Write so many records; return the offset that may be committed once the write is complete."""
        for _ in range(records):
            self._let.release()
        for _ in range(TURNS + 2 * records):
            await asyncio.sleep(0)
        if self.writing is None or not self.writing.done():
            return None
        done, self.writing = self.writing, None
        return done.result()

    def rejoin(self, generation: int, committed: int) -> None:
        """In the next generation, with what it has in memory and reads again."""
        self.generation, self.next = generation, committed
        self.states.abandon()
        for key, value in self._log:
            self.states._changelog.apply(0, key, value)


Step: TypeAlias = tuple[str, int, int]
STEPS: Final = ("takeover", "restart", "rejoin", "fold", "write", "write", "go", "go", "go")
WHICH: Final = (0, 0, 0, 1, 1, 2, 3)
"""Indexes of the owners, from the newest on."""
AMOUNTS: Final = (1, 1, 2, 3, 5, 40)


def compacted(log: Sequence[Entry], kept: Sequence[bool], tombstones: bool) -> list[Entry]:
    """Compact like Kafka: the last record of each key stays, any of the others may, and last tombstones may go."""
    last = {entry.key: number for number, entry in enumerate(log)}
    return [
        entry
        for number, entry in enumerate(log)
        if (last[entry.key] == number and (entry.value is not None or tombstones))
        or (last[entry.key] != number and number < len(kept) and kept[number])
    ]


@pytest.fixture(params=["inline", "in pieces", "in buckets"], autouse=True)
def _layout(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "inline":
            patch.setattr(parts, "PIECE_BYTES", 16)
        if request.param == "in buckets":
            patch.setattr(parts, "SPLIT_FROM", 2)
            patch.setattr(parts, "BUCKET_ENTRIES", 2)
        yield


def _check_state(changelog: Changelog, committed: int) -> None:
    state = PartsCodec(REDUCERS).decode(changelog.get(LOG.key))
    assert state.offset + 1 >= committed
    assert state == wanted(state.offset)
    order, wanted_order = (
        list(cast("State", each.log.states.get("r", State())).inner.last) for each in (state, wanted(state.offset))
    )
    assert order == wanted_order
    if committed:  # else a takeover could not compare what was committed with what the states have
        covered = changelog.covered(LOG.partition)
        assert covered is not None
        assert covered >= committed


async def _check(steps: Sequence[Step], kept: Sequence[bool], tombstones: bool) -> None:
    log: list[Entry] = []
    owners = [Owner(1, log, 0)]
    committed = 0
    for what, which, amount in steps:
        owner = owners[-1 - min(which, len(owners) - 1)]
        if what == "takeover":
            owners.append(Owner(owners[-1].generation + 1, log, committed))
        elif what == "restart":  # under its own name, within the session: the generation is the same
            owners.append(Owner(owners[-1].generation, log, committed))
        elif what == "rejoin" and owners[-1].writing is None:
            owners[-1].rejoin(owners[-1].generation + 1, committed)
        elif what == "fold" and owner.writing is None:
            owner.fold(amount)
        elif what == "write" and owner.writing is None:
            owner.fold(amount)
            owner.write_states()
        covered = await owner.go(amount if what == "go" else 0)
        if covered is not None and owner is owners[-1]:
            committed = max(committed, covered)  # Kafka takes no commit of the others
        for seen in (log, compacted(log, kept, tombstones)):
            _check_state(recovered(seen), committed)
    running = [owner.writing for owner in owners if owner.writing is not None]
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)


@settings(max_examples=EXAMPLES // 3)
@given(st.integers(0, 2**32))
def test_no_stopped_killed_or_resumed_writer_and_no_compaction_takes_a_state_back(seed: int) -> None:
    """Owners are stopped between any two records for any time, and the newest alone commits."""
    random = Random(seed)  # noqa: S311  # what hypothesis itself draws seldom comes to the end of a write
    steps = [(random.choice(STEPS), random.choice(WHICH), random.choice(AMOUNTS)) for _ in range(50)]
    kept = [random.random() < 0.5 for _ in range(200)]
    asyncio.run(_check(steps, kept, tombstones=random.random() < 0.5))


async def _until_its_head(owner: Owner, log: Sequence[Entry]) -> None:
    """Stopped behind it, and before it deletes what others wrote."""
    for _ in range(100):
        await owner.go(1)
        epoch, of_log, piece = RecordKey.decode(log[-1].key)
        if (epoch.generation, of_log, piece) == (owner.generation, LOG.key, None):
            return
    raise AssertionError("it wrote no head")


@pytest.mark.asyncio
async def test_what_two_stopped_writers_leave_is_not_relied_on_before_it_is_written_anew() -> None:
    """The second deletes what the third began with: the first's last state, whose key it knew."""
    log: list[Entry] = []
    first = Owner(1, log, 0)
    first.fold(1)
    first.write_states()
    assert await first.go(100) == 1
    first._let = asyncio.Semaphore(0)
    first.fold(4)
    first.write_states()
    second = Owner(2, log, 1)
    second.fold(1)
    second.write_states()
    await _until_its_head(second, log)
    await _until_its_head(first, log)
    third = Owner(3, log, 1)
    assert third.states.read(LOG).offset == 4
    third.fold(3)
    third.write_states()
    committed = await third.go(100)
    assert committed == 4
    await second.go(100)
    _check_state(recovered(log), committed)
    await first.go(100)
    _check_state(recovered(log), committed)


@pytest.mark.asyncio
@pytest.mark.parametrize("left", range(4))
async def test_what_a_new_leader_of_the_changelog_lacks_is_written_again_before_the_progress(left: int) -> None:
    """It lacks what followed the first `left` records, and nothing of the log was folded since."""
    log: list[Entry] = []
    owner = Owner(1, log, 0)
    for _ in range(2):
        owner.fold(5)
        owner.write_states()
        assert await owner.go(100)
    del log[left:]
    owner.connection = "leader 2"
    owner.write_states()
    assert await owner.go(200) == 10
    _check_state(recovered(log), 10)
