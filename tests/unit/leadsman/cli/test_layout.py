"""Columns fit the terminal: texts are folded before records are made, numbers and times never."""

import pytest
from rich.cells import cell_len

from leadsman.cli.present.layout import lines
from sql.questions.cells import Column

NODE = Column("node", ["n-1", "n-2"])
PODS = Column("pods", ["3", "12"], right=True, whole=True)
WHAT = Column("what", ["word " * 20, "short"])


def test_numbers_stand_to_the_right_and_no_line_ends_in_spaces() -> None:
    assert list(lines([NODE, PODS], 80)) == ["node  pods", "n-1      3", "n-2     12"]


def test_a_wide_sentence_is_folded_below_its_beginning_and_nothing_is_without_a_width() -> None:
    assert list(lines([NODE, PODS, WHAT], 40)) == [
        "node  pods  what",
        "n-1      3  word word word word word",
        *["            word word word word word"] * 3,
        "n-2     12  short",
    ]
    assert next(lines([NODE, PODS, WHAT], None)) == "node  pods  what"
    assert "word " * 19 + "word" in list(lines([NODE, PODS, WHAT], None))[1]


def test_a_wide_name_is_folded_behind_a_separator_after_sentences_were_folded() -> None:
    pod = Column("pod", ["p" * 20, "short"])
    _, first, *_ = lines([pod, WHAT], 40)
    assert first == "p" * 20 + "  word word word"
    _, first, second, *_ = lines([pod, WHAT], 34)
    assert first == "p" * 16 + "  word word word"
    assert second == "pppp              word word word"
    heading, *folded = lines([Column("pod", ["checkout-bb5fc581-f9ff3"])], 20)
    assert (heading, folded) == ("pod", ["checkout-bb5fc581-", "f9ff3"])


def test_a_name_is_folded_only_where_no_other_leaves_it_room() -> None:
    """The first is folded behind its dot, and what that leaves of its width keeps the second whole."""
    signal, pod = Column("signal", ["allocatableMemory.available"]), Column("pod", ["checkout-bb5fc581-f9ff3"])
    _, first, second = lines([signal, pod], 44)
    assert first.split() == ["allocatableMemory.", "checkout-bb5fc581-f9ff3"]
    assert second == "available"


def test_a_name_in_a_sentence_is_folded_behind_a_separator() -> None:
    said = Column("said", ["Node ip-10-20-198-82.eu-west-1.compute.internal: 1 pod was evicted"])
    assert list(lines([said], 37))[1:] == ["Node ip-10-20-198-82.eu-west-1.", "compute.internal: 1 pod was evicted"]


def test_a_sentence_keeps_a_part_of_the_line_or_each_row_is_a_record() -> None:
    name, sentence = Column("name", ["a" * 20]), Column("what", ["b c" * 70])
    assert next(iter(lines([name, name, sentence], 52))) != "[1]"
    assert next(iter(lines([name, name, sentence], 48))) == "[1]"


def test_the_widest_name_is_folded_first() -> None:
    one, two = Column("one", ["a" * 30]), Column("two", ["b" * 50])
    (_, first, second) = lines([one, two], 72)
    assert (first, second) == ("a" * 30 + "  " + "b" * 40, " " * 32 + "b" * 10)
    (_, first, second) = lines([one, two], 52)
    assert [len(cell) for cell in (*first.split(), *second.split())] == [25, 25, 5, 25]


def test_with_fewer_the_last_columns_stay_out_and_are_named_instead_of_records() -> None:
    names = [Column(f"c{n}", [f"{n}" * 20, f"{n}"]) for n in range(5)]
    assert next(iter(lines(names, 80))) == "[1]"
    heading, first, *_, beneath = lines(names, 80, fewer=True)
    assert heading.split() == ["c0", "c1", "c2", "c3"]
    assert "0" * 16 in first
    assert beneath == "more with -o wide: c4"
    _, *shown = lines([*names, WHAT], 80, fewer=True)
    assert "word" in shown[0]
    assert shown[-1] == "more with -o wide: c3, c4"
    assert next(iter(lines(names, 20, fewer=True))) == "[1]"


def test_a_sentence_is_narrowed_before_a_column_is_left_out() -> None:
    names = [Column(f"c{n}", [f"{n}" * 14]) for n in range(4)]
    heading, *_ = lines([*names, WHAT._replace(cells=WHAT.cells[:1])], 80, fewer=True)
    assert heading.split() == ["c0", "c1", "c2", "c3", WHAT.heading]


def test_the_domain_of_all_nodes_stands_once_beneath_where_room_is_short() -> None:
    domain = ".eu-west-1.compute.internal"
    nodes = Column("node", [f"ip-10-0-0-{n}{domain}" for n in (1, 2)])
    assert list(lines([nodes, PODS], 30)) == [
        "node         pods",
        "ip-10-0-0-1     3",
        "ip-10-0-0-2    12",
        *["names of nodes end in", ".eu-west-1.compute.internal"],
    ]
    assert domain in list(lines([nodes, PODS], 80))[1]
    addresses = Column("node", ["2001.10.0.255.255", "2002.10.0.255.255"])
    assert "names of nodes" not in " ".join(lines([addresses, PODS], 22))


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
