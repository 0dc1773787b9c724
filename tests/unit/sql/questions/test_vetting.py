"""The lists of what a question may have, against the engine's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import ROOT
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.queries import SavedQuery, with_forms
from sql.questions.vetting import SETTINGS, SYSTEM_TABLES, TABLE_FUNCTIONS, functions, is_allowed, vet, words

REACHES = [
    "file",
    "url",
    "s3",
    "remote",
    "remoteSecure",
    "executable",
    "python",
    "eval",
    "dictGet",
    "joinGet",
    "merge",
    "sleep",
    "getSetting",
    "hostName",
    "currentUser",
    "addressToLine",
    "aiGenerate",
    "hasColumnInTable",
    "reverseDNSQuery",
    "catboostEvaluate",
    "initializeAggregation",
    "formatRow",
    "format",
]


@pytest.fixture(scope="module")
def reader(migrated_folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{migrated_folder}", make=False, read_only=True) as db:
        yield db


def test_every_function_of_the_list_is_the_engine_s(reader: Database) -> None:
    known = {name for (name,) in reader.query("SELECT lower(name) FROM system.functions").rows}
    assert functions() <= known
    assert words("keywords") <= {
        word for (keyword,) in reader.query("SELECT keyword FROM system.keywords").rows for word in keyword.split()
    }


def test_no_function_is_allowed_by_another_s_name(reader: Database) -> None:
    """Neither by a combinator, nor by its case, nor as a keyword before a parenthesis."""
    names = {
        name
        for table in ("functions", "table_functions")
        for (name,) in reader.query(f"SELECT name FROM system.{table}").rows
    }
    listed = words("functions")
    assert {name for name in names if is_allowed(name) and name not in listed} == {
        name for name in names if name.lower() in TABLE_FUNCTIONS
    }
    assert {name for name in names if name.upper() in words("keywords") and not is_allowed(name)} <= {"null"}
    assert not [name for name in REACHES if is_allowed(name) or is_allowed(f"{name}If")]


@pytest.mark.parametrize("query", with_forms(), ids=lambda query: query.name)
def test_what_the_saved_questions_use_is_allowed(reader: Database, query: SavedQuery) -> None:
    assert vet(reader, query.sql, bounded=True)


OF_TYPE = r"the type of the parameter x has a sign that is not allowed: give a plain one, such as \{x:String\}"


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("SELECT hostName()", "the function hostName"),
        ("SELECT * FROM file('x')", "the function file"),
        ("SELECT 1 SETTINGS max_memory_usage = 0", "the setting max_memory_usage"),
        ("SELECT * FROM system.users", "system.users is not a table"),
        ("SELECT 1 INTO OUTFILE 'x'", "INTO is not allowed"),
        ("SELECT 1 FORMAT JSON", "FORMAT is not allowed"),
        ("SELECT {t:Identifier}", "Identifier} cannot be a parameter"),
        ("SELECT {x:Enum8('a}b' = 1)}, hostName(), {y:Enum8('{q:a' = 1)}, {y:String}", OF_TYPE),
        ("SELECT {x:Nullable(/*}*/String)}, hostName(), {y:Array(/*'{q:*/String)}", OF_TYPE),
        ("SELECT {x:Nullable(--}'\nString)}, hostName(), {y:Array(--'{q:\nString)}", OF_TYPE),
        ("SYSTEM STOP MERGES", "only SELECT, SHOW"),
    ],
)
def test_a_refusal_names_what_is_not_allowed(reader: Database, statement: str, named: str) -> None:
    with pytest.raises(QueryFailed, match=named) as refusal:
        vet(reader, statement, bounded=False)
    assert refusal.value.forbidden


def test_the_documentation_names_the_settings_and_tables_that_are_allowed() -> None:
    text = (ROOT / "docs/sql.md").read_text("utf-8")
    for name in (*SETTINGS, *(f"system.{table}" for table in SYSTEM_TABLES)):
        assert f"`{name}`" in text, name
