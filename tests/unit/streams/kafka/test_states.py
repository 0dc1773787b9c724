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
from streams.kafka.changelog import Changelog, Headers, RecordKey, encode_progress
from streams.kafka.codec import NOTHING_FOLDED, Folded
from streams.kafka.parts import PartsCodec
from streams.kafka.states import LeftOut, LogStates, Ownership, StateKey

LOG: Final = StateKey(0, b"c")
LOGS: Final = (LOG, StateKey(0, b"d"), StateKey(0, b"e"))
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


def wanted(offset: int, number: int = 0, logs: int = 1) -> Folded:
    """The state of one of so many logs that have the messages by turns."""
    found = Folded(NOTHING_FOLDED, LogState(), {})
    for each in range(number, offset + 1, logs):
        found = folded(found, each)
    return found


class Entry(NamedTuple):
    key: bytes
    value: bytes | None
    headers: Headers = ()


def recovered(log: Sequence[Entry]) -> Changelog:
    changelog = Changelog()
    for entry in log:
        changelog.apply(0, *entry)
    changelog.own({0})
    return changelog


async def nothing_left_out(left_out: LeftOut) -> None:
    raise AssertionError(left_out)


class Owner:
    """A worker of one generation. What it writes goes to Kafka record by record, as it is let."""

    def __init__(
        self,
        generation: int,
        log: list[Entry],
        committed: int,
        logs: Sequence[StateKey] = (LOG,),
        *,
        is_older: bool = False,
    ) -> None:
        """An older version writes no headers."""
        self.generation = generation
        self._logs, self._is_older = logs, is_older
        self.next = committed
        self._log = log
        self._let = asyncio.Semaphore(0)
        self.connection: object = "leader 1"
        self.states = LogStates(
            REDUCERS, recovered(log), "changelog", cast("Publisher", self), connection=lambda _: self.connection
        )
        self.writing: asyncio.Task[int] | None = None

    async def send(
        self, _topic: str, key: bytes, value: bytes | None, headers: Headers, partition: int
    ) -> asyncio.Future[None]:
        assert partition == 0
        await self._let.acquire()
        self._log.append(Entry(key, value, () if self._is_older else headers))
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def fold(self, messages: int) -> None:
        following = self.next + messages
        for number, log in enumerate(self._logs):
            offsets = [each for each in range(self.next, following) if each % len(self._logs) == number]
            before = after = self.states.read(log)
            for offset in offsets:
                after = folded(after, offset) if offset > after.offset else after
            if offsets:
                self.states.keep(log, before, after, self.generation)
        self.next = following

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
        for entry in self._log:
            self.states._changelog.apply(0, *entry)


Step: TypeAlias = tuple[str, int, int]
STEPS: Final = ("takeover", "restart", "rejoin", "fold", "write", "write", "go", "go", "go")
WHICH: Final = (0, 0, 0, 1, 1, 2, 3)
"""Indexes of the owners, from the newest on."""
AMOUNTS: Final = (1, 1, 2, 3, 5, 40)


def compacted(log: Sequence[Entry], kept: Sequence[bool], tombstones: bool) -> list[Entry]:
    """Compact like Kafka: the last record of each key stays, any of the others may, and last tombstones may go.

    What follows the progress that counts is too young.
    """
    changelog, end = Changelog(), 0
    for number, entry in enumerate(log):
        changelog.apply(0, *entry)
        is_progress = entry.value is not None and RecordKey.decode(entry.key).log is None
        if is_progress and entry.value == encode_progress(changelog.covered(0)):
            end = number + 1
    last = {entry.key: number for number, entry in enumerate(log[:end])}
    return [
        entry
        for number, entry in enumerate(log)
        if number >= end
        or (last[entry.key] == number and (entry.value is not None or tombstones))
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
        assert changelog.covered(LOG.partition) >= committed


async def _check(steps: Sequence[Step], kept: Sequence[bool], tombstones: bool, of_older: Sequence[bool]) -> None:
    log: list[Entry] = []
    owners = [Owner(1, log, 0)]
    committed = 0
    for what, which, amount in steps:
        owner = owners[-1 - min(which, len(owners) - 1)]
        if what == "takeover":
            is_older = of_older[len(owners)]
            owners.append(Owner(owners[-1].generation + 1, log, committed, is_older=is_older))
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
    """Owners, some of an older version, are stopped between any two records, and the newest alone commits."""
    random = Random(seed)  # noqa: S311  # what hypothesis itself draws seldom comes to the end of a write
    steps = [(random.choice(STEPS), random.choice(WHICH), random.choice(AMOUNTS)) for _ in range(50)]
    kept = [random.random() < 0.5 for _ in range(200)]
    of_older = [random.random() < 0.3 for _ in range(51)]
    asyncio.run(_check(steps, kept, random.random() < 0.5, of_older))


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


def _check_every_log(log: Sequence[Entry]) -> None:
    """No progress is ahead of a state, and no state lacks a message of before its offset."""
    changelog = recovered(log)
    for number, each in enumerate(LOGS):
        state = PartsCodec(REDUCERS).decode(changelog.get(each.key))
        assert state == wanted(state.offset, number, len(LOGS))
        relied_on = range(number, changelog.covered(0), len(LOGS))
        assert state.offset >= max(relied_on, default=NOTHING_FOLDED)


@pytest.mark.costly
@pytest.mark.asyncio
@pytest.mark.parametrize("takes_over", [False, True], ids=["while they are written again", "before the first write"])
@pytest.mark.parametrize("sent", range(9))
async def test_progress_does_not_count_without_the_states_that_it_relies_on(sent: int, takes_over: bool) -> None:
    """A leader that has `left` records follows after so many records of a write, and the worker dies at any other."""
    for left in range(0, 40, 3):
        log: list[Entry] = []
        owner = Owner(1, log, 0, LOGS)
        for _ in range(2):
            owner.fold(6)
            owner.write_states()
            assert await owner.go(200)
        if takes_over:
            owner = Owner(2, log, 12, LOGS)
        owner._let = asyncio.Semaphore(0)
        owner.fold(1)
        owner.write_states()
        await owner.go(sent)
        del log[left:]
        owner.connection = "leader 2"
        _check_every_log(log)
        while owner.writing is not None:
            await owner.go(1)
            _check_every_log(log)
        last = Owner(3, log, min(12, recovered(log).covered(0)), LOGS)
        last.fold(len(LOGS) * 4)
        last.write_states()
        assert await last.go(400) == recovered(log).covered(0)


class Elections:
    """Workers of one changelog, of which new leaders lack the end."""

    def __init__(self, random: Random) -> None:
        self.log: list[Entry] = []
        self.committed = 0
        self._random = random
        self._owners = [Owner(1, self.log, 0, LOGS)]

    def take_over(self, generations: int) -> Owner:
        begins = min(self.committed, recovered(self.log).covered(0))
        self._owners.append(Owner(self._owners[-1].generation + generations, self.log, begins, LOGS))
        return self._owners[-1]

    def elect(self, lacking: int) -> None:
        """Some leaders are not noticed: their worker had not written yet."""
        del self.log[max(len(self.log) - lacking, 0) :]
        if self._random.random() < 0.5:
            for each in self._owners:
                each.connection = object()

    async def step(self) -> None:
        what, amount = self._random.choice((*STEPS, "elect")), self._random.choice(AMOUNTS)
        newest, owner = self._owners[-1], self._owners[-1 - min(self._random.choice(WHICH), len(self._owners) - 1)]
        if what in {"takeover", "restart"}:
            self.take_over(generations=int(what == "takeover"))
        elif what == "elect":
            self.elect(amount)
        elif what == "rejoin" and newest.writing is None:
            newest.rejoin(newest.generation + 1, self.committed)
            newest.next = min(self.committed, newest.states._changelog.covered(0))
        elif what in {"fold", "write"} and owner.writing is None:
            owner.fold(amount)
            if what == "write":
                owner.write_states()
        covered = await owner.go(amount if what == "go" else 0)
        if covered is not None and owner is self._owners[-1]:
            self.committed = max(self.committed, covered)

    async def die(self) -> None:
        running = [each.writing for each in self._owners if each.writing is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _check_elections(random: Random) -> None:
    on, kept = Elections(random), [random.random() < 0.5 for _ in range(200)]
    for _ in range(50):
        await on.step()
        for seen in (on.log, compacted(on.log, kept, tombstones=True)):
            _check_every_log(seen)
    await on.die()
    last = on.take_over(generations=1)
    last.fold(len(LOGS))
    last.write_states()
    assert await last.go(400) == recovered(on.log).covered(0)
    _check_every_log(on.log)


@settings(max_examples=EXAMPLES // 3)
@given(st.integers(0, 2**32))
def test_no_leader_of_a_changelog_shows_progress_that_is_ahead_of_a_state(seed: int) -> None:
    """Whatever a new leader lacks, whoever writes on, knowing of it or not, and whoever dies."""
    asyncio.run(_check_elections(Random(seed)))  # noqa: S311  # as above
