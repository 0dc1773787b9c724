"""A log's state never goes back: not by a writer that was stopped and resumed, and not by compaction."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.fold.fold import LogState
from streams.kafka.changelog import BEFORE_EPOCHS, Changelog, Epoch, RecordKey, encode_progress
from streams.kafka.codec import Folded, TableCodec

CODEC: Final = TableCodec([])
LOG: Final = b"c/n"


def state(offset: int, shift: int = 0) -> bytes:
    return CODEC.encode(Folded(offset, LogState(), {}, shift))


def offset_of(changelog: Changelog) -> int:
    return CODEC.decode(changelog.get(LOG)).offset


def written(epoch: Epoch, log: bytes | None = LOG) -> bytes:
    return RecordKey(epoch, log).encode()


class Entry(NamedTuple):
    key: bytes
    value: bytes | None


def read(entries: Sequence[Entry]) -> Changelog:
    changelog = Changelog()
    for key, value in entries:
        changelog.apply(0, key, value)
    return changelog


class Owner:
    """A worker of one generation: it read what was there when it began, and writes whenever it is let."""

    def __init__(self, generation: int, log: list[Entry]) -> None:
        self.epoch = Epoch(generation, 7)
        self.states = read(log)
        self.offset = offset_of(self.states)

    def write(self, log: list[Entry], messages: int) -> None:
        """Fold, store the state, then delete the records before it."""
        self.offset += messages
        self._append(log, written(self.epoch), state(self.offset))
        for key in list(self.states.superseded(LOG, self.epoch)):
            self._append(log, key, None)

    def _append(self, log: list[Entry], key: bytes, value: bytes | None) -> None:
        self.states.apply(0, key, value)
        log.append(Entry(key, value))


def compacted(log: Sequence[Entry], kept: Sequence[bool], tombstones: bool) -> list[Entry]:
    """As Kafka may leave it: the last record of each key stays, of the others any, and last tombstones may go."""
    last = {entry.key: number for number, entry in enumerate(log)}
    return [
        entry
        for number, entry in enumerate(log)
        if (last[entry.key] == number and (entry.value is not None or tombstones))
        or (last[entry.key] != number and number < len(kept) and kept[number])
    ]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=40), st.lists(st.booleans()), st.booleans())
def test_no_resumed_writer_and_no_compaction_takes_a_state_back(
    writes: list[tuple[int, int]], kept: list[bool], tombstones: bool
) -> None:
    """What an owner wrote while it was the newest was acknowledged; older ones write at any time afterwards."""
    log: list[Entry] = [Entry(LOG, state(0))]
    owners: list[Owner] = []
    acknowledged = 0
    for which, messages in writes:
        if which >= len(owners):
            owners.append(Owner(len(owners) + 1, log))
        owner = owners[min(which, len(owners) - 1)]
        owner.write(log, messages)
        if owner is owners[-1]:
            acknowledged = max(acknowledged, owner.offset)
    assert offset_of(read(log)) >= acknowledged
    assert offset_of(read(compacted(log, kept, tombstones))) >= acknowledged


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.none() | st.binary())
def test_a_key_is_read_as_it_was_written(generation: int, writer: int, log: bytes | None) -> None:
    key = RecordKey(Epoch(generation, writer), log)
    assert RecordKey.decode(key.encode()) == key


@pytest.mark.parametrize("key", [b"", b"c", b"c/n", b"\0", b"\0s", b"\0x" + bytes(30)])
def test_every_other_key_is_a_logs_of_before_epochs(key: bytes) -> None:
    assert RecordKey.decode(key) == RecordKey(BEFORE_EPOCHS, key)


def test_a_state_of_a_topic_made_anew_is_later_than_a_higher_offset_of_the_old_one() -> None:
    changelog = read([Entry(written(Epoch(2, 1)), state(4, shift=3)), Entry(written(Epoch(1, 1)), state(9))])
    assert offset_of(changelog) == 4


def test_an_owner_deletes_what_earlier_generations_wrote_and_nothing_else() -> None:
    old, same, later = (Epoch(generation, 5) for generation in (1, 2, 3))
    changelog = read([Entry(LOG, state(1)), *(Entry(written(each), state(2)) for each in (old, same, later))])
    assert list(changelog.superseded(LOG, Epoch(2, 6))) == [LOG, written(old)]
    assert list(changelog.superseded(b"another", Epoch(2, 6))) == []


def test_a_log_whose_records_are_all_deleted_is_forgotten() -> None:
    one, other = written(Epoch(1, 1)), written(Epoch(2, 2))
    changelog = read([Entry(one, state(1)), Entry(other, state(2)), Entry(one, None)])
    assert offset_of(changelog) == 2
    changelog.apply(0, other, None)
    assert changelog.get(LOG) is None


def test_progress_is_the_furthest_and_tells_what_is_covered() -> None:
    changelog = Changelog()
    assert changelog.covered(0) == 0
    changelog.apply(0, LOG, state(3))
    assert changelog.covered(0) is None
    for generation, offset in ((2, 9), (1, 4)):
        changelog.apply(0, written(Epoch(generation, 1), None), encode_progress(offset))
    assert changelog.covered(0) == 9
    assert list(changelog.superseded_progress(0, Epoch(2, 8))) == [written(Epoch(1, 1), None)]


def test_what_another_worker_has_now_is_forgotten() -> None:
    changelog = Changelog()
    for partition, log in ((0, b"a"), (1, b"b")):
        changelog.apply(partition, log, state(1))
        changelog.apply(partition, written(Epoch(1, 1), None), encode_progress(2))
    changelog.begin({1})
    assert (changelog.get(b"a"), changelog.covered(0)) == (None, 0)
    assert (changelog.logs(1), changelog.covered(1)) == ([b"b"], 2)
