"""Answers as CSV and JSON that a spreadsheet and a terminal open without harm."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from leadsman.cli.options import FORMS
from leadsman.cli.present.tables import show
from sql.database.open import Result
from sql.questions.cells import as_csv

HOSTILE = "\x1b]0;x\x07\x9b31m\u202egpj.exe"


def result(*values: Any) -> Result:
    return Result(tuple(f"c{n}" for n in range(len(values))), ("String",) * len(values), [values])


def cells(*values: Any) -> list[str]:
    return list(csv.reader(io.StringIO(as_csv(result(*values)))))[1]


@pytest.mark.parametrize(
    "formula",
    [
        "=cmd|' /C calc'!A0",
        "+1+cmd()",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        " =1+1",
        "\uff1d1+1",
        "-",
        "-rf",
        "--5",
        "+e5",
    ],
)
def test_a_spreadsheet_takes_no_cell_for_a_formula(formula: str) -> None:
    (cell,) = cells(formula)
    assert cell[0] == "'"
    assert "\t" not in cell
    assert "\r" not in cell


@pytest.mark.parametrize("between", [";", "; ", ';"', ";' "])
def test_a_spreadsheet_that_parts_cells_at_semicolons_finds_no_formula(between: str) -> None:
    (cell,) = cells(f"warn{between}=cmd|' /C calc'!A0")
    assert cell == f"warn;'{between[1:]}=cmd|' /C calc'!A0"
    assert cells("a; b", "c;d") == ["a; b", "c;d"]


def test_names_of_columns_are_no_formulas_either() -> None:
    found = as_csv(Result(("=1+1", "\x9bx"), ("UInt8", "UInt8"), []))
    assert found == "'=1+1,\\x9bx\n"


def test_numbers_times_and_ordinary_names_stay_what_they_are() -> None:
    at = datetime(2026, 11, 21, 4, 19, tzinfo=UTC)
    values = (-5, -0.25, "-5", "+1.5", "-1e9", "a=b", "node-1", "", None, at, True)
    assert cells(*values) == [
        "-5", "-0.25", "-5", "+1.5", "-1e9", "a=b", "node-1", "", "", "2026-11-21T04:19:00+00:00", "True",
    ]  # fmt: skip


@pytest.mark.parametrize("nested", [HOSTILE, [HOSTILE], {"a": HOSTILE}, (HOSTILE,)])
@pytest.mark.parametrize("form", FORMS)
def test_no_format_shows_a_control_or_direction_character(
    nested: Any, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(result(nested), form)
    shown = capsys.readouterr().out
    assert "gpj.exe" in shown
    assert shown.replace("\n", "").isprintable()
    assert "\u202e" not in shown


@pytest.mark.parametrize(("form", "decode"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_what_a_program_decodes_is_the_value(
    form: str, decode: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    show(result(HOSTILE, 3, None), form)
    assert decode(capsys.readouterr().out) == [{"c0": HOSTILE, "c1": 3, "c2": None}]


@pytest.mark.parametrize(
    ("rows", "ends"), [(0, "0 rows. No Events were seen\n"), (1, "\n1 row\n"), (2, "\n2 rows\n")]
)
def test_a_table_ends_with_the_number_of_its_rows_or_why_there_are_none(
    rows: int, ends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(Result(("a",), ("String",), [("x",)] * rows), "table", "No Events were seen")
    assert capsys.readouterr().out.endswith(ends)


def test_why_there_are_no_rows_is_folded_for_a_terminal_and_whole_for_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    none, why = Result(("a",), ("String",), []), "Nothing of this kind in 10 nodes and 113 pods that were seen"
    for width, form, most in (("40", "table", 40), ("40", "wide", 68), ("", "table", 68)):
        monkeypatch.setenv("COLUMNS", width)
        show(none, form, why)
        found = capsys.readouterr().out.splitlines()
        assert " ".join(found) == f"0 rows. {why}"
        assert max(map(len, found)) <= most
        assert (len(found) > 1) == (most == 40)
