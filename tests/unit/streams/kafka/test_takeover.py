"""A takeover finds its offset, and the missing messages."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from streams.kafka import faust_fixes
from streams.kafka import gaps as gaps_module
from streams.kafka.changelog import Changelog, Epoch, RecordKey, encode_progress
from streams.kafka.gaps import Gaps, Takeovers
from streams.kafka.takeover import Gap, Start, start


@pytest.mark.parametrize(
    ("committed", "covered", "earliest", "offset", "gaps"),
    [
        (50, 50, 0, 50, []),
        (50, 60, 0, 50, []),  # stored and not committed: the logs' offsets skip it
        (100, 50, 0, 50, [("unfolded", 50, 100)]),
        (100, 0, 0, 0, [("unfolded", 0, 100)]),  # the changelog is gone
        (100, 0, 40, 40, [("unfolded", 40, 100)]),  # and what retention removed was folded once
        (50, 50, 2000, 2000, [("lost", 50, 2000)]),
        (50, 60, 2000, 2000, [("lost", 60, 2000)]),  # what is stored is not lost
        (100, 50, 70, 70, [("unfolded", 70, 100), ("lost", 50, 70)]),
        (100, 50, 200, 200, [("lost", 50, 200)]),
        (0, 50, 200, 200, [("lost", 50, 200)]),  # what was committed has expired
        (0, 50, 0, 0, []),
        (0, 0, 200, 200, []),  # nothing was ever read
    ],
)
def test_where_a_partition_is_read_from(
    committed: int, covered: int, earliest: int, offset: int, gaps: list[tuple[str, int, int]]
) -> None:
    found = start("x.nodes", 3, committed, covered, earliest, 3000)
    assert found.offset == offset
    assert [(gap.kind, gap.first, gap.end) for gap in found.gaps] == gaps


@given(st.integers(1, 99), st.integers(0, 99), st.integers(0, 99))
def test_every_message_is_covered_read_or_reported(committed: int, covered: int, earliest: int) -> None:
    found = start("x.nodes", 0, committed, covered, earliest, 99)
    seen = covered or committed
    outcome = {offset for gap in found.gaps if gap.kind == "lost" for offset in range(gap.first, gap.end)}
    assert set(range(seen, 99)) <= outcome | set(range(found.offset, 99))
    assert not outcome & set(range(found.offset, 99))


@pytest.mark.parametrize("covered", [90, 100, 110])
def test_a_topic_that_ends_before_the_last_read_offset_is_read_from_its_beginning(covered: int) -> None:
    """It was truncated or recreated; logs know by the times which messages they have."""
    assert start("x.nodes", 3, 100, covered, 5, 80) == Start(5, (Gap("replaced", "x.nodes", 3, 80, 100),))
    assert start("x.nodes", 3, 100, covered, 5, 100).offset >= 90


def test_only_the_last_gaps_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps_module, "MOST_REPORTED", 3)
    monkeypatch.setattr(gaps_module, "SHOWN_SECONDS", 0.0)  # nobody asks whether it is ready
    found = Gaps()
    for first in range(10):
        for _ in range(2):
            found.add(Gap("lost", "leadsman.nodes", 0, first, first + 1))
    assert found.counts == {("leadsman.nodes", "lost"): 10}
    assert (len(found._reported), len(found._shown)) == (3, 1)


def test_a_gap_that_is_found_repeatedly_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A partition has no messages behind its gap, and another stays behind retention."""
    monkeypatch.setattr(gaps_module, "MOST_REPORTED", 3)
    found = Gaps()
    for first in range(10):
        found.add(Gap("unfolded", "leadsman.cluster", 0, 5, 9))
        found.add(Gap("lost", "leadsman.nodes", 0, first, first + 1))
    assert found.counts == {("leadsman.cluster", "unfolded"): 4, ("leadsman.nodes", "lost"): 10}


def test_a_gap_is_reported_with_its_size_and_position() -> None:
    gap = Start(9, (Gap("lost", "x.nodes", 3, 5, 9),)).gaps[0]
    assert gap.resource == "kafka x.nodes/3"
    assert gap.error.startswith("gap: 4 messages, offsets 5 to 8: ")


@pytest.mark.asyncio
async def test_missing_messages_are_reported_even_without_a_commit() -> None:
    """Kafka forgets what a group committed a week after its last worker, when it deletes what that did not read."""
    takeovers = Takeovers()
    changelog = takeovers.changelogs["x.nodes"] = Changelog()
    changelog.apply(0, RecordKey(Epoch(1, 1), None).encode(), encode_progress(50))
    changelog.own({0})
    sought: list[object] = []

    async def earliest_offsets(*partitions: TP) -> dict[TP, int]:
        return dict.fromkeys(partitions, 200)

    async def highwaters(*partitions: TP) -> dict[TP, int]:
        return dict.fromkeys(partitions, 300)

    async def seek_wait(partitions: object) -> None:
        sought.append(partitions)

    consumer = SimpleNamespace(
        transport=takeovers,
        earliest_offsets=earliest_offsets,
        highwaters=highwaters,
        seek_wait=seek_wait,
        _is_changelog_tp=lambda tp: tp.topic == "changelog",
    )
    committed = {TP("x.nodes", 0): None, TP("changelog", 0): None}
    assert (
        await faust_fixes.Consumer._start_offsets(cast("faust_fixes.Consumer", consumer), cast("Any", committed))
        == {}
    )
    gaps = [(found.kind, found.first, found.end) for found in takeovers.gaps._reported]
    assert (gaps, sought) == ([("lost", 50, 200)], [])  # Faust itself begins where the topic does
