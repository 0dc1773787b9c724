"""Names of thresholds stand where no line crosses them."""

import pytest

from leadsman.web.rendering.names import WIDE, Course, NameBox, placed

BOTTOM = 304.0
LEVEL = 100.0
ABOVE, BENEATH = LEVEL - 5, LEVEL + 14
NAME = "hard 1.0 GiB"
"""A name that is 28.6 % wide on a phone, with its space."""


def place(line: Course, since: float = 10, *, level: float = LEVEL, texts: tuple[str, ...] = (NAME,)) -> NameBox:
    return placed(texts, since, 100, level, [line], BOTTOM)


@pytest.mark.parametrize(
    ("line", "left", "foot"),
    [
        # far above, or not there at all
        (((0.0, 20.0), (100.0, 20.0)), 10, ABOVE),
        ((), 10, ABOVE),
        # falls through the level at 30 %: the name begins after it
        (((30.0, 0.0), (30.0, 300.0)), 34, ABOVE),
        # two points far apart: the line between them is in the letters' height, 84 to 98, until 60 %
        (((0.0, 80.0), (100.0, 110.0)), 62, ABOVE),
        # lies all the time where the name would stand above: beneath is free
        (((0.0, 95.0), (100.0, 95.0)), 10, BENEATH),
    ],
)
def test_a_name_stands_as_near_to_the_begin_as_no_line_crosses(line: Course, left: float, foot: float) -> None:
    assert place(line) == (NAME, left, foot)


SAW = [(float(x), 0.0 if x % 2 else 300.0) for x in range(41, 101)]
"""Crosses every place along a level that begins at 40 %."""


def test_where_every_place_along_the_level_is_crossed_it_stands_before_its_begin() -> None:
    assert place(SAW, since=40) == (NAME, round(40 - WIDE * (len(NAME) + 1) - 4, 2), LEVEL + 4)


def test_where_the_name_has_no_place_a_shorter_one_may_have_one() -> None:
    texts = ("hard 1,000.0 GiB left", "hard")
    assert place(SAW, since=40, texts=texts).text == "hard"
    assert place((), since=40, texts=texts).text == texts[0]


def test_where_every_place_is_crossed_it_stands_at_the_begin() -> None:
    assert place([(0.0, 0.0), (0.0, 300.0), *SAW], since=30) == (NAME, 30, ABOVE)


def test_no_name_stands_beneath_the_foot_of_the_chart() -> None:
    """There the line along the level leaves no place at all."""
    assert place(((0.0, 295.0), (100.0, 295.0)), level=300) == (NAME, 10, 295)


def test_names_do_not_stand_on_one_another() -> None:
    first = place(())
    second = placed((NAME,), 10, 100, LEVEL + 4, [], BOTTOM, [first])
    assert second == (NAME, 42, LEVEL + 4 - 5)  # the first one ends at 38.6
