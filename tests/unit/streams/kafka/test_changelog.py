"""A changelog's records rebuild the logs, and an owner deletes its own."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.changelog import BEFORE_EPOCHS, RELIES_ON, Changelog, Epoch, RecordKey, encode_progress
from streams.kafka.codec import NOTHING_FOLDED, Head

LOG: Final = b"c/n"


def state(offset: int, shift: int = 0, pieces: tuple[int, ...] = (), number: int = 0) -> bytes:
    return msgspec.msgpack.encode(
        Head(offset, b"", {}, shift, parts={"r/f/0": pieces} if pieces else {}, number=number)
    )


def offset_of(changelog: Changelog) -> int:
    stored = changelog.get(LOG)
    return NOTHING_FOLDED if stored is None else msgspec.msgpack.decode(stored.head, type=Head).offset


def written(epoch: Epoch, log: bytes | None = LOG, piece: int | None = None) -> bytes:
    return RecordKey(epoch, log, piece).encode()


class Entry(NamedTuple):
    key: bytes
    value: bytes | None


def read(entries: Sequence[Entry]) -> Changelog:
    changelog = Changelog()
    for key, value in entries:
        changelog.apply(0, key, value)
    return changelog


@given(
    st.integers(1, 2**63 - 1), st.integers(0, 2**63 - 1), st.none() | st.binary(), st.none() | st.integers(0, 2**63)
)
def test_a_key_is_read_as_it_was_written(generation: int, writer: int, log: bytes | None, piece: int | None) -> None:
    key = RecordKey(Epoch(generation, writer), log, piece if log is not None else None)
    assert RecordKey.decode(key.encode()) == key


@pytest.mark.parametrize("key", [b"", b"c", b"c/n", b"\0", b"\0s", b"\0t" + bytes(23), b"\0x" + bytes(30)])
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


def test_a_head_counts_only_while_all_of_its_pieces_are_there() -> None:
    """Records of another writer, although of the same numbers, are not its own."""
    one, other = Epoch(1, 1), Epoch(2, 2)
    changelog = read([Entry(written(one), state(3)), Entry(written(other), state(9, pieces=(1, 2)))])
    changelog.apply(0, written(other, piece=1), b"p")
    changelog.apply(0, written(one, piece=2), b"p")
    assert offset_of(changelog) == 3
    changelog.apply(0, written(other, piece=2), b"p")
    assert offset_of(changelog) == 9
    changelog.apply(0, written(other, piece=1), None)
    assert offset_of(changelog) == 3


def test_pieces_that_no_head_of_ours_needs_are_deleted_and_those_of_others_by_their_generation() -> None:
    old, same, ours = Epoch(1, 5), Epoch(2, 4), Epoch(2, 5)
    changelog = read([Entry(written(each, piece=number), b"p") for each in (old, same, ours) for number in (1, 2)])
    changelog.apply(0, written(ours), state(1, pieces=(2,)))
    assert list(changelog.superseded(LOG, ours)) == [
        written(old, piece=1),
        written(old, piece=2),
        written(ours, piece=1),
    ]


def test_a_head_that_is_read_again_does_not_replace_a_later_one_of_its_writer() -> None:
    epoch = Epoch(1, 1)
    entries = [Entry(written(epoch), state(3, number=number)) for number in (1, 2)]
    changelog = read([*entries, *entries[:1]])
    stored = changelog.get(LOG)
    assert stored is not None
    assert stored.head == state(3, number=2)


def test_a_log_without_any_state_is_empty_once_its_messages_were_read_and_can_be_deleted() -> None:
    epoch = Epoch(1, 1)
    changelog = read([Entry(written(epoch), state(3)), Entry(written(epoch, piece=1), b"p")])
    assert changelog.logs_without_state({0: 3, 1: 9}) == []
    assert changelog.logs_without_state({0: 4}) == [(0, LOG)]
    for key in changelog.records(LOG):
        changelog.apply(0, key, None)
    assert (changelog.get(LOG), changelog.logs_without_state({0: 4}), changelog.logs(0)) == (None, [], [])


def test_a_log_whose_records_are_all_deleted_is_forgotten() -> None:
    one, other = written(Epoch(1, 1)), written(Epoch(2, 2))
    changelog = read([Entry(one, state(1)), Entry(other, state(2)), Entry(one, None)])
    assert offset_of(changelog) == 2
    changelog.apply(0, other, None)
    assert changelog.get(LOG) is None


def test_progress_is_the_furthest_and_reports_what_is_covered() -> None:
    changelog = Changelog()
    assert changelog.covered(0) == 0
    changelog.apply(0, LOG, state(3))
    assert changelog.covered(0) == 0
    for generation, offset in ((2, 9), (1, 4)):
        changelog.apply(0, written(Epoch(generation, 1), None), encode_progress(offset))
    assert changelog.covered(0) == 9
    assert list(changelog.superseded_progress(0, Epoch(2, 8))) == [written(Epoch(1, 1), None)]


def test_what_another_worker_has_now_is_forgotten() -> None:
    changelog = Changelog()
    for partition, log in ((0, b"a"), (1, b"b")):
        changelog.apply(partition, log, state(1))
        changelog.apply(partition, written(Epoch(1, 1), None), encode_progress(2))
    changelog.own({1})
    assert (changelog.get(b"a"), changelog.covered(0)) == (None, 0)
    assert (changelog.logs(1), changelog.covered(1)) == ([b"b"], 2)


def full(offset: int) -> bytes:
    """A state that is not empty."""
    return msgspec.msgpack.encode(Head(offset, b"x", {}))


def test_progress_counts_only_behind_the_heads_that_it_relies_on() -> None:
    ours = Epoch(2, 1)
    heads = [Entry(written(Epoch(1, 1)), full(3)), Entry(written(ours, b"another"), full(4))]
    key, value, headers = read(heads).progress(0, ours, 5)
    for there, covered in ((heads, 5), (heads[::-1], 5), (heads[:1], 0), (heads[1:], 0)):
        changelog = read(there)
        changelog.apply(0, key, value, headers)
        assert changelog.covered(0) == covered
    changelog = read([*heads[:1], Entry(written(ours, b"another"), full(9))])
    changelog.apply(0, key, value, headers)
    assert changelog.covered(0) == 0, "a later state is not the one that was there"


def test_progress_no_longer_counts_where_a_state_is_deleted_that_it_relies_on() -> None:
    ours, next_ = Epoch(1, 1), Epoch(2, 1)
    changelog = read([Entry(written(ours), full(3)), Entry(written(ours, b"another"), full(4))])
    changelog.apply(0, *changelog.progress(0, ours, 5))
    changelog.apply(0, written(next_), full(3))
    changelog.apply(0, written(ours), None)
    assert changelog.covered(0) == 5, "its successor's head is as far"
    changelog.apply(0, written(ours, b"another"), None)
    assert changelog.covered(0) == 0
    changelog.apply(0, *changelog.progress(0, next_, 6))
    assert changelog.covered(0) == 6


def test_what_a_paused_writer_adds_or_a_log_that_is_forgotten_takes_no_progress_away() -> None:
    earlier, ours = Epoch(1, 1), Epoch(2, 1)
    changelog = read([Entry(written(earlier), full(3)), Entry(written(ours), full(3))])
    progress = changelog.progress(0, ours, 4)
    changelog.apply(0, written(earlier), full(9))
    changelog.apply(0, *progress)
    assert changelog.covered(0) == 4
    changelog.apply(0, written(ours), state(10))
    for key in changelog.records(LOG):
        changelog.apply(0, key, None)
    assert changelog.covered(0) == 4


def test_what_an_earlier_writer_adds_before_our_own_head_only_repeats_messages() -> None:
    """Progress then relies on a head that is not there any more, so it is not counted rather than counted wrongly."""
    earlier, ours = Epoch(1, 1), Epoch(2, 1)
    changelog = read([Entry(written(earlier), full(10))])
    progress = changelog.progress(0, ours, 12)
    changelog.apply(0, written(earlier), full(20))
    changelog.apply(0, *progress)
    assert (changelog.covered(0), offset_of(changelog)) == (0, 20)
    changelog.apply(0, written(ours), full(21))
    progress = changelog.progress(0, ours, 22)
    changelog.apply(0, written(earlier), full(30))
    changelog.apply(0, *progress)
    assert changelog.covered(0) == 22


def test_progress_of_a_version_that_names_no_states_counts_as_it_did() -> None:
    changelog = read([Entry(written(Epoch(1, 1)), full(3)), Entry(written(Epoch(1, 1), None), encode_progress(4))])
    assert changelog.covered(0) == 4


def test_progress_of_a_deleted_group_gives_way_to_that_of_lower_generations() -> None:
    before, ours = Epoch(57, 1), Epoch(1, 2)
    changelog = read([Entry(written(before), full(3)), Entry(written(before, None), encode_progress(4))])
    changelog.apply(0, *changelog.progress(0, ours, 9))
    assert changelog.covered(0) == 4, "as of a paused writer"
    for key in changelog.superseded_progress(0, ours):
        changelog.apply(0, key, None)
    changelog.apply(0, *changelog.progress(0, ours, 9))
    assert changelog.covered(0) == 9


def test_a_log_of_two_partitions_ends_no_worker() -> None:
    """A publisher that sends a log's messages to another partition makes one; the number of partitions is fixed."""
    epoch = Epoch(1, 1)
    changelog = Changelog()
    changelog.apply(0, written(epoch), full(5))
    changelog.apply(0, *changelog.progress(0, epoch, 6))
    changelog.apply(1, written(epoch), full(7))
    changelog.apply(1, written(epoch), None)
    assert (changelog.covered(0), changelog.covered(1)) == (6, 0)


EPOCHS: Final = (Epoch(1, 1), Epoch(1, 2), Epoch(2, 1))


@given(st.integers(0, 2**32))
def test_a_digest_that_follows_what_changed_is_that_of_all_heads(seed: int) -> None:
    """Logs have pieces and deletions, move to another partition, and partitions go."""
    random, changelog = Random(seed), Changelog()  # noqa: S311  # nobody guesses it
    for number in range(60):
        partition, epoch, log = random.choice((0, 0, 0, 1)), random.choice(EPOCHS), random.choice((LOG, b"d", b"e"))
        what = random.choice(("head", "head", "piece", "delete", "delete piece", "progress", "progress", "own"))
        if what == "head":
            pieces = random.choice(((), (random.randrange(3),)))
            changelog.apply(partition, written(epoch, log), state(number, 0, pieces) if pieces else full(number))
        elif what in {"piece", "delete piece"}:
            key = written(epoch, log, random.randrange(3))
            changelog.apply(partition, key, b"x" if what == "piece" else None)
        elif what == "delete":
            changelog.apply(partition, written(epoch, log), None)
        elif what == "own":
            changelog.own({0} if random.random() < 0.2 else {0, 1})
        else:
            key, value, headers = changelog.progress(partition, epoch, number)
            heads = [each.head_for(epoch) for each in changelog._of(partition)]
            wanted = sum(each.digest for each in heads if each is not None) % 2**64
            assert headers == [(RELIES_ON, wanted.to_bytes(8))]
            changelog.apply(partition, key, value, random.choice((headers, ())))
            if changelog.covered(partition) == number:
                floors = [None if each is None else each.position[:2] for each in heads]
                assert [each.floor for each in changelog._of(partition)] == floors
