"""Columns fit the terminal: texts are cut before records are made, numbers and times never."""

import pytest
from rich.cells import cell_len

from leadsman.cli.present.layout import lines
from sql.questions.cells import Column

NODE = Column("node", ["n-1", "n-2"])
PODS = Column("pods", ["3", "12"], right=True, whole=True)
WHAT = Column("what", ["word " * 20, "short"])


def test_numbers_stand_to_the_right_and_no_line_ends_in_spaces() -> None:
    assert list(lines([NODE, PODS], 80)) == ["node  pods", "n-1      3", "n-2     12"]


def test_a_wide_text_is_cut_with_an_ellipsis_and_nothing_is_without_a_width() -> None:
    shown = list(lines([NODE, PODS, WHAT], 40))
    assert shown[1] == "n-1      3  word word word word word wo…"
    assert [cell_len(line) for line in shown] == [16, 40, 17]
    assert next(lines([NODE, PODS, WHAT], None)) == "node  pods  what"
    assert "word " * 19 + "word" in list(lines([NODE, PODS, WHAT], None))[1]


def test_what_is_longer_than_a_line_keeps_a_third_of_it_or_each_row_is_a_record() -> None:
    name, sentence = Column("name", ["a" * 20]), Column("what", ["b" * 70])
    (_, cells) = lines([name, name, sentence], 66)
    assert cells.split()[-1] == "b" * 21 + "…"
    assert next(iter(lines([name, name, sentence], 64))) == "[1]"


def test_the_widest_text_is_cut_first() -> None:
    one, two = Column("one", ["a" * 30]), Column("two", ["b" * 50])
    (_, cells) = lines([one, two], 72)
    assert cells == "a" * 30 + "  " + "b" * 39 + "…"
    (_, cells) = lines([one, two], 52)
    assert [len(cell) for cell in cells.split()] == [25, 25]


def test_what_is_the_same_in_all_rows_stands_once_beneath_where_room_is_short() -> None:
    same = Column("cluster", ["europe-1"] * 2)
    times = Column("ts", ["2026-11-21 04:19:29Z", "2026-11-21 04:19:30Z"], whole=True)
    assert list(lines([same, times], 29)) == [
        "ts",
        "2026-11-21 04:19:29Z",
        "2026-11-21 04:19:30Z",
        "in all rows: cluster europe-1",
    ]
    assert next(lines([same, times], 30)) == "cluster   ts"


def test_where_a_line_does_not_hold_the_columns_each_row_is_a_record() -> None:
    times = [Column(f"time_{n}", ["2026-11-21 04:19:29Z", "2026-11-21 04:19:30Z"], whole=True) for n in range(3)]
    assert list(lines([NODE, *times], 30))[:6] == [
        "[1]",
        "node    n-1",
        "time_0  2026-11-21 04:19:29Z",
        "time_1  2026-11-21 04:19:29Z",
        "time_2  2026-11-21 04:19:29Z",
        "[2]",
    ]


@pytest.mark.parametrize("width", [1, 10, 20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Two cells a character, as a terminal shows Chinese."""
    columns = [NODE, PODS, WHAT, Column("message", ["日本語のテキスト" * 9, "x" * 300]), Column("h" * 30, ["", "-"])]
    assert max(map(cell_len, lines(columns, width))) <= max(width, 20)


def test_no_columns_and_no_rows_are_no_lines_but_a_heading() -> None:
    assert list(lines([], 80)) == []
    assert list(lines([Column("node", [])], 80)) == ["node"]
