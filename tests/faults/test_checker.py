"""The checker of histories finds each way in which a history can be broken, and nothing in a whole one."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, cast

import pytest

from components.cluster.kubernetes import Cluster
from faults.generator import ALIVE, Generator
from faults.history import ON_ITS_WAY_SECONDS, SEEN_WITHIN_SECONDS, Asked, Row, Span, Thing, Wrong, faults
from waiting import eventually

POD: Final = Thing("pods", "p")
EVENT: Final = Thing("events", "e")
MADE = Asked(0, deleted=False, began=10, ended=11, acknowledged=True)
CHANGED = Asked(1, deleted=False, began=20, ended=21, acknowledged=True)
DELETED = Asked(2, deleted=True, began=30, ended=31, acknowledged=True)
LIFE: Final = (MADE, CHANGED, DELETED)


def row(ts: float, sequence: int, *, deleted: bool = False, value: str = "") -> Row:
    return Row(POD, ts, sequence, deleted, value)


GONE = row(30.5, 1, deleted=True)
WHOLE: Final = (row(10.5, 0), row(20.5, 1), GONE)


def wrong(
    rows: Sequence[Row], asked: Sequence[Asked] = LIFE, gap: Span | None = None, takeover: Span | None = None
) -> list[Wrong]:
    gaps = {} if gap is None else {POD.kind: [gap]}
    return [each.wrong for each in faults({POD: asked}, rows, gaps, [takeover] if takeover else ())]


def test_a_whole_history_has_no_fault() -> None:
    assert wrong(WHOLE) == []
    assert wrong(WHOLE[:2], LIFE[:2]) == []
    assert wrong([]) == ["silent gap", "silent gap"]


@pytest.mark.parametrize(
    ("rows", "asked", "found"),
    [
        pytest.param(WHOLE[1:], LIFE, ["silent gap"], id="the first state is missing"),
        pytest.param([WHOLE[0]], LIFE[:2], ["lost"], id="the last state is missing"),
        pytest.param([], LIFE[:1], ["lost"], id="the only state is missing"),
        pytest.param(WHOLE[:2], LIFE, ["lost"], id="the deletion is missing"),
        pytest.param([*WHOLE[:2], row(22, 1), GONE], LIFE, ["doubled"], id="a state is there twice"),
        pytest.param([*WHOLE, row(32, 1, deleted=True)], LIFE, ["doubled"], id="the deletion is there twice"),
        pytest.param([*WHOLE, row(32, 1)], LIFE, ["resurrected", "lost"], id="it is there after its deletion"),
        pytest.param([*WHOLE[:2], row(22, 0), GONE], LIFE, ["reordered"], id="an older state comes later"),
        pytest.param([*WHOLE[:2], row(22, 7), GONE], LIFE, ["never happened", "reordered"], id="nobody asked for it"),
        pytest.param([row(9, 0), *WHOLE[1:]], LIFE, ["too early"], id="before it was asked for"),
        pytest.param(
            [row(11.5 + SEEN_WITHIN_SECONDS, 0)], LIFE[:1], ["too late"], id="later than anybody would have seen it"
        ),
        pytest.param(
            [*WHOLE[:1], row(15, 0, value="x"), row(21.5 + SEEN_WITHIN_SECONDS, 0, value="y")],
            [MADE, CHANGED],
            ["too late", "lost"],
            id="when it had not been so for long",
        ),
    ],
)
def test_the_checker_finds_each_kind_of_fault(
    rows: Sequence[Row], asked: Sequence[Asked], found: list[Wrong]
) -> None:
    assert wrong(rows, asked) == found


def test_unrequested_changes_are_reported() -> None:
    stranger = row(1, 0)._replace(thing=Thing("pods", "another"))
    assert wrong([*WHOLE, stranger]) == ["never happened"]


def test_a_hole_counts_unless_it_is_within_a_reported_gap() -> None:
    assert wrong(WHOLE[1:], gap=Span(11, 20)) == []
    assert wrong(WHOLE[1:], gap=Span(11 + ON_ITS_WAY_SECONDS, 25)) == []
    assert wrong(WHOLE[1:], gap=Span(11.1 + ON_ITS_WAY_SECONDS, 25)) == ["silent gap"]
    assert wrong(WHOLE[1:], gap=Span(5, 19.9)) == ["silent gap"]
    assert wrong([], gap=Span(5, 40)) == []


def test_an_eviction_found_after_a_gap_is_not_late() -> None:
    late = row(11.5 + SEEN_WITHIN_SECONDS, 0)
    assert wrong([late], [MADE], gap=Span(10.9, late.ts)) == []


def test_states_may_be_repeated_at_a_takeover_and_the_last_row_is_the_last_state() -> None:
    again = [row(22, 0), row(23, 1)]
    assert wrong([*WHOLE[:2], *again, GONE], takeover=Span(21, 24)) == []
    assert wrong([*WHOLE[:2], *again, GONE]) == ["reordered", "doubled"]
    assert wrong([*WHOLE[:2], again[0]], LIFE[:2], takeover=Span(21, 24)) == ["lost"]


def test_what_was_not_acknowledged_may_have_happened() -> None:
    perhaps = [MADE, CHANGED._replace(acknowledged=False)]
    assert wrong(WHOLE[:1], perhaps) == wrong(WHOLE[:2], perhaps) == []
    assert wrong(WHOLE[:1], [MADE, DELETED._replace(sequence=1, acknowledged=False)]) == []


@pytest.mark.parametrize(("added", "found"), [((1, 1), []), ((1, 2), ["miscounted"]), ((2, 1), ["miscounted"])])
def test_the_occurrences_of_an_event_add_up_to_its_count(added: tuple[int, int], found: list[Wrong]) -> None:
    rows = [
        Row(EVENT, 10.5, 0, deleted=False, occurrences=added[0]),
        Row(EVENT, 20.5, 1, deleted=False, occurrences=added[1]),
    ]
    assert [each.wrong for each in faults({EVENT: LIFE[:2]}, rows, {})] == found


def test_a_deletion_at_a_takeover_has_the_state_that_was_known() -> None:
    """Nobody saw it go, and a message of the paused watcher came later with a state from before."""
    unseen, later = GONE._replace(sequence=0), GONE._replace(ts=GONE.ts + 0.1)
    assert wrong([*WHOLE[:2], unseen, later], takeover=Span(21, later.ts)) == []
    assert wrong([*WHOLE[:2], unseen, later]) == ["reordered"]


class _Anything:
    """An API server that takes everything."""

    def make_namespace(self, name: str) -> None:
        """It is there."""

    def request(self, *_: object, **__: object) -> None:
        """Done."""


def test_a_generator_reaches_a_plateau() -> None:
    with Generator(cast("Cluster", _Anything()), most=10) as generator:
        eventually("many objects came and went", lambda: generator.gone > 10 * ALIVE)
        generator._over.set()
        generator._thread.join()
        there = Counter(thing.kind for thing, asked in generator.history.items() if not asked[-1].deleted)
        made = Counter(thing.kind for thing in generator.history)
    assert made["nodes"] == made["events"] == 10
    assert ALIVE / 2 < there["pods"] < 2 * ALIVE < made["pods"]
