"""A database for one answer: what is made when, and what is known to be empty."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from components.rows import T0, row, store
from leadsman.cli.present.story import OF_CARDS
from leadsman.web.reading.ask import OF_NOTHING, QUERIES, query_text, rows
from sql.database.open import Database, connect
from sql.schema.statements import LazyDatabase, materialized_views_of, named, rests_on, statements
from sql.schema.story import story
from streams.fold.findings import EvictionSignal, NodeEvent, NodeRow, PressureChange

_THERE = "SELECT name FROM system.tables WHERE database = currentDatabase()"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_VALUES = {"String": "c", "DateTime64(6)": NOON + timedelta(hours=1)}
QUESTIONS = [file.stem for file in sorted(QUERIES.glob("*.sql")) if named(query_text(file.stem))]


@pytest.fixture
def needed(tmp_path: Path) -> Iterator[LazyDatabase]:
    with LazyDatabase(connect(f"chdb://{tmp_path / 'db'}")) as db:
        yield db


def _there(db: Database) -> set[str]:
    return {name for (name,) in db.query(_THERE).rows}


def test_a_statement_makes_what_it_rests_on_and_nothing_else(needed: LazyDatabase) -> None:
    assert _there(needed) == set()
    assert needed.query("SELECT node FROM last_signals").rows == []
    assert _there(needed) == {"last_signals"} | rests_on("last_signals")


def test_an_insert_feeds_the_roll_ups_of_its_table(needed: LazyDatabase) -> None:
    store(needed, row(EvictionSignal, node="n"))
    assert _there(needed) == {"eviction_signals", "eviction_signals_5m", "eviction_signals_5m_feed"}
    assert not {*needed.empty_tables} & {"eviction_signals", "eviction_signals_5m"}
    assert "node_events" in needed.empty_tables
    assert needed.query("SELECT node FROM eviction_signals_5m").rows == [("n",)]


def test_a_table_that_was_asked_before_it_had_rows_can_be_filled(needed: LazyDatabase) -> None:
    asked = "SELECT node FROM eviction_signals_5m FINAL", "SELECT node FROM last_signals"
    assert [needed.query(each).rows for each in asked] == [[], []]
    store(needed, row(EvictionSignal, node="n"))
    assert [needed.query(each).rows for each in asked] == [[("n",)], [("n",)]]


def test_the_statements_make_each_table_and_view_of_a_migrated_database(database: Database) -> None:
    assert _there(database) == statements().keys()


def test_names_in_comments_and_texts_are_not_read() -> None:
    assert named("SELECT 'FROM nodes' -- FROM alerts\nFROM resizes JOIN watches ON 1") == {"resizes", "watches"}
    assert materialized_views_of("node_fit") == ["node_fit_5m_feed"]


def test_of_empty_tables_only_named_questions_have_a_row(needed: LazyDatabase) -> None:
    for name in QUESTIONS:
        found = _whole(needed, name)
        assert found == ([OF_NOTHING[name]] if name in OF_NOTHING else []), name
        assert rows(needed, name, _given(name)) == found


def test_a_question_without_its_parts_of_empty_tables_has_the_same_rows(needed: LazyDatabase) -> None:
    event = row(NodeEvent, node="n", ts=NOON, observed_at=NOON, occurrences=1, occurrences_lower_bound=True)
    store(needed, row(NodeRow, node="n", ts=NOON), event)
    found = {name: _whole(needed, name) for name in QUESTIONS}
    assert [each["last_at"] for each in found["clusters"]] == [NOON]
    assert [found[name] == [OF_NOTHING[name]] for name in OF_NOTHING] == [False, False, True, False]
    assert {name: rows(needed, name, _given(name)) for name in QUESTIONS} == found


def _whole(db: Database, name: str) -> list[dict[str, Any]]:
    found = db.query(query_text(name), _given(name), described=False)
    return [dict(zip(found.column_names, each, strict=True)) for each in found.rows]


def _given(name: str) -> dict[str, Any]:
    given = {each: _value(kind) for each, kind in re.findall(r"\{(\w+):([^{}]+)\}", query_text(name))}
    return given | {"since": NOON - timedelta(hours=1), "node": "n"}


def _value(kind: str) -> Any:
    return [] if kind.startswith("Array") else _VALUES.get(kind, 1)


def test_the_story_has_the_lines_of_the_view_by_those_tables_that_have_rows(database: Database) -> None:
    began = row(PressureChange, node="n", ts=T0, condition="DiskPressure", status=True)
    store(database, began)
    short = story(database, OF_CARDS)
    assert "pressure_changes" in named(short)
    assert not {"pod_ends", "node_stalls", "nodes", "pod_bindings"} & named(short)
    assert _lines(database, short) == _lines(database, "story") != []
    warning = row(NodeEvent, node="n", ts=T0, reason="Rebooted", type="Warning", object_kind="Node", object_name="n")
    store(database, row(NodeRow, node="n", ts=T0, ready=False), warning)
    every = _lines(database, "story")
    assert {kind for _, _, kind, _ in every} & OF_CARDS
    assert _lines(database, story(database)) == every
    assert _lines(database, story(database, OF_CARDS)) == [line for line in every if line[2] not in OF_CARDS]


def test_a_sentence_with_the_name_of_a_shared_definition_keeps_its_branch_out(needed: LazyDatabase) -> None:
    """An Event alone has no end of a pod to tell, though that sentence ends with "when it was seen"."""
    store(needed, row(NodeEvent, node="n", ts=NOON, reason="Starting", object_kind="Node", object_name="n"))
    assert named(story(needed, OF_CARDS)) & {"pod_ends", "pod_evictions", "node_evidence"} == {"pod_ends"}
    assert "'kubelet' AS kind" in story(needed, OF_CARDS)


def test_a_story_without_rows_is_not_asked(needed: LazyDatabase) -> None:
    assert story(needed) == ""


def _lines(db: Database, source: str) -> list[tuple[Any, ...]]:
    return sorted(db.query(f"SELECT ts, node, kind, what FROM {source}").rows)
