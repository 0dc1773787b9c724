"""The offset guard in a log's state: nothing is folded twice, and a topic that was made anew is not skipped."""

from hypothesis import given
from hypothesis import strategies as st

from streams.fold.fold import LogState
from streams.kafka.codec import NOTHING_FOLDED, Folded

Sent = tuple[int, int]
"""Offset and time, in ms, of a message in Kafka."""


def fold(folded: Folded, messages: list[Sent]) -> tuple[Folded, list[Sent]]:
    """Fold like the worker: return the state afterwards, and the messages that were folded."""
    taken = []
    for offset, time in messages:
        ours, shift = folded.placed(offset, time)
        if ours > folded.offset:
            taken.append((offset, time))
            folded = folded._replace(offset=ours, shift=shift, newest_ms=max(time, folded.newest_ms or 0))
    return folded, taken


def empty() -> Folded:
    return Folded(NOTHING_FOLDED, LogState(), {})


@given(st.lists(st.integers(1, 100), min_size=1, max_size=12), st.data())
def test_redelivered_messages_are_folded_once_whatever_their_producers_clocks(
    times: list[int], data: st.DataObject
) -> None:
    sent = list(enumerate(times))
    folded, taken = empty(), list[Sent]()
    reached = 0
    while reached < len(sent):
        start = data.draw(st.integers(0, reached))
        reached = data.draw(st.integers(reached + 1, len(sent)))
        folded, some = fold(folded, sent[start:reached])
        taken += some
    assert taken == sent


@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 3))
def test_a_recreated_topic_is_folded_whole_and_its_repeats_are_not(before: int, after: int, first: int) -> None:
    folded, _ = fold(empty(), [(offset, 10 + offset) for offset in range(before)])
    sent = [(offset, 100 + offset) for offset in range(first, first + after)]
    folded, taken = fold(folded, sent)
    assert taken == sent
    assert fold(folded, sent)[1] == []


def test_a_logs_offsets_keep_growing_so_that_its_emissions_differ() -> None:
    folded, _ = fold(empty(), [(0, 1), (1, 2), (2, 3)])
    folded, _ = fold(folded, [(0, 50)])
    assert folded.offset == 3
    folded, _ = fold(folded, [(1, 51)])
    assert folded.offset == 4


def test_a_state_of_before_times_were_kept_skips_as_ever() -> None:
    old = Folded(7, LogState(), {})
    assert fold(old, [(3, 99), (8, 99)])[1] == [(8, 99)]
